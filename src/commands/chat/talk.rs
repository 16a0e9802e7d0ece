//! A chat in a terminal: typed lines become commands, events become text. Each state carries what it waits for.

use super::client::{Client, ClientError, Incoming};
use super::command::{Command, Context, HELP, failed_summaries, task_ended};
use super::opening::{self, Begin};
use super::question::Question;
use super::terminal::{Lines, Screen, interrupts};
use super::tools;
use super::visible::visible;
use crate::commands::{SUCCESS, UNFIT};
use engine::message::PROCESS_COMPLETED;
use lsp_types::notification::Exit;
use lsp_types::request::{Request, Shutdown};
use protocol::context::CompactionView;
use protocol::event::{CompactionPhase, Event, EventError, Retrying};
use protocol::message::{Content, Message, Part, Role};
use protocol::methods::{ToolDecide, ToolResult, TurnCancel, TurnStart};
use protocol::model::DeltaOp;
use protocol::session::State;
use protocol::settings::GivenSettings;
use protocol::snapshot::Snapshot;
use protocol::tool::{
    PauseReason, RequestPermissionResult, ToolDecideParams, ToolInvokeResult, ToolResultParams,
};
use protocol::turn::{TurnCancelParams, TurnStartParams, TurnStatus};
use serde_json::Value;
use std::path::PathBuf;
use tokio::io::DuplexStream;
use tokio::task::JoinSet;
use tower_lsp::jsonrpc::Id;

/// Phase of a chat.
#[derive(Debug)]
enum Phase {
    /// Waits for a line.
    Resting,
    /// Waits for the response to this request, which starts a turn.
    Starting(i64),
    /// Waits for the end of a turn.
    Running,
    /// Waits for the user's decision.
    Asking(Question),
    /// Waits for the response to the request of this command.
    Commanding(i64, Command),
}

