//! What a user decided about calls of tools.

use engine::id::CallId;
use serde::{Deserialize, Serialize};

/// A decision about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The call.
    pub call: CallId,
    /// Whether it may run.
    pub approved: bool,
    /// The user's words about it.
    pub note: Option<String>,
    /// Which later calls run without a question, where it holds for them too.
    #[serde(default)]
    pub always: Option<Always>,
}

/// Which calls of a tool a user approved once and for all, in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Always {
    /// The tool.
    pub tool: String,
    /// Only calls whose arguments look so, see `approval::is_allowed_by`; all of them where there is none.
    pub pattern: Option<String>,
}
