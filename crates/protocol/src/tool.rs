//! Tools: their definitions, their calls, who decides about a call, their results.

use crate::message::{Arguments, Content, Effect};
use crate::session::state::State;
pub use engine::prompt::item::{Approval as ToolPolicy, EndsTurn, ToolKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that the model is told of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its arguments. Default: an object without properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// What it does to the world; a compaction says afterwards what was read, changed and run. Where it is missing, the
    /// tool's name is looked up in a table of known tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Text about its use for the system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidelines: Option<String>,
    /// Whether a call of it may run. Default: `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ToolPolicy>,
    /// What holds for calls whose arguments look a certain way. The strictest rule that matches takes the place of
    /// `policy`, but where that is `deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<ToolRule>>,
    /// The state in which a successful call of it ends the turn. Default: `completed` for tools named `task_done` and
    /// `agent_finish`, `waitingUserInput` for `ask_questions` and `wait_agents`, none for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_turn: Option<EndsTurn>,
}

/// What holds for calls whose arguments look a certain way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRule {
    /// The argument that is looked at. Where it is missing: what allows must hold for the values of all of them together,
    /// one to a line; what asks or denies, for any of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// How it looks: `*` stands for any characters, `\` takes the next one as it is. In a rule that allows, `*` does not
    /// stand for characters with which a shell begins another command.
    pub pattern: String,
    /// What holds then.
    pub policy: ToolPolicy,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call that it answers.
    pub tool_call_id: String,
    /// What the tool said.
    pub content: Content,
    /// Whether the tool failed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The exit code, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
}

/// A call without a result: after a restart the client answers it with `tool/result`, runs it again, or cancels the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// The call.
    pub tool_call_id: String,
    /// Its turn.
    pub turn_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: Arguments,
}

/// A call that waits for a decision of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseReason {
    /// The call.
    pub tool_call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: Arguments,
    /// Why it must be decided, for the user.
    pub reason: String,
}

/// The user's decision about one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The call.
    pub tool_call_id: String,
    /// What was decided.
    pub decision: Verdict,
    /// The user's words, which the model is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// With `approveAlways`: which later calls, by one argument: its name, `=`, and how it looks as in a tool's rule that
    /// allows, such as `command=git *`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// What a user can decide about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// It runs.
    Approve,
    /// It runs, and so do later calls like it in this workspace, without a question: those that look like `pattern`; where
    /// there is none, all calls of the tool, or for a tool of kind `run` those with the same arguments.
    ApproveAlways,
    /// It does not run; the model is told so.
    Reject,
}

/// Parameters of `tool/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDecideParams {
    /// The session.
    pub session_id: String,
    /// A decision for each call that waits, in one request or in several.
    pub decisions: Vec<Decision>,
}

/// Result of `tool/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDecideResult {
    /// The session's state afterwards.
    pub state: State,
}

/// Parameters of `tool/result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultParams {
    /// The session.
    pub session_id: String,
    /// The call that it answers.
    pub tool_call_id: String,
    /// What the tool said.
    pub content: Content,
    /// Whether the tool failed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The exit code, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
}

/// Result of `tool/result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultResult {
    /// The session's state afterwards.
    pub state: State,
}

/// Parameters of `tool/invoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvokeParams {
    /// The session.
    pub session_id: String,
    /// The turn that runs.
    pub turn_id: String,
    /// The call; a call is sent once, and never again by itself after a restart.
    pub tool_call_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, as JSON text.
    pub arguments: Arguments,
}

/// Result of `tool/invoke`: what the tool said, or `pending`. One of `content` and `pending` must be there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvokeResult {
    /// What the tool said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// Whether the tool failed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The exit code, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
    /// The answer comes later, with `tool/result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<bool>,
}

/// Parameters of `tool/requestPermission`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionParams {
    /// The session.
    pub session_id: String,
    /// The turn that waits.
    pub turn_id: String,
    /// The calls that wait for a decision. Nothing of their round runs before all are decided.
    pub reasons: Vec<PauseReason>,
}

/// Result of `tool/requestPermission`. A client that has no answer sends null: the pause stays until `tool/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionResult {
    /// The decisions.
    pub decisions: Vec<Decision>,
}
