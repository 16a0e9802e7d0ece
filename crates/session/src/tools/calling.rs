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
    /// Calls of the sidecar's tools that wait for agents.
    waits: BTreeSet<CallId>,
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
        self.editors.remove(call) || self.own.remove(call) || self.waits.remove(call)
    }

    /// Lets a call of the sidecar's tools wait for agents; returns `false` for a call that does not run.
    pub(crate) fn wait(&mut self, call: &CallId) -> bool {
        if self.own.remove(call) {
            self.waits.insert(call.clone());
        }
        self.waits.contains(call)
    }

    /// `true` if calls wait for agents and nothing else runs.
    pub(crate) fn only_waits(&self) -> bool {
        self.editors.is_empty() && self.own.is_empty() && !self.waits.is_empty()
    }

    /// `true` if no call runs any more.
    pub(crate) fn is_over(&self) -> bool {
        self.editors.is_empty() && self.own.is_empty() && self.waits.is_empty()
    }

    /// Calls of the sidecar's tools, running or waiting.
    pub(crate) fn own(&self) -> impl Iterator<Item = &CallId> {
        self.own.union(&self.waits)
    }

    /// Running calls, whoever runs them.
    pub(crate) fn all(&self) -> BTreeSet<CallId> {
        self.editors.iter().chain(self.own()).cloned().collect()
    }

    /// The state as clients see it.
    pub(crate) fn state_name(&self) -> StateName {
        if !self.editors.is_empty() {
            StateName::WaitingIde
        } else if self.only_waits() {
            StateName::WaitingUserInput
        } else {
            StateName::ExecutingTools
        }
    }
}
