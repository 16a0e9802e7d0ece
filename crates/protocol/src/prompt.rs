//! Prompts: what a client brings to one, and what it is made of.

pub mod section;

use crate::context::compaction::{CompactionMode, Strength};
use crate::message::{Content, Part};
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
    /// The client's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// What the user asks.
    pub content: Content,
}

/// When a render compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RenderSummarize {
    /// When the prompt is too large.
    Auto,
    /// In any case.
    Force,
    /// Never: a prompt that is too large is the error BudgetExceeded.
    Never,
}

/// Parameters of `prompt/render`. Either `sessionId` or `history` must be there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRenderParams {
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The folder; where a history without a session is looked for, and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// The client's own copy of the turns so far. It is matched with the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Turn>>,
    /// The current request. Missing where it is in the session already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
    /// The rounds of the current turn, all of them or those that the session has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Vec<Round>>,
    /// Results of the rounds' calls that are not in their round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_results: Option<Vec<ToolResult>>,
    /// What earlier renders of the running turn answered as metadata, where the client kept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TurnMetadata>,
    /// The tools from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// The caller's sections from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// Values that belong to the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variables: Option<Vec<Variable>>,
    /// Notebooks as they stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notebook: Option<Vec<Notebook>>,
    /// What is so now. It is captured with the request where this render brings that for the first time; what has changed
    /// since waits for the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachments: Option<Vec<Attachment>>,
    /// The model that the prompt is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// The most that the prompt may weigh, in tokens, below what the model allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u32>,
    /// Tokens above which a result that comes with this request is shown by its head and its tail, in the place of the
    /// setting of the same name. Never 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_result_tokens: Option<u32>,
    /// When it compacts. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<RenderSummarize>,
    /// Whether cache breakpoints are marked. Default: true. After a failed summary they never are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_breakpoints: Option<bool>,
    /// Reports progress with `$/progress` while a summary is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_done_token: Option<ProgressToken>,
}

/// Result of `prompt/render`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRenderResult {
    /// The session that keeps what was rendered; nothing where the prompt was made for this answer alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// What to send, in this order. Neighbours of one role are never joined here.
    pub messages: Vec<PromptMessage>,
    /// The tools to send, sorted by name.
    pub tools: Vec<Tool>,
    /// What the prompt is made of, in order.
    pub plan: Vec<PlanSection>,
    /// Its size in tokens, tools included.
    pub tokens: u32,
    /// The most it was allowed to weigh, in tokens.
    pub limit: u32,
    /// The model's window in tokens.
    pub window: u32,
    /// Who counted.
    pub estimator: String,
    /// What is not in it as it was said.
    pub cuts: Vec<Cut>,
    /// What is new to persist with the turn and to hand back unchanged.
    pub metadata: TurnMetadata,
    /// The compaction that the prompt obeys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction_id: Option<String>,
    /// How that compaction was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<CompactionMode>,
    /// How far its deterministic steps went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<Strength>,
    /// What went otherwise than asked.
    pub diagnostics: Vec<Diagnostic>,
    /// The session that keeps what the client's history no longer has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptMessage {
    /// Its role.
    pub role: PromptRole,
    /// What it says. In the system message each section is a part.
    pub parts: Vec<Part>,
    /// Whether a provider's cache may keep the prompt up to the end of this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_breakpoint: Option<bool>,
}

/// A section of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanSection {
    /// How it reaches the model.
    pub channel: Channel,
    /// Its name, such as `system`, `keptUserMessages`, `history`.
    pub name: String,
    /// Its messages: the index of the first, and the index after the last. Both are equal for tools; sections of the
    /// system text share one message.
    pub messages: [u32; 2],
    /// Its size in tokens.
    pub tokens: u32,
    /// The lowest would go first. Missing where it is never given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Whether a provider's cache may keep the prompt up to its end.
    pub cache_breakpoint: bool,
}

/// Something that the session or the caller has and the prompt has not, or not whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cut {
    /// The position of the message, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ord: Option<u32>,
    /// Under which `context/recall` gives all of it, where it belongs to a session that is kept.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// SHA-256 of what that gives, lower-case hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Why.
    pub reason: CutReason,
    /// Bytes of the original.
    pub original_bytes: u64,
    /// Bytes of it that the prompt still shows.
    pub kept_bytes: u64,
}
