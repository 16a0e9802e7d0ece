//! Compactions as clients see them.

use super::cost::Cost;
use crate::session::restore::SummaryMetadata;
pub use engine::compact::record::{
    Mode as CompactionMode, ModeRequested as SummaryMode, Placement, Status as CompactionStatus, Strength,
    Trigger as CompactionTrigger,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A mode of compaction that was tried and failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// The mode.
    pub mode: CompactionMode,
    /// Reason of the failure, for people and logs.
    pub reason: String,
    /// Number of failed requests to a model; absent if an older version made the compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u32>,
}

/// A compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionView {
    /// Id of the compaction.
    pub id: String,
    /// Status of the compaction.
    pub status: CompactionStatus,
    /// Mode in which it was made.
    pub mode: CompactionMode,
    /// Kind of summary that was requested.
    pub mode_requested: SummaryMode,
    /// Cause of the compaction.
    pub trigger: CompactionTrigger,
    /// Id of the round that has the compaction as its `summary`.
    pub anchor_round_id: String,
    /// Position of the first message that the block stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_from_ord: Option<u32>,
    /// Position of the last message that the block stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_to_ord: Option<u32>,
    /// Place of the block in the prompt.
    pub placement: Placement,
    /// Exact text in the prompt; may be empty if results were only shortened.
    pub block: String,
    /// Size of the prompt before the compaction, in tokens.
    pub tokens_before: u32,
    /// Size of the same prompt afterwards, in tokens.
    pub tokens_after: u32,
    /// Token counter.
    pub estimator: String,
    /// Number of rounds that the block stands for.
    pub num_rounds: u32,
    /// User's words about what the summary must keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// `true` if the user was asked to review it and did not answer in time. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreviewed: bool,
    /// Name of the model that wrote the summary; absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Number of further requests to a model for this summary, not counted in `fallbacks`: for another piece, a shorter
    /// summary, or by another model. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_again: Option<u32>,
    /// Cost of all requests for it, those at failed modes too; absent if none is known or none was made. Each later prompt
    /// is smaller by `tokensBefore` less `tokensAfter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Cost>,
    /// `true` if the model that wrote the summary saw parts of the covered messages cut, such as long results. Default:
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_truncated: bool,
    /// Ids of messages that the user excluded. Newer compactions carry them over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_ids: Vec<String>,
    /// Id of the compaction that this one replaced; undoing this one brings it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Modes that failed, in the order in which they were tried.
    pub fallbacks: Vec<Fallback>,
    /// Extent of the deterministic steps.
    pub strength: Strength,
    /// Time of the compaction, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Time from the overflow to the acceptance, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Id of the turn that ran when it was made, to whose metadata it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Entry to persist in `summaries` of its turn's metadata. Absent if it annotates no round, because it only
    /// shortened results or dropped rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<SummaryMetadata>,
    /// Entry to persist in the list `threadhold` of its turn's metadata, if it annotates no round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadhold: Option<String>,
}
