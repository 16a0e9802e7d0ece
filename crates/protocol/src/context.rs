//! What a session's prompt is made of and how far it is from a compaction, and compactions as clients see them.

use super::model::Usage;
use super::prompt::{Channel, Cut};
use super::restore::{SummaryMetadata, TurnMetadata};
use super::server::ProgressToken;
use super::settings::{SettingInForce, SummaryMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a compaction was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionMode {
    /// Old tool results were shortened. No model is asked for that.
    LimitHistory,
    /// A model summed up the conversation as it was sent.
    Full,
    /// A model summed up a text made of the conversation.
    Simple,
    /// What was done and which names were used, without a model.
    Ledger,
    /// Whole old rounds were dropped, without a model.
    Dropped,
    /// The user left messages out.
    Excluded,
    /// The user changed the summary of an accepted one.
    Edited,
}

/// What started a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionTrigger {
    /// A prompt was over its limit.
    BudgetExceeded,
    /// A provider said that a prompt was too large.
    ProviderOverflow,
    /// A prompt was near its limit when a turn began.
    PreTurnTokens,
    /// It was prepared beside a running turn, and then needed.
    Background,
    /// The next model's window was smaller.
    ModelChanged,
    /// So many user turns were shown.
    UserTurns,
    /// So many messages were shown.
    Messages,
    /// Nothing was said for so long.
    Idle,
    /// Somebody asked for it.
    Manual,
    /// A client's history brought a summary that says no more than a round and a text.
    Restored,
    /// The source of an import had compacted here.
    Recorded,
}

/// Where the block of a compaction stands in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// A user message before the history that it does not stand for.
    UserAtBoundary,
    /// A system message there.
    SystemMessage,
    /// The end of the system message.
    SystemPromptTail,
}

/// How far the deterministic steps of a compaction went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Strength {
    /// They did nothing.
    Absent,
    /// Repeated content was folded.
    Low,
    /// Old tool results were shortened.
    Medium,
    /// History was limited.
    High,
}

/// Whether a compaction is obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CompactionStatus {
    /// The prompt obeys it, unless a newer one is in force.
    InForce,
    /// What it stands for is no longer in the session.
    Void,
    /// The user took it out of force.
    Undone,
    /// It was found in an import; the prompt starts from the originals.
    Recorded,
}

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

/// The size of a section of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionTokens {
    /// How it reaches the model.
    pub channel: Channel,
    /// Its name.
    pub name: String,
    /// Its size in tokens.
    pub tokens: u32,
}

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

/// What a trigger counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TriggerMeasure {
    /// Tokens of the prompt.
    Tokens,
    /// Turns of the user that are shown.
    Turns,
    /// Messages that are shown.
    Messages,
    /// Seconds since something was said.
    Seconds,
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
