//! Everything that can happen to a session, as values: commands of a client, what a model and tools did, deadlines.
//! Where they came from on a wire is not told here.

use crate::values::decision::Always;
pub use crate::values::decision::Decision;
use crate::values::history_turn::HistoryTurn;
use crate::values::ledger::LedgerQuery;
use crate::values::recall::Recall;
use crate::values::refusal::Diagnostic;
use crate::values::settings::{ModelFacts, Settings};
use engine::compact::metadata::SummaryEntry;
use engine::delta::Delta;
use engine::id::{CallId, CompactionId, ItemId, MessageId, PinId, SessionId, TurnId};
use engine::memory::Memory;
use engine::message::attachment::Attachment;
use engine::message::{Content, NewMessage, Text, ToolResult};
use engine::prompt::item::Tool;
use engine::prompt::pins::Pinned;
use engine::prompt::request::{Answer, Failure};
use engine::prompt::system::CallerSection;
use engine::scope::Scope;
use engine::search::Query;
use engine::words::TurnStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Who waits for an answer. Opaque; the shell knows what is behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// One call of a model, counted within its session and process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelCallId(pub u64);

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A client asks for something.
    Command(ReplyTo, Command),
    /// Nobody waits for this answer any more.
    Abandoned(ReplyTo),
    /// A model said a little more.
    ModelDelta(ModelCallId, Delta),
    /// A model is at work, and said nothing that is for us.
    ModelAlive(ModelCallId),
    /// A model could not answer, and is asked the same again after a while.
    ModelRetries(ModelCallId, Retry),
    /// A model is done: its answer, or why there is none.
    ModelDone(ModelCallId, Result<Answer, Failure>),
    /// A tool is done.
    ToolDone(CallId, ToolOutcome),
    /// The client answered a request for permission.
    Permitted(Vec<Decision>),
    /// The client answered what it was asked about a compaction; nothing where it cannot.
    Reviewed(Option<Review>),
    /// A deadline passed.
    Expired(Timer),
    /// The settings that all sessions share changed.
    Settings(Box<Settings>),
    /// What background sessions share changed, or was read for the first time.
    Scope(Arc<Scope>),
    /// Instruction files of the workspace were read: the path of each, and what it holds where there is one.
    Instructions(Vec<(String, Option<Text>)>),
    /// Something is so from now on that the next request is to tell, such as a changed instruction file.
    Attach(Vec<Attachment>),
    /// What was approved once and for all in this workspace.
    Approvals(Arc<[Always]>),
    /// What the workspace remembers changed.
    Memories(Arc<[Memory]>),
    /// The process is about to end. What waits for a user or an editor goes on waiting when it is opened again.
    Ending,
    /// What a step wrote could not be stored.
    NotWritten(NotWritten),
}

/// A step that could not be stored. What it wrote is stored with what comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotWritten {
    /// For programs: a word.
    pub cause: &'static str,
    /// For people.
    pub why: String,
    /// Whether it told that a turn ended well.
    pub ended_turn: bool,
}

/// A call of a model that is made again. Nothing of an answer was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Which attempt comes next; the first one is 1.
    pub attempt: u32,
    /// After how long, in milliseconds.
    pub delay_ms: u64,
    /// Why the one before came to nothing, for people.
    pub reason: String,
}

