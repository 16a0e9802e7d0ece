//! The background session from which a request to the client comes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The background session that asks for something, for a client that shows several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskingAgent {
    /// Name, which is the title of the session; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Id of the session that it runs for.
    pub parent_id: String,
}
