//! The end of a turn, and what is kept of it.

use crate::context::pins::pins_follow;
use crate::core::Core;
use crate::tools::found::rest_after;
use crate::values::event::{EventBody, TurnEnd};
use crate::values::refusal::Refusal;
use crate::values::rest::Rest;
use crate::values::settings::TranscriptKept;
use crate::values::stored::{Driver, TurnStatus, Write};
use engine::transcript::TurnOutcome;
use engine::words::BreakCause;

/// Ends the newest turn and emits that, with the summaries made in it. Returns the rest of the session, and `true`
/// if the turn completed and is the only one with a request.
pub(crate) fn end(core: &mut Core<'_>, status: TurnStatus, error: Option<Refusal>) -> (Rest, bool) {
    let last = core.last_turn();
    core.set_turn(last, status);
    let rest = match &error {
        Some(why) => Rest::Failed(why.to_string()),
        None => rest_after(core, last),
    };
    let ended_by = ended_by(core).filter(|_| status == TurnStatus::Completed);
    let ended = TurnEnd { status, error, ended_by, summaries: core.summaries_of(last) };
    let turn = core.turn_id();
    let_go(core, status);
    core.emit(EventBody::RuntimeUpdated { state: rest.name(), turn, ended: Some(ended) });
    let asked = core.transcript().turns().iter().filter(|turn| !turn.requests.is_empty());
    let is_first = status == TurnStatus::Completed && asked.take(2).count() == 1;
    (rest, is_first)
}

/// Name of the tool that ended the newest turn in its newest round, if one did.
fn ended_by(core: &Core<'_>) -> Option<String> {
    let (_, call) = core.ending_call()?;
    Some(call.name.to_string())
}

/// Cancels a running turn when another one begins.
pub(crate) fn close_running(core: &mut Core<'_>) {
    if core.is_turn_running() {
        core.set_turn(core.last_turn(), TurnStatus::Cancelled);
        let_go(core, TurnStatus::Cancelled);
    }
}

/// Drops what the settings do not keep of the newest turn when it ends. An editor that runs the loop has the
/// messages itself and sends them again, so nothing is dropped then.
pub(crate) fn let_go(core: &mut Core<'_>, status: TurnStatus) {
    let is_kept = core.settings().transcript == TranscriptKept::Full;
    if is_kept || core.head().driver == Driver::Editor {
        return;
    }
    let Some(last) = core.transcript().turns().len().checked_sub(1) else { return };
    let ended_by = core.ending_call().map(|(_, call)| call.id);
    let came_to = match &ended_by {
        _ if status != TurnStatus::Completed => TurnOutcome::Nothing,
        Some(call) => TurnOutcome::Call(call),
        None => TurnOutcome::Answer,
    };
    let rounds = core.round_ids(last);
    let counter = core.counter();
    let messages = core.transcript_mut().let_go(last, came_to, counter);
    if messages.is_empty() {
        return;
    }
    core.announce(BreakCause::StripCompletedTurns);
    core.write_head();
    for message in &messages {
        core.emit(match message.is_removed() {
            true => EventBody::MessageRemoved { message: message.id.clone() },
            false => EventBody::MessageUpdated(message.clone(), core.round_id(message.ord)),
        });
    }
    let told: Vec<_> = messages.iter().map(|message| message.ord).collect();
    core.tell_rounds(last, &rounds, &told);
    core.write(Write::LetGo { turn: u32::try_from(last).unwrap_or(u32::MAX), messages });
    pins_follow(core);
}
