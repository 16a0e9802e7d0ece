//! The outcome of an answer, whatever ended it. What was streamed is kept: the user saw it.

use super::size::{self, Nothing, silent};
use super::streaming::{Given, Streaming};
use crate::carried::limits::{SentRequest, Verdict};
use crate::core::Core;
use crate::model::cost::{Ended, spend};
use crate::values::effect::Effect;
use crate::values::event::EventBody;
use crate::values::refusal::Refusal;
use crate::values::stored::{Driver, Streamed, Write};
use engine::cost::{Cost, Price};
use engine::delta::Draft;
use engine::id::MessageId;
use engine::message::{AssistantPart, Beside, Body, CONTINUED, NewMessage, PAUSED, ToolCall, joins_answers};
use engine::prompt::request::{self, Failure, Overflow, StopReason};
use engine::words::Purpose;

/// Failure of a turn's answer.
pub(crate) struct Broken {
    why: Refusal,
    overflow: Option<Overflow>,
    refuses_thinking: bool,
    counted: Option<u32>,
}

/// Next action after an answer.
pub(crate) enum AnswerOutcome {
    /// Ask again with another prompt.
    Again,
    /// The provider may have found the request too large.
    TooLarge { overflow: Overflow, asked: SentRequest, why: Refusal },
    /// Fail the turn.
    Failed(Refusal),
    /// Run the calls.
    Calls,
    /// Ask for the rest of the answer, unless the turn ends before that.
    Continued(Cut),
    /// End the turn.
    Completed,
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        let Failure { overflow, refuses_thinking, counted, .. } = failure;
        Self { overflow, refuses_thinking, counted, why: failure.into() }
    }
}

impl Broken {
    /// The model was silent for so many milliseconds.
    pub fn expired(ms: u64) -> Self {
        let why = format!("the model sent nothing for {ms} ms; modelDeadlineMs sets this deadline");
        Self {
            why: Refusal::of_model("timeout", why),
            overflow: None,
            refuses_thinking: false,
            counted: None,
        }
    }
}

/// Parts of an answer, its calls, and the data beside them.
type Said = (Vec<AssistantPart>, Vec<ToolCall>, Beside);

/// Stores an answer, and returns what follows.
pub(crate) fn take(
    core: &mut Core<'_>,
    mut running: Streaming,
    outcome: Result<request::Answer, Broken>,
) -> AnswerOutcome {
    if outcome.is_ok() {
        running.replace(core);
    }
    let Given { asked, message, draft, prices, spent } = running.end(core);
    let ended = if outcome.is_ok() { Ended::Whole } else { Ended::without_end(&draft) };
    let (stop, error, said, overflow) = match outcome {
        Ok(answer) => {
            let stop = answer.stop;
            let said = answer.said(&draft);
            let overflow = judge(core, stop, &said, asked);
            let why =
                || format!("the model gave no answer to {} tokens, which are too many for it", asked.tokens);
            let why = || Refusal::of_model("contextOverflow", why());
            (stop, None, said, overflow.map(|overflow| (overflow, why())))
        }
        Err(broken) => {
            let said = (draft.said(), Vec::new(), draft.beside);
            let overflow = broken.overflow.map(|overflow| (overflow, broken.why.clone()));
            (StopReason::Failed, Some(broken), said, overflow)
        }
    };
    let (parts, calls, beside) = said;
    let beside = with_cost(core, beside, &prices, spent, ended);
    let declined = declined(&beside);
    let cut = Cut::of(stop, &parts, !calls.is_empty());
    let calls = keep(core, message, parts, calls, beside, stop);
    if error.as_ref().is_some_and(|broken| broken.refuses_thinking) && core.leave_thinking_out() {
        return AnswerOutcome::Again;
    }
    if let Some(counted) = error.as_ref().and_then(|broken| broken.counted) {
        size::counted(core, counted, asked.tokens);
        return AnswerOutcome::Again;
    }
    if let Some((overflow, why)) = overflow {
        return AnswerOutcome::TooLarge { overflow, asked, why };
    }
    match (error, stop) {
        (Some(broken), _) => AnswerOutcome::Failed(broken.why),
        (None, StopReason::Refused) => AnswerOutcome::Failed(Refusal::of_model("refused", declined)),
        (None, _) if calls => AnswerOutcome::Calls,
        (None, _) if let Some(cut) = cut.filter(|_| may_go_on(core)) => AnswerOutcome::Continued(cut),
        (None, StopReason::Length) => {
            let why = "the answer reached its length limit; the output so far is kept";
            AnswerOutcome::Failed(Refusal::of_model("length", why))
        }
        (None, StopReason::Cancelled | StopReason::Failed) => AnswerOutcome::Failed(
            "the client reported that the answer was cut off; the output so far is kept".to_owned().into(),
        ),
        (None, StopReason::End | StopReason::ToolUse | StopReason::Paused) => AnswerOutcome::Completed,
    }
}

