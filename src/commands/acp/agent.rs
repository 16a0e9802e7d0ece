//! The agent: one loop that takes the editor's messages, the sidecar's, and the ends of work that runs beside them. What
//! waits for an answer of the sidecar is kept by the number of its request.

use super::command::Command;
use super::editor::Editor;
use super::failure::{refused, unknown_session};
use super::lines::Lines;
use super::option::{Choices, Mode};
use super::permission::{self, Choice, Outcome, PlanChoice};
use super::requests::root;
use super::row;
use super::runner::{Call, Ran, Runner};
use super::servers::{self, Step, Waiting};
use super::session::{OpenSession, Prompt};
use super::view::Takes;
use crate::commands::client::{Client, Greeting};
use crate::commands::model::Named;
use crate::commands::running::Running;
use crate::commands::tools::{self, Change};
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AvailableCommandsUpdate, ClientCapabilities, Implementation, InitializeRequest,
    InitializeResponse, McpCapabilities, PromptCapabilities, SessionCapabilities, SessionCloseCapabilities,
    SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities, SessionNotification,
    SessionResumeCapabilities, SessionUpdate,
};
use lsp_types::notification::Exit;
use lsp_types::request::{Request as _, Shutdown};
use protocol::VERSION;
use protocol::message::Content;
use protocol::tool::server::{McpElicitParams, McpElicitResult, McpServer};
use protocol::tool::{PauseReason, ToolInvokeParams};
use rpc::message::Message;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, DuplexStream};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower_lsp::jsonrpc::{Error, Id};

/// Time for open requests once the editor has left.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    New,
    /// With all its messages sent.
    Load,
    /// Without its messages: the editor has them.
    Resume,
    /// A copy of another one.
    Fork,
}

/// A session that is being opened.
#[derive(Debug, Clone)]
pub(super) struct Open {
    /// The editor's request.
    pub request: Id,
    pub session: Option<String>,
    pub folder: PathBuf,
    pub how: How,
    /// MCP servers of the session, by their names.
    pub servers: BTreeMap<String, McpServer>,
}

/// The purpose of a request to the sidecar.
#[derive(Debug)]
pub(super) enum Asked {
    /// To learn whether a session is stored.
    Found(Open),
    Opened(Open),
    Forked(Open),
    Listed(Id),
    Closed(Id, String),
    Deleted(Id, String),
    /// The turn of a prompt, with the mode that the model was told of before and `true` if the tools changed with it.
    Started(Id, String, Mode, bool),
    /// A slash command of a prompt.
    Commanded(Id, String, Command),
    /// The user's decision about a call.
    Decided(PauseReason, String),
    /// The end of queued prompts of a session.
    Cancelled(String),
    Configured(Id, String),
    /// The cost of a session.
    Inspected(String),
    /// The writing of a session, for a prompt.
    TakenOver(Id, String, Content),
    /// The prompts and resources of a session's servers.
    Contents(String),
    /// What a prompt needs of the session's servers.
    Preparing(Step, Waiting),
    /// Something whose result shows in events.
    Unwatched,
}

impl Asked {
    /// `true` unless the answer may wait for a model or for servers.
    const fn is_short(&self) -> bool {
        !matches!(self, Self::Commanded(..) | Self::Contents(_))
    }
}

/// Work that runs beside the loop.
#[derive(Debug)]
pub(super) enum Work {
    /// A tool for a request of the sidecar, with its session and the id of its call.
    Tool(Id, String, String),
    /// A tool of this session for a call that was pending when the session was opened.
    Resumed(String, String),
    /// A question about a call of this session.
    Question(String, PauseReason),
    /// A question of a tool server, for a request of the sidecar about this session.
    Elicit(Id, String),
    /// A question about the plan with which the turn of this prompt ended.
    Plan(String, Id),
    /// A question that this prompt waits for: whether to take the session over, or to start servers.
    TakeOver(String, Id),
}

/// Results of work.
#[derive(Debug)]
pub(super) enum Done {
    Ran(Ran),
    Answered(Outcome),
    /// The user's answer to a tool server.
    Elicited(McpElicitResult),
    /// The user's choice about a plan, with the prompt and its turn.
    Planned(PlanChoice, Prompt, String),
    /// The user's choice about a session that another process writes, and the prompt.
    Chose(Choice, Content),
    /// The prompt with the user's decisions about servers; `None` if the user ended it.
    Consented(Option<Waiting>),
}

