//! Changes to a session's past: edited and removed messages, cuts, answers given again. Nothing that a user
//! typed or saw is lost: a revision keeps the session as it stood.

use super::cut;
use crate::context::attach::attached;
use crate::context::figures::tell_next_context;
use crate::core::{Conversation, Core};
use crate::tools::round::answer_cancelled;
use crate::turn::end::close_running;
use crate::values::queue::{Accepted, Work};
use crate::values::refusal::Refusal;
use engine::id::{MessageId, Ordinal};
use engine::message::attachment::{Attachment, apart, put};
use engine::message::meta::{AnswerMeta, Meta};
use engine::message::{AssistantPart, Beside, Body, Content, NewMessage, ToolResult};
use engine::transcript::Round;
use engine::words::{BreakCause, RevisionCause, StateName, TurnStatus};

/// Outcome of a command.
pub(crate) struct Done {
    /// The answer to the client.
    pub accepted: Accepted,
    /// Next action, once the client has its answer.
    pub follows: Follows,
}

/// Next action after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    /// Ask the model to answer.
    Answer,
    /// Let the session rest; that state was emitted already.
    Rest,
    /// Do nothing.
    Nothing,
}

/// Checks a command as far as possible before its execution.
pub(crate) fn check_rewind(conversation: &Conversation, work: &Work) -> Result<(), Refusal> {
    match work {
        Work::Start { .. } => Ok(()),
        Work::Retry { from, content } => {
            let message = conversation.find(from)?;
            let says_nothing = |parts: &Vec<Content>| Body::User(parts.clone()).is_empty();
            if content.as_ref().is_some_and(says_nothing) {
                return Err(Refusal::Empty("the new content of the request is empty"));
            }
            if matches!(message.body, Body::Event { .. }) {
                return Err(Refusal::Empty("a notice cannot be retried"));
            }
            Ok(())
        }
        Work::Regenerate => match last_request(conversation) {
            Some(_) => Ok(()),
            None => Err(Refusal::Empty("the session has no request to answer again")),
        },
        Work::Update { message, content, .. } => {
            if Body::User(content.clone()).is_empty() {
                return Err(Refusal::Empty("the new content is empty; message/remove removes a message"));
            }
            match conversation.find(message)?.body {
                Body::Event { .. } => Err(Refusal::Empty("a notice cannot be changed")),
                _ => Ok(()),
            }
        }
        Work::Remove { message } => match conversation.find(message)?.body {
            Body::Tool(_) => Err(Refusal::Empty(
                "a result cannot be removed without its call; remove the message with the call, or change the result's content",
            )),
            _ => Ok(()),
        },
        Work::Truncate { from } => conversation.find(from).map(drop),
    }
}

/// The newest turn's newest request; that of an earlier turn if it was removed.
pub(crate) fn last_request(conversation: &Conversation) -> Option<Ordinal> {
    // The last turn may have lost its request.
    conversation.transcript().turns().iter().rev().find_map(|turn| turn.requests.last().copied())
}

/// Position of a cut before this message: calls and their results go together, with notices between them.
pub(crate) fn cut_at(conversation: &Conversation, ord: Ordinal) -> Ordinal {
    round_around(conversation, ord).map_or(ord, |round| round.assistant)
}

/// First position after this message: calls and their results stay together.
fn after(conversation: &Conversation, ord: Ordinal) -> Ordinal {
    round_around(conversation, ord).map_or(ord, |round| round.last).next()
}

/// The round that spans this message.
fn round_around(conversation: &Conversation, ord: Ordinal) -> Option<&Round> {
    let transcript = conversation.transcript();
    let at = transcript.first_round_from(ord.next()).checked_sub(1)?;
    transcript.rounds().get(at).filter(|round| ord <= round.last)
}

/// Messages that are removed with this one: a turn with its request, results with their call.
fn goes_with(conversation: &Conversation, ord: Ordinal) -> Vec<Ordinal> {
    let Some(at) = conversation.transcript().turn_at(ord) else { return vec![ord] };
    let turn = conversation.transcript().turns().get(at);
    if turn.is_some_and(|turn| turn.requests.first() == Some(&ord)) {
        let last = conversation.transcript().last_of_turn(at).unwrap_or(ord);
        let all = conversation.transcript().range(ord, last).iter();
        return all.filter(|message| !message.is_removed()).map(|message| message.ord).collect();
    }
    let round = conversation.transcript().rounds_of(at).iter().find(|round| round.assistant == ord);
    let results = round.into_iter().flat_map(|round| round.results.iter().flatten());
    std::iter::once(ord).chain(results.copied()).collect()
}

pub(crate) fn retry(
    core: &mut Core<'_>,
    from: &MessageId,
    content: Option<Vec<Content>>,
) -> Result<Done, Refusal> {
    let message = core.find(from)?.clone();
    let ord = cut_at(core, message.ord);
    let revision = cut::keep(core, RevisionCause::Retry, ord);
    core.announce(BreakCause::Retry);
    cut::cut(core, ord, &revision);
    let (external_id, content) = match (&message.body, content) {
        (Body::User(same), None) => (message.external_id.clone(), Some(same.clone())),
        (old, Some(new)) => {
            let attached = old.attachments().cloned().map(Content::Attachment);
            let meta = if let Body::User(parts) = old { kept_meta(parts) } else { None };
            (None, Some(attached.chain(new).chain(meta).collect()))
        }
        (_, None) => (None, None),
    };
    let accepted = Accepted { session: Some(revision), ..Accepted::default() };
    let Some(content) = content else { return Ok(runs_again(core, accepted)) };
    let content = attached(core, content, Vec::new());
    let new = NewMessage { external_id, ..core.stamped(Body::User(content)) };
    close_running(core);
    let ord = core.append_turn(new, None);
    let message = core.transcript().message(ord).map(|message| message.id.clone());
    Ok(runs_again(core, Accepted { message, ..accepted }))
}

