//! The servers of a session or a folder: those that the settings and the client name, and those that files of the
//! workspace define and the user decides about.

use super::ServerHandler;
use crate::server::folder::given_folder;
use crate::server::given::{given_id, own_settings};
use crate::server::services::mcp::{McpEvent, Offered, TOO_MANY, Unused};
use crate::server::settings::{WorkspaceServer, definition, identity};
use crate::server::stores;
use crate::server::wire::{refused, to_json};
use engine::approval::Approval;
use engine::id::SessionId;
use engine::tokens::TokenCount;
use mcp::Phase;
use protocol::error::{ErrorData, ProtocolError};
use protocol::settings::Settings;
use protocol::tool::server::{
    HeaderValue, McpAllowParams, McpDecision, McpListParams, McpListResult, McpServer, McpServerStatus,
    McpState, McpTool, WorkspaceServers,
};
use session::input::{Input, ReplyTo};
use session::stored::{Always, Driver};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Store;
use store::error::StoreError;

/// A server before it is resolved.
struct Named {
    server: Result<McpServer, String>,
    source: Source,
}

/// The place that defines a server.
#[derive(Clone, Copy, PartialEq)]
enum Source {
    Settings,
    Client,
    File(&'static str),
}

impl ServerHandler<'_> {
    /// The servers of a session, by name. An agent has those of its parent, as long as the process runs that started it; a
    /// session whose loop the editor runs has none.
    pub(super) fn offered(&mut self, id: &SessionId) -> Vec<Offered> {
        let Some(host) = self.router.sessions.host(id) else { return Vec::new() };
        let session = host.session();
        let head = session.head();
        let agent = self.router.servers.agent(id);
        let is_unknown = head.is_agent() && agent.is_none();
        if head.driver != Driver::Sidecar || is_unknown || !host.is_stored() {
            return Vec::new();
        }
        let root = agent.map_or_else(|| id.clone(), |agent| agent.root.clone());
        let (folder, is_trusted) = (head.workspace.clone(), session.settings().is_trusted);
        let decisions = session.approvals().to_vec();
        let mut named = self.named(&folder, &own_settings(&head.settings));
        let given = self.router.servers.given(&root).cloned().unwrap_or_default();
        named.extend(given.into_iter().map(|(name, server)| (name, Named::of(server, Source::Client))));
        self.resolved(&folder, named, &decisions, is_trusted)
    }

    /// The servers of the settings and, where the settings say so, those of files of the workspace that have other names.
    fn named(&self, folder: &str, own: &Settings) -> BTreeMap<String, Named> {
        let config = &self.router.config;
        let mcp = match config.layers().merged(folder, own) {
            Ok(merged) => merged.mcp.unwrap_or_default(),
            Err(error) => {
                let faulty = Named { server: Err(error.message), source: Source::Settings };
                return BTreeMap::from([("mcp.servers".to_owned(), faulty)]);
            }
        };
        let servers = mcp.servers.unwrap_or_default().into_iter();
        let mut named: BTreeMap<String, Named> =
            servers.map(|(name, server)| (name, Named::of(server, Source::Settings))).collect();
        if mcp.workspace_files == Some(WorkspaceServers::Ask) {
            for WorkspaceServer { name, file, server } in config.workspace_servers(folder) {
                named.entry(name).or_insert(Named { server, source: Source::File(file) });
            }
        }
        named
    }

    fn resolved(
        &mut self,
        folder: &str,
        named: BTreeMap<String, Named>,
        decisions: &[Always],
        is_trusted: bool,
    ) -> Vec<Offered> {
        let each = named.into_iter();
        each.map(|(name, named)| self.resolve(folder, name, named, decisions, is_trusted)).collect()
    }

