//! Events: what a client is told about a session while it goes on.

use crate::context::Pin;
use crate::context::compaction::{CompactionMode, CompactionTrigger, CompactionView};
use crate::error::ErrorData;
use crate::message::Message;
use crate::model::{DeltaOp, StopReason};
use crate::prompt::section::SectionTokens;
use crate::session::queue::QueueItem;
use crate::session::restore::{RestoreReport, TurnMetadata};
use crate::session::scope::Scope;
use crate::session::snapshot::Snapshot;
use crate::session::state::{SessionSummary, State};
use crate::session::transfer::TrajectorySummary;
use crate::settings::Settings;
use crate::tool::PauseReason;
use crate::turn::TurnStatus;
use crate::unknown::unknown;
pub use engine::words::{BreakCause as PrefixBreak, Phase as CompactionPhase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `session/event`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// The session.
    pub session_id: String,
    /// Names the numbering; a new process is a new stream.
    pub stream: String,
    /// One more than the number of the event before, in this session and stream.
    pub seq: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// The types of [`Event`].
pub const EVENTS: &[&str] = &[
    "snapshot",
    "streamStarted",
    "streamDelta",
    "streamFinished",
    "messageAdded",
    "messageUpdated",
    "messageRemoved",
    "messagesTruncated",
    "threadUpdated",
    "queueUpdated",
    "runtimeUpdated",
    "pauseRequired",
    "pauseCleared",
    "compactionUpdated",
    "contextUpdated",
    "prefixBroken",
    "restoreReported",
    "sessionTakenOver",
];

/// What happened in a session. A receiver ignores types that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Event {
    /// The session as it stands; everything from before is out of date. It is no happening of its own: its `seq`, and its
    /// snapshot's, is that of the last event that is in it, and the next event is that number plus one. Take it whatever
    /// number and stream you have. It comes in the place of events that a client did not read in time.
    Snapshot {
        /// The session, whole.
        snapshot: Box<Snapshot>,
    },
    /// An answer begins.
    StreamStarted {
        /// The message that it will be.
        message_id: String,
        /// Its turn.
        turn_id: String,
    },
    /// An answer goes on.
    StreamDelta {
        /// The message that it will be.
        message_id: String,
        /// What was added, in order.
        ops: Vec<DeltaOp>,
    },
    /// An answer ended. Its message follows as `messageAdded`, with the same id.
    StreamFinished {
        /// The message that it will be.
        message_id: String,
        /// Why it ended; missing where it was cancelled or failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop_reason: Option<StopReason>,
    },
    /// A message is in the session and on disk.
    MessageAdded {
        /// The message.
        message: Message,
    },
    /// A message has other words.
    MessageUpdated {
        /// The message as it is from now on.
        message: Message,
    },
    /// A message left the session.
    MessageRemoved {
        /// The message.
        message_id: String,
    },
    /// Messages left the session: a user cut them off, or the client's history no longer has them.
    MessagesTruncated {
        /// The position of the first one that went.
        from_ord: u32,
        /// The session that keeps them.
        fork: String,
    },
    /// Title, draft, pins, settings or what is shared changed: all of it as it is from now on.
    ThreadUpdated {
        /// The title.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Rises with every `session/reset`.
        generation: u32,
        /// The user's unsent text; missing where there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        draft: Option<String>,
        /// What it shares.
        scope: Scope,
        /// What the user pinned.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pins: Vec<Pin>,
        /// The settings in force.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<Box<Settings>>,
    },
    /// What waits changed.
    QueueUpdated {
        /// All of it, in the order in which it is carried out.
        queue: Vec<QueueItem>,
        /// What could not be carried out when its turn came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<QueueFailure>,
    },
    /// The state changed.
    RuntimeUpdated {
        /// The state.
        state: State,
        /// The turn that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
        /// How that turn stands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<TurnStatus>,
        /// Why the state is `error`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<EventError>,
        /// At a turn's end, all that is to be persisted with the turn and handed back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<TurnMetadata>,
        /// The model could not answer and is asked again; nothing of its answer was said before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retrying: Option<Retrying>,
    },
    /// Calls wait for a decision of the user.
    PauseRequired {
        /// The calls.
        reasons: Vec<PauseReason>,
    },
    /// All of them are decided, or the turn was cancelled.
    PauseCleared {},
    /// A compaction goes on.
    CompactionUpdated {
        /// The compaction that it is about, or that it is to be: the same from `started` on.
        compaction_id: String,
        /// How far it is.
        phase: CompactionPhase,
        /// The way that is tried, or that served.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<CompactionMode>,
        /// What started it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trigger: Option<CompactionTrigger>,
        /// Why the way did not serve, for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Tokens of the prompt before, where they are known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_before: Option<u32>,
        /// Tokens of the same prompt afterwards, once it is accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_after: Option<u32>,
        /// The compaction, once it is accepted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        compaction: Option<Box<CompactionView>>,
        /// What is new to persist, once it is accepted. Of one that was undone: all that its turn still has, to be put in
        /// the place of what was persisted with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<TurnMetadata>,
    },
    /// The prompt's size changed.
    ContextUpdated {
        /// Its size in tokens.
        tokens: u32,
        /// The most it may weigh, in tokens.
        limit: u32,
        /// New tokens that fit before the nearest compaction that sizes set off.
        tokens_until_compaction: u32,
        /// What it is made of, in order.
        sections: Vec<SectionTokens>,
        /// Who counted.
        estimator: String,
    },
    /// A prompt goes out that does not begin with the one before it: a provider's cache serves less of it.
    PrefixBroken {
        /// Why.
        causes: Vec<PrefixBreak>,
        /// Tokens from the start on that are the same as before.
        reused_tokens: u32,
        /// Tokens that could have been the same, and are read anew.
        lost_tokens: u32,
    },
    /// The client's history was matched with the session after it was opened.
    RestoreReported {
        /// What was found, brought back, refused.
        report: RestoreReport,
    },
    /// Another process took the session over; what ran here is stopped. It is followed from now on: a snapshot in a new
    /// stream comes next.
    SessionTakenOver {},
    /// A type that is not known here.
    #[serde(untagged)]
    Unknown(UnknownEvent),
}

unknown! {
    /// An event of a type that is not known here, as it came.
    UnknownEvent, "type", EVENTS
}

/// A call of a model that is made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retrying {
    /// Which attempt comes next; the first one is 1.
    pub attempt: u32,
    /// After how long, in milliseconds.
    pub delay_ms: u64,
    /// Why the one before came to nothing.
    pub reason: String,
}

/// A command that waited and could not be carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueFailure {
    /// Its id in the queue.
    pub item_id: String,
    /// Why.
    pub error: EventError,
}

/// The error that ended a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventError {
    /// Its number.
    pub code: i32,
    /// What happened, what was kept, what to do.
    pub message: String,
    /// Its kind, with what belongs to that kind.
    pub data: ErrorData,
}

/// Parameters of `sessions/changed`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsChangedParams {
    /// Sessions that are new.
    pub created: Vec<SessionSummary>,
    /// Sessions that look different in a list.
    pub updated: Vec<SessionSummary>,
    /// Sessions that are gone, by id.
    pub deleted: Vec<String>,
    /// Trajectories that others wrote or changed. No session needs to be there for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trajectories: Vec<TrajectorySummary>,
    /// Trajectories that are gone, by their `chatId`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trajectories_gone: Vec<String>,
}
