//! What a session's prompt is made of and how far it is from a compaction, and compactions as clients see them.

pub mod compaction;
pub mod ledger;
pub mod memory;
pub mod recall;
pub mod review;

use crate::message::Usage;
use crate::prompt::Cut;
use crate::server::progress::ProgressToken;
use crate::session::restore::TurnMetadata;
use crate::settings::SettingInForce;
pub use engine::words::Measure as TriggerMeasure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::prompt::section::SectionTokens;
pub use compaction::{
    CompactionMode, CompactionStatus, CompactionTrigger, CompactionView, Fallback, Placement, Strength,
};

/// Numbers of messages by what became of them in the prompt. Together they are all messages of the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// Shown whole.
    pub raw: u32,
    /// Shown in part.
    pub shortened: u32,
    /// The block of the compaction in force stands for them.
    pub covered: u32,
    /// Left out and reported.
    pub dropped: u32,
    /// Not for the model.
    pub hidden: u32,
}

/// Something that every prompt shows, byte for byte, because the user wants it. A message that the prompt shows whole in its
/// place is not shown twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Its id.
    pub pin_id: String,
    /// The message, where it is one. The pin goes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The words, where it is no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its size in tokens.
    pub tokens: u32,
}

/// Something that starts a compaction, and how near it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriggerState {
    /// What.
    pub trigger: CompactionTrigger,
    /// What is counted.
    pub measure: TriggerMeasure,
    /// How much there is now.
    pub now: u64,
    /// How much it starts at; missing where it is switched off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// New tokens that must come before it starts anything, however much there is: too little was said since the last
    /// compaction (see `minNewTokens`), or since one was refused, undone or came to nothing. Missing where nothing holds
    /// it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back_tokens: Option<u32>,
}

/// Parameters of `context/inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInspectParams {
    /// The session.
    pub session_id: String,
}

/// Result of `context/inspect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInspectResult {
    /// The prompt's size in tokens.
    pub tokens: u32,
    /// The most it may weigh, in tokens.
    pub limit: u32,
    /// The model's window in tokens.
    pub window: u32,
    /// Who counted: the vocabulary, `×` the factor of the model where one is known, behind `reported+` where the last
    /// report of its provider is in it.
    pub estimator: String,
    /// How well that is known.
    pub estimate: Estimate,
    /// What it is made of, in order.
    pub sections: Vec<SectionTokens>,
    /// New tokens that fit before the nearest compaction that sizes set off, as in `contextUpdated`.
    pub tokens_until_compaction: u32,
    /// All compactions, oldest first.
    pub compactions: Vec<CompactionView>,
    /// What became of the session's messages.
    pub coverage: Coverage,
    /// What is not in the prompt as it was said.
    pub cuts: Vec<Cut>,
    /// What the user pinned, in the order in which it was.
    pub pins: Vec<Pin>,
    /// What starts a compaction, and how near it is.
    pub triggers: Vec<TriggerState>,
    /// What the model reported for its last answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The most that the model's provider turned out to take, in tokens, where it found a prompt too large. It binds
    /// `limit` until the model, its window or the chat is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned_limit: Option<u32>,
    /// Each setting with its value and who set it.
    pub settings: Vec<SettingInForce>,
}

/// How well tokens are known, beside what a provider says of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// What counts are taken times for this model, learned from its reports; 1 before.
    pub factor: f64,
    /// The share of the window that is kept back for the error; it follows the measured one.
    pub margin: f64,
    /// The last report of the model's provider, while the prompt begins with the one that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_report: Option<UsageReport>,
}

/// What a provider reported of a prompt, beside our own count of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageReport {
    /// The model.
    pub model: String,
    /// Tokens that it read, as reported.
    pub reported_tokens: u32,
    /// Tokens by our count, before anything learned.
    pub counted_tokens: u32,
}

/// Parameters of `context/compact`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompactParams {
    /// The session.
    pub session_id: String,
    /// What the summary should not lose, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// The newest compaction in force, to be made again from the originals. It goes out of force when the new one is made,
    /// and stays where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redo: Option<String>,
    /// Messages that the new one must not hide: they are pinned with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// Only says what would be done, without asking a model; nothing changes. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview: bool,
    /// Reports progress with `$/progress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
}

/// Result of `context/compact`, `context/exclude` and `context/edit`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextCompactResult {
    /// The compaction that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<CompactionView>,
    /// The metadata that is new: persist it with the turn and hand it back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
    /// What would be done, where only that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<CompactionPreview>,
    /// Why nothing was compacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A compaction that was not made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPreview {
    /// How it would be made if no model could be asked.
    pub mode: CompactionMode,
    /// Whether a model would be asked for a summary, whose words would stand in the block too.
    pub asks_model: bool,
    /// The text that would stand in the prompt.
    pub block: String,
    /// The first message that it would stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_from_ord: Option<u32>,
    /// The last message that it would stand for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers_to_ord: Option<u32>,
    /// Rounds that it would stand for.
    pub num_rounds: u32,
    /// User messages of them that would stay, byte for byte, by id.
    pub kept_user_ids: Vec<String>,
    /// What else the prompt would not show as it was said.
    pub cuts: Vec<Cut>,
    /// Tokens of the prompt now.
    pub tokens_before: u32,
    /// Tokens of the same prompt afterwards.
    pub tokens_after: u32,
    /// Who counted.
    pub estimator: String,
}

/// Parameters of `context/undo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUndoParams {
    /// The session.
    pub session_id: String,
    /// The newest compaction in force. Default: that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
}

/// Result of `context/undo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUndoResult {
    /// The compaction that the prompt obeys no longer.
    pub compaction_id: String,
    /// The one that it obeys now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_force_id: Option<String>,
    /// The turn whose metadata the compaction was part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// All of that turn's metadata as it is now: put it in the place of what was persisted.
    pub metadata: TurnMetadata,
}

/// Parameters of `context/edit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextEditParams {
    /// The session.
    pub session_id: String,
    /// The newest compaction in force.
    pub compaction_id: String,
    /// What stands in the place of the model's words. Everything else of the block stays.
    pub narrative: String,
}

/// Parameters of `context/exclude`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextExcludeParams {
    /// The session.
    pub session_id: String,
    /// Messages that no prompt shows from now on; calls and their results go together.
    pub message_ids: Vec<String>,
}

/// Parameters of `context/pin`: a message or a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPinParams {
    /// The session.
    pub session_id: String,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Result of `context/pin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextPinResult {
    /// The pin, new or known.
    pub pin_id: String,
    /// All pins.
    pub pins: Vec<Pin>,
}

/// Parameters of `context/unpin`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextUnpinParams {
    /// The session.
    pub session_id: String,
    /// The pin.
    pub pin_id: String,
}
