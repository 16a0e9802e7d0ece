//! What a prompt needs of servers before its turn: consent to those that files of the workspace define, so that they take
//! part in it, and the prompts and resources that it names.

use super::agent::{Agent, Asked, Done, Work, result};
use super::editor::Editor;
use crate::commands::servers::consent;
use agent_client_protocol_schema::v1::{
    PermissionOption, PermissionOptionKind, PromptResponse, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, StopReason, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use protocol::message::Content;
use protocol::methods::{McpAllow, McpList, read_result};
use protocol::tool::server::{
    McpAllowParams, McpContentParams, McpDecision, McpListParams, McpServerStatus, McpState,
};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Id};

/// A request to the sidecar before the turn of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The servers of the session, which may wait for consent.
    Servers,
    /// The storing of the user's decision about a server.
    Allowed,
    /// A prompt or a resource of a server.
    Content,
}

/// A prompt that waits for what it needs of servers.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The editor's request.
    pub request: Id,
    pub session: String,
    pub content: Content,
    /// Decisions that the sidecar was not told of yet.
    pub decisions: Vec<McpAllowParams>,
    /// Prompts and resources of servers that were not read yet.
    pub reads: Vec<McpContentParams>,
}

const ALLOW: &str = "allowServer";
const LATER: &str = "notNow";
const DENY: &str = "denyServer";

impl Agent {
    /// Starts the turn of a prompt, once the user was asked about servers that wait for consent.
    pub(super) async fn start_with_servers(&mut self, request: Id, session: String, content: Content) {
        let params = McpListParams { session_id: Some(session.clone()), workspace_folder: None };
        let number = self.sidecar.ask::<McpList>(&params).await;
        let waiting = Waiting { request, session, content, decisions: Vec::new(), reads: Vec::new() };
        self.asked.insert(number, Asked::Preparing(Step::Servers, waiting));
    }

    /// Asks about the servers that wait for consent and were not asked about yet. Without any, the turn starts.
    async fn servers_listed(&mut self, waiting: Waiting, listed: Result<Value, Error>) {
        let servers = listed.ok().and_then(|value| read_result::<McpList>(value).ok());
        let mut servers = servers.map(|listed| listed.servers).unwrap_or_default();
        servers.retain(|server| server.state == McpState::Waiting);
        if let Some(open) = self.sessions.get_mut(&waiting.session) {
            let known = &mut open.asked_servers;
            servers.retain(|server| server.definition.clone().is_some_and(|of| known.insert(of)));
        }
        if servers.is_empty() {
            return self.start_with_contents(waiting).await;
        }
        let folder = self.sessions.get(&waiting.session).map(|open| open.folder.display().to_string());
        let (editor, of) =
            (self.editor.clone(), Work::TakeOver(waiting.session.clone(), waiting.request.clone()));
        self.work.begin(of, async move {
            let mut decisions = Vec::new();
            for server in servers {
                let Ok(decision) = ask(&editor, &waiting.session, &server).await else {
                    return Done::Consented(None);
                };
                let (Some(decision), Some(definition)) = (decision, server.definition) else { continue };
                let (workspace_folder, name) = (folder.clone(), server.name);
                decisions.push(McpAllowParams { workspace_folder, name, definition, decision });
            }
            Done::Consented(Some(Waiting { decisions, ..waiting }))
        });
    }

    /// Answers prompts that were cancelled while they waited for what the sidecar knows of servers.
    pub(super) fn cancel_waiting(&mut self, is_meant: impl Fn(&Waiting) -> bool) {
        let ended = self
            .asked
            .extract_if(|_, asked| matches!(asked, Asked::Preparing(_, waiting) if is_meant(waiting)));
        for (_, asked) in ended {
            if let Asked::Preparing(_, waiting) = asked {
                let cancelled = PromptResponse::new(StopReason::Cancelled);
                self.editor.answer(&waiting.request, Ok(result(&cancelled)));
            }
        }
    }

    /// Goes on with a prompt after a request for it.
    pub(super) async fn prepared(&mut self, step: Step, waiting: Waiting, outcome: Result<Value, Error>) {
        match step {
            Step::Servers => self.servers_listed(waiting, outcome).await,
            // What could not be stored is asked again.
            Step::Allowed => self.consented(waiting).await,
            Step::Content => self.content_read(waiting, outcome).await,
        }
    }

    /// Goes on with a prompt after its question; without one it was ended.
    pub(super) async fn decided(&mut self, work: Work, waiting: Option<Waiting>) {
        match waiting {
            Some(waiting) => self.consented(waiting).await,
            None => self.unasked(vec![work]),
        }
    }

    /// Tells the sidecar of the next decision. Once it knows all, the turn starts.
    async fn consented(&mut self, mut waiting: Waiting) {
        match waiting.decisions.pop() {
            Some(decision) => {
                let number = self.sidecar.ask::<McpAllow>(&decision).await;
                self.asked.insert(number, Asked::Preparing(Step::Allowed, waiting));
            }
            None => {
                self.learn_contents(&waiting.session).await;
                self.start_with_contents(waiting).await;
            }
        }
    }
}

/// Asks about a server. Returns the decision to remember, if there is one; fails if the user ended the prompt.
async fn ask(editor: &Editor, session: &str, server: &McpServerStatus) -> Result<Option<McpDecision>, ()> {
    let fields = ToolCallUpdateFields::new()
        .title(format!("Start this tool server? {}", consent(server)))
        .kind(ToolKind::Other);
    let row = ToolCallUpdate::new(format!("{session}/server/{}", server.name), fields);
    let options = vec![
        PermissionOption::new(ALLOW, "Allow in This Folder", PermissionOptionKind::AllowAlways),
        PermissionOption::new(LATER, "Not Now", PermissionOptionKind::RejectOnce),
        PermissionOption::new(DENY, "Never", PermissionOptionKind::RejectAlways),
    ];
    let request = RequestPermissionRequest::new(session.to_owned(), row, options);
    let answer = editor.ask::<RequestPermissionResponse>("session/request_permission", &request).await;
    match answer.map(|answer| answer.outcome) {
        Ok(RequestPermissionOutcome::Selected(selected)) => Ok(match &*selected.option_id.0 {
            ALLOW => Some(McpDecision::Allow),
            DENY => Some(McpDecision::Deny),
            _ => None,
        }),
        Ok(RequestPermissionOutcome::Cancelled) => Err(()),
        // An editor that cannot ask starts nothing.
        _ => Ok(None),
    }
}
