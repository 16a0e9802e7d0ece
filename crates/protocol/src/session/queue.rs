//! Queued commands.

use crate::message::Part;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A queued command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// Id of the item, for `queue/remove`.
    pub item_id: String,
    /// Method of the command, such as `turn/start`.
    pub method: String,
    /// `true` if the item goes before those without priority.
    pub priority: bool,
    /// Id of the turn that the request will start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Id of the message that the request will become, or that the command concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// User's content; absent if the command has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Part>>,
}
