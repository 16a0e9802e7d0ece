//! Everything that a session wants done, as values. Effects are performed in order; those that follow a write
//! in one step are performed after it is stored.

pub use super::decision::{AskCause, AskedCall};
pub use super::refusal::{Diagnostic, Refusal};
use crate::values::decision::Always;
use crate::values::event::Event;
use crate::values::input::{ModelCallId, ReplyTo, Timer};
use crate::values::ledger::LedgerPage;
use crate::values::queue::{Accepted, QueueItem};
use crate::values::recall::Recalled;
use crate::values::report::Report;
use crate::values::settings::ModelFacts;
use crate::values::snapshot::{Inspection, Snapshot};
use crate::values::stored::{Head, Streamed, Write};
use engine::compact::metadata::Persisted;
use engine::compact::record::Compaction;
use engine::compact::restore::Restored;
use engine::id::{CallId, CompactionId, MessageId, Ordinal, PinId, RoundId, SessionId, TurnId};
use engine::memory::MemoryPatch;
use engine::message::{Text, ToolCall};
use engine::prompt::request::Request;
use engine::prompt::{Cut, Prompt};
use engine::scope::ScopePatch;
use engine::search::Query;
pub use engine::words::Purpose;
use engine::words::StateName;

/// An effect of a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Stores a change. All writes of a step are one transaction.
    Write(Write),
    /// Keeps a piece of an answer in progress, in case the process ends before the answer does. Nothing waits for it, and
    /// a failure changes nothing.
    Journal(Streamed),
    /// Adds a session made by this one to the lists that clients show.
    Made(Box<Made>),
    /// Sends an event to the session's subscribers.
    Emit(Event),
    /// Answers a request.
    Reply(ReplyTo, Box<Result<Answer, Refusal>>),
    /// Starts a model call.
    AskModel(Box<AskModel>),
    /// Cancels a model call; its answer is dropped.
    CancelModel(ModelCallId),
    /// Has the client run a tool.
    InvokeTool(InvokeTool),
    /// Runs a tool of the sidecar.
    RunTool(InvokeTool),
    /// Calls a tool of a server.
    CallServer(InvokeTool),
    /// Cancels a tool call; its result is dropped.
    CancelTool(CallId),
    /// Stores a standing approval or rejection for this workspace.
    Remember(Always),
    /// Stores a memory of the workspace.
    Memorize(Box<Memorize>),
    /// Changes the scope shared with other sessions.
    ChangeScope(ScopePatch),
    /// Searches the session's text and answers with the [`message_statuses`](crate::Session::message_statuses) of the hits.
    Search(ReplyTo, Query),
    /// Asks the user to decide about calls. The session stays paused until then, whoever answers.
    AskPermission(Vec<AskedCall>),
    /// Asks the user to review a compaction before it is applied.
    AskReview(Box<AskReview>),
    /// Withdraws the review request.
    CancelReview,
    /// Starts a timer, in milliseconds. A timer of the same name starts again.
    Start(Timer, u64),
    /// Stops a timer.
    Stop(Timer),
    /// Logs an input that was dropped, or had no meaning.
    Trace(String),
}

/// A session made by another one, as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The row of the new session.
    pub head: Head,
    /// The number of its messages.
    pub messages: u32,
    /// The number of its turns.
    pub turns: u32,
    /// The block of the compaction in force.
    pub summary: Option<Text>,
    /// The number of messages that the summary covers.
    pub summarized: u32,
}

/// A model call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct AskModel {
    /// The id that the call's inputs carry.
    pub call: ModelCallId,
    /// The turn that it belongs to, if any.
    pub turn: Option<TurnId>,
    /// The purpose of the call.
    pub purpose: Purpose,
    /// The model to ask.
    pub model: ModelFacts,
    /// The size of the request by the session's own estimate, in tokens.
    pub tokens: u32,
    /// Set if the provider is to count the request before it is sent: the tokens up to which it is. Nothing that
    /// prevents the count prevents the request.
    pub count_up_to: Option<u32>,
    /// The request to send.
    pub request: Request,
}

