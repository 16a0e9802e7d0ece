//! Servers of the Model Context Protocol: one process for all sessions of a folder with the same definition, started
//! when a session begins a turn and ended when no open session has it. Turns that wait for a server are kept here, in
//! order and not for long.

use crate::server::client::replies::Replies;
use crate::server::host::queued::Queued;
use crate::server::mailbox::{Mailbox, Pending};
use engine::approval::Approval;
use engine::id::SessionId;
use engine::prompt::item::Tool;
use mcp::{Definition, Phase, Server};
use protocol::tool::server::{McpServer, McpServerStatus};
use session::input::ReplyTo;
use session::stored::Always;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use store::error::StoreError;
use tokio::task::JoinSet;

/// The longest time that a turn waits for servers to be ready.
const MOST_WAIT: Duration = Duration::from_secs(10);

/// Most tools of all servers of a session.
const MOST_TOOLS: usize = 128;
/// Most bytes of the definitions of all these tools.
const MOST_BYTES: usize = 256 << 10;
/// The reason why a tool beyond them is not offered.
pub(in crate::server) const TOO_MANY: &str = "all servers of a session together are offered with at most 128 tools and 256 KiB; disable some with enabled: false";

/// A server, by its folder and the key of its definition.
pub(in crate::server) type Key = (String, String);

/// An event about servers.
pub(in crate::server) enum McpEvent {
    /// A start succeeded or failed.
    Settled(Key),
    /// The time of this wait of a session's turn is over.
    Waited(SessionId, u64),
    /// The decisions of a folder, for a request for its servers.
    Decided { to: ReplyTo, folder: String, all: Result<Vec<Always>, StoreError> },
}

/// A server as a session is offered it.
pub(in crate::server) struct Offered {
    /// The user's name for it.
    pub name: String,
    /// The server as clients are shown it, without its state.
    pub shown: McpServerStatus,
    /// The server itself; otherwise why it is not used.
    pub server: Result<(Key, Arc<Server>), Unused>,
}

/// Reason that a server is not used.
pub(in crate::server) enum Unused {
    /// Disabled by the user.
    Disabled,
    /// Not startable; the reason.
    Faulty(String),
    /// Defined by a file of the workspace, without a decision of the user.
    Undecided,
    /// Defined by a file of the workspace and denied by the user.
    Denied,
}

/// The servers of an agent, which are those of the session that it works for.
#[derive(Clone)]
pub(in crate::server) struct AgentServers {
    /// The session whose client gave servers.
    pub root: SessionId,
    /// Names of the tools that the agent has; `None` for all.
    pub names: Option<Vec<String>>,
}

/// The tools of all servers of a session.
#[derive(Debug, Default, PartialEq)]
pub(in crate::server) struct Tools {
    /// The tools to offer, sorted by name.
    pub tools: Vec<Tool>,
    /// Names of the tools beyond the limits, by server.
    pub left_out: BTreeMap<String, Vec<String>>,
}

/// Turns that wait for servers.
struct WaitingTurns {
    items: VecDeque<Queued>,
    number: u64,
}

/// All servers.
pub(in crate::server) struct McpServers {
    mailbox: Mailbox<McpEvent>,
    servers: BTreeMap<Key, Arc<Server>>,
    /// Servers that are being ended.
    closing: JoinSet<()>,
    /// Servers that are being started.
    starting: BTreeSet<Key>,
    /// Servers that clients gave for single sessions.
    given: BTreeMap<SessionId, BTreeMap<String, McpServer>>,
    /// Agents that were started in this process.
    agents: BTreeMap<SessionId, AgentServers>,
    turns: BTreeMap<SessionId, WaitingTurns>,
    /// Servers that a session has waited for long enough.
    given_up: BTreeMap<SessionId, BTreeSet<Key>>,
    /// The session whose turns go on now.
    releasing: Option<SessionId>,
    /// Sentences of the last notice of each session.
    reported: BTreeMap<SessionId, BTreeSet<String>>,
    /// Number of the newest wait.
    last: u64,
    /// `true` if the client can ask the user what servers want to know.
    asks: bool,
}

