//! A chat in a terminal: typed lines become commands, events change the state. Each state carries what it waits for.

mod commanding;
mod filling;

use super::call_text;
use super::calls::{Call, Calls, EndedCall, Recipient};
use super::command::{Command, Context};
use super::contents;
use super::display::Display;
use super::form::Form;
use super::input::{Entry, Input, interrupts};
use super::opening::{self, Begin};
use super::question::Question;
use super::screen::{self, Screen};
use crate::commands::client::{Client, ClientError, Incoming};
use crate::commands::model::Named;
use crate::commands::{SUCCESS, UNFIT, tools};
use lsp_types::notification::Exit;
use lsp_types::request::{Request, Shutdown};
use protocol::event::{Event, SessionEvent};
use protocol::message::{Role, texts};
use protocol::methods::{ToolDecide, ToolResult, TurnCancel};
use protocol::session::State;
use protocol::snapshot::Snapshot;
use protocol::tool::{RequestPermissionResult, ToolDecideParams, ToolInvokeResult};
use protocol::turn::{TurnCancelParams, TurnStatus};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tower_lsp::jsonrpc::Error;

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
    /// Waits for the user's answer to a tool server, while the turn runs.
    Filling(Form),
    /// Waits for the response to the request of this command.
    Commanding(i64, Command),
}

#[derive(Debug)]
enum Next {
    GoOn,
    Leave,
    /// Goes on with another model.
    Again(Box<Named>),
}

/// How a chat ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// The user left; the process's exit code.
    Left(u8),
    /// The user chose another model for a session. The sidecar is another one with it, the input stays.
    Again { model: Box<Named>, session: String, input: Input },
}

struct Talk {
    client: Client,
    display: Display,
    about: Context,
    phase: Phase,
    /// `true` if the user sees what the phase waits for.
    is_prompted: bool,
    calls: Calls,
    /// Questions of tool servers that wait behind the one that is asked.
    forms: VecDeque<Form>,
    interrupts: mpsc::UnboundedReceiver<()>,
    /// The model that the user chose; `None` for that of the settings.
    model: Option<Named>,
    /// `true` if Ctrl-C was the last input.
    is_interrupted: bool,
    /// `true` if the last turn failed.
    has_failed: bool,
    /// `true` if the session holds anything.
    is_begun: bool,
}

/// Interval at which the time that the work takes is shown.
const TICK: Duration = Duration::from_secs(1);

/// Runs the chat until the user leaves or chooses another model.
pub(super) async fn talk(
    stream: DuplexStream,
    begin: Begin,
    input: Option<Input>,
) -> Result<Ended, ClientError> {
    let mut interrupts = interrupts();
    let Begin { folder, which, storage, form, model: chosen } = begin;
    let is_again = input.is_some();
    let (mut client, mut screen) = (Client::new(stream), Screen::new(form));
    let named = folder.display().to_string();
    let opening = async {
        opening::greet(&mut client, storage.as_deref()).await?;
        opening::open(&mut client, &named, which, &mut screen).await
    };
    let (opened, model) = tokio::select! {
        opened = opening => opened?,
        Some(()) = interrupts.recv() => return Ok(Ended::Left(SUCCESS)),
    };
    let asked = opened.messages.iter().filter(|message| message.role == Role::User);
    let asked = || asked.map(|message| texts(&message.parts)).collect();
    let mut input = input.unwrap_or_else(|| Input::open(form, asked()));
    // The process that runs a task may have other flags.
    let task = chosen.as_ref().map(Named::settings);
    let about = Context { session: String::new(), folder: named, task, listed: Vec::new() };
    let mut talk = Talk {
        client,
        display: Display::new(screen),
        about,
        phase: Phase::Resting,
        is_prompted: false,
        calls: Calls::new(folder),
        forms: VecDeque::new(),
        interrupts,
        model: chosen,
        is_interrupted: false,
        has_failed: false,
        is_begun: false,
    };
    talk.take_up(opened, &model, is_again).await;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        talk.prompt(&mut input);
        let next = tokio::select! {
            heard = talk.client.hear() => match heard {
                Some(heard) => talk.heard(heard).await,
                // The sidecar stopped.
                None => return Ok(Ended::Left(SUCCESS)),
            },
            ended = talk.calls.next() => talk.ended(ended).await,
            Some(()) = talk.interrupts.recv() => talk.interrupted().await,
            entry = input.next(), if talk.reads() => talk.entered(entry).await,
            _ = ticks.tick(), if !talk.reads() => {
                talk.display.tick();
                Next::GoOn
            }
        };
        match next {
            Next::GoOn if !talk.display.screen.is_gone() => {}
            Next::GoOn | Next::Leave => return talk.leave().await.map(Ended::Left),
            Next::Again(model) => {
                let session = talk.about.session.clone();
                talk.stop().await?;
                return Ok(Ended::Again { model, session, input });
            }
        }
    }
}

impl Talk {
    fn note(&mut self, text: &str) {
        self.display.screen.note(text);
    }

