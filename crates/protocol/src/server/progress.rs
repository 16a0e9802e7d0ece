//! Progress of a request.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The token under which `$/progress` reports, given by the client as `workDoneToken`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgressToken {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
}
