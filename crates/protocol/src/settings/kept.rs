//! Settings that say what stays of a session, and where. How it is kept is the session's and the store's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a session is also written as a file that people and other programs may read and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Trajectory {
    /// Nowhere.
    Off,
    /// Into `.threadhold/trajectories/{sessionId}.json` of its workspace.
    Workspace,
}

/// What of a turn is kept when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TranscriptKept {
    /// All of it.
    Full,
    /// What its user said and the answer that it came to; a call that ended the turn belongs to that, such as a question to
    /// the user. Other calls of tools, their results and answers that were broken off go when the turn ends, from prompts
    /// too, and `context/recall` says that they are gone. In sessions whose loop the editor runs nothing goes.
    FinalOnly,
}