    /// Goes on with a session: with the decision or the calls that were pending when it was left.
    async fn take_up(&mut self, opened: Snapshot, model: &str, is_again: bool) {
        self.about.session.clone_from(&opened.session_id);
        self.is_begun = !opened.messages.is_empty();
        self.rest();
        if is_again {
            self.note(&format!("(from now on with {model})"));
        } else {
            self.display.introduce(&opened, &self.about.folder, model);
        }
        if let Some(pause) = &opened.pause {
            self.phase = Phase::Asking(Question::new(None, pause.reasons.clone()));
        } else {
            for call in &opened.pending_calls {
                self.phase = Phase::Running;
                match self.calls.resume(call) {
                    Some(brief) => self.note(&brief),
                    None => {
                        let brief = call_text::brief(&call.name, &call.arguments.0);
                        self.note(&format!("{brief} was interrupted and is not run again"));
                        let recipient = Recipient::Call(call.tool_call_id.clone());
                        self.send(recipient, tools::interrupted()).await;
                    }
                }
            }
        }
        self.display.screen.event(&opening::as_event(opened));
        for waiting in contents::waiting(&mut self.client, &self.about.session).await {
            self.note(&waiting);
        }
    }

    /// `true` if a line can be entered now.
    const fn reads(&self) -> bool {
        matches!(self.phase, Phase::Resting | Phase::Asking(_) | Phase::Filling(_))
    }

    fn rest(&mut self) {
        self.phase = Phase::Resting;
        self.is_prompted = false;
    }

    /// Prompts for the input that the phase waits for, unless that was done.
    fn prompt(&mut self, input: &mut Input) {
        if !self.reads() || std::mem::replace(&mut self.is_prompted, true) {
            return;
        }
        self.display.rests();
        let (prompt, is_message) = match &self.phase {
            Phase::Asking(question) => {
                let choices = question.choices();
                if let Some(call) = question.left.front() {
                    let (lines, change) = call_text::described(call, self.calls.folder());
                    self.display.screen.show_exactly(lines);
                    change.into_iter().for_each(|change| self.calls.show(&call.tool_call_id, change));
                }
                // The prompt of a message stands there already.
                if input.is_editing() {
                    self.note(choices);
                }
                (format!("{choices}: "), false)
            }
            Phase::Filling(form) => {
                let prompt = form.prompt();
                if input.is_editing() {
                    self.note(&prompt);
                }
                (format!("{prompt}: "), false)
            }
            _ => {
                self.display.screen.part();
                ("> ".to_owned(), true)
            }
        };
        // An answer whose end is unknown would stand below the line.
        self.display.screen.end_answer();
        match input.edit(&prompt, is_message) {
            Some(above) => self.display.screen.edits(Some(above)),
            None => self.display.screen.prompt(&prompt),
        }
    }

    /// Handles what the user entered.
    async fn entered(&mut self, entry: Entry) -> Next {
        self.display.screen.edits(None);
        self.is_prompted = false;
        let line = match entry {
            Entry::Interrupt => return self.interrupted().await,
            Entry::End => {
                if let Phase::Asking(_) = self.phase {
                    self.note("(calls that need approval stay pending; --continue asks again)");
                }
                return Next::Leave;
            }
            Entry::Message(_) if matches!(self.phase, Phase::Asking(_) | Phase::Filling(_)) => {
                self.note("(this was no answer: it was begun before a call asked for one)");
                return Next::GoOn;
            }
            Entry::Message(line) | Entry::Line(line) => line,
        };
        self.is_interrupted = false;
        match &mut self.phase {
            Phase::Asking(question) => {
                if question.decide(&line) {
                    self.decided().await;
                }
                Next::GoOn
            }
            Phase::Filling(_) => {
                self.fill(&line).await;
                Next::GoOn
            }
            _ => self.commanded(line.trim()).await,
        }
    }

    /// Handles Ctrl-C.
    async fn interrupted(&mut self) -> Next {
        let again = std::mem::replace(&mut self.is_interrupted, true);
        match &self.phase {
            Phase::Resting if again => return Next::Leave,
            Phase::Resting => {
                self.note("\n(press Ctrl-C again, or Ctrl-D, to leave)");
                self.rest();
            }
            Phase::Commanding(number, _) => self.client.cancel(*number).await,
            Phase::Starting(_) | Phase::Running | Phase::Asking(_) | Phase::Filling(_) => {
                if let Phase::Asking(_) | Phase::Filling(_) = self.phase {
                    self.phase = Phase::Running;
                }
                self.calls.stop_resumed();
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
                return self.happened(&event);
            }
            Incoming::Event(_) => {}
            Incoming::Invoke(id, call) => {
                let whom = Recipient::Request(id);
                let brief = self.calls.begin(whom, &call.tool_call_id, &call.name, &call.arguments.0);
                self.display.works(Some(&call.name));
                self.note(&brief);
            }
            Incoming::Permission(id, wanted) => {
                self.phase = Phase::Asking(Question::new(Some(id), wanted.reasons));
                self.is_prompted = false;
            }
            Incoming::Elicit(id, params) => self.elicit(id, params),
            Incoming::Withdrawn(id) => {
                self.calls.stop(&id);
                self.forms.retain(|form| form.request != id);
                match &self.phase {
                    Phase::Asking(question) if question.request.as_ref() == Some(&id) => {
                        self.phase = Phase::Running;
                    }
                    Phase::Filling(form) if form.request == id => self.next_form(),
                    _ => {}
                }
            }
            Incoming::Answer(number, outcome) => self.answered(number, outcome),
            Incoming::Told(text) => self.note(&format!("({text})")),
        }
        Next::GoOn
    }

