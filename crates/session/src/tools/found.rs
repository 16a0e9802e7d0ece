//! The state of a session as it follows from what is stored: when it is opened again, and when a turn ends.

use super::approvals::Approvals;
use super::calling::Calling;
use super::pause::Pause;
use crate::core::Conversation;
use crate::values::rest::Rest;
use crate::values::stored::{Driver, TurnStatus};
use engine::message::{
    BUDGET_EXIT, Body, COMPACTION_DROPPED, NOT_KEPT, PROCESS_COMPLETED, QUESTION, REMOVED, REVIEW_UNUSABLE,
    ROUND_LIMIT, SERVER_FAILED,
};
use engine::prompt::item::EndsTurn;
use engine::words::StateName;
use std::collections::BTreeSet;

/// The reason for a failure whose turn ran when its process ended.
pub(crate) const INTERRUPTED: &str =
    "the turn was interrupted: its process ended, or the session was taken over; the output so far is kept";

/// State of a session that is opened again.
pub(crate) enum Found {
    Resting(Rest),
    Paused(Pause),
    Calling(Calling),
}

/// Finds the state of a session that is opened again. It rests as it rested before, which is stored: what follows
/// from the last turn is not all of it, since a user may have changed the past after that.
pub(crate) fn opened(conversation: &Conversation, approvals: &Approvals) -> Found {
    waits(conversation, approvals).unwrap_or_else(|| Found::Resting(rest_at_opening(conversation)))
}

/// Finds the state that follows from the messages, whatever it was before: they were taken in from elsewhere.
pub(crate) fn found(conversation: &Conversation, approvals: &Approvals) -> Found {
    let rests = || Found::Resting(rest_after(conversation, conversation.last_turn()));
    waits(conversation, approvals).unwrap_or_else(rests)
}

fn rest_at_opening(conversation: &Conversation) -> Rest {
    let is_ours = conversation.head().driver == Driver::Sidecar;
    let is_interrupted = is_ours && conversation.is_turn_running();
    match conversation.head().carried.state.and_then(Rest::named) {
        // The state was not kept, or something waited that is gone.
        None if is_interrupted => Rest::Failed(INTERRUPTED.to_owned()),
        // A turn of an editor's loop in another process.
        None if conversation.is_turn_running() => Rest::Idle,
        None => rest_after(conversation, conversation.last_turn()),
        Some(Rest::Failed(_)) if is_interrupted => Rest::Failed(INTERRUPTED.to_owned()),
        Some(rest) => rest,
    }
}

/// The rest of a session after its turn at this index, as it follows from how that ended. A turn that is missing, or
/// that still runs and not in the editor's loop, leaves it idle.
pub(crate) fn rest_after(conversation: &Conversation, turn: usize) -> Rest {
    match conversation.turns().get(turn).map(|row| row.status) {
        Some(TurnStatus::Running) if is_open_turn(conversation, turn) => Rest::EditorsTurn,
        None | Some(TurnStatus::Running | TurnStatus::Cancelled) => Rest::Idle,
        Some(TurnStatus::Failed) => Rest::failed(),
        Some(TurnStatus::Completed) if asks_the_user(conversation, turn) => Rest::WaitingUserInput,
        Some(TurnStatus::Completed) => match conversation.ending_call_of(turn).map(|(ends, _)| ends) {
            None => Rest::Idle,
            Some(EndsTurn::Completed) => Rest::Completed,
            Some(EndsTurn::WaitingUserInput) => Rest::WaitingUserInput,
        },
    }
}

/// `true` if the editor's loop runs this turn, which is the newest.
fn is_open_turn(conversation: &Conversation, turn: usize) -> bool {
    conversation.head().driver == Driver::Editor && turn == conversation.last_turn()
}

/// The calls that the newest turn waits for: those that run, or those that need the user's decision first.
fn waits(conversation: &Conversation, approvals: &Approvals) -> Option<Found> {
    let last = conversation.turns().last()?;
    let is_running = last.status == TurnStatus::Running && conversation.head().driver == Driver::Sidecar;
    let open = if is_running { conversation.unanswered() } else { BTreeSet::new() };
    if open.is_empty() {
        return None;
    }
    let newest = conversation.transcript().rounds().last().map(|round| round.assistant);
    let is_started = last.started == newest;
    let asks = if is_started { BTreeSet::new() } else { approvals.to_ask(conversation, &open) };
    let decided: Vec<_> = last.decided.iter().filter(|decision| open.contains(&decision.call)).collect();
    if asks.is_empty() && (is_started || decided.is_empty()) {
        let waited = conversation.head().carried.state == Some(StateName::WaitingUserInput);
        let mut calling = Calling::default();
        for call in conversation.newest_calls(open.iter()) {
            calling.begin(call.id.clone(), conversation.runner(&call.name));
            if waited {
                calling.wait(&call.id);
            }
        }
        return Some(Found::Calling(calling));
    }
    // Stored decisions hold, whatever would be asked today.
    Some(Found::Paused(Pause::found(asks, &decided, &open)))
}

/// `true` if the last message of this turn, some notices aside, is a question to the user.
fn asks_the_user(conversation: &Conversation, turn: usize) -> bool {
    let transcript = conversation.transcript();
    let known = transcript.turns().get(turn).map(|turn| turn.first).zip(transcript.last_of_turn(turn));
    let Some((first, last)) = known else { return false };
    let asides = [PROCESS_COMPLETED, REMOVED, NOT_KEPT, COMPACTION_DROPPED, REVIEW_UNUSABLE, SERVER_FAILED];
    let is_aside = |body: &&Body| matches!(body, Body::Event { kind, .. } if asides.contains(&kind.as_str()));
    let mut newest_first = transcript.range(first, last).iter().rev().map(|message| &message.body);
    let last = newest_first.find(|body| !is_aside(body));
    matches!(last, Some(Body::Event { kind, .. }) if [ROUND_LIMIT, QUESTION, BUDGET_EXIT].contains(&kind.as_str()))
}
