//! The client's model: what it is asked, how it streams, what it answers.

pub use crate::message::Usage;
use crate::message::{Arguments, Content};
use crate::prompt::PromptMessage;
use crate::tool::Tool;
use crate::unknown::unknown;
pub use engine::prompt::request::{StopReason, ToolChoice};
pub use engine::words::Purpose as ModelPurpose;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// How a model is to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelOptions {
    /// The temperature; the model's own where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most that it may answer, in tokens; the model's own limit where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// Parameters of `model/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCompleteParams {
    /// Names the request in `model/delta`.
    pub request_id: String,
    /// The session.
    pub session_id: String,
    /// The turn that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What it is for.
    pub purpose: ModelPurpose,
    /// The model's name, as the client gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it reads, in this order.
    pub messages: Vec<PromptMessage>,
    /// The tools that it is told of.
    pub tools: Vec<Tool>,
    /// Whether it may use them.
    pub tool_choice: ToolChoice,
    /// How it is to answer.
    pub options: ModelOptions,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: Arguments,
}

/// Result of `model/complete`. A client that streamed everything answers `{}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCompleteResult {
    /// What the model said; may hold `toolCall` parts. Where it is missing, the deltas are what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Its calls. Where neither these nor `toolCall` parts are there, the deltas' calls are its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<Vec<ToolCall>>,
    /// Why it ended. Default: `toolUse` where there are calls, else `end`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// What it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Parameters of `model/delta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelDeltaParams {
    /// The request that is answered.
    pub request_id: String,
    /// What was added, in order.
    pub ops: Vec<DeltaOp>,
}

/// The operations of [`DeltaOp`] that have a meaning in this version.
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

/// A change of an answer that is being written. Operations that a receiver does not know are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DeltaOp {
    /// Text goes on.
    AppendContent {
        /// What is added.
        text: String,
    },
    /// Thinking goes on.
    AppendReasoning {
        /// What is added.
        text: String,
    },
    /// These are the calls, in the place of those before.
    SetToolCalls {
        /// All calls so far.
        tool_calls: Vec<ToolCall>,
    },
    /// The arguments of a call go on.
    AppendToolArguments {
        /// The call; it must have been set before.
        call_id: String,
        /// What is added.
        text: String,
    },
    /// What the provider says of its thinking so far: blocks in its own form, such as `{type, index, thinking,
    /// signature}`. A block is the one before it with its type and index, else type and id, else type and signature;
    /// else it is the first unsigned thinking without any of these whose text it repeats or goes on with; else it is
    /// new. Its text takes the place of the text that it begins with, and stands behind any other.
    SetThinkingBlocks {
        /// Blocks, those that were set before or others.
        blocks: Vec<Map<String, Value>>,
    },
    /// Says where words of the answer are from.
    AddCitation {
        /// In the form of the provider's own wire.
        citation: Value,
    },
    /// A block that the provider made by itself comes next, such as the result of a search.
    AddServerContentBlock {
        /// In the form of the provider's own wire.
        block: Value,
    },
    /// Says what was used so far. A counter never goes back.
    SetUsage {
        /// What the provider reports.
        usage: Usage,
    },
    /// Keeps something with the answer that no model sees. Objects are merged key by key, 64 levels deep; any other
    /// value, null and lists too, takes the place of the one before.
    MergeExtra {
        /// What is to be kept.
        extra: Map<String, Value>,
    },
    /// An operation that is not known here.
    #[serde(untagged)]
    Unknown(UnknownDelta),
}

unknown! {
    /// An operation that is not known here, as it came.
    UnknownDelta, "op", DELTA_OPS
}

/// A key. It is never shown, logged or stored.
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
    /// Its name, as `model.keyEnv` names it, such as `OPENAI_API_KEY`.
    pub name: String,
    /// The key; it goes before an environment variable of that name. Without one, what was given is forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Key>,
}

/// Result of `model/key`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelKeyResult {}

/// Parameters of `model/countTokens`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCountTokensParams {
    /// The texts.
    pub texts: Vec<String>,
    /// The model's name, as the client gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Result of `model/countTokens`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelCountTokensResult {
    /// A count for each text, in their order.
    pub tokens: Vec<u32>,
}

/// Who says what a model used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UsageSource {
    /// The model's provider, in the answer.
    Provider,
    /// The client counted the request, for its provider says nothing.
    CountTokens,
}

/// Parameters of `model/usage`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsageParams {
    /// The session.
    pub session_id: String,
    /// The turn that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// What the model was asked for.
    pub purpose: ModelPurpose,
    /// What it used.
    pub usage: Usage,
    /// Who says so.
    pub source: UsageSource,
    /// The sidecar's own estimate of the input, in tokens.
    pub estimated_tokens: u32,
    /// Who estimated.
    pub estimator: String,
}
