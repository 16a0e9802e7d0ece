//! Servers of the Model Context Protocol in sessions: a turn waits for their tools, calls go to them, and clients list
//! them and decide about those of the workspace.

mod contents;
mod offers;

use super::Router;
use crate::server::client::replies::NOBODY;
use crate::server::host::ServerSign;
use crate::server::host::queued::Queued;
use crate::server::services::mcp::{McpEvent, Offered};
use engine::id::{CallId, SessionId};
use engine::message::{Content, SERVER_FAILED, ToolResult};
use mcp::{CallError, Sign};
use session::effect::InvokeTool;
use session::input::{Command, Input, Progress, ToolOutcome};
use session::stored::TurnStatus;

/// The handlers of what concerns servers.
pub(super) struct ServerHandler<'a> {
    pub router: &'a mut Router,
}

impl ServerHandler<'_> {
    /// Lets a turn wait for the servers of its session; gives back any other item. Nothing overtakes a turn that waits
    /// except what only reads.
    pub fn first(&mut self, id: &SessionId, item: Queued) -> Option<Queued> {
        if !begins_turn(&item) {
            if !self.router.servers.has_waiting(id) || only_reads(&item) {
                return Some(item);
            }
            if !ends_wait(&item) {
                self.router.servers.wait(id, item);
                return None;
            }
            self.release(id);
            return Some(item);
        }
        if self.router.servers.is_releasing(id) {
            return Some(item);
        }
        if self.router.servers.has_waiting(id) {
            self.router.servers.wait(id, item);
            return None;
        }
        // A request into a running turn keeps the tools of that turn. The request of a task is queued before it begins.
        let begins = self.router.sessions.host(id).is_some_and(|host| {
            let is_running = || host.session().newest_turn_status() == Some(TurnStatus::Running);
            host.session().is_at_rest() || (matches!(item, Queued::Task) && !is_running())
        });
        if !begins {
            return Some(item);
        }
        let offered = self.offered(id);
        // There are more than the session's: some may be those of definitions that changed since.
        if self.router.servers.count() > offered.len() {
            self.end_unused();
        }
        if self.router.servers.start(id, &offered) {
            self.router.servers.wait(id, item);
            return None;
        }
        self.offer(id, &offered);
        Some(item)
    }

    /// Handles an event about servers.
    pub fn event(&mut self, event: McpEvent) {
        match event {
            McpEvent::Settled(key) => {
                for id in self.router.servers.settled(&key) {
                    let offered = self.offered(&id);
                    if !self.router.servers.still_waits(&offered) {
                        self.release(&id);
                    }
                }
            }
            McpEvent::Waited(id, number) => {
                if self.router.servers.is_over(&id, number) {
                    self.release(&id);
                }
            }
            McpEvent::Decided { to, folder, all } => self.decided(to, &folder, all),
        }
    }

    /// Lets all turns that wait go on, because the process ends.
    pub fn release_all(&mut self) {
        for id in self.router.servers.waiting() {
            self.release(&id);
        }
    }

    fn release(&mut self, id: &SessionId) {
        let offered = self.offered(id);
        let items = self.router.servers.take(id);
        self.offer(id, &offered);
        items.into_iter().for_each(|item| self.router.hand(id, item));
        self.router.servers.released();
    }

    /// Gives a session the tools of its servers, and notifies it of those that are missing.
    fn offer(&mut self, id: &SessionId, offered: &[Offered]) {
        let Some(host) = self.router.sessions.host(id) else { return };
        let had = &host.session().head().prefix.server_tools;
        let mut tools = self.router.servers.tools(offered, had);
        if let Some(names) = self.router.servers.agent(id).and_then(|agent| agent.names.as_ref()) {
            tools.tools.retain(|tool| names.contains(&tool.name));
        }
        let is_new = tools.tools != *had;
        if let Some(text) = self.router.servers.notice(id, offered, &tools) {
            let notice = Command::Notice { kind: SERVER_FAILED, text };
            self.router.run_input(id, Input::Command(NOBODY, notice));
        }
        if is_new {
            self.router.run_input(id, Input::ServerTools(tools.tools));
        }
    }

    /// Calls a tool of a server, outside of the router.
    pub fn call(&mut self, id: &SessionId, call: InvokeTool) {
        let offered = self.offered(id);
        let servers = offered.into_iter().filter_map(|offered| Some((offered.name, offered.server.ok()?.1)));
        let found = servers.into_iter().find(|(name, _)| call.name.starts_with(&mcp::names::prefix(name)));
        let Some(host) = self.router.sessions.host_mut(id) else { return };
        let send = host.server_outcome(call.call.clone());
        let Some((name, server)) = found else {
            return send(ToolOutcome::Failed("its server is no longer one of this session".to_owned()));
        };
        let named = call.call.clone();
        let caller = host.server_says(named.clone(), name);
        let task = tokio::spawn(async move {
            send(outcome(server.call(&call.name, &call.arguments, caller).await));
        });
        host.server_called(named, task.abort_handle());
    }

    /// Handles what a server says about a call.
    pub fn said(&mut self, id: &SessionId, call: CallId, ServerSign { server, sign }: ServerSign) {
        match sign {
            Sign::Progress(mcp::Progress { done, total, message }) => {
                let progress = Progress { done, total, message };
                self.router.run_input(id, Input::ToolProgress(call, progress));
            }
            Sign::Question(question) => {
                let with = (&mut self.router.client, &mut self.router.clock);
                if let Some(host) = self.router.sessions.host_mut(id) {
                    host.elicit(with, call, server, question);
                }
            }
        }
    }
}

