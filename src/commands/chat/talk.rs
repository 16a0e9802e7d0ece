//! A chat as it goes: what is typed becomes commands, what happens in the session becomes words on the screen. Each state
//! says what is waited for. What a prompt holds and when it is compacted is the engine's.

use super::client::{Client, Heard, Refused};
use super::terminal::{Lines, Screen};
use super::tools;
use crate::commands::{FAILED, SUCCESS};
use crate::protocol::VERSION;
use crate::protocol::context::{ContextCompactParams, ContextUndoParams};
use crate::protocol::event::{CompactionPhase, Event, EventError, Retrying};
use crate::protocol::message::{Content, Message, Part, Role};
use crate::protocol::methods::{
    ContextCompact, ContextUndo, Method, SessionConfigure, SessionList, SessionOpen, ToolDecide, ToolResult,
    TurnCancel, TurnStart, read_result,
};
use crate::protocol::model::DeltaOp;
use crate::protocol::session::{
    Driver, Origin, SessionConfigureParams, SessionListParams, SessionOpenParams, Snapshot, State,
};
use crate::protocol::settings::Settings;
use crate::protocol::tool::{
    Decision, PauseReason, RequestPermissionResult, ToolDecideParams, ToolInvokeResult, ToolResultParams,
    Verdict,
};
use crate::protocol::turn::{TurnCancelParams, TurnStartParams, TurnStatus};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower_lsp::jsonrpc::Id;

const HELP: &str = "/compact [WORDS]  sum up what was said so far; WORDS say what must not be lost
/undo             take the last compaction back
/help             this
/quit             leave, as Ctrl-D does; the session is kept
Ctrl-C stops an answer and keeps what was said of it; once more, at the prompt, leaves.";

/// What a chat begins with.
#[derive(Debug)]
pub(super) struct Begin {
    /// The workspace folder, as it is called.
    pub folder: PathBuf,
    /// Which session.
    pub which: Which,
    /// The folder that sessions are kept in, if it is not the platform's.
    pub storage: Option<PathBuf>,
}

/// Which session a chat is about.
#[derive(Debug)]
pub(super) enum Which {
    New,
    Named(String),
    /// The newest of the folder; a new one where there is none.
    Newest,
}

/// What a chat is at.
#[derive(Debug)]
enum Doing {
    /// It waits for a line.
    Resting,
    /// It waits for the answer to this request: a turn is to begin.
    Starting(i64),
    /// It waits for the end of a turn.
    Running,
    /// It waits for the user's decision.
    Asking(Question),
    /// It waits for the answer to this request.
    Commanding(i64, Command),
}

#[derive(Debug, Clone, Copy)]
enum Command {
    Compact,
    Undo,
}

/// Calls that wait for a decision, the next one first.
#[derive(Debug)]
struct Question {
    /// The request that wants the decisions; there is none for those that waited when the session was opened.
    request: Option<Id>,
    left: VecDeque<PauseReason>,
    decisions: Vec<Decision>,
}

/// Whom the result of a tool goes to.
#[derive(Debug)]
enum For {
    /// A request of the sidecar's.
    Request(Id),
    /// A call that was open when the session was opened.
    Call(String),
}

/// Whether the chat goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

struct Talk {
    client: Client,
    screen: Screen,
    folder: PathBuf,
    session: String,
    doing: Doing,
    running: JoinSet<(For, ToolInvokeResult)>,
    /// The answer that is being shown: the message that it will be, and what is shown of it.
    answer: (String, String),
    /// Whether Ctrl-C was the last thing that was typed.
    is_interrupted: bool,
    /// Whether the last turn failed.
    has_failed: bool,
    /// Whether the session holds anything.
    is_begun: bool,
}

/// Talks until the user leaves; the process's exit code.
pub(super) async fn talk(stream: DuplexStream, begin: Begin) -> Result<u8, Refused> {
    let mut interrupts = interrupts();
    let mut talk = open(Client::new(stream), begin).await?;
    let mut lines = Lines::open();
    talk.rest_or_ask();
    loop {
        let next = tokio::select! {
            heard = talk.client.hear() => match heard {
                Some(heard) => talk.heard(heard).await,
                // Somebody ended the process.
                None => return Ok(SUCCESS),
            },
            Some(Ok((whom, result))) = talk.running.join_next() => talk.ran(whom, result).await,
            Some(()) = interrupts.recv() => talk.interrupted().await,
            line = lines.next(), if talk.reads() => talk.typed(line).await,
        };
        if next == Next::Leave || talk.screen.is_gone() {
            return talk.leave().await;
        }
    }
}

