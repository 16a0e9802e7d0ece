//! Prompts: parameters of a render, and the rendered prompt.

pub mod section;

use crate::context::compaction::{CompactionMode, Strength};
use crate::message::{Content, Meta, Part};
use crate::server::progress::ProgressToken;
use crate::session::restore::{Diagnostic, TurnMetadata};
use crate::settings::Model;
use crate::tool::{Tool, ToolResult};
use crate::turn::{Round, Turn};
pub use engine::prompt::CutReason;
pub use engine::prompt::item::Role as PromptRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use section::{
    Attachment, Channel, ContextFile, Notebook, OnOverflow, Section, SectionChannel, Variable,
};

/// The user's current request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Input {
    /// Client's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Content of the request.
    pub content: Content,
    /// Data that a client attached to the request. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The condition under which a render compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RenderSummarize {
    /// If the prompt is too large.
    Auto,
    /// Always.
    Force,
    /// Never: a prompt that is too large fails with `BudgetExceeded`.
    Never,
}

/// Parameters of `prompt/render`. Without `sessionId`, `history` or `input` is required.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRenderParams {
    /// Id of the session. Default: the one with a turn of `history`, or none: the prompt is for this response only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Folder in which that session is looked for and a new `sessionId` is stored. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Client's own copy of the turns so far, to be matched with the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Turn>>,
    /// Current request; absent if it is in the session already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// Rounds of the current turn: all, or those that the session does not have. Requires `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Vec<Round>>,
    /// Results of calls in `rounds` that are not in their round. Requires `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_results: Option<Vec<ToolResult>>,
    /// Metadata from earlier renders of the running turn, if the client kept it. Ignored without `input`, and reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
    /// Tools from now on. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Client's sections from now on. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// Named values of the request. Ignored without `input`, and reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<Variable>>,
    /// State of the notebooks. Ignored without `input`, and reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<Vec<Notebook>>,
    /// Background of the request, captured with it by the first render that brings it. Later changes wait for the next
    /// request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// Model that the prompt is for. Default: the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Largest size of the prompt, in tokens, below what the model allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Size in tokens above which results that come with this request are shown by head and tail only, instead of the
    /// setting of this name. Never 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_result_tokens: Option<u32>,
    /// Condition under which the render compacts. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<RenderSummarize>,
    /// `true` marks cache breakpoints, except after a failed summary. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_breakpoints: Option<bool>,
    /// Token for `$/progress` reports while a summary is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
}

/// Result of `prompt/render`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRenderResult {
    /// Id of the session that keeps the rendered turns; absent if the prompt was made for this response only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Messages to send, in this order. Neighbours of one role are never joined.
    pub messages: Vec<PromptMessage>,
    /// Tools to send, sorted by name.
    pub tools: Vec<Tool>,
    /// Sections of the prompt, in order.
    pub plan: Vec<PlanSection>,
    /// Size of the prompt, in tokens, including tools.
    pub tokens: u32,
    /// Largest size that was allowed, in tokens.
    pub limit: u32,
    /// Window of the model, in tokens.
    pub window: u32,
    /// Token counter.
    pub estimator: String,
    /// Everything that the prompt does not show verbatim.
    pub cuts: Vec<Cut>,
    /// New metadata: persist it with the turn and hand it back unchanged.
    pub metadata: TurnMetadata,
    /// Id of the compaction that the prompt follows; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// Mode of that compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<CompactionMode>,
    /// Extent of its deterministic steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// Deviations from the request that are not errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Id of the revision that keeps what the client's history no longer has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptMessage {
    /// Role of the message.
    pub role: PromptRole,
    /// Content. In the system message each section is a part.
    pub parts: Vec<Part>,
    /// `true` if a provider's cache may keep the prompt up to the end of this message. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_breakpoint: Option<bool>,
}

/// A section of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanSection {
    /// Channel of the section.
    pub channel: Channel,
    /// Name, such as `system`, `keptUserMessages` or `history`.
    pub name: String,
    /// Index of its first message and index after its last one. Both are equal for tools; sections of the system text
    /// share one message.
    pub messages: [u32; 2],
    /// Size of the section, in tokens.
    pub tokens: u32,
    /// Order in which sections could be given up, the lowest first; absent if it is never given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// `true` if a provider's cache may keep the prompt up to the end of this section.
    pub cache_breakpoint: bool,
}

/// Content of the session or the client that the prompt does not show, or not whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cut {
    /// Position of the message; absent if it is not a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ord: Option<u32>,
    /// Reference for `context/recall`, if a stored session has the content.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// SHA-256 of what `context/recall` returns for it, in lower-case hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Reason of the cut.
    pub reason: CutReason,
    /// Size of the original, in bytes.
    pub original_bytes: u64,
    /// Size of what the prompt still shows of it, in bytes.
    pub kept_bytes: u64,
}