/// `true` for an item that may ask a model for a turn.
fn begins_turn(item: &Queued) -> bool {
    match item {
        Queued::Command(_, command) => matches!(
            **command,
            Command::StartTurn(_)
                | Command::Retry { .. }
                | Command::Regenerate { .. }
                | Command::Update { regenerate: true, .. }
        ),
        Queued::Task => true,
        _ => false,
    }
}

/// `true` for an item that does not wait behind a turn, because it ends it.
fn ends_wait(item: &Queued) -> bool {
    match item {
        Queued::Command(_, command) => matches!(**command, Command::CancelTurn { .. }),
        item => item.is_end(),
    }
}

/// `true` for an item that changes nothing a turn depends on.
fn only_reads(item: &Queued) -> bool {
    let reads = |command: &Command| {
        matches!(
            command,
            Command::Open(_)
                | Command::Inspect(_)
                | Command::Recall(_)
                | Command::Ledger(_)
                | Command::Search(_)
                | Command::Subscribe { .. }
        )
    };
    match item {
        Queued::Command(_, command) => reads(command),
        Queued::Open(_, opens) => reads(&opens.command) && opens.settings.is_none(),
        Queued::Export(..) => true,
        _ => false,
    }
}

/// The outcome of a call for the model.
fn outcome(done: Result<ToolResult, CallError>) -> ToolOutcome {
    ToolOutcome::Answered(done.unwrap_or_else(|error| ToolResult {
        content: vec![Content::Text(format!("[{error}]").into())],
        is_error: true,
        ..ToolResult::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(command: Command) -> Queued {
        Queued::Command(NOBODY, Box::new(command))
    }

    #[test]
    fn each_request_for_an_answer_begins_a_turn() {
        assert!(begins_turn(&queued(Command::Regenerate { key: None })));
        assert!(!begins_turn(&queued(Command::CancelTurn { turn: None, queued: false })));
    }

    #[test]
    fn only_ends_release_a_turn_that_waits() {
        assert!(ends_wait(&queued(Command::CancelTurn { turn: None, queued: false })));
        assert!(ends_wait(&Queued::Close(NOBODY)) && ends_wait(&Queued::Delete(NOBODY)));
        assert!(!ends_wait(&queued(Command::Notice { kind: SERVER_FAILED, text: String::new() })));
    }
}