/// Recipient of a tool's result.
#[derive(Debug)]
enum Recipient {
    /// A request of the sidecar.
    Request(Id),
    /// A call that was pending when the session was opened.
    Call(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

struct Talk {
    client: Client,
    screen: Screen,
    folder: PathBuf,
    about: Context,
    phase: Phase,
    running: JoinSet<(Recipient, ToolInvokeResult)>,
    /// The answer on screen: the id of its message, and the text shown so far.
    answer: (String, String),
    /// `true` if Ctrl-C was the last input.
    is_interrupted: bool,
    /// `true` if the last turn failed.
    has_failed: bool,
    /// `true` if the session holds anything.
    is_begun: bool,
}

/// Runs the chat until the user leaves. Returns the process's exit code.
pub(super) async fn talk(stream: DuplexStream, begin: Begin) -> Result<u8, ClientError> {
    let mut interrupts = interrupts();
    let (folder, task) = (begin.folder.clone(), begin.task.clone());
    let mut screen = Screen::open();
    let (client, opened, model) = tokio::select! {
        opened = opening::open(Client::new(stream), begin, &mut screen) => opened?,
        Some(()) = interrupts.recv() => return Ok(SUCCESS),
    };
    let mut talk = Talk::new(client, screen, folder, task, &opened, &model);
    let mut lines = Lines::open();
    talk.rest_or_ask();
    loop {
        let was_asking = matches!(talk.phase, Phase::Asking(_));
        let next = tokio::select! {
            heard = talk.client.hear() => match heard {
                Some(heard) => talk.heard(heard).await,
                // The sidecar stopped.
                None => return Ok(SUCCESS),
            },
            Some(Ok((whom, result))) = talk.running.join_next() => talk.ran(whom, result).await,
            Some(()) = interrupts.recv() => talk.interrupted().await,
            line = lines.next(), if talk.reads() => talk.typed(line).await,
        };
        if !was_asking && matches!(talk.phase, Phase::Asking(_)) {
            lines.forget();
        }
        if next == Next::Leave || talk.screen.is_gone() {
            return talk.leave().await;
        }
    }
}

impl Talk {
    fn new(
        client: Client,
        mut screen: Screen,
        folder: PathBuf,
        task: Option<GivenSettings>,
        opened: &Snapshot,
        model: &str,
    ) -> Self {
        let title = opened.title.as_deref().map(|title| format!(" ({title})")).unwrap_or_default();
        let known = if opened.messages.is_empty() { "new " } else { "" };
        let (id, place) = (&opened.session_id, folder.display());
        screen.note(&format!("{known}session {id}{title} in {place}, with {model}; /help lists commands"));
        let mut talk = Self {
            client,
            screen,
            about: Context { session: opened.session_id.clone(), folder: folder.display().to_string(), task },
            folder,
            phase: Phase::Resting,
            running: JoinSet::new(),
            answer: Default::default(),
            is_interrupted: false,
            has_failed: false,
            is_begun: !opened.messages.is_empty(),
        };
        talk.take_up(opened);
        talk
    }

    /// Resumes the decision or the calls that were pending when the session was left.
    fn take_up(&mut self, opened: &Snapshot) {
        if let Some(pause) = &opened.pause {
            self.phase = Phase::Asking(Question::new(None, pause.reasons.clone()));
            return;
        }
        for call in &opened.pending_calls {
            self.run(Recipient::Call(call.tool_call_id.clone()), &call.name, &call.arguments.0);
            self.phase = Phase::Running;
        }
    }

    /// `true` if a line can be typed now.
    const fn reads(&self) -> bool {
        matches!(self.phase, Phase::Resting | Phase::Asking(_))
    }

    fn rest(&mut self) {
        self.phase = Phase::Resting;
        self.rest_or_ask();
    }

    /// Prompts for the input that the state waits for.
    fn rest_or_ask(&mut self) {
        match &self.phase {
            Phase::Resting => self.screen.prompt("> "),
            Phase::Asking(question) => {
                if let Some(reason) = question.left.front() {
                    let PauseReason { name, arguments, reason, .. } = reason;
                    self.screen.note(&visible(&format!("{name} {} ({reason})", arguments.0)));
                    self.screen.prompt("allow? y / n [REASON] / always / never (this tool in this folder): ");
                }
            }
            Phase::Starting(_) | Phase::Running | Phase::Commanding(..) => {}
        }
    }

    /// Handles a typed line; `None` at the end of input.
    async fn typed(&mut self, line: Option<String>) -> Next {
        let Some(line) = line else {
            if let Phase::Asking(_) = self.phase {
                self.screen.note("(calls that need approval stay pending; --continue asks again)");
            }
            return Next::Leave;
        };
        self.is_interrupted = false;
        match &mut self.phase {
            Phase::Asking(question) => {
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
        let session_id = self.about.session.clone();
        let (command, words) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(read) = Command::read(command, words) {
            match read {
                Ok(command) => {
                    self.is_begun |= matches!(command, Command::Task(_));
                    let number = command.ask(&mut self.client, &self.about).await;
                    self.phase = Phase::Commanding(number, command);
                }
                Err(usage) => {
                    self.screen.note(usage);
                    self.rest();
                }
            }
            return Next::GoOn;
        }
        match command {
            "" => self.rest(),
            "/quit" | "/exit" => return Next::Leave,
            "/help" => {
                self.screen.note(HELP);
                self.rest();
            }
            _ if command.starts_with('/') && !command.get(1..).is_some_and(|rest| rest.contains('/')) => {
                self.screen.note(&format!("unknown command {command}; /help lists all commands"));
                self.rest();
            }
            _ => {
                let params = TurnStartParams::new(session_id, Content::text(line));
                self.is_begun = true;
                let number = self.client.ask::<TurnStart>(&params).await;
                self.phase = Phase::Starting(number);
            }
        }
        Next::GoOn
    }

    /// Handles Ctrl-C.
    async fn interrupted(&mut self) -> Next {
        let again = std::mem::replace(&mut self.is_interrupted, true);
        match &self.phase {
            Phase::Resting if again => return Next::Leave,
            Phase::Resting => {
                self.screen.note("\n(press Ctrl-C again, or Ctrl-D, to leave)");
                self.rest();
            }
            Phase::Commanding(number, _) => self.client.cancel(*number).await,
            Phase::Starting(_) | Phase::Running | Phase::Asking(_) => {
                let session_id = self.about.session.clone();
                let params = TurnCancelParams { session_id, turn_id: None, cancel_queued: None };
                self.client.ask::<TurnCancel>(&params).await;
            }
        }
        Next::GoOn
    }

    async fn heard(&mut self, heard: Incoming) -> Next {
        match heard {
            Incoming::Event(event) if event.session_id == self.about.session => {
                return self.happened(event.event);
            }
            Incoming::Event(_) => {}
            Incoming::Invoke(id, call) => {
                self.screen.note(&visible(&format!("[{} {}]", call.name, call.arguments.0)));
                self.run(Recipient::Request(id), &call.name, &call.arguments.0);
            }
            Incoming::Permission(id, wanted) => {
                self.phase = Phase::Asking(Question::new(Some(id), wanted.reasons));
                self.rest_or_ask();
            }
            Incoming::Withdrawn(id) => {
                if matches!(&self.phase, Phase::Asking(question) if question.request.as_ref() == Some(&id)) {
                    self.phase = Phase::Running;
                }
            }
            Incoming::Answer(number, outcome) => self.answered(number, outcome),
            Incoming::Told(text) => self.screen.note(&format!("({text})")),
        }
        Next::GoOn
    }

    fn answered(&mut self, number: i64, outcome: Result<Value, String>) {
        match (&self.phase, outcome) {
            (Phase::Starting(asked), Ok(_)) if *asked == number => self.phase = Phase::Running,
            (Phase::Starting(asked), Err(error)) if *asked == number => {
                self.has_failed = true;
                self.screen.note(&error);
                self.rest();
            }
            (Phase::Commanding(asked, command), outcome) if *asked == number => {
                let said = outcome.and_then(|value| command.describe(value));
                self.screen.note(&said.unwrap_or_else(|error| error));
                self.rest();
            }
            // A decision or a result that came too late: an event shows why.
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
            // Output cannot be taken back: the reader is told what is void.
            Event::StreamReset { message_id } if message_id == self.answer.0 => {
                self.screen.note("(the answer broke off and begins again)");
                self.answer.1.clear();
            }
            Event::MessageAdded { message } => self.added(&message),
            Event::RuntimeUpdated { state, status, error, retrying, .. } => {
                self.runs(state, status, error.as_ref(), retrying.as_ref());
            }
            Event::CompactionUpdated { phase, tokens_before, tokens_after, compaction, .. } => {
                self.compacts(phase, tokens_before.zip(tokens_after), compaction.as_deref());
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
                self.screen.note("another process took over this session; continue it there");
                return Next::Leave;
            }
            _ => {}
        }
        Next::GoOn
    }

    /// Handles a change of the session's state.
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
            self.screen.note("(stopped; the partial answer is kept)");
        }
        let is_at_rest =
            matches!(state, State::Idle | State::WaitingUserInput | State::Completed | State::Error);
        match &self.phase {
            // A compaction has states of its own, and a starting turn has not begun.
            Phase::Commanding(..) | Phase::Starting(_) => {}
            Phase::Resting if is_at_rest => {}
            _ if is_at_rest => self.rest(),
            // Queued work began.
            Phase::Resting => self.phase = Phase::Running,
            Phase::Running | Phase::Asking(_) => {}
        }
    }

    fn compacts(&mut self, at: CompactionPhase, tokens: Option<(u32, u32)>, made: Option<&CompactionView>) {
        let by_hand = matches!(self.phase, Phase::Commanding(..));
        match (at, tokens) {
            (CompactionPhase::Started, _) if !by_hand => {
                self.screen.note("(compacting: the conversation is too long)");
            }
            (CompactionPhase::Accepted, Some((before, after))) => {
                let failed = made.map(failed_summaries).unwrap_or_default();
                self.screen.note(&format!("(compacted from {before} to {after} tokens{failed})"));
            }
            (CompactionPhase::Voided, _) => {
                self.screen.note("(a compaction is no longer in effect: messages that it covers changed)");
            }
            _ => {}
        }
    }

    /// Shows a piece of an answer.
    fn go_on(&mut self, message: &str, text: &str) {
        if self.answer.0 != message {
            self.answer = (message.to_owned(), String::new());
        }
        self.answer.1.push_str(text);
        self.screen.say(text);
    }

    /// Shows the rest of an answer, given its whole text so far.
    fn catch_up(&mut self, message: &str, text: &str) {
        let shown = if self.answer.0 == message { self.answer.1.as_str() } else { "" };
        match text.strip_prefix(shown) {
            Some(rest) => self.go_on(message, rest),
            // Not what was streamed: the session holds this text.
            None => {
                self.screen.end_line();
                self.answer.1.clear();
                self.go_on(message, text);
            }
        }
    }

    /// Shows a message that was added to the session.
    fn added(&mut self, message: &Message) {
        let kind = message.kind.as_deref().filter(|_| message.role == Role::Event);
        let is_question = kind == Some("question");
        match message.role {
            Role::Event if kind == Some(PROCESS_COMPLETED) => {
                self.screen.note(&task_ended(&texts(&message.parts)));
                return self.rest_or_ask();
            }
            Role::Assistant => self.catch_up(&message.id, &texts(&message.parts)),
            Role::Event if is_question => self.screen.say(&texts(&message.parts)),
            Role::User | Role::Tool | Role::Event => return,
        }
        self.screen.end_line();
    }

    /// Sends the decisions on all calls of a question.
    async fn decided(&mut self) {
        let Phase::Asking(question) = std::mem::replace(&mut self.phase, Phase::Running) else {
            return;
        };
        let Question { request, decisions, .. } = question;
        match request {
            Some(id) => self.client.answer(&id, &RequestPermissionResult { decisions }).await,
            None => {
                let params = ToolDecideParams { session_id: self.about.session.clone(), decisions };
                self.client.ask::<ToolDecide>(&params).await;
            }
        }
    }

    /// Runs a tool in the background.
    fn run(&mut self, whom: Recipient, name: &str, arguments: &str) {
        let (folder, name, arguments) = (self.folder.clone(), name.to_owned(), arguments.to_owned());
        self.running.spawn_blocking(move || (whom, tools::run(&folder, &name, &arguments)));
    }

    /// Sends the result of a tool.
    async fn ran(&mut self, whom: Recipient, result: ToolInvokeResult) -> Next {
        match whom {
            Recipient::Request(id) => self.client.answer(&id, &result).await,
            Recipient::Call(tool_call_id) => {
                let ToolInvokeResult { content, is_error, .. } = result;
                let params = ToolResultParams {
                    session_id: self.about.session.clone(),
                    tool_call_id,
                    content: content.unwrap_or_else(|| Content::text("")),
                    is_error,
                    exit_code: None,
                    effects: None,
                    meta: None,
                };
                self.client.ask::<ToolResult>(&params).await;
            }
        }
        Next::GoOn
    }

    /// Shuts the sidecar down; the session stays stored.
    async fn leave(mut self) -> Result<u8, ClientError> {
        if self.is_begun {
            self.screen.note(&format!(
                "\nsaved as session {}; resume with --session or --continue",
                self.about.session
            ));
        }
        self.client.call_named(Shutdown::METHOD, &Value::Null).await?;
        self.client.notify::<Exit>(()).await;
        Ok(if self.has_failed { UNFIT } else { SUCCESS })
    }
}

fn texts(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    parts.iter().filter_map(text).collect()
}
