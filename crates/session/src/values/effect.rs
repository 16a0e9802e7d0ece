//! Everything that a session wants done, as values. Whoever performs them keeps their order: what follows a write in
//! one step happens after it is stored.

pub use super::refusal::{Diagnostic, Reason, Refusal};
use crate::values::decision::Always;
use crate::values::event::Event;
use crate::values::input::{ModelCallId, ReplyTo, Timer};
use crate::values::ledger::LedgerPage;
use crate::values::queue::{Accepted, QueueItem};
use crate::values::recall::Recalled;
use crate::values::report::Report;
use crate::values::settings::ModelFacts;
use crate::values::snapshot::{Inspection, Snapshot};
use crate::values::stored::{Head, Write};
use engine::compact::metadata::Persisted;
use engine::compact::record::Compaction;
use engine::id::{CallId, CompactionId, MessageId, Ordinal, PinId, RoundId, SessionId, TurnId};
use engine::memory::MemoryPatch;
use engine::message::Text;
use engine::prompt::request::Request;
use engine::prompt::{Cut, Prompt};
use engine::scope::ScopePatch;
use engine::search::Query;
pub use engine::words::Purpose;
use engine::words::StateName;

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Store this. All writes of a step are one transaction.
    Write(Write),
    /// Tell whoever shows a list that there is another session.
    Made(Box<Made>),
    /// Tell whoever follows the session.
    Emit(Event),
    /// Answer who asked.
    Reply(ReplyTo, Box<Result<Answer, Refusal>>),
    /// Ask the model.
    AskModel(Box<AskModel>),
    /// The answer is not wanted any more.
    CancelModel(ModelCallId),
    /// Have a tool run.
    InvokeTool(InvokeTool),
    /// Run a tool of ours.
    RunTool(InvokeTool),
    /// Its result is not wanted any more.
    CancelTool(CallId),
    /// Calls like these need no question any more, in this workspace.
    Remember(Always),
    /// The workspace remembers this from now on.
    Memorize(Box<Memorize>),
    /// What the session shares changes.
    ChangeScope(ScopePatch),
    /// Search in what was said, and answer who asked with what [`Session::fates`](crate::Session::fates) says of it.
    Search(ReplyTo, Query),
    /// Ask the user about calls. The session stands in its pause, whoever answers.
    AskPermission(Vec<Reason>),
    /// Ask the user about a compaction before it holds.
    AskReview(Box<AskReview>),
    /// The answer about it is not wanted any more.
    CancelReview,
    /// Say so when this many milliseconds have passed; a timer of the same name starts again.
    Start(Timer, u64),
    /// Forget about it.
    Stop(Timer),
    /// For the log: something came that is not wanted any more, or told nothing.
    Trace(String),
}

/// A session that another one made of itself, as a list shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// Its own row.
    pub head: Head,
    /// Messages in it.
    pub messages: u32,
    /// Turns in it.
    pub turns: u32,
    /// The text of the compaction in force.
    pub summary: Option<Text>,
    /// Messages that the summary stands for.
    pub summarized: u32,
}

/// A call of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct AskModel {
    /// Its id.
    pub call: ModelCallId,
    /// The turn that it is for.
    pub turn: Option<TurnId>,
    /// Why it is asked.
    pub purpose: Purpose,
    /// Which one.
    pub model: ModelFacts,
    /// What the request weighs by our own count, in tokens.
    pub tokens: u32,
    /// What to send.
    pub request: Request,
}

/// A compaction that the user is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct AskReview {
    /// What would hold.
    pub record: Compaction,
    /// Messages that no prompt would show any more and that its block does not stand for, with their sizes in bytes.
    pub dropped: Vec<(Ordinal, usize)>,
}

/// What is to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Memorize {
    /// Under which id.
    pub id: String,
    /// What.
    pub memory: MemoryPatch,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct InvokeTool {
    /// The call.
    pub call: CallId,
    /// Its turn.
    pub turn: TurnId,
    /// The tool.
    pub name: Text,
    /// JSON text, as the model gave it.
    pub arguments: Text,
}

impl InvokeTool {
    /// A call of this turn.
    pub(crate) fn of(call: Reason, turn: TurnId) -> Self {
        Self { call: call.call, turn, name: call.name, arguments: call.arguments }
    }
}

/// What a command is answered with.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The session as it is, and what became of the history that was brought.
    Opened(Box<(Snapshot, Report)>),
    /// The session as it is.
    Snapshot(Box<Snapshot>),
    /// The events that were missed.
    Events(Vec<Event>),
    /// A command was accepted: it was carried out, or it waits.
    Accepted(Accepted),
    /// A new chat began; what waits no longer.
    Reset(Accepted, Vec<QueueItem>),
    /// Commands wait no longer.
    Dequeued(Vec<QueueItem>),
    /// A turn was stopped, or there was none; what waited and does not any more.
    TurnCancelled(Option<TurnId>, Vec<QueueItem>),
    /// The editor's turn ended; the summaries that were made in it, oldest first.
    TurnEnded {
        /// It.
        turn: TurnId,
        /// Its summaries.
        summaries: Vec<Persisted>,
    },
    /// A round was taken in.
    RoundAppended {
        /// The round, where the message is one.
        round: Option<RoundId>,
        /// Its messages.
        messages: Vec<MessageId>,
    },
    /// A prompt.
    Rendered(Box<Rendered>),
    /// A compaction was made, or there was nothing to do and why.
    Compacted(Result<Box<(Compaction, Persisted)>, String>),
    /// What a compaction would do.
    Previewed(Box<Preview>),
    /// A compaction went out of force.
    Undone(Box<Undone>),
    /// Something is pinned, or not any more.
    Pinned(PinId),
    /// The settings hold from now on.
    Configured,
    /// Done; the state that follows.
    Done(StateName),
    /// What the context is made of.
    Inspected(Box<Inspection>),
    /// A part of what was said.
    Recalled(Recalled),
    /// A page of what the tools did.
    Ledger(Box<LedgerPage>),
}

/// A compaction that went out of force.
#[derive(Debug, Clone, PartialEq)]
pub struct Undone {
    /// It.
    pub id: CompactionId,
    /// The turn that it belonged to.
    pub turn: Option<TurnId>,
    /// The summaries that this turn still has, oldest first.
    pub left: Vec<Persisted>,
}

/// What a compaction would do, as far as that can be said without a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The record without the words of a model.
    pub record: Compaction,
    /// What the prompt would not show as it was said.
    pub cuts: Vec<Cut>,
    /// Whether a model would be asked for a narrative.
    pub asks_model: bool,
}

/// What a render yields.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The prompt.
    pub prompt: Prompt,
    /// The window that it was made for, in tokens.
    pub window: u32,
    /// The model that it was made for.
    pub model: ModelFacts,
    /// Who counted.
    pub estimator: String,
    /// Whether it marks where a provider's cache may keep it.
    pub breakpoints: bool,
    /// The compaction that was made for it.
    pub made: Option<(Compaction, Persisted)>,
    /// The session that keeps what the editor's history no longer has.
    pub fork: Option<SessionId>,
    /// What there is to say about it.
    pub diagnostics: Vec<Diagnostic>,
}
