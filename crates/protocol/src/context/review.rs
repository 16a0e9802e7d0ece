//! A compaction that waits for its user, on the wire.

use crate::context::compaction::CompactionView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `compaction/review`. The compaction does not hold yet; without an answer in time it will, marked as
/// unreviewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReviewParams {
    /// The session.
    pub session_id: String,
    /// What would hold.
    pub compaction: CompactionView,
    /// Messages that no prompt would show any more, and that its block does not stand for.
    pub dropped: Vec<DroppedMessage>,
}

/// A message that would be left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DroppedMessage {
    /// Its id.
    pub message_id: String,
    /// Its place in the session.
    pub ord: u32,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What a user says about a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReviewDecision {
    /// It holds as it is.
    Accept,
    /// It holds with `text` in the place of its narrative.
    Edit,
    /// It does not hold. Where the prompt does not fit, the steps that need no model make room.
    Refuse,
}

/// Result of `compaction/review`. A client that has no answer sends null: it holds, marked as unreviewed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReviewResult {
    /// What the user says.
    pub decision: ReviewDecision,
    /// The narrative's new words, with `edit`. Its size has the same limit as a model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
