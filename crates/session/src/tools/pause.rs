//! Tool calls that wait for the user. No call of their round runs before all are decided.

use crate::values::decision::Decision;
use crate::values::refusal::Refusal;
use engine::id::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// State while calls wait for the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pause {
    /// Undecided calls.
    open: BTreeSet<CallId>,
    /// Decided calls: approved, or rejected with the user's note.
    decided: BTreeMap<CallId, Result<(), Option<String>>>,
}

impl Pause {
    pub(crate) fn new(open: BTreeSet<CallId>) -> Self {
        Self { open, decided: BTreeMap::new() }
    }

    /// Derives the pause from what is stored: calls to ask about, and decisions about open calls.
    pub(crate) fn found(asks: BTreeSet<CallId>, decided: &[&Decision], open: &BTreeSet<CallId>) -> Self {
        let mut pause = Self::new(asks);
        pause.open.extend(decided.iter().map(|decision| decision.call.clone()));
        decided.iter().for_each(|decision| pause.take(decision));
        if pause.open.is_empty() {
            // Nothing starts by itself, so the user is asked again, but not about rejected calls.
            let is_rejected = |call: &&CallId| matches!(pause.decided.get(*call), Some(Err(_)));
            pause.open = open.iter().filter(|call| !is_rejected(call)).cloned().collect();
            pause.decided.retain(|_, how| how.is_err());
        }
        pause
    }

    /// Undecided calls.
    pub(crate) fn open(&self) -> &BTreeSet<CallId> {
        &self.open
    }

    #[cfg(test)]
    pub(crate) fn is_decided(&self, call: &CallId) -> bool {
        self.decided.contains_key(call)
    }

    /// Takes decisions, all of them or none: fails if a call is decided already or unknown.
    pub(crate) fn decide(&mut self, decisions: &[Decision]) -> Result<(), Refusal> {
        for Decision { call, .. } in decisions {
            let id = || call.as_str().to_owned();
            if self.decided.contains_key(call) {
                return Err(Refusal::Settled { what: "tool call", id: id() });
            }
            if !self.open.contains(call) {
                return Err(Refusal::Unknown { what: "tool call", id: id() });
            }
        }
        decisions.iter().for_each(|decision| self.take(decision));
        Ok(())
    }

    /// Takes a decision about an undecided call.
    fn take(&mut self, decision: &Decision) {
        if self.open.remove(&decision.call) {
            let how = if decision.approved { Ok(()) } else { Err(decision.note.clone()) };
            self.decided.insert(decision.call.clone(), how);
        }
    }

    /// Rejected calls, with the user's notes.
    pub(crate) fn rejected(&self) -> Vec<(CallId, Option<String>)> {
        let rejected = self.decided.iter().filter_map(|(call, how)| Some((call, how.as_ref().err()?)));
        rejected.map(|(call, note)| (call.clone(), note.clone())).collect()
    }
}
