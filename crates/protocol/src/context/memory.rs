//! What is remembered for a folder beyond its sessions. What of it stands in prompts is a session's settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Memory {
    /// Its id, one of its folder.
    pub id: String,
    /// What it belongs to. Summaries of sessions are in `session_summary`.
    pub area: String,
    /// What is remembered.
    pub text: String,
    /// From 1 to 5, the most important.
    pub importance: u8,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Whether prompts may show it.
    pub active: bool,
    /// What it was made of, such as a compaction's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it was made, ISO-8601, UTC.
    pub created_at: String,
    /// When it was last changed, ISO-8601, UTC.
    pub updated_at: String,
}

/// Parameters of `memory/put`. What is not given stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryPutParams {
    /// The folder. Default: the first one that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Which one; it is made where there is none of this id. Default: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What it belongs to. Default for a new one: `general`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// What is to be remembered. A new one needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// From 1 to 5, the most important. Default for a new one: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub importance: Option<u8>,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Whether prompts may show it. Default for a new one: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
}

/// Result of `memory/put`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryPutResult {
    /// It as it is now.
    pub memory: Memory,
}

/// Parameters of `memory/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryListParams {
    /// The folder. Default: the first one that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Of this area only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Active ones only, or only those that are not. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Where the page begins: `nextCursor` of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most memories to answer, from 1 to 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Parameters of `memory/search`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemorySearchParams {
    /// Words that a memory must hold in its text, its area or its tags, as in `context/search`.
    pub query: String,
    /// The folder. Default: the first one that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Of this area only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<String>,
    /// Active ones only, or only those that are not. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Where the page begins: `nextCursor` of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most memories to answer, from 1 to 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `memory/list` and `memory/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryListResult {
    /// The most important first, among equals the one that was changed last.
    pub memories: Vec<Memory>,
    /// Where the next page begins; missing where this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `memory/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryDeleteParams {
    /// Which one.
    pub id: String,
    /// The folder. Default: the first one that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
}

/// Result of `memory/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryDeleteResult {
    /// Whether there was one.
    pub deleted: bool,
}
