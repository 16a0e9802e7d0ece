//! Requests and notifications of the editor: what each asks the sidecar for.

use super::agent::{Agent, Asked, Done, How, Open, Work, result};
use super::command::Command;
use super::content::part;
use super::failure::{invalid, refused, unknown_method, unknown_session};
use super::option::Mode;
use super::permission;
use super::servers::Preparation;
use super::session::Prompt;
use agent_client_protocol_schema::v1::{
    AuthenticateResponse, CancelNotification, CloseSessionRequest, ContentBlock, CurrentModeUpdate,
    DeleteSessionRequest, ForkSessionRequest, ListSessionsRequest, LoadSessionRequest, McpServer,
    NewSessionRequest, PromptRequest, PromptResponse, ResumeSessionRequest, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionModeRequest, SetSessionModeResponse, StopReason,
};
use protocol::message::Content;
use protocol::methods::{
    SessionClose, SessionConfigure, SessionDelete, SessionFork, SessionList, SessionMessages, SessionOpen,
    SessionTakeOver, TurnCancel, TurnStart,
};
use protocol::session::edit::SessionForkParams;
use protocol::session::{
    Driver, SessionCloseParams, SessionConfigureParams, SessionDeleteParams, SessionListParams,
    SessionMessagesParams, SessionOpenParams, SessionTakeOverParams,
};
use protocol::tool::server::{HeaderValue, McpServer as Server};
use protocol::turn::{TurnCancelParams, TurnStartParams};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use tower_lsp::jsonrpc::{Error, Id};

/// Sessions on a page of a list.
const PAGE: u32 = 100;

/// Parses parameters. The error names the place and quotes no value of a wrong type.
pub(super) fn read<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params).map_err(|error| {
        let text = error.to_string();
        if text.starts_with("missing field") {
            return invalid(text);
        }
        let expected = text.rsplit_once(", expected").map(|(_, expected)| format!(": expected{expected}"));
        invalid(format!("invalid parameters{}", expected.unwrap_or_default()))
    })
}

impl Agent {
    /// Handles a request. It is answered here with an error, and later with all else.
    pub(super) async fn requested(&mut self, id: &Id, method: &str, params: Value) -> Result<(), Error> {
        match method {
            "authenticate" => self.editor.answer(id, Ok(result(&AuthenticateResponse::new()))),
            "session/new" => {
                let NewSessionRequest { cwd, mcp_servers, .. } = read(params)?;
                let open = opening(id, None, cwd, How::New, &mcp_servers)?;
                self.open(open).await;
            }
            "session/load" => {
                let LoadSessionRequest { session_id, cwd, mcp_servers, .. } = read(params)?;
                let open = opening(id, Some(&session_id.0), cwd, How::Load, &mcp_servers)?;
                self.find(open).await;
            }
            "session/resume" => {
                let ResumeSessionRequest { session_id, cwd, mcp_servers, .. } = read(params)?;
                let open = opening(id, Some(&session_id.0), cwd, How::Resume, &mcp_servers)?;
                self.find(open).await;
            }
            "session/fork" => {
                let ForkSessionRequest { session_id, cwd, mcp_servers, .. } = read(params)?;
                self.session(&session_id.0)?;
                let open = opening(id, None, cwd, How::Fork, &mcp_servers)?;
                let params = SessionForkParams {
                    session_id: session_id.0.to_string(),
                    up_to_message_id: None,
                    up_to_index: None,
                    title: None,
                    idempotency_key: None,
                };
                let number = self.sidecar.ask::<SessionFork>(&params).await;
                self.asked.insert(number, Asked::Forked(open));
            }
            "session/list" => self.list(id, read(params)?).await?,
            "session/close" => self.close(id, read(params)?).await?,
            "session/delete" => {
                let DeleteSessionRequest { session_id, .. } = read(params)?;
                let session = session_id.0.to_string();
                let params = SessionDeleteParams { session_id: session.clone() };
                let number = self.sidecar.ask::<SessionDelete>(&params).await;
                self.asked.insert(number, Asked::Deleted(id.clone(), session));
            }
            "session/prompt" => self.prompt(id, read(params)?).await?,
            "session/set_mode" => {
                let SetSessionModeRequest { session_id, mode_id, .. } = read(params)?;
                let mode = Mode::named(&mode_id.0)
                    .ok_or_else(|| invalid(format!("unknown mode {:?}", mode_id.0)))?;
                let session = self.session(&session_id.0)?;
                session.choose_mode(mode);
                self.editor.answer(id, Ok(result(&SetSessionModeResponse::new())));
                let update = CurrentModeUpdate::new(mode.id());
                self.update(&session_id.0, [SessionUpdate::CurrentModeUpdate(update)]);
            }
            "session/set_config_option" => {
                let SetSessionConfigOptionRequest { session_id, config_id, value, .. } = read(params)?;
                let session = session_id.0.to_string();
                let open = self.sessions.get(&session).ok_or_else(|| unknown_session(&session))?;
                let chosen = self.choices.chosen(&config_id.0, &value, &open.settings).map_err(invalid)?;
                let params = SessionConfigureParams {
                    session_id: session.clone(),
                    settings: Some(chosen),
                    title: None,
                    forget_learned_limits: None,
                };
                let number = self.sidecar.ask::<SessionConfigure>(&params).await;
                self.asked.insert(number, Asked::Configured(id.clone(), session));
            }
            _ => return Err(unknown_method(method)),
        }
        Ok(())
    }