/// What a client can ask a session for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// It opens the session, perhaps with a history of its own; the answer is a snapshot.
    Open(Box<Open>),
    /// A user asks for something.
    StartTurn(Box<StartTurn>),
    /// Everything from a message on is cut off, and the model answers again.
    Retry {
        /// The message.
        from: At,
        /// The request's new words; the same where there are none.
        content: Option<Vec<Content>>,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// The newest answer is cut off, and the model answers again.
    Regenerate {
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// A message gets other words.
    Update {
        /// The message.
        message: At,
        /// Its words from now on.
        content: Vec<Content>,
        /// Whether what follows it is cut off and the model answers again.
        regenerate: bool,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// A message leaves, with what belongs to it.
    Remove {
        /// The message.
        message: At,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Everything from a message on is cut off.
    Truncate {
        /// The message.
        from: At,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// A turn is to stop.
    CancelTurn {
        /// Which, running or waiting; the running one where nobody says.
        turn: Option<TurnId>,
        /// Whether what waits is not done either.
        queued: bool,
    },
    /// Another session goes on from here.
    Branch {
        /// Its id.
        to: SessionId,
        /// The last message that it takes along; all of them where nobody says.
        up_to: Option<At>,
        /// Its title; this one's where nobody says.
        title: Option<String>,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// A conversation from elsewhere, for a session that has none.
    Restore(Box<Restore>),
    /// The conversation was changed in a copy of it that others may change.
    TakeIn(Box<TakeIn>),
    /// A new chat under the same id.
    Reset {
        /// Whether what waits goes on in the new chat.
        keep_queue: bool,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// A command waits no longer.
    CancelQueued(ItemId),
    /// What the user typed and did not send; nothing where that is gone.
    SetDraft(Option<Text>),
    /// Something happened that the user is to see and no model.
    Notice {
        /// What, for programs.
        kind: &'static str,
        /// In words, or JSON.
        text: String,
    },
    /// A request is accepted and not carried out: it waits for a process that serves the session's folder.
    StoreTask(Box<StartTurn>),
    /// This process serves the folder: what waited for one begins.
    RunTask,
    /// The editor's loop is done with its turn.
    EndTurn(TurnStatus),
    /// The editor's loop ran a round.
    ///
    /// The assistant message first, which bears the editor's id of the round (`toolCallRoundId`). Then its results.
    AppendRound(Vec<NewMessage>),
    /// The editor wants a prompt.
    Render(Box<Render>),
    /// Somebody wants a compaction now.
    Compact(Compact),
    /// A compaction goes out of force; the newest where nobody says which.
    Undo(Option<CompactionId>),
    /// A compaction gets another narrative.
    Edit {
        /// The compaction.
        compaction: CompactionId,
        /// What it says from now on.
        narrative: String,
    },
    /// Messages are left out of the context.
    Exclude(Vec<MessageId>),
    /// Something stays in every prompt.
    Pin(Pinned),
    /// It need not stay any more.
    Unpin(PinId),
    /// Calls are approved or rejected.
    Decide(Vec<Decision>),
    /// The editor hands in a tool's result.
    ToolResult(ToolResult),
    /// Settings change.
    Configure(Box<Configure>),
    /// What the context is made of.
    Inspect,
    /// What was said, byte for byte.
    Recall(Recall),
    /// What the tools did in what the compaction in force keeps out of sight.
    Ledger(LedgerQuery),
    /// Where words were said.
    Search(Query),
    /// Events since a point, or a snapshot.
    Subscribe {
        /// The stream and the last event that is known.
        since: Option<(String, u64)>,
        /// See [`Open::newest`].
        newest: Option<u32>,
    },
}

/// See [`Command::Compact`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compact {
    /// What the summary is to keep in view.
    pub focus: Option<String>,
    /// The compaction that is made again, from the originals.
    pub redo: Option<CompactionId>,
    /// Messages that are pinned with it.
    pub keep: Vec<MessageId>,
    /// Whether it is only asked what would be done, as far as that can be said without a model.
    pub preview: bool,
}

/// See [`Command::Open`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Open {
    /// The editor's copy, oldest turn first; nothing where it has none.
    pub history: Option<Vec<HistoryTurn>>,
    /// What stands before the messages, where it is given.
    pub prefix: GivenPrefix,
    /// A title for it.
    pub title: Option<String>,
    /// How many of the newest messages the answer holds; nothing where it holds all.
    pub newest: Option<u32>,
}

/// Tools and sections, where a command gives them. What is not given stays.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenPrefix {
    /// The caller's sections.
    pub sections: Option<Vec<CallerSection>>,
    /// The tools.
    pub tools: Option<Vec<Tool>>,
}

/// A message by its id, or by its place among those that a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// Its id.
    Id(MessageId),
    /// Its place, from 0.
    Index(u32),
}

/// See [`Command::Restore`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restore {
    /// A title for it.
    pub title: Option<String>,
    /// Its messages in order.
    pub messages: Vec<Taken>,
    /// Compactions that were in force where it comes from, oldest first; what each stands for must be here unchanged.
    pub summaries: Vec<SummaryEntry>,
}

impl Restore {
    /// A conversation of which no more is known than what was said.
    pub fn of(messages: Vec<NewMessage>) -> Self {
        Self { messages: messages.into_iter().map(Taken::new).collect(), ..Self::default() }
    }
}

/// A message of a conversation from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// Its id there, which may be ours.
    pub id: Option<String>,
    /// Whether it begins a turn, where that is said; else its place says so.
    pub begins: Option<bool>,
    /// What was said.
    pub message: NewMessage,
}

