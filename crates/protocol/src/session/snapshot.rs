//! A session as it stands, whole: what a client draws when it opens one. How it changes from there is in its events.

use crate::context::compaction::CompactionView;
use crate::message::{Message, Part, Usage};
pub use crate::session::queue::QueueItem;
use crate::session::restore::TurnMetadata;
use crate::session::scope::Scope;
use crate::session::state::{Driver, Origin, State};
use crate::settings::Settings;
use crate::tool::{PauseReason, PendingCall};
use crate::turn::TurnStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A session as it stands, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The session.
    pub session_id: String,
    /// Names the numbering of its events; a new process is a new stream.
    pub stream: String,
    /// The number of the last event that is in here.
    pub seq: u64,
    /// Its state.
    pub state: State,
    /// Who runs its loop.
    pub driver: Driver,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Rises with every `session/reset`.
    pub generation: u32,
    /// The session that it was started by or went on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// How it came to be.
    pub origin: Origin,
    /// What it shares with the sessions of its work scope; of its own where it has none.
    pub scope: Scope,
    /// Its messages, in order.
    pub messages: Vec<Message>,
    /// How many stand before them, where only the newest were asked for (`snapshotMessages`). `turns` is empty then, and
    /// `compactions` has the one in force only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_messages: Option<u32>,
    /// Its turns, in order.
    pub turns: Vec<TurnView>,
    /// Commands that wait, in the order in which they are carried out.
    pub queue: Vec<QueueItem>,
    /// Whether it is being compacted.
    pub compression: Compression,
    /// The answer that is being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<Streaming>,
    /// The user's unsent text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// What waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// Calls without a result.
    pub pending_calls: Vec<PendingCall>,
    /// All compactions, oldest first.
    pub compactions: Vec<CompactionView>,
    /// What the user pinned, in the order in which it was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<crate::context::Pin>,
    /// The text of the compaction in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Messages that the compaction in force stands for.
    pub summarized_count: u32,
    /// The settings in force.
    pub settings: Settings,
    /// What the model reported last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether what is in its queue waits for a process that serves its folder, see `task/start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<bool>,
    /// The other process that writes the session, where it is only followed here. Commands are refused until that process
    /// lets it go or is gone, or until `session/takeOver`; then it goes on here, in a new stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
}

/// A process that writes a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldBy {
    /// The process.
    pub pid: u32,
    /// Since when, ISO-8601, UTC.
    pub since: String,
}

/// A turn in a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// The sidecar's id.
    pub id: String,
    /// The client's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// How it stands.
    pub status: TurnStatus,
    /// Its rounds, in order.
    pub rounds: Vec<RoundView>,
    /// All that is to be persisted with the turn and handed back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
}

/// A round in a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundView {
    /// The sidecar's id.
    pub id: String,
    /// The client's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The id of its assistant message.
    pub assistant: String,
    /// The ids of its results, in the order of the calls.
    pub results: Vec<String>,
    /// What stands in the prompt for this round and everything before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// Whether a session is being compacted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compression {
    /// Whether it is.
    pub running: bool,
    /// How far it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<crate::event::CompactionPhase>,
    /// The kind of compaction that is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<crate::context::compaction::CompactionMode>,
    /// Why it was begun, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An answer that is being written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Streaming {
    /// The message that it will be.
    pub message_id: String,
    /// What is there of it: what was said in its order, then the calls.
    pub parts: Vec<Part>,
    /// What it used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where it has its words from, each in the form of the provider's own wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// What a client keeps with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// What a session waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// The calls that wait for a decision.
    pub reasons: Vec<PauseReason>,
}
