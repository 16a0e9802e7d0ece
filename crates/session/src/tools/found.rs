//! The state of a session that is opened again, as it follows from what is stored.

use super::approvals::Approvals;
use super::calling::Calling;
use super::pause::Pause;
use super::round::rest_after;
use crate::core::Conversation;
use crate::values::rest::Rest;
use crate::values::stored::{Driver, TurnStatus};
use engine::message::{
    BUDGET_EXIT, Body, COMPACTION_DROPPED, NOT_KEPT, PROCESS_COMPLETED, QUESTION, REMOVED, REVIEW_UNUSABLE,
    ROUND_LIMIT,
};
use std::collections::BTreeSet;

/// State of a session that is opened again.
pub(crate) enum Found {
    Resting(Rest),
    Paused(Pause),
    Calling(Calling),
}

/// Finds the state that follows from what is stored.
pub(crate) fn found(conversation: &Conversation, approvals: &Approvals) -> Found {
    let Some(last) = conversation.turns().last() else { return Found::Resting(Rest::Idle) };
    let rest = match last.status {
        TurnStatus::Completed if asks_the_user(conversation) => Rest::WaitingUserInput,
        TurnStatus::Completed => {
            conversation.ending_call().map_or(Rest::Completed, |(ends, _)| rest_after(ends))
        }
        TurnStatus::Running | TurnStatus::Cancelled => Rest::Idle,
        TurnStatus::Failed => Rest::Failed("the last turn failed".into()),
    };
    let is_running = last.status == TurnStatus::Running && conversation.head().driver == Driver::Sidecar;
    let open = if is_running { conversation.unanswered() } else { BTreeSet::new() };
    if open.is_empty() {
        return Found::Resting(rest);
    }
    let newest = conversation.transcript().rounds().last().map(|round| round.assistant);
    let is_started = last.started == newest;
    let asks = if is_started { BTreeSet::new() } else { approvals.to_ask(conversation, &open) };
    let decided: Vec<_> = last.decided.iter().filter(|decision| open.contains(&decision.call)).collect();
    if asks.is_empty() && (is_started || decided.is_empty()) {
        let mut calling = Calling::default();
        for call in conversation.reasons(open.iter(), "") {
            calling.begin(call.call, conversation.is_own(&call.name));
        }
        return Found::Calling(calling);
    }
    // Stored decisions hold, whatever would be asked today.
    Found::Paused(Pause::found(asks, &decided, &open))
}

/// `true` if the last message, some notices aside, is a question to the user.
fn asks_the_user(conversation: &Conversation) -> bool {
    let asides = [PROCESS_COMPLETED, REMOVED, NOT_KEPT, COMPACTION_DROPPED, REVIEW_UNUSABLE];
    let is_aside = |body: &&Body| matches!(body, Body::Event { kind, .. } if asides.contains(&kind.as_str()));
    let mut newest_first = conversation.transcript().messages().iter().rev().map(|message| &message.body);
    let last = newest_first.find(|body| !is_aside(body));
    matches!(last, Some(Body::Event { kind, .. }) if [ROUND_LIMIT, QUESTION, BUDGET_EXIT].contains(&kind.as_str()))
}
