//! Sessions as files: what comes in, what goes out, and the trajectories of a workspace. How a format looks
//! is not told here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `session/import`: a conversation from a file becomes a session. One of `data`, `path` and `chatId` must be
/// there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionImportParams {
    /// The folder that the new session belongs to.
    pub workspace_folder: String,
    /// Its id; with `chatId` that one, else one is made where it is missing. The session must have no messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Its title; the source's where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The format, as `threadhold replay --help` names them; found out where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The conversation, as its program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// A file that holds it: absolute, or as seen from the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A trajectory of the folder, as `trajectory/list` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
}

/// Result of `session/import`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionImportResult {
    /// The session; `session/open` opens it.
    pub session_id: String,
    /// The format that it was read as.
    pub format: String,
    /// Messages that were taken in.
    pub messages: u32,
    /// What could not be read: where, and why.
    pub skipped: Vec<String>,
}

/// What a session is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// Our own, a line for each message.
    Jsonl,
    /// One JSON object, with what another program that wrote it keeps there.
    Trajectory,
    /// Text for people. Nothing reads it back.
    Markdown,
}

/// Parameters of `session/export`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExportParams {
    /// The session.
    pub session_id: String,
    /// What it is written as.
    pub format: ExportFormat,
}

/// Result of `session/export`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExportResult {
    /// What it is written as.
    pub format: ExportFormat,
    /// All of it.
    pub data: String,
    /// Messages that are in it.
    pub messages: u32,
}

/// Parameters of `trajectory/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectoryListParams {
    /// The folder; the client's first one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Files of a page. Default: 50; at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `trajectory/list`. From now on `sessions/changed` tells what others do to these files.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectoryListResult {
    /// Files in the order of their names.
    pub trajectories: Vec<TrajectorySummary>,
    /// Where the next page begins; missing on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A file in the `.threadhold/trajectories` of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectorySummary {
    /// Its name without `.json`: the session that it is of. `session/import` makes one of it where there is none.
    pub chat_id: String,
    /// The folder that it lies in.
    pub workspace_folder: String,
    /// The title of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How often it was written.
    pub version: u64,
    /// Messages that can be read.
    pub messages: u32,
    /// Its size.
    pub bytes: u64,
    /// ISO-8601, as the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// ISO-8601, as the file says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Why it cannot be used; it is left as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}
