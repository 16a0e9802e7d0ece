//! Input of a session as values, independent of the wire: client commands, model and tool outcomes, timers.

use crate::values::agents::Agent;
use crate::values::decision::Always;
pub use crate::values::decision::Decision;
use crate::values::history_turn::HistoryTurn;
use crate::values::ledger::LedgerQuery;
pub use crate::values::progress::Progress;
use crate::values::recall::Recall;
use crate::values::refusal::Diagnostic;
use crate::values::settings::{ModelFacts, Settings};
use crate::values::stored::Stored;
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

/// The request that waits for an answer. Opaque; the server maps it to its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReplyTo(pub u64);

/// A model call, numbered within its session and process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelCallId(pub u64);

/// An input of a session's step.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A client's command.
    Command(ReplyTo, Command),
    /// The requester no longer waits for this answer.
    Abandoned(ReplyTo),
    /// A piece of a model's answer.
    ModelDelta(ModelCallId, Delta),
    /// A sign of life from a model, without content.
    ModelAlive(ModelCallId),
    /// A model call failed and is repeated after a delay.
    ModelRetries(ModelCallId, Retry),
    /// A model call ended, with an answer or a failure.
    ModelDone(ModelCallId, Result<Answer, Failure>),
    /// A tool call ended, or its tool is still working.
    ToolDone(CallId, ToolOutcome),
    /// A tool call made progress.
    ToolProgress(CallId, Progress),
    /// The client answered a request for permission.
    Permitted(Vec<Decision>),
    /// The client's answer to a compaction review; `None` if it cannot review.
    Reviewed(Option<Review>),
    /// A timer fired.
    Expired(Timer),
    /// The session's settings, after a layer shared with other sessions changed.
    Settings(Box<Settings>),
    /// The tools of servers that the sidecar calls for this session. The next prompt has them.
    ServerTools(Vec<Tool>),
    /// The scope shared with background sessions changed, or was read for the first time.
    Scope(Arc<Scope>),
    /// Instruction files of the workspace were read: path and content, `None` for a missing file.
    Instructions(Vec<(String, Option<Text>)>),
    /// Volatile context for the next request, such as a changed instruction file.
    Attach(Vec<Attachment>),
    /// The standing approvals of this workspace.
    Approvals(Arc<[Always]>),
    /// Changes to what the user approved in this session alone. What is revoked goes first.
    SessionApprovals {
        /// Approvals; rejections are of a workspace.
        added: Vec<Always>,
        /// Found by tool and pattern.
        revoked: Vec<Always>,
    },
    /// The memories of the workspace changed.
    Memories(Arc<[Memory]>),
    /// A session that runs in the background for this one was added or changed.
    Agent(Box<Agent>),
    /// The process is about to end. Calls that wait for a user or an editor stay open.
    Ending,
    /// A message of a recorded conversation is played back, as if it came now. A request begins a turn and ends the one
    /// before it.
    Recorded(Box<NewMessage>),
    /// A compaction of a recorded conversation is played back: its summary replaces what it covered.
    RecordedSummary(Box<SummaryEntry>),
    /// The writes of a step could not be stored.
    NotWritten(NotWritten),
}

/// A step whose writes could not be stored. They are stored with the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotWritten {
    /// The cause, a word for programs.
    pub cause: &'static str,
    /// The cause, in words for people.
    pub why: String,
    /// `true` if the step announced that a turn completed.
    pub ended_turn: bool,
}

/// A model call that is repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// The number of the next attempt, counted from 1.
    pub attempt: u32,
    /// The delay before it, in milliseconds.
    pub delay_ms: u64,
    /// The failure of the previous attempt, in words for people.
    pub reason: String,
}

