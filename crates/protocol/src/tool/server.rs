//! Servers of the Model Context Protocol, whose tools the sidecar calls itself.

pub use engine::endpoint::options::HeaderValue;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    /// `true` lets tools that the server says to be read-only run without asking. Default: false, each call asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<bool>,
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

/// Result of `mcp/list`.
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
    /// Revision of the protocol that the server speaks, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Tools as last listed, by name.
    pub tools: Vec<McpTool>,
    /// Tools that the server lists and models are not offered, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
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