impl Taken {
    /// A message of which no more is known.
    pub fn new(message: NewMessage) -> Self {
        Self { id: None, begins: None, message }
    }
}

/// See [`Command::TakeIn`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TakeIn {
    /// The title that it has there.
    pub title: Option<String>,
    /// Its messages in order.
    pub messages: Vec<Taken>,
    /// How many of our messages were there when they were last brought there: what came later is not missing there.
    pub known: u32,
}

/// See [`Command::StartTurn`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartTurn {
    /// What the user said, with what was put beside it.
    pub content: Vec<Content>,
    /// What was so when it was said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The client's id of the request.
    pub external_id: Option<String>,
    /// What stands before the messages, where it is given.
    pub prefix: GivenPrefix,
    /// The model, where another one is chosen, and the same as it came, to be kept.
    pub model: Option<(ModelFacts, Value)>,
    /// Whether it goes before what waits already, and into the turn that runs.
    #[serde(default)]
    pub priority: bool,
    /// The client's key: a command with a key that was accepted before is not carried out again.
    #[serde(skip)]
    pub key: Option<String>,
}

/// See [`Command::Render`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Render {
    /// Earlier turns as the editor has them; nothing where it relies on ours.
    pub history: Option<Vec<HistoryTurn>>,
    /// The running turn: request, rounds, results. Nothing where it was handed in before.
    pub current: Option<HistoryTurn>,
    /// What is so now.
    pub attachments: Vec<Attachment>,
    /// What stands before the messages, where it is given.
    pub prefix: GivenPrefix,
    /// The model, where this render is for another one.
    pub model: Option<ModelFacts>,
    /// A ceiling below the model's window, in tokens.
    pub ceiling: Option<u32>,
    /// Another limit for the results that it brings, in tokens.
    pub max_result: Option<u32>,
    /// Whether it may be compacted.
    pub summarize: Summarize,
    /// Whether the prompt marks where a provider's cache may keep it.
    pub breakpoints: bool,
    /// What of the request could not be taken in.
    pub left_out: Vec<Diagnostic>,
}

/// Whether a render may compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Summarize {
    /// Where the prompt is over its limit.
    #[default]
    Auto,
    /// Also where it is not.
    Force,
    /// Not at all: an overflow is an error.
    Never,
}

/// See [`Command::Configure`].
#[derive(Debug, Clone, PartialEq)]
pub struct Configure {
    /// What holds from now on, all layers merged.
    pub settings: Settings,
    /// The session's own layer as it came, to be kept.
    pub own: Value,
    /// Another title.
    pub title: Option<String>,
}

/// What a tool did.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// It answered.
    Answered(ToolResult),
    /// It answers later, by [`Command::ToolResult`].
    Pending,
    /// It could not be asked; why.
    Failed(String),
}

/// A deadline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A model may say nothing for this long.
    Model(ModelCallId),
    /// A tool may run for this long.
    Tool(CallId),
    /// What a model said since the last event is told.
    Deltas(ModelCallId),
    /// A user may think about a compaction for this long.
    Review,
    /// So long nothing was said.
    Idle,
}

/// What a user says about a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// As it is.
    Accept,
    /// With these words in the place of the narrative.
    Edit(String),
    /// Not at all.
    Refuse,
    /// Something that cannot be read; why not.
    Unusable(String),
}
