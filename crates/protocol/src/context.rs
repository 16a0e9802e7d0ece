//! The context of a session: the parts of its prompt, the distance to a compaction, and compactions by hand.

pub mod compaction;
pub mod cost;
pub mod ledger;
pub mod memory;
pub mod recall;
pub mod review;

use crate::message::Usage;
use crate::prompt::Cut;
use crate::server::progress::ProgressToken;
use crate::session::restore::TurnMetadata;
use crate::settings::SettingInForce;
pub use engine::words::{LimitSource, Measure as TriggerMeasure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::prompt::section::SectionTokens;
pub use compaction::{
    CompactionMode, CompactionStatus, CompactionTrigger, CompactionView, Fallback, Placement, Strength,
};
pub use cost::{Cost, Spending};

/// Numbers of messages by how the prompt shows them. Their sum is the number of messages of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Shown whole.
    pub raw: u32,
    /// Shown in part.
    pub shortened: u32,
    /// Replaced by the block of the compaction in force.
    pub covered: u32,
    /// Left out and reported.
    pub dropped: u32,
    /// Not for the model.
    pub hidden: u32,
}

/// A message or text that every prompt shows, byte for byte. A message that the prompt shows whole anyway is not
/// repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Id of the pin.
    pub pin_id: String,
    /// Id of the pinned message; absent for a text. If the message is removed, so is the pin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The pinned text; absent for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Size of the pin, in tokens.
    pub tokens: u32,
}

/// A trigger of compactions, and how near it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerState {
    /// Name of the trigger.
    pub trigger: CompactionTrigger,
    /// Unit of `now` and `at`.
    pub measure: TriggerMeasure,
    /// Current value.
    pub now: u64,
    /// Value at which the trigger fires; absent if it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// New tokens required before the trigger may fire, whatever `now` is: since the last compaction (see
    /// `minNewTokens`), or since one was refused, undone or failed. Absent if none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back_tokens: Option<u32>,
}

/// Parameters of `context/inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInspectParams {
    /// Id of the session.
    pub session_id: String,
    /// Number of newest compactions in the result. A long session has thousands, each with its text. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compactions: Option<u32>,
}

/// Source of a model's window, where no setting states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WindowSource {
    /// The table of known models in the program.
    Table,
    /// The provider's list of models.
    Provider,
}

/// Result of `context/inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInspectResult {
    /// Size of the prompt, in tokens.
    pub tokens: u32,
    /// Largest size of a prompt, in tokens.
    pub limit: u32,
    /// Window of the model, in tokens.
    pub window: u32,
    /// Source of the window. Absent if the settings state it, or if nothing is known of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_source: Option<WindowSource>,
    /// Token counter: the vocabulary (`o200k`), then a factor learned for the model, if any (`o200k×1.20 name`), all
    /// behind `reported+` if the count builds on the provider's last report.
    pub estimator: String,
    /// Accuracy of the counts.
    pub estimate: Estimate,
    /// Sections of the prompt, in order.
    pub sections: Vec<SectionTokens>,
    /// New tokens that fit before the nearest compaction triggered by size, as in `contextUpdated`.
    pub tokens_until_compaction: u32,
    /// The requested compactions, oldest first.
    pub compactions: Vec<CompactionView>,
    /// Number of compactions before these; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier_compactions: Option<u32>,
    /// Numbers of messages by how the prompt shows them.
    pub coverage: Coverage,
    /// Everything that the prompt does not show verbatim.
    pub cuts: Vec<Cut>,
    /// Pins of the user, in the order in which they were added.
    pub pins: Vec<Pin>,
    /// Triggers of compactions.
    pub triggers: Vec<TriggerState>,
    /// Tokens that the model reported for its last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Cost of the session's requests to models; absent if none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spending>,
    /// Limit of a prompt that was learned when the provider rejected one as too large; it lowers `limit`. Dropped once a
    /// larger prompt was accepted, with another model, window or chat, and by `forgetLearnedLimits` of
    /// `session/configure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_limit: Option<LearnedLimit>,
    /// Largest answer to this prompt, in tokens, learned and dropped in the same ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_answer_limit: Option<u32>,
    /// All settings, each with its value and source.
    pub settings: Vec<SettingInForce>,
}

