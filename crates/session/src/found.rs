//! Where a session stands when it is opened again: the state that follows from what is stored. What it does from there is
//! `turn`'s and `tools`'.

use super::Session;
use super::effect::Reason;
use super::state::{Calling, Pause, Rest, State};
use super::stored::{Driver, TurnStatus};
use engine::approval::Approval;
use engine::id::CallId;
use engine::message::{
    BUDGET_EXIT, Body, COMPACTION_DROPPED, NOT_KEPT, PROCESS_COMPLETED, QUESTION, REMOVED, REVIEW_UNUSABLE,
    ROUND_LIMIT,
};
use std::collections::BTreeSet;

impl Session {
    /// The state that follows from what is stored.
    pub(super) fn state_found(&self) -> State {
        let Some(last) = self.turns.last() else { return State::Resting(Rest::Idle) };
        let rest = match last.status {
            TurnStatus::Completed if self.asks_the_user() => Rest::WaitingUserInput,
            TurnStatus::Completed => self.ends_turn().map_or(Rest::Completed, |(rest, _)| rest),
            TurnStatus::Running | TurnStatus::Cancelled => Rest::Idle,
            TurnStatus::Failed => Rest::Failed("the last turn failed".into()),
        };
        let is_running = last.status == TurnStatus::Running && self.head.driver == Driver::Sidecar;
        let open = if is_running { self.unanswered() } else { BTreeSet::new() };
        if open.is_empty() {
            return State::Resting(rest);
        }
        let newest = self.transcript.rounds().last().map(|round| round.assistant);
        let is_started = last.started == newest;
        let asks = if is_started { BTreeSet::new() } else { self.waiting_for_user(&open) };
        let decided: Vec<_> = last.decided.iter().filter(|decision| open.contains(&decision.call)).collect();
        if asks.is_empty() && (is_started || decided.is_empty()) {
            let names = self.reasons(open.iter(), "");
            let (own, editors) = names.into_iter().partition::<Vec<_>, _>(|call| self.is_own(&call.name));
            let ids = |calls: Vec<Reason>| calls.into_iter().map(|call| call.call).collect();
            return State::Calling(Calling { editors: ids(editors), own: ids(own) });
        }
        // What was decided holds, whatever would be asked today.
        let mut pause = Pause { open: asks, ..Pause::default() };
        pause.open.extend(decided.iter().map(|decision| decision.call.clone()));
        decided.into_iter().for_each(|decision| pause.take(decision));
        if pause.open.is_empty() {
            // Nothing is begun by itself, so somebody is asked: but nobody about what was rejected.
            let is_rejected = |call: &&CallId| matches!(pause.decided.get(*call), Some(Err(_)));
            pause.open = open.iter().filter(|call| !is_rejected(call)).cloned().collect();
            pause.decided.retain(|_, how| how.is_err());
        }
        State::Paused(pause)
    }

    /// Whether the last thing said is a question to the user.
    pub(super) fn asks_the_user(&self) -> bool {
        let asides = [PROCESS_COMPLETED, REMOVED, NOT_KEPT, COMPACTION_DROPPED, REVIEW_UNUSABLE];
        let is_aside =
            |body: &&Body| matches!(body, Body::Event { kind, .. } if asides.contains(&kind.as_str()));
        let mut newest_first = self.transcript.messages().iter().rev().map(|message| &message.body);
        let last = newest_first.find(|body| !is_aside(body));
        matches!(last, Some(Body::Event { kind, .. }) if [ROUND_LIMIT, QUESTION, BUDGET_EXIT].contains(&kind.as_str()))
    }

    /// Calls of the newest round that have no result. A turn that has no round yet waits for none: what an earlier one
    /// left open, such as a conversation that was taken in, is nobody's any more.
    pub(super) fn unanswered(&self) -> BTreeSet<CallId> {
        let turn = self.transcript.turns().len().saturating_sub(1);
        let Some(round) = self.transcript.rounds_of(turn).last() else { return BTreeSet::new() };
        let Some(Body::Assistant { calls, .. }) =
            self.transcript.message(round.assistant).map(|message| &message.body)
        else {
            return BTreeSet::new();
        };
        let open = calls.iter().zip(&round.results).filter(|(_, result)| result.is_none());
        open.map(|(call, _)| call.id.clone()).collect()
    }

    /// Those of these calls about which the user is asked first.
    pub(super) fn waiting_for_user(&self, calls: &BTreeSet<CallId>) -> BTreeSet<CallId> {
        let asks = self.reasons(calls.iter(), "");
        let asks =
            asks.into_iter().filter(|call| self.approval(&call.name, &call.arguments).0 == Approval::Ask);
        asks.map(|call| call.call).collect()
    }
}