/// A client's command to a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Opens the session, perhaps with the editor's history. Answered with a snapshot.
    Open(Box<Open>),
    /// Starts a turn with a user's request.
    StartTurn(Box<StartTurn>),
    /// Cuts off everything from a message on and has the model answer again.
    Retry {
        /// The first message cut off.
        from: At,
        /// The new content of the request; `None` keeps it.
        content: Option<Vec<Content>>,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Cuts off the newest answer and has the model answer again.
    Regenerate {
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Replaces the content of a message.
    Update {
        /// The message to change.
        message: At,
        /// The new content.
        content: Vec<Content>,
        /// `true` if everything after it is cut off and the model answers again.
        regenerate: bool,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Removes a message and those that belong to it: a turn with its request, results with their call.
    Remove {
        /// The message to remove.
        message: At,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Cuts off everything from a message on.
    Truncate {
        /// The first message cut off.
        from: At,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Stops a turn.
    CancelTurn {
        /// The running or a queued turn; `None` means the running one.
        turn: Option<TurnId>,
        /// `true` if the queue is emptied, too.
        queued: bool,
    },
    /// Branches another session off this one.
    Branch {
        /// The id of the new session.
        to: SessionId,
        /// The last message that it copies; `None` copies all of them.
        up_to: Option<At>,
        /// The title of the new session; `None` keeps this one's.
        title: Option<String>,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Fills an empty session with a conversation from elsewhere.
    Restore(Box<Restore>),
    /// Merges a copy of the conversation that was changed outside, such as a trajectory file.
    TakeIn(Box<TakeIn>),
    /// Restores a revision of the session.
    Revert {
        /// The revision, as stored.
        to: Box<Stored>,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Starts a new chat under the same id.
    Reset {
        /// `true` if queued commands are carried out in the new chat.
        keep_queue: bool,
        /// See [`StartTurn::key`].
        key: Option<String>,
    },
    /// Takes a command out of the queue.
    CancelQueued(ItemId),
    /// Stores the text typed but not sent; `None` deletes it.
    SetDraft(Option<Text>),
    /// Shows the user a notice that no model sees.
    Notice {
        /// The kind, for programs.
        kind: &'static str,
        /// The text, in words or as JSON.
        text: String,
    },
    /// Queues a request, the first of its session, for a process that serves the session's folder.
    StoreTask(Box<StartTurn>),
    /// Starts the request queued by [`Command::StoreTask`]. Sent in the process that serves the folder.
    RunTask,
    /// Ends the turn of the editor's loop.
    EndTurn(TurnStatus),
    /// Appends a round of the editor's loop: the assistant message, which bears the editor's id of the round
    /// (`toolCallRoundId`), then its results.
    AppendRound(Vec<NewMessage>),
    /// Renders a prompt for the editor.
    Render(Box<Render>),
    /// Compacts the session now.
    Compact(Compact),
    /// Undoes a compaction; `None` means the newest.
    Undo(Option<CompactionId>),
    /// Replaces the narrative of a compaction.
    Edit {
        /// The compaction.
        compaction: CompactionId,
        /// The new narrative.
        narrative: String,
    },
    /// Leaves messages out of all later prompts.
    Exclude(Vec<MessageId>),
    /// Keeps a message or a text in every prompt.
    Pin(Pinned),
    /// Removes a pin.
    Unpin(PinId),
    /// Approves or rejects tool calls.
    Decide(Vec<Decision>),
    /// Hands in the result of a tool call that the editor runs.
    ToolResult(ToolResult),
    /// Replaces the session's settings.
    Configure(Box<Configure>),
    /// Asks for the composition of the context, as figures, with so many of the newest compactions or all of them.
    Inspect(Option<u32>),
    /// Asks for a page of a message's text, byte for byte.
    Recall(Recall),
    /// Asks for a page of the tool activity that the compaction in force hides.
    Ledger(LedgerQuery),
    /// Searches all text of the session.
    Search(Query),
    /// Asks for the events since a point, or for a snapshot if some of them are no longer kept.
    Subscribe {
        /// The stream and the number of the last event known to the client.
        since: Option<(String, u64)>,
        /// See [`Open::newest`].
        newest: Option<u32>,
    },
}

/// See [`Command::Compact`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compact {
    /// A topic that the summary should keep in detail.
    pub focus: Option<String>,
    /// The compaction to replace, made again from the original messages.
    pub redo: Option<CompactionId>,
    /// Messages to pin along with it.
    pub keep: Vec<MessageId>,
    /// `true` if nothing is compacted and the answer says what would be, as far as possible without a model.
    pub preview: bool,
}

/// See [`Command::Open`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Open {
    /// The editor's copy, oldest turn first; `None` if it brings none.
    pub history: Option<Vec<HistoryTurn>>,
    /// Sections and tools that precede the messages.
    pub prefix: GivenPrefix,
    /// A title for the session.
    pub title: Option<String>,
    /// The number of newest messages in the answer; `None` means all.
    pub newest: Option<u32>,
    /// Diagnostics about parts of the history that were ignored.
    pub left_out: Vec<Diagnostic>,
}

/// Tools and sections that a command brings. A field that is `None` leaves the current ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GivenPrefix {
    /// The caller's sections.
    pub sections: Option<Vec<CallerSection>>,
    /// The tools.
    pub tools: Option<Vec<Tool>>,
}

/// A message by id, or by position among those that a client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum At {
    /// The message's id.
    Id(MessageId),
    /// The position, from 0.
    Index(u32),
}

/// See [`Command::Restore`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restore {
    /// A title for the session.
    pub title: Option<String>,
    /// The messages in order.
    pub messages: Vec<Taken>,
    /// Compactions in force at the origin, oldest first. The messages covered must be here unchanged.
    pub summaries: Vec<SummaryEntry>,
}

impl Restore {
    /// A conversation of which only the messages are known.
    pub fn of(messages: Vec<NewMessage>) -> Self {
        Self { messages: messages.into_iter().map(Taken::new).collect(), ..Self::default() }
    }
}

/// A message of a conversation from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The id at the origin, which may be one of this session's.
    pub id: Option<String>,
    /// `true` if it begins a turn; `None` leaves that to its position.
    pub begins: Option<bool>,
    /// The message itself.
    pub message: NewMessage,
}