    /// Handles a notification; an unknown one is ignored.
    pub(super) async fn notified(&mut self, method: &str, params: &Value) {
        match method {
            "session/cancel" => {
                if let Ok(CancelNotification { session_id, .. }) = read(params.clone()) {
                    self.cancel(&session_id.0, None).await;
                }
            }
            "$/cancel_request" => {
                if let Some(id) = params.get("requestId") {
                    self.cancel_request(id).await;
                }
            }
            _ => {}
        }
    }

    /// Cancels what a request of the editor began. A request that only waits for the sidecar is answered as usual.
    async fn cancel_request(&mut self, id: &Value) {
        let is_meant = |request: &Id| serde_json::to_value(request).is_ok_and(|of| of == *id);
        let stopped = self
            .work
            .stop_if(|work| matches!(work, Work::TakeOver(_, of) | Work::Plan(_, of) if is_meant(of)));
        self.unasked(stopped);
        let behind = self.sessions.values_mut().flat_map(|open| {
            open.behind.extract_if(.., |(request, _)| is_meant(request)).collect::<Vec<_>>()
        });
        let behind: Vec<_> = behind.collect();
        self.leave_out(behind);
        Preparation { agent: self }.cancel_waiting(|waiting| is_meant(&waiting.request));
        let command = self.asked.iter().find_map(|(number, asked)| match asked {
            Asked::Commanded(request, ..) if is_meant(request) => Some(*number),
            _ => None,
        });
        if let Some(number) = command {
            return self.sidecar.cancel(number).await;
        }
        let meant = self.sessions.iter_mut().find_map(|(session, state)| {
            let prompt = state.prompts.iter_mut().find(|prompt| is_meant(&prompt.request))?;
            prompt.is_cancelled = true;
            Some((session.clone(), prompt.turn.clone()?))
        });
        // A prompt without a turn is cancelled when it gets one.
        if let Some((session, turn)) = meant {
            self.cancel(&session, Some(turn)).await;
        }
    }

    /// Cancels a turn; without one the running turn and all that waits behind it.
    pub(super) async fn cancel(&mut self, session: &str, turn: Option<String>) {
        if !self.sessions.contains_key(session) {
            return;
        }
        let of = session.to_owned();
        let parents = &self.parents;
        let stopped = self.work.stop_if(|work| match work {
            Work::Resumed(session, _) | Work::TakeOver(session, _) | Work::Plan(session, _) => *session == of,
            Work::Question(session, _) => root(parents, session) == of,
            // The sidecar withdraws what a call asks.
            Work::Tool(..) | Work::Elicit(..) => false,
        });
        self.unasked(stopped);
        Preparation { agent: self }.cancel_waiting(|waiting| waiting.session == of);
        if turn.is_none()
            && let Some(open) = self.sessions.get_mut(session)
        {
            let behind = std::mem::take(&mut open.behind);
            self.leave_out(behind);
        }
        let cancel_queued = turn.is_none().then_some(true);
        let params = TurnCancelParams { session_id: of.clone(), turn_id: turn, cancel_queued };
        let number = self.sidecar.ask::<TurnCancel>(&params).await;
        self.asked.insert(number, Asked::Cancelled(of));
    }

    /// Answers prompts whose question was stopped.
    pub(super) fn unasked(&self, stopped: Vec<Work>) {
        for work in stopped {
            if let Work::TakeOver(_, request) | Work::Plan(_, request) = work {
                let cancelled = PromptResponse::new(StopReason::Cancelled);
                self.editor.answer(&request, Ok(result(&cancelled)));
            }
        }
    }

    /// Answers prompts that are no longer to be sent.
    pub(super) fn leave_out(&self, prompts: impl IntoIterator<Item = (Id, Content)>) {
        for (request, _) in prompts {
            let cancelled = PromptResponse::new(StopReason::Cancelled);
            self.editor.answer(&request, Ok(result(&cancelled)));
        }
    }

