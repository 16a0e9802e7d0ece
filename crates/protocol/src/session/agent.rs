//! Sessions that run in the background for another one, as that one shows them.

use crate::session::state::State;
use crate::turn::TurnStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A session that runs in the background for another one: an agent that a model started, a task, a stage, or one that a
/// client opened with a `parentId`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Id of the session.
    pub session_id: String,
    /// Name, which is the title of the session; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Purpose of the session: `agent` for one that a model started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// State of the session.
    pub state: State,
    /// Status of its newest turn; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TurnStatus>,
}