impl Taken {
    /// A message of which nothing else is known.
    pub fn new(message: NewMessage) -> Self {
        Self { id: None, begins: None, message }
    }
}

/// See [`Command::TakeIn`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TakeIn {
    /// The title in the copy.
    pub title: Option<String>,
    /// The copy's messages in order.
    pub messages: Vec<Taken>,
    /// The number of this session's messages that the copy last held. Later ones are not missing from it.
    pub known: u32,
}

/// See [`Command::StartTurn`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartTurn {
    /// The user's text and the parts beside it.
    pub content: Vec<Content>,
    /// Volatile context of the request, such as open files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The client's id of the request.
    pub external_id: Option<String>,
    /// Sections and tools that precede the messages.
    pub prefix: GivenPrefix,
    /// The model to use from this request on, with its JSON as received, to be stored.
    pub model: Option<(ModelFacts, Value)>,
    /// `true` to go ahead of commands that are not urgent, and into the running turn.
    #[serde(default)]
    pub priority: bool,
    /// An idempotency key. A command whose key was accepted before is not carried out again.
    #[serde(skip)]
    pub key: Option<String>,
}

/// See [`Command::Render`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Render {
    /// Earlier turns as the editor has them; `None` uses the session's own.
    pub history: Option<Vec<HistoryTurn>>,
    /// The running turn: request, rounds and results. `None` if the session already has it.
    pub current: Option<HistoryTurn>,
    /// Volatile context at the time of the render.
    pub attachments: Vec<Attachment>,
    /// Sections and tools that precede the messages.
    pub prefix: GivenPrefix,
    /// The model to render for, if not the session's.
    pub model: Option<ModelFacts>,
    /// An upper bound on the prompt below the model's window, in tokens.
    pub ceiling: Option<u32>,
    /// A limit for each tool result that it brings, in tokens, in place of the setting.
    pub max_result: Option<u32>,
    /// When it may compact.
    pub summarize: Summarize,
    /// `true` if the prompt marks where a provider's cache may keep it.
    pub breakpoints: bool,
    /// Diagnostics about parts of the request that were ignored.
    pub left_out: Vec<Diagnostic>,
}

/// The condition under which a render compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Summarize {
    /// Only if the prompt is over its limit.
    #[default]
    Auto,
    /// Even if the prompt is within its limit.
    Force,
    /// Never; a prompt over its limit is an error.
    Never,
}

/// See [`Command::Configure`].
#[derive(Debug, Clone, PartialEq)]
pub struct Configure {
    /// The settings from now on, all layers merged.
    pub settings: Settings,
    /// The session's own layer as received, to be stored.
    pub own: Value,
    /// A new title.
    pub title: Option<String>,
    /// `true` if limits that were learned from the provider's refusals are dropped.
    pub forget_limits: bool,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolOutcome {
    /// The tool's result.
    Answered(ToolResult),
    /// The result follows in a [`Command::ToolResult`].
    Pending,
    /// An own tool waits for agents, which may take as long as a user: its result follows, without a deadline.
    Waits,
    /// The tool could not be run; the reason.
    Failed(String),
}

/// A timer of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// The deadline for a sign of life from a model.
    Model(ModelCallId),
    /// The deadline for a tool's result.
    Tool(CallId),
    /// The end of the interval in which a model's deltas are gathered into one event.
    Deltas(ModelCallId),
    /// The time at which what a model streamed since is kept, in case the process ends.
    Journal(ModelCallId),
    /// The deadline for a user's answer about a compaction.
    Review,
    /// The time without activity after which an idle session may be compacted.
    Idle,
}

/// A user's answer about a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// Accepts it as shown.
    Accept,
    /// Accepts it with this text as the narrative.
    Edit(String),
    /// Refuses it.
    Refuse,
    /// An unreadable answer; the reason.
    Unusable(String),
}
