//! Commands that wait.

use crate::message::Part;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Its id.
    pub item_id: String,
    /// Its method, such as `turn/start`.
    pub method: String,
    /// Whether it goes before those that are not urgent.
    pub priority: bool,
    /// The turn that it will be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The message that it will be, or is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Part>>,
}