pub(crate) fn regenerate(core: &mut Core<'_>) -> Result<Done, Refusal> {
    let Some(request) = last_request(core) else {
        return Err(Refusal::Empty("the session has no request to answer again"));
    };
    let from = request.next();
    if core.transcript().message(from).is_none() {
        return Ok(runs_again(core, Accepted::default()));
    }
    let revision = cut::keep(core, RevisionCause::Retry, from);
    core.announce(BreakCause::Retry);
    cut::cut(core, from, &revision);
    Ok(runs_again(core, Accepted { session: Some(revision), ..Accepted::default() }))
}

pub(crate) fn truncate(core: &mut Core<'_>, from: &MessageId) -> Result<Done, Refusal> {
    let ord = core.find(from)?.ord;
    let ord = cut_at(core, ord);
    let revision = cut::keep(core, RevisionCause::Truncate, ord);
    core.announce(BreakCause::Truncate);
    cut::cut(core, ord, &revision);
    Ok(rests(core, Accepted { session: Some(revision), ..Accepted::default() }))
}

pub(crate) fn update(
    core: &mut Core<'_>,
    id: &MessageId,
    content: Vec<Content>,
    regenerate: bool,
) -> Result<Done, Refusal> {
    let message = core.find(id)?.clone();
    let body = match &message.body {
        Body::User(parts) => {
            // Attachments stay as they were, whatever the new text.
            let (said, given) = apart(content);
            let mut all: Vec<Attachment> = message.body.attachments().cloned().collect();
            put(&mut all, given);
            let said = said.into_iter().chain(kept_meta(parts));
            Body::User(said.chain(all.into_iter().map(Content::Attachment)).collect())
        }
        Body::Assistant { calls, beside, .. } => {
            // Thinking and citations belong to the old text; providers refuse signed thinking beside another text.
            let said = content.iter().filter_map(Content::text).map(|text| AssistantPart::Text(text.clone()));
            let (citations, meta) = (Vec::new(), AnswerMeta::before(&beside.meta, 0));
            let beside = Beside { citations, thought: None, meta, ..beside.clone() };
            Body::Assistant { parts: said.collect(), calls: calls.clone(), beside }
        }
        Body::Tool(result) => {
            let content = content.into_iter().chain(kept_meta(&result.content)).collect();
            Body::Tool(ToolResult { content, ..result.clone() })
        }
        Body::Event { .. } => return Err(Refusal::Empty("a notice cannot be changed")),
    };
    let revision = cut::keep(core, RevisionCause::Edit, message.ord);
    core.announce(BreakCause::Edit);
    let id = Some(id.clone());
    cut::revise_all(core, [(message.ord, Some(body))]);
    if !regenerate {
        return Ok(rests(core, Accepted { message: id, session: Some(revision), ..Accepted::default() }));
    }
    let from = after(core, message.ord);
    if core.transcript().message(from).is_some() {
        cut::cut(core, from, &revision);
    }
    Ok(runs_again(core, Accepted { message: id, session: Some(revision), ..Accepted::default() }))
}

/// The data of a client about a message, which stays when its content is replaced.
fn kept_meta(content: &[Content]) -> Option<Content> {
    content.iter().find(|part| matches!(part, Content::Meta(Meta::Whole(_)))).cloned()
}

pub(crate) fn remove(core: &mut Core<'_>, id: &MessageId) -> Result<Done, Refusal> {
    let ord = core.find(id)?.ord;
    let revision = cut::keep(core, RevisionCause::Remove, ord);
    core.announce(BreakCause::Remove);
    // Results first: none ever stands without its call.
    let leave = goes_with(core, ord);
    cut::revise_all(core, leave.into_iter().rev().map(|ord| (ord, None)));
    Ok(rests(core, Accepted { message: Some(id.clone()), session: Some(revision), ..Accepted::default() }))
}

/// Lets the newest turn run again.
fn runs_again(core: &mut Core<'_>, accepted: Accepted) -> Done {
    core.set_turn(core.last_turn(), TurnStatus::Running);
    // An imported conversation may have calls without a result; a running turn waits for none of them.
    let calls = core.unanswered();
    answer_cancelled(core, calls);
    Done { accepted: Accepted { turn: core.turn_id(), ..accepted }, follows: Follows::Answer }
}

fn rests(core: &mut Core<'_>, accepted: Accepted) -> Done {
    rest(core);
    Done { accepted, follows: Follows::Rest }
}

/// Lets the session rest idle: the request or the failure behind its state may be gone.
pub(super) fn rest(core: &mut Core<'_>) {
    if core.turns().last().is_some_and(|row| row.status != TurnStatus::Completed) {
        core.set_turn(core.last_turn(), TurnStatus::Cancelled);
    }
    core.emit_state(StateName::Idle, None);
    tell_next_context(core);
}