    /// Prepares the next prompt of each session whose prompt before it has its turn, or needs none any more.
    pub(super) async fn prepare_next(&mut self) {
        let free = self
            .sessions
            .iter()
            .filter(|(_, open)| open.preparing.as_ref().is_some_and(|request| !self.is_preparing(request)));
        let free: Vec<String> = free.map(|(session, _)| session.clone()).collect();
        for session in free {
            let Some(open) = self.sessions.get_mut(&session) else { continue };
            let next = (!open.behind.is_empty()).then(|| open.behind.remove(0));
            open.preparing = next.as_ref().map(|(request, _)| request.clone());
            if let Some((request, content)) = next {
                self.prepare(request, session, content).await;
            }
        }
    }

    /// `true` while a prompt waits for a question or for what it needs of servers.
    fn is_preparing(&self, prompt: &Id) -> bool {
        let asks = |asked: &Asked| match asked {
            Asked::Preparing(_, waiting) => waiting.request == *prompt,
            Asked::TakenOver(request, ..) => request == prompt,
            _ => false,
        };
        let waits = |work: &Work| matches!(work, Work::TakeOver(_, request) if request == prompt);
        self.asked.values().any(asks) || self.work.purposes().any(waits)
    }

    /// Prepares a prompt for its turn: a session of another process is taken over, servers are asked about.
    async fn prepare(&mut self, request: Id, session: String, content: Content) {
        let Some(open) = self.sessions.get(&session) else {
            return self.editor.answer(&request, Err(unknown_session(&session)));
        };
        match open.held_by.clone() {
            Some(held) => {
                let (runner, of) = (self.runner(), session.clone());
                let work = async move {
                    Done::Chose(permission::ask_to_take_over(runner, of, &held).await, content)
                };
                self.work.begin(Work::TakeOver(session, request), work);
            }
            None => Preparation { agent: self }.start_with_servers(request, session, content).await,
        }
    }

    /// Opens a session that must be stored.
    async fn find(&mut self, open: Open) {
        let params = SessionMessagesParams {
            session_id: open.session.clone().unwrap_or_default(),
            workspace_folder: Some(open.folder.display().to_string()),
            before: None,
            limit: Some(1),
        };
        let number = self.sidecar.ask::<SessionMessages>(&params).await;
        self.asked.insert(number, Asked::Found(open));
    }

    pub(super) async fn open(&mut self, open: Open) {
        let known = open.session.as_ref().and_then(|session| self.sessions.get(session));
        let mode = known.map_or_else(Mode::default, |session| session.mode);
        let params = SessionOpenParams {
            session_id: open.session.clone(),
            driver: Some(Driver::Sidecar),
            tools: Some(mode.tools()),
            mcp_servers: Some(open.servers.clone()),
            // A session of another process is returned with `held_by`, not as an error.
            follow: Some(true),
            ..SessionOpenParams::of(open.folder.display().to_string())
        };
        let number = self.sidecar.ask::<SessionOpen>(&params).await;
        self.asked.insert(number, Asked::Opened(open));
    }

    async fn list(&mut self, id: &Id, request: ListSessionsRequest) -> Result<(), Error> {
        // Without `--storage` each folder has a store of its own, and editors start the agent in theirs.
        let own = self.storage.is_none().then(|| std::env::current_dir().ok()).flatten();
        let folder = request.cwd.or(own).as_deref().map(absolute).transpose()?;
        let params = SessionListParams {
            workspace_folder: folder,
            query: None,
            cursor: request.cursor,
            limit: Some(PAGE),
        };
        let number = self.sidecar.ask::<SessionList>(&params).await;
        self.asked.insert(number, Asked::Listed(id.clone()));
        Ok(())
    }

    async fn close(&mut self, id: &Id, request: CloseSessionRequest) -> Result<(), Error> {
        let session = request.session_id.0.to_string();
        self.session(&session)?;
        self.cancel(&session, None).await;
        let params = SessionCloseParams { session_id: session.clone() };
        let number = self.sidecar.ask::<SessionClose>(&params).await;
        self.asked.insert(number, Asked::Closed(id.clone(), session));
        Ok(())
    }

