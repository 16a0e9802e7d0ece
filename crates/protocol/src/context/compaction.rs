//! Compactions as clients see them.

use crate::session::restore::SummaryMetadata;
pub use engine::compact::record::{
    Mode as CompactionMode, ModeRequested as SummaryMode, Placement, Status as CompactionStatus, Strength,
    Trigger as CompactionTrigger,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A way of compacting that did not serve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// The way.
    pub mode: CompactionMode,
    /// Why, for people and logs.
    pub reason: String,
    /// How often a model was asked for it, in vain. Missing where an older version made the compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u32>,
}

/// A compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionView {
    /// Its id.
    pub id: String,
    /// Whether it is obeyed.
    pub status: CompactionStatus,
    /// How it was made.
    pub mode: CompactionMode,
    /// What was asked for.
    pub mode_requested: SummaryMode,
    /// What started it.
    pub trigger: CompactionTrigger,
    /// The round that carries it as its `summary`.
    pub anchor_round_id: String,
    /// The first message that its block stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_from_ord: Option<u32>,
    /// The last message that its block stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_to_ord: Option<u32>,
    /// Where its block stands.
    pub placement: Placement,
    /// The exact text that stands in the prompt; may be empty where results were only shortened.
    pub block: String,
    /// Tokens of the prompt before.
    pub tokens_before: u32,
    /// Tokens of the same prompt afterwards.
    pub tokens_after: u32,
    /// Who counted.
    pub estimator: String,
    /// Rounds that its block stands for.
    pub num_rounds: u32,
    /// What the summary was to keep in view.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Whether the user was asked about it and said nothing in time. Missing: no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreviewed: bool,
    /// The model that wrote the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How often a model was asked once more for that summary, beside what `fallbacks` say: for another piece, for a shorter
    /// one, or in the place of another model. Missing: not once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_again: Option<u32>,
    /// Messages that the user left out, by id. Newer compactions carry them on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_ids: Vec<String>,
    /// The compaction that this one was put in the place of; undoing this one brings it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Ways that did not serve, in their order.
    pub fallbacks: Vec<Fallback>,
    /// How far the deterministic steps went.
    pub strength: Strength,
    /// When it was made, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// From the overflow to the acceptance, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The turn that ran when it was made; its metadata belongs to that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What a client persists of it among the `summaries` of its turn. Missing where it stands for nothing by itself: it
    /// only shortened results, or dropped rounds. Then it annotates no round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<SummaryMetadata>,
    /// What a client persists of it where it annotates no round: an entry of `threadhold` in the metadata of its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadhold: Option<String>,
}
