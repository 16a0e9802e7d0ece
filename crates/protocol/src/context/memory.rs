//! Memories of a folder, which outlive its sessions. Settings decide which of them prompts show.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A memory of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Id, unique in the folder.
    pub id: String,
    /// Area of the memory, such as `session_summary` for summaries of sessions.
    pub area: String,
    /// Text of the memory.
    pub text: String,
    /// Importance from 1 to 5, the highest.
    pub importance: u8,
    /// Words that `memory/search` finds it by.
    pub tags: Vec<String>,
    /// `true` if prompts may show it.
    pub active: bool,
    /// Origin of the memory, such as a compaction's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Time of creation, ISO-8601, UTC.
    pub created_at: String,
    /// Time of the last change, ISO-8601, UTC.
    pub updated_at: String,
}

/// Parameters of `memory/put`. Absent fields of an existing memory stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryPutParams {
    /// Folder of the memory. Default: the client's first folder, otherwise that of the first opened session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Id of the memory, which is created if it does not exist. Default: a new id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Area of the memory. Default for a new one: `general`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Text of the memory. Fails with `InvalidParams` if a new one has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Importance from 1 to 5, the highest. Default for a new one: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<u8>,
    /// Words that `memory/search` finds it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// `true` if prompts may show it. Default for a new one: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

/// Result of `memory/put`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryPutResult {
    /// The memory after the change.
    pub memory: Memory,
}

/// Parameters of `memory/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryListParams {
    /// Folder of the memories. Default: the client's first folder, otherwise that of the first opened session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Lists only memories of this area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Lists only active memories, or with false only inactive ones. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of memories on the page, at most 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Parameters of `memory/search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemorySearchParams {
    /// Words that a memory's text, area and tags must contain, each of them, in any case.
    pub query: String,
    /// Folder of the memories. Default: the client's first folder, otherwise that of the first opened session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Searches only memories of this area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Searches only active memories, or with false only inactive ones. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of memories on the page, at most 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `memory/list` and `memory/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryListResult {
    /// Memories by importance, the highest first, then by the last change, the newest first.
    pub memories: Vec<Memory>,
    /// `cursor` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `memory/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryDeleteParams {
    /// Id of the memory.
    pub id: String,
    /// Folder of the memory. Default: the client's first folder, otherwise that of the first opened session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
}

/// Result of `memory/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryDeleteResult {
    /// `true` if there was such a memory.
    pub deleted: bool,
}
