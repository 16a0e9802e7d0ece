//! Conversations from elsewhere: one imported into an empty session, and an edited copy of this one. A revision
//! keeps what the change removes. Files are read elsewhere.

use super::take::bring_back;
use super::{cut, rewind};
use crate::context::figures::tell_next_context;
use crate::core::Core;
use crate::title::name_after_taken;
use crate::values::input::{Restore, TakeIn, Taken};
use crate::values::refusal::Refusal;
use crate::values::stored::TitleFrom;
use engine::compact::restore::Restored;
use engine::id::{Ordinal, SessionId};
use engine::message::{Body, Message};
use engine::transcript::Transcript;
use engine::words::{BreakCause, Driver, RevisionCause, TurnStatus};

/// Differences of an edited copy from this session.
#[derive(Debug, Default, PartialEq)]
struct Difference {
    /// Messages with another text, and their new bodies.
    other_words: Vec<(Ordinal, Body)>,
    /// The first of our messages that is cut off.
    cut: Option<Ordinal>,
    /// Index of the copy's first message that we do not have.
    from: usize,
}

/// Imports a conversation into an empty session, and returns what became of its summaries. Its calls are not run. The
/// session's state must be found anew.
pub(crate) fn restore(core: &mut Core<'_>, restore: Restore) -> Result<Vec<Restored>, Refusal> {
    if !core.transcript().messages().is_empty() {
        return Err(Refusal::NotEmpty);
    }
    if let Some(title) = restore.title {
        core.set_title(Some(title), Some(TitleFrom::Client));
    }
    core.write_head();
    append_all(core, restore.messages);
    end_running(core);
    let last = core.last_turn();
    let summaries: Vec<_> = restore.summaries.into_iter().map(|summary| (last, summary)).collect();
    let restored = bring_back(core, &summaries);
    tell_taken(core);
    Ok(restored)
}

/// Outcome of taking in an edited copy.
pub(crate) enum Copied {
    /// The copy had no changes.
    Same,
    /// The copy was taken over; the revision keeps what that removed. The session's state must be found anew.
    Changed(Option<SessionId>),
}

/// Takes in an edited copy of this session, in which nothing runs. Messages in both are changed in place;
/// from where the two part, the copy wins.
pub(crate) fn take_in(core: &mut Core<'_>, given: TakeIn) -> Copied {
    let Difference { other_words, cut, from } = difference(core.transcript(), &given);
    let title = given.title.filter(|title| core.head().title.as_ref() != Some(title));
    let is_rewound = cut.is_some() || !other_words.is_empty();
    let new: Vec<Taken> = given.messages.into_iter().skip(from).collect();
    if !is_rewound && new.is_empty() && title.is_none() {
        return Copied::Same;
    }
    // Kept before anything changes, so that it keeps the session as it stood.
    let first = other_words.iter().map(|(ord, _)| *ord).chain(cut).min();
    let revision = first.map(|first| cut::keep(core, RevisionCause::File, first));
    if title.is_some() {
        core.set_title(title, Some(TitleFrom::Client));
    }
    if is_rewound {
        core.announce(BreakCause::Edit);
    }
    cut::revise_all(core, other_words.into_iter().map(|(ord, body)| (ord, Some(body))));
    if let (Some(at), Some(revision)) = (cut, &revision) {
        cut::cut(core, at, revision);
    }
    let turns = core.turns().len();
    append_all(core, new);
    tell_taken(core);
    if core.turns().len() > turns {
        end_running(core);
        tell_next_context(core);
    } else if is_rewound && core.head().driver == Driver::Sidecar {
        rewind::rest(core);
    }
    Copied::Changed(revision)
}

fn append_all(core: &mut Core<'_>, messages: Vec<Taken>) {
    for Taken { begins, message, .. } in messages {
        match (begins, &message.body) {
            (Some(true), _) => core.append_turn(message, None),
            (Some(false), Body::User(_)) => core.inject(message, None),
            _ => core.append_as_it_is(message),
        };
    }
}

/// Ends all turns: nothing that was taken in runs.
fn end_running(core: &mut Core<'_>) {
    for at in 0..core.turns().len() {
        if core.turns().get(at).is_some_and(|row| row.status == TurnStatus::Running) {
            core.close_turn(at);
        }
    }
}

fn tell_taken(core: &mut Core<'_>) {
    name_after_taken(core);
    core.write_head();
    core.emit_thread();
}

fn difference(transcript: &Transcript, given: &TakeIn) -> Difference {
    let ours: Vec<&Message> = transcript
        .messages()
        .iter()
        .map(|message| &**message)
        .filter(|message| !message.is_source_keys())
        .collect();
    let mut difference = Difference::default();
    for (theirs, ours) in given.messages.iter().zip(&ours) {
        let is_shown_alike = theirs.message.visible_to_model == ours.visible_to_model;
        // A message dropped at the end of its turn keeps its old hash for references; its present body has
        // another one.
        if !is_shown_alike || theirs.message.body.hash() != ours.body.hash() {
            let is_it = theirs.id.as_deref() == Some(ours.id.as_str());
            if !(is_it && is_shown_alike && is_other_words(&ours.body, &theirs.message.body)) {
                difference.cut = Some(ours.ord);
                return difference;
            }
            difference.other_words.push((ours.ord, theirs.message.body.clone()));
        }
        difference.from += 1;
    }
    // Messages that only we have were deleted in the copy, or are newer than it.
    let is_missing = difference.from < usize::try_from(given.known).unwrap_or(usize::MAX);
    if difference.from == given.messages.len() && is_missing {
        difference.cut = ours.get(difference.from).map(|message| message.ord);
    }
    difference
}

/// `true` if it is the same message with another text: calls, and the call that a result answers, must be the same.
fn is_other_words(ours: &Body, theirs: &Body) -> bool {
    match (ours, theirs) {
        (Body::User(_), Body::User(_)) => !theirs.is_empty(),
        (Body::Assistant { calls, .. }, Body::Assistant { calls: same, .. }) => {
            calls == same && !theirs.is_empty()
        }
        (Body::Tool(ours), Body::Tool(theirs)) => ours.call == theirs.call,
        _ => false,
    }
}