impl McpServers {
    pub fn new(mailbox: Mailbox<McpEvent>) -> Self {
        Self {
            mailbox,
            servers: BTreeMap::new(),
            closing: JoinSet::new(),
            starting: BTreeSet::new(),
            given: BTreeMap::new(),
            agents: BTreeMap::new(),
            turns: BTreeMap::new(),
            given_up: BTreeMap::new(),
            releasing: None,
            reported: BTreeMap::new(),
            last: 0,
            asks: false,
        }
    }

    /// Notes whether the client can ask the user what servers want to know.
    pub fn set_asks(&mut self, asks: bool) {
        self.asks = asks;
    }

    /// Takes the servers that a client gave for a session, in place of earlier ones.
    pub fn set_given(&mut self, id: &SessionId, servers: BTreeMap<String, McpServer>) {
        match servers.is_empty() {
            true => drop(self.given.remove(id)),
            false => drop(self.given.insert(id.clone(), servers)),
        }
    }

    /// Notes that an agent was started, with the names of its tools; `None` for all of its parent.
    pub fn set_agent(&mut self, id: &SessionId, parent: &SessionId, names: Option<Vec<String>>) {
        let root = AgentServers { root: parent.clone(), names: None };
        let above = self.agents.get(parent).cloned().unwrap_or(root);
        self.agents.insert(id.clone(), AgentServers { root: above.root, names: names.or(above.names) });
    }

    /// The servers of an agent that was started in this process.
    pub fn agent(&self, id: &SessionId) -> Option<&AgentServers> {
        self.agents.get(id)
    }

    /// The servers that a client gave for a session.
    pub fn given(&self, id: &SessionId) -> Option<&BTreeMap<String, McpServer>> {
        self.given.get(id)
    }

    /// A handle for the decisions of a folder, for a request.
    pub fn pending(&self, replies: &mut Replies, to: ReplyTo) -> Pending<McpEvent> {
        replies.pending(to, &self.mailbox)
    }

    /// The server of a definition; made if there is none.
    pub fn of(&mut self, folder: &str, definition: Definition) -> (Key, Arc<Server>) {
        let key = (folder.to_owned(), definition.key());
        let server = self.servers.entry(key.clone());
        let asks = self.asks;
        let server = server.or_insert_with(|| Server::new(definition, asks, || ())).clone();
        (key, server)
    }

    /// Starts those of these servers that do not run. Returns `true` if the session has one to wait for.
    pub fn start(&mut self, id: &SessionId, offered: &[Offered]) -> bool {
        let mut waits = false;
        for (key, server) in offered.iter().filter_map(|offered| offered.server.as_ref().ok()) {
            if server.status().phase != Phase::Ready && self.starting.insert(key.clone()) {
                let (mailbox, key, server) = (self.mailbox.clone(), key.clone(), server.clone());
                tokio::spawn(async move {
                    // Whatever comes of it is in the server's status.
                    drop(server.start().await);
                    mailbox.send(McpEvent::Settled(key));
                });
            }
            let is_given_up = self.given_up.get(id).is_some_and(|given_up| given_up.contains(key));
            waits |= self.starting.contains(key) && !is_given_up;
        }
        waits
    }

    /// Notes that a start succeeded or failed. Returns the sessions whose turns may go on.
    pub fn settled(&mut self, key: &Key) -> Vec<SessionId> {
        self.starting.remove(key);
        self.given_up.values_mut().for_each(|given_up| _ = given_up.remove(key));
        self.turns.keys().cloned().collect()
    }

    /// `true` if one of these servers is still being started.
    pub fn still_waits(&self, offered: &[Offered]) -> bool {
        let mut used = offered.iter().filter_map(|offered| offered.server.as_ref().ok());
        used.any(|(key, _)| self.starting.contains(key))
    }

    /// `true` if turns of this session wait.
    pub fn has_waiting(&self, id: &SessionId) -> bool {
        self.turns.contains_key(id)
    }

    /// Lets a turn wait, behind others.
    pub fn wait(&mut self, id: &SessionId, item: Queued) {
        if let Some(turns) = self.turns.get_mut(id) {
            return turns.items.push_back(item);
        }
        self.last += 1;
        let (mailbox, session, number) = (self.mailbox.clone(), id.clone(), self.last);
        tokio::spawn(async move {
            tokio::time::sleep(MOST_WAIT).await;
            mailbox.send(McpEvent::Waited(session, number));
        });
        self.turns.insert(id.clone(), WaitingTurns { items: [item].into(), number });
    }