    fn resolve(
        &mut self,
        folder: &str,
        name: String,
        Named { server, source }: Named,
        decisions: &[Always],
        is_trusted: bool,
    ) -> Offered {
        let file = match source {
            Source::File(file) => Some(file),
            Source::Settings | Source::Client => None,
        };
        let server = match server {
            Ok(server) => server,
            Err(why) => {
                let shown =
                    McpServerStatus { file: file.map(str::to_owned), ..McpServerStatus::of(name.clone()) };
                return Offered { name, shown, server: Err(Unused::Faulty(why)) };
            }
        };
        let identity = identity(&name, &server, folder, source != Source::Client);
        let shown = shown(&name, &server, folder, file.map(|file| (file, identity.as_str())));
        let decision = decision(decisions, &name, &identity);
        let unused = if server.enabled == Some(false) {
            Some(Unused::Disabled)
        } else if !is_trusted && (file.is_some() || server.command.is_some()) {
            // A program that is started there may load the folder's code.
            let what = if file.is_some() { "a file of the folder defines it" } else { "it is a program" };
            Some(Unused::Faulty(format!("{what}, and the folder is not trusted")))
        } else {
            match (file, decision) {
                (None, _) | (_, Some(true)) => None,
                (Some(_), None) => Some(Unused::Undecided),
                (Some(_), Some(false)) => Some(Unused::Denied),
            }
        };
        let server = match unused {
            Some(unused) => Err(unused),
            None => {
                let made = definition((&name, &identity), &server, folder, |key| self.router.models.key(key));
                made.map(|made| self.router.servers.of(folder, made)).map_err(Unused::Faulty)
            }
        };
        Offered { name, shown, server }
    }

    /// Lists servers as they are now.
    pub fn list(&mut self, to: ReplyTo, params: &McpListParams) -> Result<(), ProtocolError> {
        let Some(id) = &params.session_id else {
            let folder = self.folder(params.workspace_folder.as_deref())?;
            return self.decide(to, folder, |_, _| Ok(()));
        };
        let id = given_id(id)?;
        if self.router.sessions.host(&id).is_none() {
            return Err(refused::not_open(&id));
        }
        let offered = self.offered(&id);
        self.listed(to, offered);
        Ok(())
    }

    /// Stores the user's decision about a server that a file of the workspace defines.
    pub fn allow(&mut self, to: ReplyTo, params: McpAllowParams) -> Result<(), ProtocolError> {
        let McpAllowParams { workspace_folder, name, definition, decision } = params;
        let folder = self.folder(workspace_folder.as_deref())?;
        let mut found = self.router.config.workspace_servers(&folder).into_iter();
        let known = found.find(|found| found.name == name).and_then(|found| found.server.ok());
        let is_current = known.is_some_and(|server| identity(&name, &server, &folder, true) == definition);
        if !is_current && decision != McpDecision::Forget {
            let message = format!(
                "no file of the workspace defines the server {name:?} as it was shown; list the servers again"
            );
            let data = ErrorData::StaleReference { field: "definition".into(), id: definition };
            return Err(ProtocolError::new(data, message));
        }
        let rejected = decision == McpDecision::Deny;
        let always = Always { tool: decided_name(&name), pattern: Some(definition), rejected };
        self.decide(to, folder, move |store, workspace| match decision {
            McpDecision::Forget => store.revoke(workspace, &always),
            McpDecision::Allow | McpDecision::Deny => store.approve(workspace, &always),
        })
    }

    fn folder(&mut self, given: Option<&str>) -> Result<String, ProtocolError> {
        let folder = given.map(given_folder).transpose()?;
        let folder = folder.unwrap_or_else(|| self.router.stores.home().to_owned());
        self.router.enter_folder(&folder);
        Ok(folder)
    }

    /// Changes the decisions of a folder, then lists its servers for the request.
    fn decide(
        &mut self,
        to: ReplyTo,
        folder: String,
        change: impl FnOnce(&mut dyn Store, &str) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), ProtocolError> {
        let store = self.router.stores.of(Some(&folder))?;
        let pending = self.router.servers.pending(&mut self.router.replies, to);
        let at = folder.clone();
        store.submit(
            move |store| {
                change(store, &at)?;
                store.approvals(&at)
            },
            move |all| pending.send(McpEvent::Decided { to, folder, all }),
        );
        Ok(())
    }

    pub(super) fn decided(&mut self, to: ReplyTo, folder: &str, all: Result<Vec<Always>, StoreError>) {
        let all: Arc<[Always]> = match all {
            Ok(all) => all.into(),
            Err(error) => return self.router.answer(to, Err(stores::error(&error))),
        };
        for id in self.router.sessions.sharing(|head| head.workspace == folder) {
            self.router.run_input(&id, Input::Approvals(all.clone()));
        }
        // A server that is denied now may run.
        if self.router.servers.count() > 0 {
            self.end_unused();
        }
        let own = Settings::default();
        match self.router.config.effective(folder, &own) {
            Ok(settings) => {
                let named = self.named(folder, &own);
                let offered = self.resolved(folder, named, &all, settings.is_trusted);
                self.listed(to, offered);
            }
            Err(error) => self.router.answer(to, Err(error)),
        }
    }