    fn answered(&mut self, number: i64, outcome: Result<Value, Error>) {
        let outcome = outcome.map_err(|error| error.message.into_owned());
        match (&self.phase, outcome) {
            (Phase::Starting(asked), Ok(_)) if *asked == number => self.phase = Phase::Running,
            (Phase::Starting(asked), Err(error)) if *asked == number => {
                self.has_failed = true;
                self.note(&error);
                self.rest();
            }
            (Phase::Commanding(asked, command), outcome) if *asked == number => {
                let said = outcome.and_then(|value| command.describe(value, &mut self.about));
                self.note(&said.unwrap_or_else(|error| error));
                self.rest();
            }
            // A decision or a result that came too late: an event shows why.
            _ => {}
        }
    }

    fn happened(&mut self, event: &SessionEvent) -> Next {
        self.display.screen.event(event);
        self.display.event(&event.event, matches!(self.phase, Phase::Commanding(..)));
        match &event.event {
            Event::RuntimeUpdated { state, status, .. } => self.runs(*state, *status),
            Event::Snapshot { snapshot } => self.runs(snapshot.state, None),
            // A note may stand below the prompt.
            Event::MessageAdded { message } if message.role == Role::Event => {
                self.is_prompted &= self.display.screen.form() == screen::Form::Rich;
            }
            Event::SessionTakenOver {} => return Next::Leave,
            _ => {}
        }
        Next::GoOn
    }

    /// Handles a change of the session's state.
    fn runs(&mut self, state: State, status: Option<TurnStatus>) {
        self.has_failed = match status {
            Some(TurnStatus::Failed) => true,
            Some(TurnStatus::Completed | TurnStatus::Cancelled) => false,
            Some(TurnStatus::Running) | None => self.has_failed,
        };
        let is_at_rest =
            matches!(state, State::Idle | State::WaitingUserInput | State::Completed | State::Error);
        match &self.phase {
            // A compaction has states of its own, and a starting turn has not begun.
            Phase::Commanding(..) | Phase::Starting(_) => {}
            Phase::Resting if is_at_rest => {}
            _ if is_at_rest => self.rest(),
            // Queued work began.
            Phase::Resting => self.phase = Phase::Running,
            Phase::Running | Phase::Asking(_) | Phase::Filling(_) => {}
        }
    }

    /// Sends the decisions on all calls of a question.
    async fn decided(&mut self) {
        let Phase::Asking(question) = std::mem::replace(&mut self.phase, Phase::Running) else {
            return;
        };
        self.display.works(None);
        let Question { request, decisions, .. } = question;
        match request {
            Some(id) => self.client.answer(&id, &RequestPermissionResult { decisions }).await,
            None => {
                let params = ToolDecideParams { session_id: self.about.session.clone(), decisions };
                self.client.ask::<ToolDecide>(&params).await;
            }
        }
    }

    /// Shows how a call ended, and sends its result.
    async fn ended(&mut self, ended: EndedCall) -> Next {
        let EndedCall { call: Call { recipient, name, brief }, result, is_one_of_several } = ended;
        if self.calls.is_empty() {
            self.display.works(None);
        }
        let lines = call_text::ended(&name, &result);
        if is_one_of_several && !lines.is_empty() {
            self.note(&brief);
        }
        self.display.screen.show(lines);
        self.send(recipient, result).await;
        Next::GoOn
    }

    async fn send(&mut self, recipient: Recipient, result: ToolInvokeResult) {
        match recipient {
            Recipient::Request(id) => self.client.answer(&id, &result).await,
            Recipient::Call(call) => {
                let params = tools::late(self.about.session.clone(), call, result);
                self.client.ask::<ToolResult>(&params).await;
            }
        }
    }

    /// Says where the session is, and shuts the sidecar down.
    async fn leave(mut self) -> Result<u8, ClientError> {
        self.display.rests();
        if self.is_begun {
            let id = &self.about.session;
            self.note(&format!("\nsaved as session {id}; resume with --session or --continue"));
        }
        // A script must not take an open question for an answer.
        let has_failed = self.has_failed || matches!(self.phase, Phase::Asking(_));
        self.stop().await?;
        Ok(if has_failed { UNFIT } else { SUCCESS })
    }

    /// Shuts the sidecar down; the session stays stored.
    async fn stop(mut self) -> Result<(), ClientError> {
        self.client.call_named(Shutdown::METHOD, &Value::Null).await?;
        self.client.notify::<Exit>(()).await;
        Ok(())
    }
}
