//! Requests to the client's model: parameters, streaming, result, usage.

use crate::context::WindowSource;
pub use crate::message::Usage;
use crate::message::{Arguments, Content};
use crate::prompt::PromptMessage;
use crate::settings::Model;
use crate::tool::Tool;
use crate::unknown::unknown;
pub use engine::prompt::request::{StopReason, ToolChoice};
pub use engine::words::Purpose as ModelPurpose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// Options of a request to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelOptions {
    /// Sampling temperature. Default: the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Longest answer, in tokens. Default: the model's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// Parameters of `model/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCompleteParams {
    /// Id of the request, which `model/delta` repeats.
    pub request_id: String,
    /// Id of the session.
    pub session_id: String,
    /// Id of the running turn; absent if the request belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Purpose of the request.
    pub purpose: ModelPurpose,
    /// Name of the model, as the client gave it; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Messages to send, in this order.
    pub messages: Vec<PromptMessage>,
    /// Tools to offer to the model.
    pub tools: Vec<Tool>,
    /// Permission to call the tools.
    pub tool_choice: ToolChoice,
    /// Options of the request.
    pub options: ModelOptions,
}

/// A model's call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Id of the call. Must not be empty.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text.
    pub arguments: Arguments,
}

/// Result of `model/complete`. A client that streamed everything answers `{}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCompleteResult {
    /// The model's answer; may hold `toolCall` parts. Default: the streamed content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Tool calls beside `toolCall` parts of `content`. Default: the streamed calls, unless `content` has such parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Reason why the answer ended. Default: `toolUse` if it has calls, otherwise `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Tokens that the model used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Parameters of `model/delta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDeltaParams {
    /// `requestId` of the `model/complete` that is being answered.
    pub request_id: String,
    /// Additions to the answer, in order.
    pub ops: Vec<DeltaOp>,
}

/// The operations of [`DeltaOp`] that this version knows.
pub const DELTA_OPS: &[&str] = &[
    "appendContent",
    "appendReasoning",
    "setToolCalls",
    "appendToolArguments",
    "setThinkingBlocks",
    "addCitation",
    "addServerContentBlock",
    "setUsage",
    "mergeExtra",
];

/// A change of an answer in progress. Ignore unknown operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DeltaOp {
    /// Appends text.
    AppendContent {
        /// Text to append.
        text: String,
    },
    /// Appends thinking.
    AppendReasoning {
        /// Thinking to append.
        text: String,
    },
    /// Replaces the tool calls.
    SetToolCalls {
        /// All calls so far.
        tool_calls: Vec<ToolCall>,
    },
    /// Appends to the arguments of a call.
    AppendToolArguments {
        /// Id of the call, which an earlier `setToolCalls` must have set.
        call_id: String,
        /// JSON text to append.
        text: String,
    },
    /// Adds or updates the provider's blocks of thinking, in its own form, such as `{type, index, thinking,
    /// signature}`. A block updates the earlier one with its type and index, else with its type and id, else with its
    /// type and signature; else the first unsigned thinking without any of these whose text it repeats or continues;
    /// else it is new. Text that begins with the earlier text replaces it; any other text is appended.
    SetThinkingBlocks {
        /// Blocks of thinking, known or new.
        blocks: Vec<Map<String, Value>>,
    },
    /// Adds a source of the answer.
    AddCitation {
        /// Citation in the form of the provider's wire.
        citation: Value,
    },
    /// Appends a block that the provider made itself, such as a search result.
    AddServerContentBlock {
        /// Block in the form of the provider's wire.
        block: Value,
    },
    /// Reports the tokens used so far. A counter never decreases.
    SetUsage {
        /// Counters as the provider reports them.
        usage: Usage,
    },
    /// Keeps data with the answer that no model sees. Objects are merged key by key, 64 levels deep; any other value,
    /// including null and lists, replaces the earlier one.
    MergeExtra {
        /// Data to keep.
        extra: Map<String, Value>,
    },
    /// An unknown operation.
    #[serde(untagged)]
    Unknown(UnknownDelta),
}

unknown! {
    /// An unknown operation, as received.
    UnknownDelta, "op", DELTA_OPS
}

/// A model's key. Never shown, logged or stored.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Key(pub String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Parameters of `model/key`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelKeyParams {
    /// Name of the key, as in the setting `model.keyEnv`, such as `OPENAI_API_KEY`: letters, digits and underscores.
    pub name: String,
    /// The key; it precedes an environment variable of that name. If absent, the sidecar forgets the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Key>,
}

/// Result of `model/key`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelKeyResult {}

/// Parameters of `model/check`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheckParams {
    /// The model to ask, with its wire. Its key is one of `model/key` or of the environment.
    pub model: Model,
}

/// Result of `model/check`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCheckResult {
    /// Why the model did not answer; absent if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ModelProblem>,
    /// Input tokens of the request, as the provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
}

/// Parameters of `model/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListParams {
    /// The provider to ask: the wire of a model, with its address, key, headers and query where it needs them. A name is not
    /// needed. The wires `editor` and `scripted` have no list.
    pub model: Model,
}

/// Result of `model/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelListResult {
    /// The models, at most 10,000 of 20 pages: newest first where the provider tells their age, otherwise in its order, and
    /// those whose window is unknown last. Empty if there is a problem.
    pub models: Vec<ListedModel>,
    /// Why there is no list; absent if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ModelProblem>,
}

/// A model in its provider's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedModel {
    /// Name of the model, for the setting `model.name`.
    pub name: String,
    /// Name for people, if the provider lists another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Context window, in tokens; absent if it is neither listed nor known for the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Source of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_source: Option<WindowSource>,
}

/// Why a model did not answer, or a provider did not list its models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelProblem {
    /// Class of the error, such as `auth`, `quota`, `rateLimited`, `network`, `badRequest`; of a list also `unsupported` and
    /// `empty`.
    pub class: String,
    /// The error, with the provider's own words.
    pub message: String,
    /// What a person can do about it.
    pub advice: String,
}

/// Parameters of `model/countTokens`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCountTokensParams {
    /// Texts to count.
    pub texts: Vec<String>,
    /// Name of the model, as the client gave it; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Result of `model/countTokens`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCountTokensResult {
    /// Tokens of each text, in the order of `texts`.
    pub tokens: Vec<u32>,
}

/// The origin of a usage report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageSource {
    /// The model's provider reported it with the answer.
    Provider,
    /// The client counted the request, because its provider reports no usage.
    CountTokens,
}

/// Parameters of `model/usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsageParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the turn; absent if the request belonged to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Purpose of the request.
    pub purpose: ModelPurpose,
    /// Tokens that the model used.
    pub usage: Usage,
    /// Origin of `usage`.
    pub source: UsageSource,
    /// Sidecar's own estimate of the input, in tokens.
    pub estimated_tokens: u32,
    /// Token counter behind the estimate.
    pub estimator: String,
}
