//! Sessions as files: import, export, and the trajectories of a workspace. The `import` crate knows the formats.

use crate::restore::Diagnostic;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `session/import`, which makes a session of a conversation. Exactly one of `data`, `path` and `chatId`
/// is required.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionImportParams {
    /// Folder of the new session.
    pub workspace_folder: String,
    /// Id of the session, which must have no messages. Default: `chatId` if given, otherwise a new id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Title of the session. Default: the source's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Format, as `threadhold replay --help` names it. Default: detected, or the error `UnsupportedFormat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Content of the conversation, as its program wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Path of a file that holds the conversation: absolute, relative to the folder, or a `file:` URI. At most 256 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `chatId` of a trajectory in the folder, as `trajectory/list` returns it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
}

/// Result of `session/import`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionImportResult {
    /// Id of the session, for `session/open`.
    pub session_id: String,
    /// Format that was read.
    pub format: String,
    /// Number of imported messages.
    pub messages: u32,
    /// Parts that could not be read, each with its place and the reason.
    pub skipped: Vec<String>,
    /// What was repaired in the messages. Absent if nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExportFormat {
    /// JSON lines, one per message. `session/import` reads them.
    Jsonl,
    /// One JSON object, with the keys that other programs keep in it.
    Trajectory,
    /// Markdown for people. Cannot be imported.
    Markdown,
}

impl ExportFormat {
    /// The names of all formats.
    pub const NAMES: [&str; 3] = ["jsonl", "trajectory", "markdown"];
}

/// Parameters of `session/export`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExportParams {
    /// Id of the session.
    pub session_id: String,
    /// Format of the export. An unknown one is the error `UnsupportedFormat`.
    #[schemars(with = "ExportFormat")]
    pub format: GivenFormat,
}

/// A format as a client names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum GivenFormat {
    /// A known format.
    Known(ExportFormat),
    /// The name of an unknown one.
    Unknown(String),
}

/// Result of `session/export`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExportResult {
    /// Format of the export.
    pub format: ExportFormat,
    /// Whole content. An export over 60 MiB fails with `TooLarge`.
    pub data: String,
    /// Number of exported messages.
    pub messages: u32,
}

/// Parameters of `trajectory/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectoryListParams {
    /// Folder of the workspace. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of files on the page, at most 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `trajectory/list`. From now on `sessions/changed` reports changes of these files by others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectoryListResult {
    /// Files, in the order of their names.
    pub trajectories: Vec<TrajectorySummary>,
    /// `cursor` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A file in a workspace's `.threadhold/trajectories`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrajectorySummary {
    /// Name of the file without `.json`: the session's id. `session/import` makes a session of it if there is none.
    pub chat_id: String,
    /// Folder of the workspace.
    pub workspace_folder: String,
    /// The title of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Version of the file, which grows by one with each write.
    pub version: u64,
    /// Number of readable messages.
    pub messages: u32,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Time of creation, ISO-8601, as the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Time of the last change, ISO-8601, as the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
    /// Reason why the file cannot be used; absent if it can. Such a file is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}
