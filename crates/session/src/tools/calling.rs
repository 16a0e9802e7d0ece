//! Running tool calls.

use engine::id::CallId;
use engine::words::StateName;
use std::collections::BTreeSet;

/// State while calls of the newest round run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calling {
    /// Calls that the editor runs.
    editors: BTreeSet<CallId>,
    /// Calls that the sidecar runs.
    own: BTreeSet<CallId>,
}

impl Calling {
    /// Adds a call that begins to run.
    pub(crate) fn begin(&mut self, call: CallId, is_own: bool) {
        if is_own {
            self.own.insert(call)
        } else {
            self.editors.insert(call)
        };
    }

    /// Removes a call that has its result; returns `true` if it was running.
    pub(crate) fn end(&mut self, call: &CallId) -> bool {
        self.editors.remove(call) || self.own.remove(call)
    }

    /// `true` if no call runs any more.
    pub(crate) fn is_over(&self) -> bool {
        self.editors.is_empty() && self.own.is_empty()
    }

    /// Calls that the sidecar runs.
    pub(crate) fn own(&self) -> &BTreeSet<CallId> {
        &self.own
    }

    /// Running calls, whoever runs them.
    pub(crate) fn all(&self) -> BTreeSet<CallId> {
        self.editors.union(&self.own).cloned().collect()
    }

    /// The state as clients see it.
    pub(crate) fn state_name(&self) -> StateName {
        if self.editors.is_empty() { StateName::ExecutingTools } else { StateName::WaitingIde }
    }
}