/// A compaction for the user to review.
#[derive(Debug, Clone, PartialEq)]
pub struct AskReview {
    /// The record to be applied.
    pub record: Compaction,
    /// Messages that would leave the prompt without being covered by the summary, with their sizes in bytes.
    pub dropped: Vec<(Ordinal, usize)>,
}

/// A memory to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Memorize {
    /// The id to store it under.
    pub id: String,
    /// The content of the memory.
    pub memory: MemoryPatch,
}

/// A tool call to run.
#[derive(Debug, Clone, PartialEq)]
pub struct InvokeTool {
    /// The id of the call.
    pub call: CallId,
    /// The turn of the call.
    pub turn: TurnId,
    /// The name of the tool.
    pub name: Text,
    /// The arguments as JSON text, as the model gave them.
    pub arguments: Text,
}

impl InvokeTool {
    /// Creates the invocation of a call in this turn.
    pub(crate) fn of(call: ToolCall, turn: TurnId) -> Self {
        Self { call: call.id, turn, name: call.name, arguments: call.arguments }
    }
}

/// The answer to a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The session as it is, and the report about the history that the editor brought.
    Opened(Box<(Snapshot, Report)>),
    /// The session as it is.
    Snapshot(Box<Snapshot>),
    /// The events that the subscriber missed.
    Events(Vec<Event>),
    /// The command was accepted and is carried out or queued.
    Accepted(Accepted),
    /// A conversation was imported; the fates of its summaries.
    Imported(Vec<Restored>),
    /// A new chat began; the commands removed from the queue.
    Reset(Accepted, Vec<QueueItem>),
    /// The commands removed from the queue.
    Dequeued(Vec<QueueItem>),
    /// The turn that was stopped, if one was, and the commands removed from the queue.
    TurnCancelled(Option<TurnId>, Vec<QueueItem>),
    /// The editor's turn ended.
    TurnEnded {
        /// The id of the turn.
        turn: TurnId,
        /// The summaries made in it, oldest first.
        summaries: Vec<Persisted>,
    },
    /// A round was appended.
    RoundAppended {
        /// The newest round, if there is one.
        round: Option<RoundId>,
        /// The messages that were new.
        messages: Vec<MessageId>,
        /// What was repaired in it.
        diagnostics: Vec<Diagnostic>,
    },
    /// The rendered prompt.
    Rendered(Box<Rendered>),
    /// The compaction that was made, or the reason why there was nothing to do.
    Compacted(Result<Box<(Compaction, Persisted)>, String>),
    /// The preview of a compaction.
    Previewed(Box<Preview>),
    /// A compaction was undone.
    Undone(Box<Undone>),
    /// The pin that was made or removed.
    Pinned(PinId),
    /// The new settings are in effect.
    Configured,
    /// The command was carried out; the state after it.
    Done(StateName),
    /// The composition of the context.
    Inspected(Box<Inspection>),
    /// A page of a message's text.
    Recalled(Recalled),
    /// A page of the tool activity that the compaction in force hides.
    Ledger(Box<LedgerPage>),
}

/// A compaction that was undone.
#[derive(Debug, Clone, PartialEq)]
pub struct Undone {
    /// The id of the compaction.
    pub id: CompactionId,
    /// The turn in which it was made.
    pub turn: Option<TurnId>,
    /// The summaries that this turn still has, oldest first.
    pub left: Vec<Persisted>,
}

/// A preview of a compaction, as far as one is possible without a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The record, without a model's narrative.
    pub record: Compaction,
    /// Parts that the prompt would shorten or leave out.
    pub cuts: Vec<Cut>,
    /// `true` if a model would be asked for a narrative.
    pub asks_model: bool,
}

/// The result of a render.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The prompt, with its figures as the model counts.
    pub prompt: Prompt,
    /// The window that it was made for, in tokens.
    pub window: u32,
    /// The model that it was made for.
    pub model: ModelFacts,
    /// The name of the token estimator.
    pub estimator: String,
    /// `true` if the prompt marks where a provider's cache may keep it.
    pub breakpoints: bool,
    /// The compaction made for this render.
    pub made: Option<(Compaction, Persisted)>,
    /// The revision that keeps messages missing from the editor's history.
    pub revision: Option<SessionId>,
    /// Diagnostics of the render.
    pub diagnostics: Vec<Diagnostic>,
}