/// A limit of prompts that was learned from a provider's rejection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LearnedLimit {
    /// Largest prompt, in tokens.
    pub tokens: u32,
    /// Source of the figure.
    pub source: LimitSource,
    /// Prompts that must be accepted before the limit is dropped, if none of them is larger.
    pub prompts_left: u32,
}

/// The accuracy of token counts, beside the provider's reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Factor of counts for this model: learned from its reports, before that known from its name, otherwise 1.
    pub factor: f64,
    /// Share of the window kept back for the error of the estimate; follows the measured error.
    pub margin: f64,
    /// Last report of the model's provider; absent once the prompt no longer begins with the reported one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_report: Option<UsageReport>,
}

/// A provider's report of a prompt's size, with the sidecar's count of the same prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// Name of the model.
    pub model: String,
    /// Input tokens that the provider reported.
    pub reported_tokens: u32,
    /// Tokens that the sidecar counted, without the learned factor.
    pub counted_tokens: u32,
}

/// Parameters of `context/compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompactParams {
    /// Id of the session.
    pub session_id: String,
    /// User's words about what the summary must keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// Id of the newest compaction in force, to be made again from the originals. It stays in force if no new one is
    /// made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo: Option<String>,
    /// Ids of messages that the new compaction must not hide; they are pinned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// `true` only reports the outcome: no model is asked and nothing changes. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
    /// Token for `$/progress` reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
}

/// Result of `context/compact`, `context/exclude` and `context/edit`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompactResult {
    /// The new compaction; absent if none was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionView>,
    /// New metadata: persist it with the turn and hand it back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
    /// Expected outcome, if `preview` was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<CompactionPreview>,
    /// Reason why nothing was compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The expected outcome of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPreview {
    /// Mode of the compaction if no model could be asked.
    pub mode: CompactionMode,
    /// `true` if a model would be asked for a summary, which the block would then contain too.
    pub asks_model: bool,
    /// Text that would stand in the prompt.
    pub block: String,
    /// Position of the first message that the block would stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_from_ord: Option<u32>,
    /// Position of the last message that the block would stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_to_ord: Option<u32>,
    /// Number of rounds that the block would stand for.
    pub num_rounds: u32,
    /// Ids of the user messages among them that would stay, byte for byte.
    pub kept_user_ids: Vec<String>,
    /// Other things that the prompt would not show verbatim.
    pub cuts: Vec<Cut>,
    /// Size of the prompt now, in tokens.
    pub tokens_before: u32,
    /// Size of the same prompt afterwards, in tokens.
    pub tokens_after: u32,
    /// Token counter.
    pub estimator: String,
}

/// Parameters of `context/undo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUndoParams {
    /// Id of the session.
    pub session_id: String,
    /// Newest compaction in force, the default. Fails with `CannotUndo` if the prompt would not fit without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
}

/// Result of `context/undo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUndoResult {
    /// Id of the compaction that is out of force now.
    pub compaction_id: String,
    /// Id of the compaction that is in force now; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force_id: Option<String>,
    /// Id of the turn whose metadata the compaction was part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// All metadata of that turn, which replaces the persisted one.
    pub metadata: TurnMetadata,
}

/// Parameters of `context/edit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextEditParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the newest compaction in force.
    pub compaction_id: String,
    /// Text that replaces the model's words; the rest stays. Fails with `BudgetExceeded` beyond `maxSummaryTokens`.
    pub narrative: String,
}

/// Parameters of `context/exclude`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextExcludeParams {
    /// Id of the session.
    pub session_id: String,
    /// Ids of messages to hide from every prompt. A call and its results are hidden together.
    pub message_ids: Vec<String>,
}

/// Parameters of `context/pin`. Requires exactly one of `messageId` and `text`. Pins may take half of the room beside
/// tools, system text and memories; beyond that it fails with `BudgetExceeded`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPinParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the message to pin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Text to pin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Result of `context/pin` and `context/unpin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPinResult {
    /// Id of the pin. Pinning something twice returns the first pin.
    pub pin_id: String,
    /// All pins.
    pub pins: Vec<Pin>,
}

/// Parameters of `context/unpin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUnpinParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the pin. Fails with `StaleReference` if there is no such pin.
    pub pin_id: String,
}
