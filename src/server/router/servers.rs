//! Servers of the Model Context Protocol at work: a turn waits for their tools, calls go to them, and clients list them.

use super::Router;
use crate::server::client::replies::NOBODY;
use crate::server::folder::given_folder;
use crate::server::given::{given_id, own_settings};
use crate::server::host::queued::Queued;
use crate::server::services::mcp::{McpEvent, Offered, Unused};
use crate::server::settings::definition;
use crate::server::wire::refused;
use engine::approval::Approval;
use engine::id::SessionId;
use engine::message::{Content, SERVER_FAILED, ToolResult};
use engine::tokens::TokenCount;
use mcp::{CallError, Phase};
use protocol::error::ProtocolError;
use protocol::settings::Settings;
use protocol::tool::server::{McpListParams, McpListResult, McpServer, McpServerStatus, McpState, McpTool};
use session::effect::InvokeTool;
use session::input::{Command, Input, ToolOutcome};
use session::stored::{Driver, Head};
use std::collections::BTreeMap;

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
        // A request into a running turn keeps the tools of that turn.
        if !self.router.sessions.host(id).is_some_and(|host| host.session().is_at_rest()) {
            return Some(item);
        }
        let offered = self.offered(id);
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
        let tools = self.router.servers.tools(offered, had);
        let is_new = tools != *had;
        if let Some(text) = self.router.servers.notice(id, offered) {
            let notice = Command::Notice { kind: SERVER_FAILED, text };
            self.router.run_input(id, Input::Command(NOBODY, notice));
        }
        if is_new {
            self.router.run_input(id, Input::ServerTools(tools));
        }
    }

    /// The servers of a session, by name. An agent has none, and neither has a session whose loop the editor runs.
    fn offered(&mut self, id: &SessionId) -> Vec<Offered> {
        let Some(host) = self.router.sessions.host(id) else { return Vec::new() };
        let head = host.session().head();
        if head.driver != Driver::Sidecar || head.is_agent() || !host.is_stored() {
            return Vec::new();
        }
        let (folder, is_trusted) = (head.workspace.clone(), host.session().settings().is_trusted);
        let mut named = self.named(&folder, &own_of(head));
        named.extend(self.router.servers.given(id).cloned().unwrap_or_default());
        self.resolved(&folder, named, is_trusted)
    }

    /// The servers that the settings name.
    fn named(&self, folder: &str, own: &Settings) -> BTreeMap<String, McpServer> {
        let merged = self.router.config.layers().merged(folder, own);
        merged.ok().and_then(|merged| merged.mcp?.servers).unwrap_or_default()
    }

    fn resolved(
        &mut self,
        folder: &str,
        named: BTreeMap<String, McpServer>,
        is_trusted: bool,
    ) -> Vec<Offered> {
        let mut all = Vec::new();
        for (name, server) in named {
            let key = |name: &str| self.router.models.key(name);
            let made = definition(&name, &server, folder, key);
            let target = made.as_ref().map_or_else(|_| target(&server), mcp::Definition::shown);
            let server = if server.enabled == Some(false) {
                Err(Unused::Disabled)
            } else if !is_trusted && server.command.is_some() {
                // A program that is started there may load the folder's code.
                Err(Unused::Faulty("it is a program, and the folder is not trusted".to_owned()))
            } else {
                match made {
                    Ok(made) => Ok(self.router.servers.of(folder, made)),
                    Err(why) => Err(Unused::Faulty(why)),
                }
            };
            all.push(Offered { name, target, server });
        }
        all
    }

    /// Calls a tool of a server, outside of the router.
    pub fn call(&mut self, id: &SessionId, call: InvokeTool) {
        let offered = self.offered(id);
        let servers = offered.into_iter().filter_map(|offered| Some((offered.name, offered.server.ok()?.1)));
        let found = servers.into_iter().find(|(name, _)| call.name.starts_with(&mcp::names::prefix(name)));
        let Some(host) = self.router.sessions.host_mut(id) else { return };
        let send = host.server_outcome(call.call.clone());
        let Some((_, server)) = found else {
            return send(ToolOutcome::Failed("its server is no longer one of this session".to_owned()));
        };
        let named = call.call.clone();
        let task = tokio::spawn(async move {
            send(outcome(server.call(&call.name, &call.arguments).await));
        });
        host.server_called(named, task.abort_handle());
    }

    /// Lists servers as they are now.
    pub fn list(&mut self, params: &McpListParams) -> Result<McpListResult, ProtocolError> {
        let offered = match (&params.session_id, &params.workspace_folder) {
            (Some(id), _) => {
                let id = given_id(id)?;
                if self.router.sessions.host(&id).is_none() {
                    return Err(refused::not_open(&id));
                }
                self.offered(&id)
            }
            (None, folder) => {
                let folder = folder.as_deref().map(given_folder).transpose()?;
                let folder = folder.unwrap_or_else(|| self.router.stores.home().to_owned());
                self.router.enter_folder(&folder);
                let own = Settings::default();
                let is_trusted = self.router.config.effective(&folder, &own)?.is_trusted;
                let named = self.named(&folder, &own);
                self.resolved(&folder, named, is_trusted)
            }
        };
        let counter = &*self.router.counter;
        Ok(McpListResult { servers: offered.into_iter().map(|offered| status(offered, counter)).collect() })
    }
}

fn own_of(head: &Head) -> Settings {
    own_settings(&head.settings)
}

fn target(server: &McpServer) -> String {
    server.command.as_ref().or(server.url.as_ref()).cloned().unwrap_or_default()
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

fn status(offered: Offered, counter: &dyn TokenCount) -> McpServerStatus {
    let Offered { name, target, server } = offered;
    let empty = McpServerStatus {
        name,
        state: McpState::Off,
        reason: None,
        target,
        revision: None,
        tools: Vec::new(),
        left_out: Vec::new(),
    };
    let server = match server {
        Ok((_, server)) => server.status(),
        Err(Unused::Disabled) => {
            return McpServerStatus { reason: Some("it is disabled".to_owned()), ..empty };
        }
        Err(Unused::Faulty(why)) => {
            return McpServerStatus { state: McpState::Failed, reason: Some(why), ..empty };
        }
    };
    let (state, reason) = match server.phase {
        Phase::Off => (McpState::Off, None),
        Phase::Connecting => (McpState::Connecting, None),
        Phase::Ready => (McpState::Ready, None),
        Phase::Failed(why) => (McpState::Failed, Some(why)),
    };
    let tools = server.listing.tools.iter().map(|tool| McpTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        tokens: tool.tokens(counter),
        runs_unasked: tool.approval == Approval::Allow,
    });
    McpServerStatus {
        state,
        reason,
        revision: server.revision,
        tools: tools.collect(),
        left_out: server.listing.left_out.clone(),
        ..empty
    }
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
