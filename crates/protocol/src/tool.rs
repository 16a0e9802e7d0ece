//! Tools: definitions, calls, approvals and results.

pub mod server;

use crate::message::{Arguments, Content, Effect, Meta};
use crate::session::asking_agent::AskingAgent;
use crate::session::state::State;
pub use engine::prompt::item::{Approval as ToolPolicy, EndsTurn, ToolKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that is offered to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Name, unique in the list. Must not be empty.
    pub name: String,
    /// Description for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments. Default: an object without properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// Effect of the tool, from which a compaction lists files read and changed and commands run. Default: that of the
    /// known tool of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// Text for the system message about the use of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guidelines: Option<String>,
    /// Permission to run calls of the tool. Default: `allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<ToolPolicy>,
    /// Rules for calls with certain arguments. The strictest matching rule replaces `policy`, unless that is `deny`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<ToolRule>>,
    /// State in which a successful call ends the turn. Default: `completed` for tools named `task_done` and
    /// `agent_finish`, `waitingUserInput` for `ask_questions` and `wait_agents`; any other does not end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_turn: Option<EndsTurn>,
}

/// A rule for calls of a tool whose arguments match a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRule {
    /// Name of the argument to match. Default: all arguments, joined line by line; a rule that asks or denies also
    /// matches any single line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Pattern: `*` stands for any characters, `\` escapes the next one. In a rule that allows, `*` does not stand for
    /// characters with which a shell begins another command. Must not be empty.
    pub pattern: String,
    /// Permission for matching calls.
    pub policy: ToolPolicy,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// Id of the call.
    pub tool_call_id: String,
    /// Content of the result.
    pub content: Content,
    /// `true` if the tool failed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Exit code, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that the tool changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A call without a result. After a restart the client runs it again, sends `tool/result`, or cancels the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// Id of the call.
    pub tool_call_id: String,
    /// Id of the turn.
    pub turn_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text.
    pub arguments: Arguments,
}

/// A call that waits for the user's decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseReason {
    /// Id of the call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text.
    pub arguments: Arguments,
    /// Why the call must be decided, for programs.
    pub cause: PauseCause,
    /// The same for the user. Its words may change.
    pub reason: String,
    /// Pattern for `allowAlways` that covers this command and others that begin as its commands do, such as
    /// `command^=cargo test; tail`. Absent if no safe one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// Why the user must decide about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PauseCause {
    /// The tool is set to ask.
    Tool,
    /// A rule of the tool asks about such arguments.
    Rule,
    /// The workspace is not trusted.
    Untrusted,
    /// The arguments are not JSON.
    NotJson,
}

/// The user's decision about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Id of the call. Fails with `StaleReference` if it does not wait for a decision.
    pub tool_call_id: String,
    /// The decision.
    pub decision: Verdict,
    /// User's words, which the model receives with a rejection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Arguments with which an allowed call runs instead of the model's, as JSON text of an object. The model is told with
    /// the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arguments>,
    /// Later calls that `allowForSession`, `allowAlways` or `rejectAlways` covers, by one argument: its name, `=`, and a pattern as in a
    /// rule, such as `command=git *`; or its name, `^=`, and beginnings of commands, such as `command^=cargo test; wc`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// The decision about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// Runs the call.
    AllowOnce,
    /// Runs the call, and similar calls of this session without asking, those of `allowAlways`, until the session is closed.
    /// Not stored; `tool/approvals` lists them if it names the session.
    AllowForSession,
    /// Runs the call, and from now on similar calls in this workspace without asking: those that match `pattern`;
    /// without one all calls of the tool, or for a tool of kind `execute` those with the same arguments.
    AllowAlways,
    /// Does not run the call; the model is informed.
    RejectOnce,
    /// Does not run the call, nor from now on similar calls in this workspace, without asking. Replaces an approval of
    /// the same calls; `tool/approvals` revokes it.
    RejectAlways,
}

impl Verdict {
    /// `true` if the call runs.
    pub fn is_allowed(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowForSession | Self::AllowAlways)
    }
}

/// Parameters of `tool/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDecideParams {
    /// Id of the session.
    pub session_id: String,
    /// Decisions about waiting calls, all in one request or in several.
    pub decisions: Vec<Decision>,
}

/// Result of `tool/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolDecideResult {
    /// State of the session afterwards.
    pub state: State,
}

/// Parameters of `tool/result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// Content of the result.
    pub content: Content,
    /// `true` if the tool failed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Exit code, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that the tool changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Result of `tool/result`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultResult {
    /// State of the session afterwards.
    pub state: State,
}

/// Parameters of `tool/invoke`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvokeParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the running turn.
    pub turn_id: String,
    /// Id of the call. A call is sent once and not repeated after a restart.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text.
    pub arguments: Arguments,
}

/// Result of `tool/invoke`: the tool's result, or `pending`. One of `content` and `pending` is required.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInvokeResult {
    /// Content of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// `true` if the tool failed. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Exit code, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Files that the tool changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<Effect>>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// `true` if the result follows later with `tool/result`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<bool>,
}

/// Parameters of `tool/requestPermission`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the turn that waits.
    pub turn_id: String,
    /// Calls that wait for a decision. No call of their round runs before all are decided.
    pub reasons: Vec<PauseReason>,
    /// Background session whose calls they are; absent for any other session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AskingAgent>,
}

/// Result of `tool/requestPermission`. Null, for no answer, keeps the session paused until `tool/decide`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermissionResult {
    /// Decisions about the calls.
    pub decisions: Vec<Decision>,
}
