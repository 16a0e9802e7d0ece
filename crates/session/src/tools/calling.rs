//! Running tool calls.

use engine::id::CallId;
use engine::words::StateName;
use std::collections::BTreeSet;

/// The side that runs a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// The editor.
    Editor,
    /// The sidecar, for a tool of its own: it can run the call again.
    Own,
    /// A server that the sidecar calls.
    Server,
}

/// State while calls of the newest round run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calling {
    /// Calls that the editor runs.
    editors: BTreeSet<CallId>,
    /// Calls that the sidecar runs.
    own: BTreeSet<CallId>,
    /// Calls of tools of servers.
    servers: BTreeSet<CallId>,
    /// Calls of the sidecar's tools that wait for agents.
    waits: BTreeSet<CallId>,
}

impl Calling {
    /// Adds a call that begins to run.
    pub(crate) fn begin(&mut self, call: CallId, runner: Runner) {
        match runner {
            Runner::Own => self.own.insert(call),
            Runner::Editor => self.editors.insert(call),
            Runner::Server => self.servers.insert(call),
        };
    }

    /// Removes a call that has its result; returns `true` if it was running.
    pub(crate) fn end(&mut self, call: &CallId) -> bool {
        let Self { editors, own, servers, waits } = self;
        [editors, own, servers, waits].into_iter().any(|calls| calls.remove(call))
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
        self.editors.is_empty() && self.own.is_empty() && self.servers.is_empty() && !self.waits.is_empty()
    }

    /// `true` if no call runs any more.
    pub(crate) fn is_over(&self) -> bool {
        self.all().is_empty()
    }

    /// Running calls of tools of servers.
    pub(crate) fn servers(&self) -> &BTreeSet<CallId> {
        &self.servers
    }

    /// Calls of the sidecar's tools, running or waiting.
    pub(crate) fn own(&self) -> impl Iterator<Item = &CallId> {
        self.own.union(&self.waits)
    }

    /// Running calls, whoever runs them.
    pub(crate) fn all(&self) -> BTreeSet<CallId> {
        self.editors.iter().chain(&self.servers).chain(self.own()).cloned().collect()
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
