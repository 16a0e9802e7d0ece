//! Events of a session and changes of the session list.

use crate::context::compaction::{CompactionMode, CompactionTrigger, CompactionView};
use crate::context::{Cost, Pin};
use crate::error::ErrorData;
use crate::message::{Message, Usage};
use crate::model::{DeltaOp, StopReason};
use crate::prompt::section::SectionTokens;
use crate::session::agent::Agent;
use crate::session::asking_agent::AskingAgent;
use crate::session::queue::QueueItem;
use crate::session::restore::{RestoreReport, TurnMetadata};
use crate::session::scope::Scope;
use crate::session::snapshot::Snapshot;
use crate::session::state::{SessionSummary, State};
use crate::session::transfer::TrajectorySummary;
use crate::settings::Settings;
use crate::tool::PauseReason;
use crate::turn::{TurnOutcome, TurnStatus};
use crate::unknown::unknown;
pub use engine::words::{BreakCause as PrefixBreak, Phase as CompactionPhase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `session/event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// Id of the session.
    pub session_id: String,
    /// Id of the numbering; a new process starts a new stream.
    pub stream: String,
    /// Number of the event: one more than that of the event before it in this session and stream.
    pub seq: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// The known types of [`Event`].
pub const EVENTS: &[&str] = &[
    "snapshot",
    "turnStarted",
    "turnCompleted",
    "streamStarted",
    "streamDelta",
    "streamReset",
    "streamFinished",
    "messageAdded",
    "messageUpdated",
    "messageRemoved",
    "messagesTruncated",
    "threadUpdated",
    "queueUpdated",
    "runtimeUpdated",
    "toolProgress",
    "pauseRequired",
    "pauseCleared",
    "agentUpdated",
    "compactionUpdated",
    "contextUpdated",
    "prefixBroken",
    "restoreReported",
    "sessionTakenOver",
];

/// An event of a session. Ignore unknown types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The whole session. Replaces everything received before and is applied whatever `seq` and `stream` the client
    /// has. It does not take a number: its `seq`, and that of its snapshot, is that of the last event that it includes.
    /// Sent instead of events that the client did not read in time.
    Snapshot {
        /// The session.
        snapshot: Box<Snapshot>,
    },
    /// A turn began, and its first message follows. Of a known turn: it runs again.
    TurnStarted {
        /// Id of the turn.
        turn_id: String,
        /// Client's id of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        external_id: Option<String>,
    },
    /// A turn is over. A later one for the same turn replaces it.
    TurnCompleted {
        /// Id of the turn.
        turn_id: String,
        /// Outcome of the turn.
        outcome: TurnOutcome,
        /// `true` if the turn was open when its process ended or its session was opened again. Default: false.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
        /// Tokens that the model used for the turn's answers, added up; absent if no answer reports them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        /// Cost of the turn's answers in US dollars: `dollars` of `spent`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        /// Cost of the turn's answers, failed attempts included, and where the figure is from; absent if none is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent: Option<Cost>,
        /// Ids of the compactions made while the turn ran, oldest first.
        compactions: Vec<String>,
        /// Time from the start of the turn, or of its newest run after a retry, to its end, in milliseconds; absent if it did not run here.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
    },
    /// An answer begins.
    StreamStarted {
        /// Id of the message that the answer becomes.
        message_id: String,
        /// Id of the turn.
        turn_id: String,
    },
    /// An answer in progress changed.
    StreamDelta {
        /// Id of the message that the answer becomes.
        message_id: String,
        /// Changes, in order.
        ops: Vec<DeltaOp>,
    },
    /// An answer in progress broke off and begins anew: what was sent of it so far is void, and deltas of the same message
    /// follow. Sent with the first of them, so that what was shown stays until there is something else.
    StreamReset {
        /// Id of the message that the answer becomes.
        message_id: String,
    },
    /// An answer ended. Its message follows as `messageAdded`, with the same id.
    StreamFinished {
        /// Id of the message that the answer becomes.
        message_id: String,
        /// Reason why the answer ended, such as `cancelled` or `failed`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
    },
    /// A message was added to the session and is on disk.
    MessageAdded {
        /// The message.
        message: Message,
    },
    /// A message has new content.
    MessageUpdated {
        /// The message from now on.
        message: Message,
    },
    /// A message was removed.
    MessageRemoved {
        /// Id of the message.
        message_id: String,
    },
    /// The end of the session was cut off, by a user or because the client's history no longer has it.
    MessagesTruncated {
        /// Position of the first message that was cut off.
        from_ord: u32,
        /// Id of the revision that keeps the messages.
        revision: String,
    },
    /// Title, draft, pins, settings or the shared scope changed. Every field has its current value.
    ThreadUpdated {
        /// Title; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Counter that grows with each `session/reset`.
        generation: u32,
        /// User's unsent text; absent if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draft: Option<String>,
        /// State shared with other sessions.
        scope: Scope,
        /// Pins of the user.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pins: Vec<Pin>,
        /// Settings in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<Box<Settings>>,
    },
    /// The queue changed.
    QueueUpdated {
        /// The whole queue, in the order in which it is carried out.
        queue: Vec<QueueItem>,
        /// Item that could not be carried out when its turn came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<QueueFailure>,
    },
    /// The state changed, a turn ended, or a model is asked again.
    RuntimeUpdated {
        /// State of the session.
        state: State,
        /// Id of the turn that runs or ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
        /// Status with which the turn ended; absent while it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TurnStatus>,
        /// Error with which the turn ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<EventError>,
        /// At a turn's end, all of its metadata: persist it with the turn and hand it back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<TurnMetadata>,
        /// Retry of a model request that failed. If a part of its answer was sent, `streamReset` follows once the retry has
        /// another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retrying: Option<Retrying>,
    },
    /// A running call of a server's tool made progress. At most four in a second for each call; none is part of a snapshot.
    ToolProgress {
        /// Id of the call.
        tool_call_id: String,
        /// Part that is done, in units of the server.
        progress: f64,
        /// Whole in the same units, if the server knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// Words of the server, at most 200 bytes on one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Tool calls wait for the user's decision.
    PauseRequired {
        /// Calls that wait.
        reasons: Vec<PauseReason>,
        /// Background session whose calls they are; absent for any other session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<AskingAgent>,
    },
    /// All waiting calls were decided, or the turn was cancelled.
    PauseCleared {},
    /// A session that runs in the background for this one was added or changed.
    AgentUpdated {
        /// The session as it is now.
        agent: Agent,
    },
    /// A compaction entered another phase.
    CompactionUpdated {
        /// Id of the compaction, the same from `started` on.
        compaction_id: String,
        /// Status of the compaction. One that is `completed` stays so, even if its `phase` later is `undone` or `voided`.
        status: CompactionUpdateStatus,
        /// Phase of the compaction.
        phase: CompactionPhase,
        /// Mode that is tried, or that succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<CompactionMode>,
        /// Cause of the compaction.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger: Option<CompactionTrigger>,
        /// Explanation for people, such as why a mode failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Size of the prompt before the compaction, in tokens, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u32>,
        /// Size of the same prompt afterwards, in tokens, once the compaction is accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_after: Option<u32>,
        /// The compaction, once it is accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compaction: Option<Box<CompactionView>>,
        /// New metadata to persist, once the compaction is accepted. After an undo: all metadata that the compaction's
        /// turn still has, which replaces the persisted one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<TurnMetadata>,
    },
    /// The prompt's size changed.
    ContextUpdated {
        /// Size of the prompt, in tokens.
        tokens: u32,
        /// Largest size of a prompt, in tokens.
        limit: u32,
        /// New tokens that fit before the nearest compaction triggered by size.
        tokens_until_compaction: u32,
        /// Sections of the prompt, in order.
        sections: Vec<SectionTokens>,
        /// Token counter.
        estimator: String,
    },
    /// A prompt is sent that does not begin with the previous one, so a provider's cache serves less of it.
    PrefixBroken {
        /// Causes of the break.
        causes: Vec<PrefixBreak>,
        /// Tokens at the beginning that are the same as before.
        reused_tokens: u32,
        /// Tokens that could have been the same and are read anew.
        lost_tokens: u32,
    },
    /// The client's history was matched with the session after it was opened.
    RestoreReported {
        /// Result of the restore.
        report: RestoreReport,
    },
    /// Another process took the session over. The work in progress here was stopped, and this client follows the
    /// session: a snapshot in a new stream comes next.
    SessionTakenOver {},
    /// An event of an unknown type.
    #[serde(untagged)]
    Unknown(UnknownEvent),
}

unknown! {
    /// An event of an unknown type, as received.
    UnknownEvent, "type", EVENTS
}

/// The status of a compaction: the statuses of the Agent Client Protocol's `compaction_update`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionUpdateStatus {
    /// The compaction goes on.
    InProgress,
    /// The compaction was made.
    Completed,
    /// Nothing was compacted: no summary was usable, or none makes the prompt fit.
    Failed,
    /// The compaction was stopped.
    Cancelled,
}

impl From<CompactionPhase> for CompactionUpdateStatus {
    fn from(phase: CompactionPhase) -> Self {
        match phase {
            CompactionPhase::Started
            | CompactionPhase::Summarizing
            | CompactionPhase::FellBack
            | CompactionPhase::Reviewing => Self::InProgress,
            CompactionPhase::Accepted | CompactionPhase::Voided | CompactionPhase::Undone => Self::Completed,
            CompactionPhase::Refused | CompactionPhase::CannotFit => Self::Failed,
            CompactionPhase::Cancelled => Self::Cancelled,
        }
    }
}

/// A retry of a model request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retrying {
    /// Number of the next attempt; the first attempt is 1.
    pub attempt: u32,
    /// Delay before the attempt, in milliseconds.
    pub delay_ms: u64,
    /// Reason why the last attempt failed.
    pub reason: String,
}

/// A queued item that could not be carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueFailure {
    /// Id of the item.
    pub item_id: String,
    /// Error of the item.
    pub error: EventError,
}

/// An error that ended a turn or a queued item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventError {
    /// Error code.
    pub code: i32,
    /// Message for people: what happened, what was kept, what to do.
    pub message: String,
    /// Error data, with the error's kind.
    pub data: ErrorData,
}

/// Parameters of `sessions/changed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsChangedParams {
    /// New sessions.
    pub created: Vec<SessionSummary>,
    /// Sessions whose row in a list changed.
    pub updated: Vec<SessionSummary>,
    /// Ids of deleted sessions.
    pub deleted: Vec<String>,
    /// Trajectory files that others wrote or changed. Their sessions need not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trajectories: Vec<TrajectorySummary>,
    /// `chatId` of each deleted trajectory file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trajectories_gone: Vec<String>,
}
