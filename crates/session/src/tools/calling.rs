//! Calls that run.

use engine::id::CallId;
use engine::words::StateName;
use std::collections::BTreeSet;

/// What is waited for while calls of the newest round run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calling {
    /// Those that the editor runs.
    editors: BTreeSet<CallId>,
    /// Those that we run.
    own: BTreeSet<CallId>,
}

impl Calling {
    /// A call begins.
    pub(crate) fn begin(&mut self, call: CallId, is_own: bool) {
        if is_own {
            self.own.insert(call)
        } else {
            self.editors.insert(call)
        };
    }

    /// A call has its result; whether it was waited for.
    pub(crate) fn end(&mut self, call: &CallId) -> bool {
        self.editors.remove(call) || self.own.remove(call)
    }

    /// Whether nothing runs any more.
    pub(crate) fn is_over(&self) -> bool {
        self.editors.is_empty() && self.own.is_empty()
    }

    /// Calls that we run.
    pub(crate) fn own(&self) -> &BTreeSet<CallId> {
        &self.own
    }

    /// All of them.
    pub(crate) fn all(&self) -> BTreeSet<CallId> {
        self.editors.union(&self.own).cloned().collect()
    }

    /// As clients know it.
    pub(crate) fn state_name(&self) -> StateName {
        if self.editors.is_empty() { StateName::ExecutingTools } else { StateName::WaitingIde }
    }
}