/// Says so each time when Ctrl-C is pressed.
fn interrupts() -> mpsc::UnboundedReceiver<()> {
    let (sender, interrupts) = mpsc::unbounded_channel();
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).is_ok() {} });
    interrupts
}

/// Opens the session.
async fn open(mut client: Client, begin: Begin) -> Result<Talk, Refused> {
    let folder = begin.folder.display().to_string();
    let storage = begin.storage.map(|path| json!({ "path": path }));
    let ours = json!({
        "protocolVersion": VERSION,
        "client": { "name": "threadhold chat", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": { "toolInvoke": true, "requestPermission": true },
        "storage": storage,
    });
    let hello = json!({ "capabilities": {}, "initializationOptions": { "threadhold": ours } });
    client.call_named("initialize", &hello).await?;
    client.tell("initialized", &json!({})).await;
    let session_id = match begin.which {
        Which::New => None,
        Which::Named(id) => Some(id),
        Which::Newest => newest(&mut client, &folder).await?,
    };
    let params = SessionOpenParams {
        workspace_folder: folder.clone(),
        session_id,
        driver: Some(Driver::Sidecar),
        title: None,
        kind: None,
        parent_id: None,
        work_scope: None,
        settings: None,
        tools: Some(tools::tools()),
        sections: None,
        history: None,
        follow: None,
    };
    let opened = client.call::<SessionOpen>(&params).await?.snapshot;
    if opened.driver == Driver::Editor {
        let said = format!("session {}: an editor runs its loop, so it cannot go on here", opened.session_id);
        return Err(Refused::No(said));
    }
    let mut screen = Screen::open();
    let model = model(&mut client, &opened).await?;
    let title = opened.title.as_deref().map(|title| format!(" ({title})")).unwrap_or_default();
    let known = if opened.messages.is_empty() { "new " } else { "" };
    screen.note(&format!("{known}session {}{title} in {folder}, with {model}; /help", opened.session_id));
    let mut talk = Talk {
        client,
        screen,
        folder: begin.folder,
        session: opened.session_id.clone(),
        doing: Doing::Resting,
        running: JoinSet::new(),
        answer: Default::default(),
        is_interrupted: false,
        has_failed: false,
        is_begun: !opened.messages.is_empty(),
    };
    talk.take_up(&opened);
    Ok(talk)
}

/// The newest session of the folder that somebody talks in.
async fn newest(client: &mut Client, folder: &str) -> Result<Option<String>, Refused> {
    let mut params =
        SessionListParams { workspace_folder: Some(folder.to_owned()), ..SessionListParams::default() };
    loop {
        let page = client.call::<SessionList>(&params).await?;
        let mut sessions = page.sessions.into_iter();
        let found = sessions.find(|session| {
            session.driver == Driver::Sidecar && matches!(session.origin, Origin::New | Origin::Branch)
        });
        match (found, page.next_cursor) {
            (Some(found), _) => return Ok(Some(found.session_id)),
            (None, None) => return Ok(None),
            (None, cursor) => params.cursor = cursor,
        }
    }
}

/// The model that answers, for people. Where nobody set one it is scripted, which is not stored: the next who opens the
/// session finds it as it was.
async fn model(client: &mut Client, opened: &Snapshot) -> Result<String, Refused> {
    if let Some(named) = named(&opened.settings) {
        return Ok(named);
    }
    let settings = json!({ "settings": { "threadhold": { "model": { "wire": "scripted" } } } });
    client.tell("workspace/didChangeConfiguration", &settings).await;
    let session_id = opened.session_id.clone();
    let params = SessionConfigureParams { session_id, settings: None, title: None };
    let settings = client.call::<SessionConfigure>(&params).await?.settings;
    let ours = || Refused::No("the session's model is the editor's: name another one with --model".into());
    named(&settings).map(|named| format!("{named} (no model is set: see --model)")).ok_or_else(ours)
}

fn named(settings: &Settings) -> Option<String> {
    let model = settings.model.as_ref()?;
    let wire = serde_json::to_value(model.wire?).ok()?;
    let wire = wire.as_str().filter(|wire| *wire != "editor")?;
    let name = model.name.as_deref().or(model.base_url.as_deref());
    Some(name.map_or_else(|| wire.to_owned(), |name| format!("{wire}:{name}")))
}

impl Talk {
    /// Goes on with what was open when the session was left.
    fn take_up(&mut self, opened: &Snapshot) {
        if let Some(pause) = &opened.pause {
            self.doing = Doing::Asking(Question::new(None, pause.reasons.clone()));
            return;
        }
        for call in &opened.pending_calls {
            self.run(For::Call(call.tool_call_id.clone()), &call.name, &call.arguments.0);
            self.doing = Doing::Running;
        }
    }

    /// Whether a line that is typed now has a meaning.
    const fn reads(&self) -> bool {
        matches!(self.doing, Doing::Resting | Doing::Asking(_))
    }

    fn rest(&mut self) {
        self.doing = Doing::Resting;
        self.rest_or_ask();
    }

    /// Asks for what is waited for.
    fn rest_or_ask(&mut self) {
        match &self.doing {
            Doing::Resting => self.screen.prompt("> "),
            Doing::Asking(question) => {
                if let Some(reason) = question.left.front() {
                    let PauseReason { name, arguments, reason, .. } = reason;
                    self.screen.note(&format!("{name} {} ({reason})", arguments.0));
                    self.screen.prompt("may it run? y / n [WHY] / always, for this tool in this folder: ");
                }
            }
            Doing::Starting(_) | Doing::Running | Doing::Commanding(..) => {}
        }
    }

    /// A line was typed; nothing at the end of input.
    async fn typed(&mut self, line: Option<String>) -> Next {
        let Some(line) = line else {
            if let Doing::Asking(_) = self.doing {
                self.screen.note("(what waits for a decision waits on: it is asked again with --continue)");
            }
            return Next::Leave;
        };
        self.is_interrupted = false;
        match &mut self.doing {
            Doing::Asking(question) => {
                if question.decide(&line) {
                    self.decided().await;
                }
                self.rest_or_ask();
                Next::GoOn
            }
            _ => self.commanded(line.trim()).await,
        }
    }

    async fn commanded(&mut self, line: &str) -> Next {
        let session_id = self.session.clone();
        let (command, words) = line.split_once(' ').unwrap_or((line, ""));
        match command {
            "" => self.rest(),
            "/quit" | "/exit" => return Next::Leave,
            "/help" => {
                self.screen.note(HELP);
                self.rest();
            }
            "/compact" => {
                let focus = Some(words.trim().to_owned()).filter(|words| !words.is_empty());
                let (redo, keep) = (None, Vec::new());
                let params = ContextCompactParams {
                    session_id,
                    focus,
                    redo,
                    keep,
                    preview: false,
                    work_done_token: None,
                };
                let number = self.client.ask::<ContextCompact>(&params).await;
                self.doing = Doing::Commanding(number, Command::Compact);
            }
            "/undo" => {
                let params = ContextUndoParams { session_id, compaction_id: None };
                let number = self.client.ask::<ContextUndo>(&params).await;
                self.doing = Doing::Commanding(number, Command::Undo);
            }
            _ if command.starts_with('/') && !command.get(1..).is_some_and(|rest| rest.contains('/')) => {
                self.screen.note(&format!("there is no command {command}; /help lists them"));
                self.rest();
            }
            _ => {
                let params = TurnStartParams {
                    session_id,
                    content: Content::text(line),
                    external_id: None,
                    context_files: None,
                    attachments: None,
                    tools: None,
                    sections: None,
                    model: None,
                    priority: None,
                    idempotency_key: None,
                };
                self.is_begun = true;
                let number = self.client.ask::<TurnStart>(&params).await;
                self.doing = Doing::Starting(number);
            }
        }
        Next::GoOn
    }

    /// Ctrl-C was pressed.
    async fn interrupted(&mut self) -> Next {
        let again = std::mem::replace(&mut self.is_interrupted, true);
        match &self.doing {
            Doing::Resting if again => return Next::Leave,
            Doing::Resting => {
                self.screen.note("\n(Ctrl-C once more, or Ctrl-D, leaves)");
                self.rest();
            }
            Doing::Commanding(number, _) => self.client.withdraw(*number).await,
            Doing::Starting(_) | Doing::Running | Doing::Asking(_) => {
                let session_id = self.session.clone();
                let params = TurnCancelParams { session_id, turn_id: None, cancel_queued: None };
                self.client.ask::<TurnCancel>(&params).await;
            }
        }
        Next::GoOn
    }

    async fn heard(&mut self, heard: Heard) -> Next {
        match heard {
            Heard::Event(event) if event.session_id == self.session => return self.happened(event.event),
            Heard::Event(_) => {}
            Heard::Invoke(id, call) => {
                self.screen.note(&format!("[{} {}]", call.name, call.arguments.0));
                self.run(For::Request(id), &call.name, &call.arguments.0);
            }
            Heard::Permission(id, wanted) => {
                self.doing = Doing::Asking(Question::new(Some(id), wanted.reasons));
                self.rest_or_ask();
            }
            Heard::Withdrawn(id) => {
                if matches!(&self.doing, Doing::Asking(question) if question.request.as_ref() == Some(&id)) {
                    self.doing = Doing::Running;
                }
            }
            Heard::Answer(number, outcome) => self.answered(number, outcome),
            Heard::Told(text) => self.screen.note(&format!("({text})")),
        }
        Next::GoOn
    }

    fn answered(&mut self, number: i64, outcome: Result<Value, String>) {
        match (&self.doing, outcome) {
            (Doing::Starting(asked), Ok(_)) if *asked == number => self.doing = Doing::Running,
            (Doing::Starting(asked), Err(error)) if *asked == number => {
                self.has_failed = true;
                self.screen.note(&error);
                self.rest();
            }
            (Doing::Commanding(asked, command), outcome) if *asked == number => {
                let said = outcome.and_then(|value| command.said(value));
                self.screen.note(&said.unwrap_or_else(|error| error));
                self.rest();
            }
            // A decision or a result that came too late: whatever made it so is shown by itself.
            _ => {}
        }
    }

    fn happened(&mut self, event: Event) -> Next {
        match event {
            Event::StreamStarted { message_id, .. } => self.answer = (message_id, String::new()),
            Event::StreamDelta { message_id, ops } => {
                for op in ops {
                    if let DeltaOp::AppendContent { text } = op {
                        self.go_on(&message_id, &text);
                    }
                }
            }
            Event::MessageAdded { message } => self.added(&message),
            Event::RuntimeUpdated { state, status, error, retrying, .. } => {
                self.runs(state, status, error.as_ref(), retrying.as_ref());
            }
            Event::CompactionUpdated { phase, tokens_before, tokens_after, .. } => {
                self.compacts(phase, tokens_before, tokens_after);
            }
            Event::QueueUpdated { failed: Some(failed), .. } => self.screen.note(&failed.error.message),
            Event::Snapshot { snapshot } => {
                if let Some(streaming) = &snapshot.streaming {
                    self.catch_up(&streaming.message_id, &texts(&streaming.parts));
                }
                for message in &snapshot.messages {
                    if message.id == self.answer.0 {
                        self.added(message);
                    }
                }
                self.runs(snapshot.state, None, None, None);
            }
            Event::SessionTakenOver {} => {
                self.screen.note("another process goes on with this session");
                return Next::Leave;
            }
            _ => {}
        }
        Next::GoOn
    }

    /// The state is now this one.
    fn runs(
        &mut self,
        state: State,
        status: Option<TurnStatus>,
        error: Option<&EventError>,
        retrying: Option<&Retrying>,
    ) {
        if let Some(Retrying { attempt, delay_ms, reason }) = retrying {
            self.screen.note(&format!("({reason}; attempt {attempt} in {delay_ms} ms)"));
        }
        self.has_failed = match status {
            Some(TurnStatus::Failed) => true,
            Some(TurnStatus::Completed | TurnStatus::Cancelled) => false,
            Some(TurnStatus::Running) | None => self.has_failed,
        };
        if let Some(error) = error {
            self.screen.note(&error.message);
        }
        if status == Some(TurnStatus::Cancelled) {
            self.screen.note("(stopped; what was said is kept)");
        }
        let is_at_rest =
            matches!(state, State::Idle | State::WaitingUserInput | State::Completed | State::Error);
        match &self.doing {
            // A compaction has states of its own, and what is to begin has not begun.
            Doing::Commanding(..) | Doing::Starting(_) => {}
            Doing::Resting if is_at_rest => {}
            _ if is_at_rest => self.rest(),
            // Something that waited began.
            Doing::Resting => self.doing = Doing::Running,
            Doing::Running | Doing::Asking(_) => {}
        }
    }

    fn compacts(&mut self, phase: CompactionPhase, before: Option<u32>, after: Option<u32>) {
        let by_hand = matches!(self.doing, Doing::Commanding(..));
        match (phase, before, after) {
            (CompactionPhase::Started, ..) if !by_hand => {
                self.screen.note("(the conversation is too long: making room)");
            }
            (CompactionPhase::Accepted, Some(before), Some(after)) => {
                self.screen.note(&format!("(compacted: {before} tokens are {after} now)"));
            }
            (CompactionPhase::Voided, ..) => {
                self.screen.note("(a compaction no longer holds: what it stood for changed)");
            }
            _ => {}
        }
    }

    /// A piece of an answer.
    fn go_on(&mut self, message: &str, text: &str) {
        if self.answer.0 != message {
            self.answer = (message.to_owned(), String::new());
        }
        self.answer.1.push_str(text);
        self.screen.say(text);
    }

    /// All that is there of an answer, of which some may be shown.
    fn catch_up(&mut self, message: &str, text: &str) {
        let shown = if self.answer.0 == message { self.answer.1.as_str() } else { "" };
        match text.strip_prefix(shown) {
            Some(rest) => self.go_on(message, &rest.to_owned()),
            // It is another text than what was streamed: the session holds this one.
            None => {
                self.screen.end_line();
                self.answer.1.clear();
                self.go_on(message, text);
            }
        }
    }

    /// A message is in the session.
    fn added(&mut self, message: &Message) {
        let is_question = message.kind.as_deref() == Some("question");
        match message.role {
            Role::Assistant => self.catch_up(&message.id, &texts(&message.parts)),
            Role::Event if is_question => self.screen.say(&texts(&message.parts)),
            Role::User | Role::Tool | Role::Event => return,
        }
        self.screen.end_line();
    }

    /// All calls of a question are decided.
    async fn decided(&mut self) {
        let Doing::Asking(question) = std::mem::replace(&mut self.doing, Doing::Running) else { return };
        let Question { request, decisions, .. } = question;
        match request {
            Some(id) => self.client.answer(&id, &RequestPermissionResult { decisions }).await,
            None => {
                let params = ToolDecideParams { session_id: self.session.clone(), decisions };
                self.client.ask::<ToolDecide>(&params).await;
            }
        }
    }

    /// Runs a tool beside everything else.
    fn run(&mut self, whom: For, name: &str, arguments: &str) {
        let (folder, name, arguments) = (self.folder.clone(), name.to_owned(), arguments.to_owned());
        self.running.spawn_blocking(move || (whom, tools::run(&folder, &name, &arguments)));
    }

    /// A tool is done.
    async fn ran(&mut self, whom: For, result: ToolInvokeResult) -> Next {
        match whom {
            For::Request(id) => self.client.answer(&id, &result).await,
            For::Call(tool_call_id) => {
                let ToolInvokeResult { content, is_error, .. } = result;
                let params = ToolResultParams {
                    session_id: self.session.clone(),
                    tool_call_id,
                    content: content.unwrap_or_else(|| Content::text("")),
                    is_error,
                    exit_code: None,
                    effects: None,
                };
                self.client.ask::<ToolResult>(&params).await;
            }
        }
        Next::GoOn
    }

    /// Leaves; the session stays.
    async fn leave(mut self) -> Result<u8, Refused> {
        if self.is_begun {
            self.screen.note(&format!("\nkept as session {}: --session or --continue goes on", self.session));
        }
        self.client.call_named("shutdown", &Value::Null).await?;
        self.client.tell("exit", &Value::Null).await;
        Ok(if self.has_failed { FAILED } else { SUCCESS })
    }
}

impl Question {
    fn new(request: Option<Id>, reasons: Vec<PauseReason>) -> Self {
        Self { request, left: reasons.into(), decisions: Vec::new() }
    }

    /// Takes a line as the decision about the next call, if it is one; whether all are decided.
    fn decide(&mut self, line: &str) -> bool {
        let (word, why) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let decision = match word.to_lowercase().as_str() {
            "y" | "yes" => Verdict::Approve,
            "a" | "always" => Verdict::ApproveAlways,
            "n" | "no" => Verdict::Reject,
            _ => return false,
        };
        let is_why = decision == Verdict::Reject && !why.trim().is_empty();
        let note = is_why.then(|| why.trim().to_owned());
        if let Some(PauseReason { tool_call_id, .. }) = self.left.pop_front() {
            self.decisions.push(Decision { tool_call_id, decision, note, pattern: None });
        }
        self.left.is_empty()
    }
}

impl Command {
    /// What came of it, for people.
    fn said(self, value: Value) -> Result<String, String> {
        fn result<M: Method>(value: Value) -> Result<M::Result, String> {
            read_result::<M>(value).map_err(|error| error.message)
        }
        Ok(match self {
            // One that was made is told by its event.
            Self::Compact => match result::<ContextCompact>(value)?.reason {
                Some(reason) => format!("(nothing was compacted: {reason})"),
                None => "(done; /undo takes it back)".into(),
            },
            Self::Undo => {
                result::<ContextUndo>(value)?;
                "(taken back: the originals are in the prompt again)".into()
            }
        })
    }
}

/// What stands in the parts as text.
fn texts(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text { text } => Some(text.clone()),
        _ => None,
    };
    parts.iter().filter_map(text).collect()
}
