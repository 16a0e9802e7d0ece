//! A session in few words: who drives it, how it came to be, how it stands.

pub use engine::words::{Driver, Origin, StateName as State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The session.
    pub session_id: String,
    /// The folder that it belongs to.
    pub workspace_folder: String,
    /// Who runs its loop.
    pub driver: Driver,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for, in the client's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The session that it was started or forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// How it came to be.
    pub origin: Origin,
    /// What it shares under a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// Its state, where it is open in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Number of messages.
    pub messages: u32,
    /// Number of turns.
    pub turns: u32,
    /// The text of the compaction in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Messages that the compaction in force stands for.
    pub summarized_count: u32,
    /// When it was made, ISO-8601, UTC.
    pub created_at: String,
    /// When something was last said in it, ISO-8601, UTC.
    pub updated_at: String,
}
