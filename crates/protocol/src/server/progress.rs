//! Progress of a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name under which `$/progress` reports: what the client gave as `workDoneToken`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgressToken {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}