/// State of the agent.
pub(super) struct Agent {
    pub(super) sidecar: Client,
    pub(super) editor: Editor,
    pub(super) storage: Option<PathBuf>,
    pub(super) choices: Choices,
    /// Capabilities of the editor; `None` before it has initialized.
    client: Option<ClientCapabilities>,
    pub(super) sessions: HashMap<String, OpenSession>,
    /// Sessions that background sessions work for.
    pub(super) parents: HashMap<String, String>,
    pub(super) asked: HashMap<i64, Asked>,
    pub(super) work: Running<Work, Done>,
    /// Changes that the user was shown, by the sessions and ids of their calls.
    pub(super) shown: HashMap<(String, String), Change>,
    /// Held while a buffer of the editor is changed.
    turn: Arc<Mutex<()>>,
}

impl Agent {
    pub fn new(stream: DuplexStream, editor: Editor, storage: Option<PathBuf>, models: Vec<Named>) -> Self {
        Self {
            sidecar: Client::new(stream),
            editor,
            storage,
            choices: Choices { models },
            client: None,
            sessions: HashMap::new(),
            parents: HashMap::new(),
            asked: HashMap::new(),
            work: Running::new(),
            shown: HashMap::new(),
            turn: Arc::default(),
        }
    }

    /// Serves the editor until it leaves or the sidecar stops.
    pub async fn run(mut self, mut lines: Lines<impl AsyncRead + Unpin>) {
        loop {
            let (editor, sidecar) = (&self.editor, &mut self.sidecar);
            let heard = async {
                editor.room().await;
                sidecar.hear().await
            };
            tokio::select! {
                line = lines.next() => match line {
                    Some(message) => self.received(message).await,
                    None => break,
                },
                heard = heard => match heard {
                    Some(heard) => self.heard(heard).await,
                    None => return,
                },
                (work, done) = self.work.next() => self.done(work, done).await,
            }
            self.prepare_next().await;
        }
        self.leave().await;
    }

    /// Answers what is open, and shuts the sidecar down once all that was acknowledged is on disk.
    async fn leave(&mut self) {
        let deadline = Instant::now() + LAST_ANSWERS;
        while self.asked.values().any(Asked::is_short) {
            match tokio::time::timeout_at(deadline, self.sidecar.hear()).await {
                Ok(Some(heard)) => self.heard(heard).await,
                Ok(None) => return,
                Err(_) => break,
            }
        }
        if self.sidecar.call_named(Shutdown::METHOD, &Value::Null).await.is_err() {
            return;
        }
        while let Some(heard) = self.sidecar.kept() {
            self.heard(heard).await;
        }
        let sessions: Vec<_> = self.sessions.keys().cloned().collect();
        sessions.iter().for_each(|session| self.forget(session));
        self.sidecar.notify::<Exit>(()).await;
    }

    async fn received(&mut self, message: Message) {
        match message {
            Message::Answer(answer) => self.editor.answered(answer),
            Message::Bad { id, error } => self.editor.answer(&id, Err(error)),
            Message::Call(request) => {
                let (method, id, params) = request.into_parts();
                let params = params.unwrap_or_else(|| json!({}));
                match id {
                    Some(id) => {
                        let outcome = match self.editor.requested(&id, method.into_owned(), params) {
                            Ok((method, params)) => self.handled(&id, &method, params).await,
                            Err(error) => Err(error),
                        };
                        if let Err(error) = outcome {
                            self.editor.answer(&id, Err(error));
                        }
                    }
                    None if self.editor.ignores(&method, &params) => {}
                    None => self.notified(&method, &params).await,
                }
            }
        }
    }

    async fn handled(&mut self, id: &Id, method: &str, params: Value) -> Result<(), Error> {
        if method == "initialize" {
            let introduced = self.initialize(params).await?;
            self.editor.answer(id, Ok(introduced));
            return Ok(());
        }
        if self.client.is_none() {
            return Err(refused(format!("{method} came before initialize; send initialize first")));
        }
        self.requested(id, method, params).await
    }

    async fn initialize(&mut self, params: Value) -> Result<Value, Error> {
        if self.client.is_some() {
            return Err(refused("initialize was sent before"));
        }
        let request: InitializeRequest = super::requests::read(params)?;
        let info = request.client_info.as_ref();
        let greeting = Greeting {
            name: info.map_or("threadhold acp", |info| info.name.as_str()),
            version: info.map(|info| info.version.as_str()),
            capabilities: Some(
                json!({ "toolInvoke": true, "elicit": fills_forms(&request.client_capabilities) }),
            ),
            storage: self.storage.as_deref(),
            // As a setting of the client, the first model is one that the user can change in a session.
            settings: self.choices.models.first().map(Named::settings),
        };
        self.sidecar.greet(greeting).await.map_err(|error| refused(error.to_string()))?;
        self.client = Some(request.client_capabilities);
        Ok(result(&introduction()))
    }

    /// The runner of tools in this process or in the editor.
    pub(super) fn runner(&self) -> Runner {
        Runner {
            editor: self.editor.clone(),
            capabilities: self.client.clone().unwrap_or_default(),
            turn: Arc::clone(&self.turn),
        }
    }

