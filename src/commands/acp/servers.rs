//! Servers of a session: what a prompt needs of them before its turn (consent to those that files of the workspace define,
//! the prompts and resources that it names), and their prompts as slash commands.

use super::agent::{Agent, Asked, Done, Work, result};
use super::editor::Editor;
use super::failure::refused;
use crate::commands::tools::server_contents::{command, named};
use crate::commands::tools::servers::consent;
use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandInput, PermissionOption, PermissionOptionKind, PromptResponse,
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse, StopReason,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind, UnstructuredCommandInput,
};
use protocol::message::Content;
use protocol::methods::{McpAllow, McpContent, McpContents, McpList, read_result};
use protocol::tool::server::{
    McpAllowParams, McpContentParams, McpContentsParams, McpContentsResult, McpDecision, McpElicitAction,
    McpElicitParams, McpElicitResult, McpListParams, McpServerStatus, McpState,
};
use serde_json::{Value, json};
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

/// The steps of prompts that concern servers.
pub(super) struct Preparation<'a> {
    pub agent: &'a mut Agent,
}

impl Preparation<'_> {
    /// Starts the turn of a prompt, once the user was asked about servers that wait for consent.
    pub(super) async fn start_with_servers(&mut self, request: Id, session: String, content: Content) {
        let params = McpListParams { session_id: Some(session.clone()), workspace_folder: None };
        let number = self.agent.sidecar.ask::<McpList>(&params).await;
        let waiting = Waiting { request, session, content, decisions: Vec::new(), reads: Vec::new() };
        self.agent.asked.insert(number, Asked::Preparing(Step::Servers, waiting));
    }

    /// Asks about the servers that wait for consent and were not asked about yet. Without any, the turn starts.
    async fn servers_listed(&mut self, waiting: Waiting, listed: Result<Value, Error>) {
        let servers = listed.ok().and_then(|value| read_result::<McpList>(value).ok());
        let mut servers = servers.map(|listed| listed.servers).unwrap_or_default();
        servers.retain(|server| server.state == McpState::Waiting);
        if let Some(open) = self.agent.sessions.get_mut(&waiting.session) {
            let known = &mut open.asked_servers;
            servers.retain(|server| server.definition.clone().is_some_and(|of| known.insert(of)));
        }
        if servers.is_empty() {
            return self.start_with_contents(waiting).await;
        }
        let folder = self.agent.sessions.get(&waiting.session).map(|open| open.folder.display().to_string());
        let (editor, of) =
            (self.agent.editor.clone(), Work::TakeOver(waiting.session.clone(), waiting.request.clone()));
        self.agent.work.begin(of, async move {
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
            .agent
            .asked
            .extract_if(|_, asked| matches!(asked, Asked::Preparing(_, waiting) if is_meant(waiting)));
        for (_, asked) in ended {
            if let Asked::Preparing(_, waiting) = asked {
                let cancelled = PromptResponse::new(StopReason::Cancelled);
                self.agent.editor.answer(&waiting.request, Ok(result(&cancelled)));
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
            None => self.agent.unasked(vec![work]),
        }
    }

    /// Tells the sidecar of the next decision. Once it knows all, the turn starts.
    async fn consented(&mut self, mut waiting: Waiting) {
        match waiting.decisions.pop() {
            Some(decision) => {
                let number = self.agent.sidecar.ask::<McpAllow>(&decision).await;
                self.agent.asked.insert(number, Asked::Preparing(Step::Allowed, waiting));
            }
            None => {
                self.learn_contents(&waiting.session).await;
                self.start_with_contents(waiting).await;
            }
        }
    }

    /// Asks what the servers of a session offer for messages.
    pub(super) async fn learn_contents(&mut self, session: &str) {
        let params = McpContentsParams { session_id: session.to_owned() };
        let number = self.agent.sidecar.ask::<McpContents>(&params).await;
        self.agent.asked.insert(number, Asked::Contents(session.to_owned()));
    }

    pub(super) fn knows_contents(&mut self, session: &str, outcome: Result<Value, Error>) {
        let contents =
            outcome.ok().and_then(|value| read_result::<McpContents>(value).ok()).unwrap_or_default();
        let Some(open) = self.agent.sessions.get_mut(session) else { return };
        let had_prompts = !open.contents.prompts.is_empty();
        open.contents = contents;
        if had_prompts || !open.contents.prompts.is_empty() {
            self.agent.offer(session);
        }
    }

    /// Starts the turn of a prompt with the prompts and resources of servers that it names.
    async fn start_with_contents(&mut self, waiting: Waiting) {
        let Waiting { request, session, content, .. } = waiting;
        let (content, reads) = match self.agent.sessions.get(&session) {
            Some(open) => named(&open.contents, &session, content),
            None => (content, Vec::new()),
        };
        self.read_next(Waiting { request, session, content, decisions: Vec::new(), reads }).await;
    }

    async fn read_next(&mut self, mut waiting: Waiting) {
        if waiting.reads.is_empty() {
            return self.agent.start(waiting.request, waiting.session, waiting.content).await;
        }
        let read = waiting.reads.remove(0);
        let number = self.agent.sidecar.ask::<McpContent>(&read).await;
        self.agent.asked.insert(number, Asked::Preparing(Step::Content, waiting));
    }

    async fn content_read(&mut self, mut waiting: Waiting, outcome: Result<Value, Error>) {
        let read = outcome
            .and_then(|value| read_result::<McpContent>(value).map_err(|error| refused(error.message)));
        match read {
            Ok(read) => {
                waiting.content.0.extend(read.content.0);
                self.read_next(waiting).await;
            }
            Err(error) => self.agent.editor.answer(&waiting.request, Err(error)),
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

/// Asks the user what a server wants to know. An editor that cannot ask declines.
pub(super) async fn elicit(editor: &Editor, session: &str, params: McpElicitParams) -> McpElicitResult {
    let McpElicitParams { tool_call_id, server, message, schema, .. } = params;
    let request = json!({
        "sessionId": session, "toolCallId": tool_call_id, "mode": "form",
        "message": format!("{server}: {message}"), "requestedSchema": schema,
    });
    let answer = editor.ask::<McpElicitResult>("elicitation/create", &request).await;
    answer.unwrap_or(McpElicitResult { action: McpElicitAction::Decline, content: None })
}

/// The commands for the prompts of servers.
pub(super) fn available(known: &McpContentsResult) -> Vec<AvailableCommand> {
    let prompts = known.prompts.iter().filter_map(|prompt| Some((command(prompt)?, prompt)));
    let commands = prompts.map(|(name, prompt)| {
        let arguments: Vec<&str> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let input = (!arguments.is_empty())
            .then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(arguments.join(" "))));
        let about =
            prompt.description.clone().unwrap_or_else(|| format!("Prompt of the server {}", prompt.server));
        AvailableCommand::new(name, about).input(input)
    });
    commands.collect()
}
