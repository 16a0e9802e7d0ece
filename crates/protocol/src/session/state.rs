//! The driver, origin and state of a session, and its row in a list.

pub use engine::words::{Driver, Origin, StateName as State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// Id of the session.
    pub session_id: String,
    /// Folder of the session, as a path, or as the URI that it was given by if that is no `file:` URI.
    pub workspace_folder: String,
    /// URI of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_uri: Option<String>,
    /// Side that runs the loop.
    pub driver: Driver,
    /// Title; in `session/list` the beginning of the first request if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Purpose of the session, in the client's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Id of the session that started this one or that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Origin of the session.
    pub origin: Origin,
    /// Name of the scope that the session shares with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// State. In `session/list` a turn at work is `generating` in each of its rounds; if its process is gone, it is the
    /// state that opening the session finds. Absent for a session that was last used before states were stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// Number of messages.
    pub messages: u32,
    /// Number of turns.
    pub turns: u32,
    /// Text of the compaction in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Number of messages at the beginning of the session that the compaction in force covers or drops.
    pub summarized_count: u32,
    /// Time of creation, ISO-8601, UTC.
    pub created_at: String,
    /// Time of the last message, ISO-8601, UTC.
    pub updated_at: String,
}