    /// Drops what is kept for a session that was closed, and ends the servers that only it used.
    pub fn closed(&mut self, id: &SessionId, reopens: bool) {
        self.router.servers.closed(id, reopens);
        if self.router.servers.count() > 0 {
            self.end_unused();
        }
    }

    pub(super) fn end_unused(&mut self) {
        let open = self.router.sessions.sharing(|_| true);
        let offered: Vec<Offered> = open.iter().flat_map(|id| self.offered(id)).collect();
        let used = offered.into_iter().filter_map(|offered| Some(offered.server.ok()?.0)).collect();
        self.router.servers.end_unused(&used);
    }

    fn listed(&mut self, to: ReplyTo, offered: Vec<Offered>) {
        let left_out = self.router.servers.tools(&offered, &[]).left_out;
        let counter = &*self.router.counter;
        let servers = offered.into_iter().map(|offered| status(offered, &left_out, counter)).collect();
        self.router.answer(to, to_json(&McpListResult { servers }));
    }
}

impl Named {
    fn of(server: McpServer, source: Source) -> Self {
        Self { server: Ok(server), source }
    }
}

/// The name under which decisions about a server are kept beside those about tools. No tool has a space in its name.
fn decided_name(server: &str) -> String {
    format!("server {server}")
}

/// The user's decision about exactly this definition, if there is one.
fn decision(decisions: &[Always], name: &str, identity: &str) -> Option<bool> {
    let tool = decided_name(name);
    let of = |always: &&Always| always.tool == tool && always.pattern.as_deref() == Some(identity);
    decisions.iter().find(of).map(|always| !always.rejected)
}

/// A server as clients are shown it. Of a file of the workspace all is shown except the values of variables.
fn shown(name: &str, server: &McpServer, folder: &str, file: Option<(&str, &str)>) -> McpServerStatus {
    let values = server.env.iter().chain(&server.headers).flatten();
    let keys = values.clone().filter_map(|(_, value)| match value {
        HeaderValue::Key { key_env } => Some(key_env.clone()),
        HeaderValue::Text(_) => None,
    });
    // The text that is shown has no key, so that any will do.
    let target = definition((name, ""), server, folder, |_| Some(String::new().into()));
    let whole = server.url.as_ref().filter(|_| file.is_some()).cloned();
    McpServerStatus {
        target: whole.or_else(|| target.ok().map(|made| made.shown())).unwrap_or_default(),
        cwd: server.cwd.clone(),
        variables: values.map(|(name, _)| name.clone()).collect(),
        keys: keys.collect(),
        file: file.map(|(file, _)| file.to_owned()),
        definition: file.map(|(_, identity)| identity.to_owned()),
        ..McpServerStatus::of(name)
    }
}

fn status(
    Offered { name, shown, server }: Offered,
    left_out: &BTreeMap<String, Vec<String>>,
    counter: &dyn TokenCount,
) -> McpServerStatus {
    let unused = |state, reason: Option<String>| McpServerStatus { state, reason, ..shown.clone() };
    let server = match server {
        Ok((_, server)) => server.status(),
        Err(Unused::Disabled) => return unused(McpState::Off, Some("it is disabled".to_owned())),
        Err(Unused::Faulty(why)) => return unused(McpState::Failed, Some(why)),
        Err(Unused::Undecided) => return unused(McpState::Waiting, None),
        Err(Unused::Denied) => return unused(McpState::Denied, None),
    };
    let (state, reason) = match server.phase {
        Phase::Off => (McpState::Off, None),
        Phase::Connecting => (McpState::Connecting, None),
        Phase::Ready => (McpState::Ready, None),
        Phase::Failed(why) => (McpState::Failed, Some(why)),
    };
    let beyond = left_out.get(&name).map(Vec::as_slice).unwrap_or_default();
    let offered = server.listing.tools.iter().filter(|tool| !beyond.contains(&tool.name));
    let tools = offered.map(|tool| McpTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        tokens: tool.tokens(counter),
        runs_unasked: tool.approval == Approval::Allow,
    });
    let tools: Vec<McpTool> = tools.collect();
    let unusable = server.listing.left_out.iter().cloned();
    McpServerStatus {
        state,
        reason,
        revision: server.revision,
        tokens: tools.iter().map(|tool| tool.tokens).sum(),
        tools,
        left_out: unusable.chain(beyond.iter().map(|name| format!("{name}: {TOO_MANY}"))).collect(),
        ..shown
    }
}