    /// Asks about calls that were not asked about yet.
    pub(super) fn question(&mut self, session: &str, reasons: &[PauseReason]) {
        for reason in reasons {
            let is_asked = self.work.purposes().any(
                |work| matches!(work, Work::Question(of, other) if of == session && other.tool_call_id == reason.tool_call_id),
            );
            if is_asked {
                continue;
            }
            let purpose = Work::Question(session.to_owned(), reason.clone());
            let call = self.call(session, &reason.tool_call_id, &reason.name, &reason.arguments.0);
            let (runner, reason) = (self.runner(), reason.clone());
            self.work.begin(purpose, async move {
                Done::Answered(match call {
                    Some(call) => permission::ask(runner, call, reason).await,
                    None => permission::unseen(reason),
                })
            });
        }
    }

    pub(super) fn invoke(&mut self, id: Id, call: ToolInvokeParams) {
        let ToolInvokeParams { session_id, tool_call_id, name, arguments, .. } = call;
        let shown = self.shown.remove(&(session_id.clone(), tool_call_id.clone()));
        let run = self.call(&session_id, &tool_call_id, &name, &arguments.0);
        if self.sessions.contains_key(&session_id) {
            self.update(&session_id, [SessionUpdate::ToolCallUpdate(row::begun(&tool_call_id))]);
        }
        let (runner, purpose) = (self.runner(), Work::Tool(id, session_id.clone(), tool_call_id));
        let work = async move {
            Done::Ran(match run {
                Some(call) => runner.run(call, shown).await,
                None => tools::said(Err(format!("session {session_id} is not open in this editor"))).into(),
            })
        };
        self.work.begin(purpose, work);
    }

    /// A call in the folder of its session, or of the session that it works for.
    pub(super) fn call(&self, session: &str, id: &str, name: &str, arguments: &str) -> Option<Call> {
        let shown_in = root(&self.parents, session);
        let shown_in = if self.sessions.contains_key(session) { session } else { shown_in };
        let open = self.sessions.get(shown_in)?;
        Some(Call {
            shown_in: shown_in.to_owned(),
            session: session.to_owned(),
            folder: open.folder.clone(),
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    /// Asks the user what a tool server wants to know.
    pub(super) fn elicit(&mut self, id: Id, params: McpElicitParams) {
        let shown_in = root(&self.parents, &params.session_id).to_owned();
        let (purpose, editor) = (Work::Elicit(id, shown_in.clone()), self.editor.clone());
        let work = async move { Done::Elicited(servers::elicit(&editor, &shown_in, params).await) };
        self.work.begin(purpose, work);
    }

    /// Updates that the editor takes.
    pub(super) fn takes(&self) -> Takes {
        let client = self.client.as_ref();
        let session = client.and_then(|client| client.session.as_ref());
        Takes {
            compactions: session.is_some_and(|session| session.compaction.is_some()),
            notices: session.is_some_and(|session| session.notices.is_some()),
        }
    }

    /// The open session of this id.
    pub(super) fn session(&mut self, id: &str) -> Result<&mut OpenSession, Error> {
        self.sessions.get_mut(id).ok_or_else(|| unknown_session(id))
    }

    /// Sends updates of a session.
    pub(super) fn update(&self, session: &str, updates: impl IntoIterator<Item = SessionUpdate>) {
        for update in updates {
            let update = SessionNotification::new(session.to_owned(), update);
            self.editor.notify("session/update", &update);
        }
    }

    /// Tells the editor what the user can enter in a session.
    pub(super) fn offer(&self, session: &str) {
        let mut commands = super::command::available();
        commands
            .extend(self.sessions.get(session).iter().flat_map(|open| servers::available(&open.contents)));
        let commands = AvailableCommandsUpdate::new(commands);
        self.update(session, [SessionUpdate::AvailableCommandsUpdate(commands)]);
    }
}

/// `true` if the editor shows forms to the user.
fn fills_forms(client: &ClientCapabilities) -> bool {
    client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some())
}

/// The answer to `initialize`.
fn introduction() -> InitializeResponse {
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new());
    let prompts = PromptCapabilities::new().image(true).embedded_context(true);
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(prompts)
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let mut ours = Map::new();
    ours.insert("threadhold".to_owned(), json!({ "protocolVersion": VERSION }));
    InitializeResponse::new(agent_client_protocol_schema::ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .agent_info(
            Implementation::new("threadhold", env!("CARGO_PKG_VERSION")).title("threadhold".to_owned()),
        )
        .meta(ours)
}

/// A result as JSON: types of the protocol are always representable.
pub(super) fn result(result: &impl Serialize) -> Value {
    serde_json::to_value(result).unwrap_or_default()
}