    async fn prompt(&mut self, id: &Id, request: PromptRequest) -> Result<(), Error> {
        let PromptRequest { session_id, prompt, .. } = request;
        let id_of = session_id.0.to_string();
        let session = self.session(&id_of)?;
        let folder = session.folder.display().to_string();
        if let [ContentBlock::Text(text)] = prompt.as_slice()
            && let Some(command) = Command::read(&text.text)
        {
            let command = command.map_err(invalid)?;
            self.editor.accepted(id, &uuid::Uuid::now_v7().to_string());
            let number = command.ask(&mut self.sidecar, &id_of, &folder).await;
            self.asked.insert(number, Asked::Commanded(id.clone(), id_of, command));
            return Ok(());
        }
        if session.is_of_editor {
            return Err(refused(format!("session {id_of} is run by another editor; continue it there")));
        }
        if session.lacks_model() {
            return Err(refused(
                "no model is set; name one with --model WIRE:NAME in the command of this agent, or as `model` in the \
                 settings file",
            ));
        }
        let parts = prompt.into_iter().map(part).collect::<Result<Vec<_>, _>>().map_err(invalid)?;
        if parts.is_empty() {
            return Err(invalid("the prompt is empty"));
        }
        // No prompt overtakes one that waits for a question.
        if session.preparing.is_some() {
            session.behind.push((id.clone(), Content(parts)));
            return Ok(());
        }
        session.preparing = Some(id.clone());
        self.prepare(id.clone(), id_of, Content(parts)).await;
        Ok(())
    }

    /// Starts the turn of a prompt.
    pub(super) async fn start(&mut self, request: Id, id: String, content: Content) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return self.editor.answer(&request, Err(unknown_session(&id)));
        };
        let external = uuid::Uuid::now_v7().to_string();
        session.view.sent(external.clone());
        session.prompts.push(Prompt { request: request.clone(), ..Prompt::default() });
        let (before, has_new_mode) = (session.told, std::mem::take(&mut session.has_new_mode));
        let params = TurnStartParams {
            external_id: Some(external),
            tools: has_new_mode.then(|| session.mode.tools()),
            attachments: session.mode.told(session.told).map(|told| vec![told]),
            ..TurnStartParams::new(id.clone(), content)
        };
        session.told = session.mode;
        let number = self.sidecar.ask::<TurnStart>(&params).await;
        self.asked.insert(number, Asked::Started(request, id, before, has_new_mode));
    }

    /// Takes a session over that another process writes.
    pub(super) async fn take_over(&mut self, request: Id, session: String, content: Content) {
        let params = SessionTakeOverParams { session_id: session.clone(), workspace_folder: None };
        let number = self.sidecar.ask::<SessionTakeOver>(&params).await;
        self.asked.insert(number, Asked::TakenOver(request, session, content));
    }
}

/// The session that a background session works for in the end; the session itself if it is none.
pub(super) fn root<'a>(parents: &'a HashMap<String, String>, session: &'a str) -> &'a str {
    let mut of = session;
    // Bounded: a circle would be a defect of the sidecar.
    for _ in 0..parents.len() {
        match parents.get(of) {
            Some(parent) => of = parent,
            None => break,
        }
    }
    of
}

/// A session to open, if its folder and its servers can be used.
fn opening(
    request: &Id,
    session: Option<&str>,
    cwd: PathBuf,
    how: How,
    servers: &[McpServer],
) -> Result<Open, Error> {
    absolute(&cwd)?;
    let servers = servers.iter().map(server).collect::<Result<BTreeMap<_, _>, _>>().map_err(invalid)?;
    let session = session.map(str::to_owned);
    Ok(Open { request: request.clone(), session, folder: cwd, how, servers })
}

/// The folder as text, if it is an absolute path.
fn absolute(folder: &Path) -> Result<String, Error> {
    if folder.is_absolute() {
        return Ok(folder.display().to_string());
    }
    Err(invalid(format!("cwd must be an absolute path, and it is {:?}", folder.display().to_string())))
}

/// An MCP server in our own form, under its name.
fn server(server: &McpServer) -> Result<(String, Server), String> {
    let values = |pairs: &mut dyn Iterator<Item = (&String, &String)>| {
        Some(pairs.map(|(name, value)| (name.clone(), HeaderValue::Text(value.clone()))).collect())
    };
    Ok(match server {
        McpServer::Stdio(stdio) => {
            let server = Server {
                command: Some(stdio.command.display().to_string()),
                args: Some(stdio.args.clone()),
                env: values(&mut stdio.env.iter().map(|of| (&of.name, &of.value))),
                ..Server::default()
            };
            (stdio.name.clone(), server)
        }
        McpServer::Http(http) => {
            let server = Server {
                url: Some(http.url.clone()),
                headers: values(&mut http.headers.iter().map(|of| (&of.name, &of.value))),
                ..Server::default()
            };
            (http.name.clone(), server)
        }
        McpServer::Sse(sse) => {
            return Err(format!(
                "MCP server {:?} uses SSE, which is not supported; use HTTP or stdio",
                sse.name
            ));
        }
        _ => return Err("an MCP server has an unknown transport; use HTTP or stdio".to_owned()),
    })
}