/// An answer that ends before its end, of which something was written.
#[derive(Clone, Copy)]
pub(crate) enum Cut {
    /// By its length limit.
    Length {
        /// `true` if it had calls, which do not run.
        had_calls: bool,
    },
    /// By its provider, which goes on with it.
    Paused,
}

impl Cut {
    /// `None` for a whole answer, and for one of which nothing was written: its continuation would end there again.
    fn of(stop: StopReason, parts: &[AssistantPart], had_calls: bool) -> Option<Self> {
        let has_text =
            || parts.iter().any(|part| matches!(part, AssistantPart::Text(text) if !text.trim().is_empty()));
        match stop {
            StopReason::Length if has_text() => Some(Self::Length { had_calls }),
            StopReason::Paused if !parts.is_empty() => Some(Self::Paused),
            _ => None,
        }
    }

    fn notice(self) -> (&'static str, &'static str) {
        match self {
            Self::Length { had_calls: false } => (CONTINUED, CONTINUE),
            Self::Length { had_calls: true } => (CONTINUED, CONTINUE_WITHOUT_CALLS),
            Self::Paused => (PAUSED, "The provider paused the answer, which goes on below."),
        }
    }
}

/// Continuations of one answer, at most.
const MOST_CONTINUED: usize = 3;
/// Request for the rest of an answer.
const CONTINUE: &str =
    "[The answer above reached its length limit. Continue it exactly where it stops, and repeat nothing.]";
/// The same for an answer with calls.
const CONTINUE_WITHOUT_CALLS: &str = "[The answer above reached its length limit, and its tool calls did not run. Continue it \
exactly where its text stops, and repeat nothing but calls that are still needed.]";

/// Returns `false` if the newest answer was continued often enough. Told from the transcript, so that every process
/// counts alike.
fn may_go_on(core: &Core<'_>) -> bool {
    let newest_first = core.transcript().messages().iter().rev().map(|message| &message.body);
    let of_answer =
        newest_first.take_while(|body| matches!(body, Body::Assistant { .. } | Body::Event { .. }));
    let joints = of_answer.filter(|body| matches!(body, Body::Event { kind, .. } if joins_answers(kind)));
    joints.count() < MOST_CONTINUED
}

/// Notes that the next answer continues the newest one. Only for an answer that is asked for its rest next: in any
/// other turn, the model would be told to continue what it was never asked to.
pub(crate) fn go_on(core: &mut Core<'_>, cut: Cut) {
    let (kind, text) = cut.notice();
    let new = core.stamped(Body::Event { kind: kind.to_owned(), text: text.into() });
    core.append(new);
}

/// The message for a refused answer, with the provider's explanation if it gave one.
fn declined(beside: &Beside) -> String {
    let details = beside.extra.get("stopDetails");
    let explanation = details.and_then(|details| details.get("explanation")?.as_str());
    match explanation.filter(|explanation| !explanation.trim().is_empty()) {
        Some(explanation) => format!("the model refused to answer: {explanation}"),
        None => "the model refused to answer".to_owned(),
    }
}

