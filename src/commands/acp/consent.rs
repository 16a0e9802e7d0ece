//! Consent to servers that files of the workspace define: the user is asked before the next prompt is sent, so that a
//! server takes part in that prompt's turn.

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
use protocol::tool::server::{McpAllowParams, McpDecision, McpListParams, McpServerStatus, McpState};
use serde_json::Value;
use tower_lsp::jsonrpc::{Error, Id};

/// A prompt that waits for the user's consent to servers.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The editor's request.
    pub request: Id,
    pub session: String,
    pub content: Content,
    /// Decisions that the sidecar was not told of yet.
    pub decisions: Vec<McpAllowParams>,
}

const ALLOW: &str = "allowServer";
const LATER: &str = "notNow";
const DENY: &str = "denyServer";

impl Agent {
    /// Starts the turn of a prompt, once the user was asked about servers that wait for consent.
    pub(super) async fn start_with_servers(&mut self, request: Id, session: String, content: Content) {
        let params = McpListParams { session_id: Some(session.clone()), workspace_folder: None };
        let number = self.sidecar.ask::<McpList>(&params).await;
        let waiting = Waiting { request, session, content, decisions: Vec::new() };
        self.asked.insert(number, Asked::Servers(waiting));
    }

    /// Asks about the servers that wait for consent and were not asked about yet. Without any, the turn starts.
    pub(super) async fn servers_listed(&mut self, waiting: Waiting, listed: Result<Value, Error>) {
        let servers = listed.ok().and_then(|value| read_result::<McpList>(value).ok());
        let mut servers = servers.map(|listed| listed.servers).unwrap_or_default();
        servers.retain(|server| server.state == McpState::Waiting);
        if let Some(open) = self.sessions.get_mut(&waiting.session) {
            let known = &mut open.asked_servers;
            servers.retain(|server| server.definition.clone().is_some_and(|of| known.insert(of)));
        }
        if servers.is_empty() {
            return self.start(waiting.request, waiting.session, waiting.content).await;
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
        let ended = self.asked.extract_if(|_, asked| match asked {
            Asked::Servers(waiting) | Asked::Allowed(waiting) => is_meant(waiting),
            _ => false,
        });
        for (_, asked) in ended {
            if let Asked::Servers(Waiting { request, .. }) | Asked::Allowed(Waiting { request, .. }) = asked {
                let cancelled = PromptResponse::new(StopReason::Cancelled);
                self.editor.answer(&request, Ok(result(&cancelled)));
            }
        }
    }

    /// Tells the sidecar of the next decision. Once it knows all, the turn starts.
    pub(super) async fn consented(&mut self, mut waiting: Waiting) {
        match waiting.decisions.pop() {
            Some(decision) => {
                let number = self.sidecar.ask::<McpAllow>(&decision).await;
                self.asked.insert(number, Asked::Allowed(waiting));
            }
            None => self.start(waiting.request, waiting.session, waiting.content).await,
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
