//! Events of a session on the screen: the answer as it arrives, and notes about everything else.

use super::command::{failed_summaries, task_ended};
use super::screen::{Form, Screen};
use crate::commands::report;
use engine::message::PROCESS_COMPLETED;
use protocol::context::CompactionView;
use protocol::event::{CompactionPhase, Event, Retrying};
use protocol::message::{Message, Role, texts};
use protocol::model::DeltaOp;
use protocol::snapshot::Snapshot;
use protocol::turn::TurnStatus;
use tokio::time::Instant;

/// Messages shown when a session is resumed are cut to this many lines.
const MOST_RECALLED: usize = 30;

/// The output of a chat.
#[derive(Debug)]
pub(super) struct Display {
    pub screen: Screen,
    /// The answer on screen: the id of its message, and the text shown so far.
    answer: (String, String),
    /// The work that the chat is busy with.
    work: Option<Work>,
    /// Size of the prompt and its limit, in tokens.
    prompt: Option<(u32, u32)>,
}

#[derive(Debug)]
struct Work {
    since: Instant,
    /// The tool that runs.
    tool: Option<String>,
}

impl Display {
    pub fn new(screen: Screen) -> Self {
        Self { screen, answer: Default::default(), work: None, prompt: None }
    }

    /// Shows an event. `is_commanded`: a command of the user waits for its response.
    pub fn event(&mut self, event: &Event, is_commanded: bool) {
        match event {
            Event::StreamStarted { message_id, .. } => self.answer = (message_id.clone(), String::new()),
            Event::StreamDelta { message_id, ops } => {
                for op in ops {
                    if let DeltaOp::AppendContent { text } = op {
                        self.go_on(message_id, text);
                    }
                }
            }
            // Output cannot be taken back: the reader is told what is void.
            Event::StreamReset { message_id } if *message_id == self.answer.0 => {
                self.screen.note("(the answer broke off and begins again)");
                self.answer.1.clear();
            }
            Event::MessageAdded { message } => self.added(message),
            Event::ToolProgress { progress, total, message, .. } => {
                self.screen.note(&format!("  {}", report::progressed(*progress, *total, message.as_deref())));
            }
            Event::RuntimeUpdated { status, error, retrying, .. } => {
                if let Some(Retrying { attempt, delay_ms, reason }) = retrying {
                    self.screen.note(&format!("({reason}; attempt {attempt} in {delay_ms} ms)"));
                }
                if let Some(error) = error {
                    self.screen.note(&error.message);
                }
                if *status == Some(TurnStatus::Cancelled) {
                    self.screen.note("(stopped; the partial answer is kept)");
                }
            }
            Event::TurnCompleted { usage, duration_ms, spent, .. } if self.screen.form() == Form::Rich => {
                if let Some(said) = report::turn(*duration_ms, usage.as_ref(), spent.as_ref()) {
                    self.screen.note(&said);
                }
            }
            Event::ContextUpdated { tokens, limit, .. } => self.prompt = Some((*tokens, *limit)),
            Event::CompactionUpdated { phase, tokens_before, tokens_after, compaction, .. } => {
                let tokens = tokens_before.zip(*tokens_after);
                self.compacts(*phase, tokens, compaction.as_deref(), is_commanded);
            }
            Event::QueueUpdated { failed: Some(failed), .. } => self.screen.note(&failed.error.message),
            Event::Snapshot { snapshot } => self.replace(snapshot),
            Event::SessionTakenOver {} => {
                self.screen.note("another process took over this session; continue it there");
            }
            _ => {}
        }
    }

    /// Shows which session this is, and where it was left.
    pub fn introduce(&mut self, opened: &Snapshot, folder: &str, model: &str) {
        let title = opened.title.as_deref().map(|title| format!(" ({title})")).unwrap_or_default();
        let (known, id) = (if opened.messages.is_empty() { "new " } else { "" }, &opened.session_id);
        self.screen
            .note(&format!("{known}session {id}{title} in {folder}, with {model}; /help lists commands"));
        self.recall(opened);
    }

    fn recall(&mut self, opened: &Snapshot) {
        let newest = |role: Role| {
            let mut messages = opened.messages.iter().rev().filter(|message| message.role == role);
            messages.find(|message| !texts(&message.parts).trim().is_empty())
        };
        let Some(asked) = newest(Role::User) else { return };
        self.screen.recall(&texts(&asked.parts), MOST_RECALLED, true);
        let answered = newest(Role::Assistant).filter(|answered| answered.ord > asked.ord);
        if let Some(answered) = answered {
            self.screen.recall(&texts(&answered.parts), MOST_RECALLED, false);
        }
        match opened.turns.last() {
            Some(turn) if turn.interrupted => {
                self.screen.note("(the answer was interrupted)");
            }
            Some(turn) if turn.status == TurnStatus::Cancelled => {
                self.screen.note("(the answer was stopped)")
            }
            Some(turn) if turn.status == TurnStatus::Failed => self.screen.note("(the turn failed)"),
            _ => {}
        }
    }

    /// The chat is busy from now on, with this tool if one runs.
    pub fn works(&mut self, tool: Option<&str>) {
        let since = self.work.as_ref().map_or_else(Instant::now, |work| work.since);
        self.work = Some(Work { since, tool: tool.map(str::to_owned) });
        self.tick();
    }

    /// The chat waits for the user.
    pub fn rests(&mut self) {
        self.work = None;
        self.screen.busy(None);
    }

    /// Shows how long the work takes already.
    pub fn tick(&mut self) {
        let Some(Work { since, tool }) = &self.work else { return };
        let doing = tool.as_ref().map_or_else(|| "working".to_owned(), |tool| format!("running {tool}"));
        let size = self.prompt.map(|(tokens, limit)| {
            format!(" · prompt of {} of {} tokens", report::grouped(tokens), report::grouped(limit))
        });
        let time = report::seconds(since.elapsed().as_secs());
        self.screen.busy(Some(format!("{doing} {time}{} · Ctrl-C stops", size.unwrap_or_default())));
    }

    fn compacts(
        &mut self,
        at: CompactionPhase,
        tokens: Option<(u32, u32)>,
        made: Option<&CompactionView>,
        is_commanded: bool,
    ) {
        match (at, tokens) {
            (CompactionPhase::Started, _) if !is_commanded => {
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
                self.screen.end_answer();
                self.answer.1.clear();
                self.go_on(message, text);
            }
        }
    }

    /// Shows what a snapshot has more than the events before it.
    fn replace(&mut self, snapshot: &Snapshot) {
        if let Some(streaming) = &snapshot.streaming {
            self.catch_up(&streaming.message_id, &texts(&streaming.parts));
        }
        let shown = snapshot.messages.iter().find(|message| message.id == self.answer.0);
        if let Some(message) = shown {
            self.catch_up(&message.id, &texts(&message.parts));
            self.screen.end_answer();
        }
    }

    /// Shows a message that was added to the session.
    fn added(&mut self, message: &Message) {
        let kind = message.kind.as_deref().filter(|_| message.role == Role::Event);
        match (message.role, kind) {
            (Role::Event, Some(PROCESS_COMPLETED)) => {
                self.screen.note(&task_ended(&texts(&message.parts)));
            }
            (Role::Assistant, _) => {
                self.catch_up(&message.id, &texts(&message.parts));
                self.screen.end_answer();
                for note in report::provider_notes(message.extra.as_ref()) {
                    self.screen.note(&note);
                }
            }
            (Role::Event, Some("question")) => {
                self.screen.say(&texts(&message.parts));
                self.screen.end_answer();
            }
            _ => {}
        }
    }
}