/// The overflow behind a whole answer without content, if it is one and is believed. What the answer proves
/// about its provider is learned.
fn judge(core: &mut Core<'_>, stop: StopReason, said: &Said, asked: SentRequest) -> Option<Overflow> {
    let (parts, calls, beside) = said;
    let (usage, tokens) = (beside.usage, asked.tokens);
    let window = core.settings().model.window;
    let is_empty = parts.is_empty() && calls.is_empty();
    let again = core.was_too_large();
    let limit = core.budget().map_or(window, |budget| budget.limit);
    let nothing = Nothing { stop, usage, tokens, limit, window, again };
    let overflow = is_empty.then(|| silent(nothing)).flatten();
    let is_believed = |overflow: &Overflow| again || matches!(core.judge(*overflow, asked), Verdict::Prompt);
    let overflow = overflow.filter(is_believed);
    let is_whole = size::note_usage(core, usage.filter(|_| overflow.is_none()), tokens);
    let is_said =
        !is_empty && !matches!(stop, StopReason::Refused | StopReason::Cancelled | StopReason::Failed);
    if is_said && is_whole {
        size::went_through(core, asked);
    }
    overflow
}

/// Breaks off an answer; what there is of it stays.
pub(crate) fn break_off(core: &mut Core<'_>, running: Streaming) {
    core.push(Effect::CancelModel(running.call()));
    let Given { message, draft, prices, spent, .. } = running.end(core);
    let (said, ended) = (draft.said(), Ended::without_end(&draft));
    let beside = with_cost(core, draft.beside, &prices, spent, ended);
    keep(core, message, said, Vec::new(), beside, StopReason::Cancelled);
}

/// Counts the last attempt at an answer, and notes its cost with that of the earlier ones.
fn with_cost(core: &mut Core<'_>, beside: Beside, prices: &[Price], mut spent: Cost, ended: Ended) -> Beside {
    spent.add(spend(core, Purpose::Turn, prices, &beside, ended));
    Beside { cost: spent.known().map(Box::new), ..beside }
}

/// Stores what an earlier process kept of an answer that it did not end: the user saw it. Pieces of any other message
/// than the next one are dropped, which a later step overtook. Returns `true` if the newest turn ran when its process
/// ended and waits for nobody.
pub(crate) fn recover(core: &mut Core<'_>, pieces: Vec<Streamed>, rests: bool) -> bool {
    let is_cut = rests && core.head().driver == Driver::Sidecar && core.is_turn_running();
    if pieces.is_empty() {
        return is_cut;
    }
    core.write(Write::StreamEnded);
    let next = core.transcript().next_message_id();
    let mut draft = Draft::default();
    for delta in pieces.into_iter().filter(|piece| piece.message == next).flat_map(|piece| piece.deltas) {
        // A piece that could not be kept leaves a gap, and no delta without its part.
        drop(draft.fold(delta));
    }
    let (parts, ended) = (draft.said(), Ended::without_end(&draft));
    let prices = core.settings().model.prices.clone();
    let beside = with_cost(core, draft.beside, &prices, Cost::default(), ended);
    let body = Body::Assistant { parts, calls: Vec::new(), beside };
    if is_cut && !body.is_empty() {
        let new = core.stamped(body);
        core.append(new);
    }
    is_cut
}

/// Stores an answer; returns `true` if it has calls. Calls that may be cut are never run, so they are not
/// kept either.
fn keep(
    core: &mut Core<'_>,
    message: MessageId,
    parts: Vec<AssistantPart>,
    calls: Vec<ToolCall>,
    beside: Beside,
    stop: StopReason,
) -> bool {
    // The final answer may not know of streamed calls, and then states `end` as its reason.
    let is_end = matches!(stop, StopReason::End | StopReason::Paused);
    let stop = if is_end && !calls.is_empty() { StopReason::ToolUse } else { stop };
    core.emit(EventBody::StreamFinished { message, stop });
    let whole = matches!(stop, StopReason::End | StopReason::ToolUse | StopReason::Paused);
    let calls = if whole { calls } else { Vec::new() };
    let has_calls = !calls.is_empty();
    let body = Body::Assistant { parts, calls, beside };
    if !body.is_empty() {
        // A provider refuses again what follows its refusal. The user still sees it.
        let visible_to_model = stop != StopReason::Refused;
        core.append(NewMessage { visible_to_model, ..core.stamped(body) });
    }
    has_calls
}
