//! The snapshot of a session, which a client displays when it opens one. Changes from there on follow as events.

use crate::context::compaction::CompactionView;
use crate::context::cost::Cost;
use crate::message::{Message, Part, Usage};
use crate::session::agent::Agent;
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
use std::fmt;

/// The whole state of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Id of the session.
    pub session_id: String,
    /// Id of the numbering of its events; a new process starts a new stream.
    pub stream: String,
    /// Number of the last event that the snapshot includes.
    pub seq: u64,
    /// State of the session.
    pub state: State,
    /// Side that runs the loop.
    pub driver: Driver,
    /// Title; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Counter that grows with each `session/reset`.
    pub generation: u32,
    /// Id of the session that started this one or that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Origin of the session.
    pub origin: Origin,
    /// State that the session shares under its work scope, or its own if it has none.
    pub scope: Scope,
    /// Messages, in order.
    pub messages: Vec<Message>,
    /// Number of messages before the first of `messages`, including removed ones, if only the newest were requested
    /// (`snapshotMessages`). `turns` is then empty, and `compactions` holds only the one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_messages: Option<u32>,
    /// Turns, in order.
    pub turns: Vec<TurnView>,
    /// Queued commands, in the order in which they are carried out.
    pub queue: Vec<QueueItem>,
    /// Compaction in progress.
    pub compression: Compression,
    /// Answer in progress; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<Streaming>,
    /// User's unsent text; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// Calls that wait for the user's decision; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// Calls without a result.
    pub pending_calls: Vec<PendingCall>,
    /// All compactions, oldest first.
    pub compactions: Vec<CompactionView>,
    /// Pins of the user, in the order in which they were added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<crate::context::Pin>,
    /// Text of the compaction in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Number of messages at the beginning of the session that the compaction in force covers or drops.
    pub summarized_count: u32,
    /// Settings in force.
    pub settings: Settings,
    /// Always absent in this version; `context/inspect` has the usage of the last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Sessions that run in the background for this one, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// `true` if the queue waits for a process that serves the folder, see `task/start`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<bool>,
    /// Other process that writes the session, if it is only followed here. Commands fail with `SessionHeldElsewhere`
    /// until that process releases the session or ends, or until `session/takeOver`; then it continues here, in a new
    /// stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<HeldBy>,
}

/// A process that writes a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldBy {
    /// Id of the process.
    pub pid: u32,
    /// Time at which it began to write the session, ISO-8601, UTC.
    pub since: String,
    /// User of the process, if the store is shared between machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Machine of the process, if the store is shared between machines. The id is one of that machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// For people: `pid 12`, or `pid 12 of ann on build-7`.
impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}", self.pid)?;
        self.user.iter().try_for_each(|user| write!(f, " of {user}"))?;
        self.host.iter().try_for_each(|host| write!(f, " on {host}"))
    }
}

/// A turn in a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// Sidecar's id of the turn.
    pub id: String,
    /// Client's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Status of the turn.
    pub status: TurnStatus,
    /// Rounds, in order.
    pub rounds: Vec<RoundView>,
    /// All metadata of the turn: persist it with the turn and hand it back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
    /// `true` if the turn was open when its process ended or its session was opened again. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// Tokens that the model used for the turn's answers, as `turnCompleted` has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost of the turn's answers, as `turnCompleted` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Cost of the turn's answers, and where the figure is from, as `turnCompleted` has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Cost>,
    /// Time from the start of the turn, or of its newest run after a retry, to its end, in milliseconds; absent while it runs, and if it did not run here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

/// A round in a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoundView {
    /// Sidecar's id of the round.
    pub id: String,
    /// Client's id of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Id of the assistant message.
    pub assistant: String,
    /// Ids of the results, in the order of the calls.
    pub results: Vec<String>,
    /// Text that stands in the prompt for this round and everything before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The compaction in progress, if any.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Compression {
    /// `true` while a compaction is in progress.
    pub running: bool,
    /// Phase of the compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<crate::event::CompactionPhase>,
    /// Mode that is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<crate::context::compaction::CompactionMode>,
    /// Reason why the compaction started, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An answer in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Streaming {
    /// Id of the message that the answer becomes.
    pub message_id: String,
    /// Parts so far: text and thinking in their order, then the calls.
    pub parts: Vec<Part>,
    /// Tokens used so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Sources of the answer, each in the form of the provider's wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// Data that a client keeps with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// The calls that a session waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Calls that wait for a decision.
    pub reasons: Vec<PauseReason>,
}
