//! Servers of the Model Context Protocol, whose tools the sidecar calls itself.

use crate::message::Content;
use crate::session::asking_agent::AskingAgent;
pub use engine::endpoint::options::HeaderValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A server: a command that the sidecar starts, or an address. One of `command` and `url` is required.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpServer {
    /// Program to start: a path, or a name in `PATH`. No shell reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments of the program. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Environment variables of the program, beside a few that every program needs. A secret is given as the name of a
    /// key, as in `keyEnv` of a model: `{"TOKEN": {"keyEnv": "GITHUB_TOKEN"}}`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, HeaderValue>>,
    /// Working directory of the program, absolute or below the folder of the session. Default: that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Address of a server over streamable HTTP: http or https, without user, password and fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Headers of each request to the address. A secret is given as the name of a key, as in `env`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<BTreeMap<String, HeaderValue>>,
    /// `false` if its tools are not offered. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Seconds without an answer or progress after which a call fails, from 1 to 3,600. With progress a call may take
    /// twenty times as long. Default: 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// `true` lets tools run without asking of which the server says that they only read (`readOnlyHint: true`, without
    /// `destructiveHint: true`) and reach nothing outside of it (`openWorldHint: false`). Default: false, each call asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<bool>,
}

/// Use of the servers that files of a workspace define.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkspaceServers {
    /// Not read.
    #[default]
    Off,
    /// Used once the user allowed the definition.
    Ask,
}

/// Parameters of `mcp/list`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpListParams {
    /// Folder whose servers are listed: those of the settings. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Open session whose servers are listed, with those that it was opened with. Goes before `workspaceFolder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Parameters of `mcp/allow`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpAllowParams {
    /// Folder whose files define the server. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Name of the server.
    pub name: String,
    /// Hash of the definition that the user was shown, from `mcp/list`. Fails with `StaleReference` if the files define
    /// the server differently now.
    pub definition: String,
    /// The user's decision.
    pub decision: McpDecision,
}

/// The user's decision about a server that a file of the workspace defines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpDecision {
    /// Starts it whenever a session needs it.
    Allow,
    /// Never starts it.
    Deny,
    /// Takes an earlier decision back.
    Forget,
}

/// Result of `mcp/list` and `mcp/allow`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpListResult {
    /// The servers, by name.
    pub servers: Vec<McpServerStatus>,
}

/// A server as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus {
    /// Name of the server.
    pub name: String,
    /// State of the server.
    pub state: McpState,
    /// Reason of the state `failed`, or why an `off` server is not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Program with its arguments, or the address; without environment and headers.
    pub target: String,
    /// Working directory of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Names of the environment variables or headers that it is given, without their values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Names of the user's keys or environment variables whose values it is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// File of the workspace that defines the server, below its folder. Absent for a server of the settings or of the
    /// client, which needs no consent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Hash of the whole definition, for `mcp/allow`. Only with `file`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// Revision of the protocol that the server speaks, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Tools as last listed, by name.
    pub tools: Vec<McpTool>,
    /// Size of the definitions of all these tools in prompts, in tokens.
    pub tokens: u32,
    /// Tools that the server lists and models are not offered, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl McpServerStatus {
    /// A server of this name that is not started.
    pub fn of(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state: McpState::Off,
            reason: None,
            target: String::new(),
            cwd: None,
            variables: Vec::new(),
            keys: Vec::new(),
            file: None,
            definition: None,
            revision: None,
            tools: Vec::new(),
            tokens: 0,
            left_out: Vec::new(),
        }
    }
}

/// State of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpState {
    /// Not started: no session has needed it yet, or it is disabled.
    Off,
    /// Being started.
    Connecting,
    /// Connected; its tools are listed.
    Ready,
    /// Not startable, or ended. The next turn or call starts it again.
    Failed,
    /// Defined by a file of the workspace and not started before the user allows it with `mcp/allow`.
    Waiting,
    /// Defined by a file of the workspace and denied by the user.
    Denied,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpTool {
    /// Name for models: the server's name, `__`, and the tool's own name, shortened if it is too long.
    pub name: String,
    /// Description by the server.
    pub description: String,
    /// Size of the definition in prompts, in tokens.
    pub tokens: u32,
    /// `true` if calls run without asking the user.
    pub runs_unasked: bool,
}

/// Parameters of `mcp/elicit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of the call that the server runs.
    pub tool_call_id: String,
    /// Name of the server.
    pub server: String,
    /// Server's words, at most 4 KiB.
    pub message: String,
    /// JSON Schema of the answer: an object whose properties are strings, numbers, integers, booleans, one of several
    /// strings (`enum`, `oneOf`), or several of them (an array). At most 40 properties and 32 KiB.
    pub schema: Value,
    /// Background session whose call it is; absent for any other session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AskingAgent>,
}

/// Result of `mcp/elicit`. Null, for no answer, declines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpElicitResult {
    /// User's decision.
    pub action: McpElicitAction,
    /// Answer, with `accept`. One that does not match the schema declines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
}

/// The user's decision about a server's question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpElicitAction {
    /// Answers.
    Accept,
    /// Does not answer.
    Decline,
    /// Left the question without a decision.
    Cancel,
}

/// Parameters of `mcp/contents`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpContentsParams {
    /// Open session whose servers are asked. Those that do not run are started.
    pub session_id: String,
}

/// Result of `mcp/contents`. A server that does not run has none; `mcp/list` says why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpContentsResult {
    /// Prompts of the servers, by server and name; at most 200 of a server.
    pub prompts: Vec<McpPrompt>,
    /// Resources of the servers, by server and URI; at most 200 of a server.
    pub resources: Vec<McpResource>,
}

/// A prompt of a server: a message that it writes from arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpPrompt {
    /// Name of the server.
    pub server: String,
    /// Name of the prompt.
    pub name: String,
    /// Description by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Arguments, in the server's order.
    pub arguments: Vec<McpArgument>,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpArgument {
    /// Name of the argument.
    pub name: String,
    /// Description by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `true` if the prompt needs it.
    pub required: bool,
}

/// A resource of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpResource {
    /// Name of the server.
    pub server: String,
    /// URI of the resource.
    pub uri: String,
    /// Name of the resource.
    pub name: String,
    /// Description by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// MIME type of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
}

/// Parameters of `mcp/content`. One of `prompt` and `uri` is required.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpContentParams {
    /// Open session that has the server.
    pub session_id: String,
    /// Name of the server.
    pub server: String,
    /// Prompt to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Arguments of the prompt. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
    /// URI of the resource to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// Result of `mcp/content`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpContentResult {
    /// Content for a message of the user, bounded as results of tools are. Nothing is sent to a model before it is part of
    /// a request such as `turn/start`.
    pub content: Content,
}
