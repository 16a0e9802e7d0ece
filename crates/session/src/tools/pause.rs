//! Calls that wait for the user. Nothing of their round runs before all are decided.

use crate::values::decision::Decision;
use crate::values::refusal::Refusal;
use engine::id::CallId;
use std::collections::{BTreeMap, BTreeSet};

/// What is waited for while calls wait for the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pause {
    /// Those that are not decided.
    open: BTreeSet<CallId>,
    /// Those that are: approved, or the words of who rejected them.
    decided: BTreeMap<CallId, Result<(), Option<String>>>,
}

impl Pause {
    pub(crate) fn new(open: BTreeSet<CallId>) -> Self {
        Self { open, decided: BTreeMap::new() }
    }

    /// The pause that follows from what is stored: calls that are asked about, and decisions about calls that are open.
    pub(crate) fn found(asks: BTreeSet<CallId>, decided: &[&Decision], open: &BTreeSet<CallId>) -> Self {
        let mut pause = Self::new(asks);
        pause.open.extend(decided.iter().map(|decision| decision.call.clone()));
        decided.iter().for_each(|decision| pause.take(decision));
        if pause.open.is_empty() {
            // Nothing is begun by itself, so somebody is asked: but nobody about what was rejected.
            let is_rejected = |call: &&CallId| matches!(pause.decided.get(*call), Some(Err(_)));
            pause.open = open.iter().filter(|call| !is_rejected(call)).cloned().collect();
            pause.decided.retain(|_, how| how.is_err());
        }
        pause
    }

    /// Calls that are not decided.
    pub(crate) fn open(&self) -> &BTreeSet<CallId> {
        &self.open
    }

    #[cfg(test)]
    pub(crate) fn is_decided(&self, call: &CallId) -> bool {
        self.decided.contains_key(call)
    }

    /// Takes decisions, all of them or none.
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

    /// Takes a decision about a call that is open.
    fn take(&mut self, decision: &Decision) {
        if self.open.remove(&decision.call) {
            let how = if decision.approved { Ok(()) } else { Err(decision.note.clone()) };
            self.decided.insert(decision.call.clone(), how);
        }
    }

    /// Calls that were rejected, with the user's words.
    pub(crate) fn rejected(&self) -> Vec<(CallId, Option<String>)> {
        let rejected = self.decided.iter().filter_map(|(call, how)| Some((call, how.as_ref().err()?)));
        rejected.map(|(call, note)| (call.clone(), note.clone())).collect()
    }
}
