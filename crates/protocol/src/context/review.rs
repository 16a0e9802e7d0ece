//! Review of a compaction by the user.

use crate::context::compaction::CompactionView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `compaction/review`. The compaction is not in force yet; without an answer in time it is accepted,
/// marked as unreviewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReviewParams {
    /// Id of the session.
    pub session_id: String,
    /// The proposed compaction.
    pub compaction: CompactionView,
    /// Messages that no prompt would show any more and that the block does not stand for.
    pub dropped: Vec<DroppedMessage>,
}

/// A message that a compaction would drop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DroppedMessage {
    /// Id of the message.
    pub message_id: String,
    /// Position of the message in the session.
    pub ord: u32,
    /// Size of the message, in bytes.
    pub bytes: u64,
}

/// A user's decision about a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReviewDecision {
    /// Accepts it unchanged.
    Accept,
    /// Accepts it with `text` instead of its narrative.
    Edit,
    /// Rejects it. If the prompt does not fit, the steps that need no model make room.
    Refuse,
}

/// Result of `compaction/review`. Null, for no answer, accepts the compaction, marked as unreviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReviewResult {
    /// The user's decision.
    pub decision: ReviewDecision,
    /// New narrative, required with `edit`. Its size has the same limit as a model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
