//! Settings as they come over the wire. Nothing is validated here beyond types: what a value may be is said by
//! whoever takes it into use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The client's model, as far as prompts depend on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Its name, handed back with `model/complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its window in tokens.
    pub window: u32,
    /// The most that it answers, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// The roles that it takes, such as `system`, `user`, `assistant`, `tool`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// Whether it can be told to use no tool. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice_none: Option<bool>,
    /// Whether its answers come with their usage. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<bool>,
    /// Whether the client counts its tokens (`model/countTokens`). Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_tokens: Option<bool>,
    /// Whether it takes pictures. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// Which kind of summary is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummaryMode {
    /// Full, then simple.
    Auto,
    /// The model reads the conversation as it was sent.
    Full,
    /// The model reads a text made of it.
    Simple,
}

/// What happens to cache breakpoints in a request for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummaryBreakpoints {
    /// They stay.
    Keep,
    /// They are left out.
    Strip,
}

/// Whether a prompt that is too large is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Summarize {
    /// When it is too large.
    Auto,
    /// Never: every message verbatim, and an overflow is the error BudgetExceeded.
    Off,
}

/// Who names a session that the client does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Titles {
    /// Its first request does.
    Request,
    /// Its first request, until the model was asked after the first turn.
    Model,
}

/// When the store lets a write count as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Synchronous {
    /// When the disk has it: it survives a loss of power.
    Full,
    /// When the system has it: it survives a killed process; a loss of power may take the last writes.
    Normal,
}

/// Settings. Later ones win: built-in, `initialize`, `workspace/didChangeConfiguration`, `session/open`,
/// `session/configure`, the request itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// How sessions are compacted: the name of a built-in policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Where compaction starts: a ratio of the window above 0 and up to 1, or a count of at least 100 tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Tokens kept back for the answer; a quarter of the window at most. Default: 4,096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_output: Option<u32>,
    /// The longest summary that is accepted, in tokens; an eighth of the window at most. Default: 2,048.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_summary_tokens: Option<u32>,
    /// Which kind of summary is asked for. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_mode: Option<SummaryMode>,
    /// What happens to cache breakpoints in a request for a summary. Default: `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_breakpoints: Option<SummaryBreakpoints>,
    /// Whether a prompt that is too large is compacted. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<Summarize>,
    /// Another name of `summarize`: false is `off`. `summarization.enabled` is taken as its name too.
    #[serde(default, alias = "summarization.enabled", skip_serializing_if = "Option::is_none")]
    pub summary_enabled: Option<bool>,
    /// Rounds of a turn before the user is asked whether to go on. Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_limit: Option<u32>,
    /// Tokens above which a tool's result is shown to the model by its head and its tail; a quarter of the window at
    /// most, and never 0. It is kept whole, and `context/recall` gives the rest. Results that are there stay as they are
    /// shown. Default: 16,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_result_tokens: Option<u32>,
    /// Tools of the sidecar itself that the model is told of, by their names. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_tools: Option<Vec<String>>,
    /// Milliseconds without a delta before a `model/complete` counts as failed. Default: 60,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_deadline_ms: Option<u64>,
    /// Milliseconds before a `tool/invoke` counts as failed. Default: 1,800,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_deadline_ms: Option<u64>,
    /// Milliseconds for which what a model says is gathered before it is told as one event; 0 tells each piece by itself.
    /// Default: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_interval_ms: Option<u64>,
    /// Who names a session that the client does not name. Default: `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<Titles>,
    /// Whether prompts show what the folder remembers: all of it under a budget, the most important again at the end of
    /// the system text. Read when a session is made, compacted, reset or a compaction is undone. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_memories: Option<bool>,
    /// Tokens of that, above 0. Default: 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_memory_tokens: Option<u32>,
    /// Whether what the folder remembers is searched for each request, and what bears on it stands with it. For sessions
    /// whose loop the sidecar runs. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<bool>,
    /// Tokens of that, above 0. Default: 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_tokens: Option<u32>,
    /// Whether the folder remembers the summaries of compactions, in the area `session_summary`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_summary_to_memory: Option<bool>,
    /// When the store lets a write count as done. Default: `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronous: Option<Synchronous>,
}

/// Where the value of a setting comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SettingSource {
    /// Nobody set it.
    BuiltIn,
    /// The policy.
    Policy,
    /// The user's file.
    UserFile,
    /// The workspace's file.
    WorkspaceFile,
    /// The environment.
    Environment,
    /// `initialize`.
    Initialize,
    /// `workspace/didChangeConfiguration`.
    DidChangeConfiguration,
    /// `session/open` or `session/configure`.
    Session,
    /// A flag of the command line.
    Flag,
    /// The request itself.
    Request,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingInForce {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Who set it.
    pub source: SettingSource,
}