    /// `true` if the time of this wait is over and the session still waits.
    pub fn is_over(&self, id: &SessionId, number: u64) -> bool {
        self.turns.get(id).is_some_and(|turns| turns.number == number)
    }

    /// `true` while turns of this session go on that have waited.
    pub fn is_releasing(&self, id: &SessionId) -> bool {
        self.releasing.as_ref() == Some(id)
    }

    /// Clears the mark that [`Self::take`] set.
    pub fn released(&mut self) {
        self.releasing = None;
    }

    /// Takes the turns that wait and marks the session as releasing: until [`Self::released`] its turns are not held. It
    /// does not wait again for servers that are still being started.
    pub fn take(&mut self, id: &SessionId) -> VecDeque<Queued> {
        self.releasing = Some(id.clone());
        let Some(turns) = self.turns.remove(id) else { return VecDeque::new() };
        self.given_up.insert(id.clone(), self.starting.clone());
        turns.items
    }

    /// Sessions whose turns wait.
    pub fn waiting(&self) -> Vec<SessionId> {
        self.turns.keys().cloned().collect()
    }

    /// `true` if this request waits for servers.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.turns.values().flat_map(|turns| &turns.items).any(|item| item.to() == to)
    }

    /// Drops a request that was cancelled.
    pub fn forget(&mut self, to: ReplyTo) {
        self.turns.values_mut().for_each(|turns| turns.items.retain(|item| item.to() != to));
    }

    /// The tools to offer a session: those that its servers list, and those that it had of a server that was not listed
    /// in this process yet. Sorted, so that a prompt does not depend on which server was ready first.
    pub fn tools(&self, offered: &[Offered], had: &[Tool]) -> Tools {
        let mut chosen = Tools::default();
        let (mut bytes, mut names) = (0, BTreeSet::new());
        for offered in offered {
            let Ok((_, server)) = &offered.server else { continue };
            let status = server.status();
            let tools: Vec<Tool> = match status.is_listed {
                true => status.listing.tools.clone(),
                false => {
                    let prefix = mcp::names::prefix(&offered.name);
                    let identity = &server.definition().identity;
                    let is_its = |tool: &&Tool| {
                        tool.name.starts_with(&prefix) && tool.origin.as_ref() == Some(identity)
                    };
                    // Nobody trusts a stored statement: it may be that of a program that was trusted then.
                    let asking = |tool: &Tool| Tool { approval: Approval::Ask, ..tool.clone() };
                    had.iter().filter(is_its).map(asking).collect()
                }
            };
            for tool in tools.into_iter().filter(|tool| names.insert(tool.name.clone())) {
                let size = tool.description.len() + tool.input_schema.to_string().len();
                if chosen.tools.len() < MOST_TOOLS && bytes + size <= MOST_BYTES {
                    bytes += size;
                    chosen.tools.push(tool);
                } else {
                    chosen.left_out.entry(offered.name.clone()).or_default().push(tool.name);
                }
            }
        }
        chosen.tools.sort_by(|a, b| a.name.cmp(&b.name));
        chosen
    }

    /// The notice for a session about servers and tools that are missing; each reason is stated once.
    pub fn notice(&mut self, id: &SessionId, offered: &[Offered], tools: &Tools) -> Option<String> {
        let not_ready = offered.iter().filter_map(|offered| {
            let why = match &offered.server {
                Ok((_, server)) => match server.status().phase {
                    Phase::Failed(why) => why,
                    Phase::Connecting => {
                        "it is still being started; its tools join at the next turn".to_owned()
                    }
                    Phase::Off | Phase::Ready => return None,
                },
                Err(Unused::Faulty(why)) => why.clone(),
                Err(Unused::Undecided) => format!(
                    "{} defines it, and it needs your consent to be started: {}",
                    offered.shown.file.as_deref().unwrap_or_default(),
                    offered.shown.target
                ),
                Err(Unused::Disabled | Unused::Denied) => return None,
            };
            Some(format!("The tool server {:?} is not ready: {why}.", offered.name))
        });
        let left_out = tools.left_out.iter().map(|(server, tools)| {
            format!("Tools of the server {server:?} are not offered ({}): {TOO_MANY}.", tools.len())
        });
        let missing: BTreeSet<String> = not_ready.chain(left_out).collect();
        let before = self.reported.insert(id.clone(), missing.clone()).unwrap_or_default();
        let lines: Vec<String> = missing.difference(&before).cloned().collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Drops what is kept for a session that was closed. `reopens`: it is opened again, perhaps with servers that a
    /// client gave meanwhile.
    pub fn closed(&mut self, id: &SessionId, reopens: bool) {
        if !reopens {
            self.given.remove(id);
            self.agents.remove(id);
        }
        self.given_up.remove(id);
        self.reported.remove(id);
    }

    /// The number of servers.
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    /// Ends the servers that no open session has.
    pub fn end_unused(&mut self, used: &BTreeSet<Key>) {
        while self.closing.try_join_next().is_some() {}
        for (_, server) in self.servers.extract_if(.., |key, _| !used.contains(key)) {
            self.closing.spawn(async move { server.close().await });
        }
    }

    /// Ends all servers, then calls `done`.
    pub fn end(&mut self, done: impl FnOnce() + Send + 'static) {
        self.end_unused(&BTreeSet::new());
        let closing = std::mem::take(&mut self.closing);
        if closing.is_empty() {
            return done();
        }
        tokio::spawn(async move {
            drop(closing.join_all().await);
            done();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, is_trusted: bool) -> Definition {
        let launch = mcp::Launch::Http { url: "http://127.0.0.1:1/mcp".to_owned(), headers: Vec::new() };
        Definition { name: name.to_owned(), identity: "1".to_owned(), launch, timeout: MOST_WAIT, is_trusted }
    }

    fn servers() -> McpServers {
        McpServers::new(Mailbox::new(|_| ()))
    }

    fn tool(name: &str, approval: Approval) -> Tool {
        Tool {
            name: name.to_owned(),
            description: String::new(),
            input_schema: serde_json::json!({ "type": "object" }),
            approval,
            kind: None,
            guidelines: None,
            rules: Vec::new(),
            ends_turn: None,
            origin: Some("1".to_owned()),
        }
    }

    #[test]
    fn stored_tool_of_an_unlisted_server_asks() {
        let mut servers = servers();
        let server = servers.of("/w", definition("files", true));
        let offered =
            [Offered { name: "files".to_owned(), shown: McpServerStatus::of("files"), server: Ok(server) }];
        let of_another = Tool { origin: Some("2".to_owned()), ..tool("files__write", Approval::Allow) };
        let had = [tool("files__read", Approval::Allow), tool("other__read", Approval::Allow), of_another];
        let expected = Tools { tools: vec![tool("files__read", Approval::Ask)], left_out: BTreeMap::new() };
        assert_eq!(servers.tools(&offered, &had), expected);
    }

    #[test]
    fn tools_of_all_servers_are_bounded_and_the_rest_is_reported_once() {
        let mut servers = servers();
        let offered = ["a", "b"].map(|name| Offered {
            name: name.to_owned(),
            shown: McpServerStatus::of(name),
            server: Ok(servers.of("/w", definition(name, false))),
        });
        let had: Vec<Tool> = ["a", "b"]
            .iter()
            .flat_map(|server| (0..100).map(move |n| tool(&format!("{server}__{n}"), Approval::Ask)))
            .collect();
        let tools = servers.tools(&offered, &had);
        let left: Vec<(&str, usize)> =
            tools.left_out.iter().map(|(server, tools)| (server.as_str(), tools.len())).collect();
        assert_eq!((tools.tools.len(), left), (MOST_TOOLS, vec![("b", 72)]));
        let id = SessionId::new("s");
        let notice = servers.notice(&id, &offered, &tools);
        assert_eq!(notice, Some(format!("Tools of the server \"b\" are not offered (72): {TOO_MANY}.")));
        assert_eq!(servers.notice(&id, &offered, &tools), None);
    }

    #[tokio::test]
    async fn servers_of_no_open_session_are_ended() {
        let mut servers = servers();
        let (used, _) = servers.of("/w", definition("a", false));
        let (_, unused) = servers.of("/w", definition("b", false));
        servers.end_unused(&BTreeSet::from([used.clone()]));
        assert_eq!(servers.servers.keys().cloned().collect::<Vec<_>>(), [used]);
        // Ended for good: it is not started again.
        while unused.start().await != Err("the server was ended".to_owned()) {}
    }
}
