//! Tool calls that the user is asked about, and the user's decisions.

use engine::id::CallId;
use engine::message::{Text, ToolCall};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A tool call that waits for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedCall {
    /// The call. Its arguments are the user's where the user changed them.
    pub call: ToolCall,
    /// The cause, for programs and for people.
    pub cause: AskCause,
    /// The pattern proposed for an approval for good of commands that begin as this one.
    pub pattern: Option<String>,
}

/// Why the user is asked about a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskCause {
    /// A rule of the tool asks about such arguments; the rule as it is written.
    Rule(String),
    /// The workspace is not trusted, and without trust no call runs unasked.
    Untrusted,
    /// The arguments are not JSON, so no approval can be compared with them.
    NotJson,
    /// The tool is set to ask.
    Tool,
}

impl fmt::Display for AskCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "a rule of the tool asks about {rule}"),
            Self::Untrusted => f.write_str("the workspace is not trusted"),
            Self::NotJson => f.write_str("its arguments are not JSON"),
            Self::Tool => f.write_str("the tool asks first"),
        }
    }
}

/// A decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The id of the call.
    pub call: CallId,
    /// `true` if the call may run.
    pub approved: bool,
    /// The user's note for the model.
    pub note: Option<String>,
    /// The arguments with which the call may run, where the user changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Text>,
    /// The standing approval or rejection given along with it, for later calls.
    #[serde(default)]
    pub always: Option<Always>,
    /// `true` if `always` is an approval that ends with this session, as long as it is open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_for_session: bool,
}

impl Decision {
    /// Creates a decision about this call alone, as it is.
    pub fn once(call: CallId, approved: bool) -> Self {
        Self { call, approved, note: None, arguments: None, always: None, is_for_session: false }
    }
}

/// A standing approval or rejection of calls of a tool in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Always {
    /// The name of the tool.
    pub tool: String,
    /// The pattern of the arguments, see `engine::approval::is_allowed_by`; `None` covers all calls.
    pub pattern: Option<String>,
    /// `true` if such calls are rejected for good, rather than approved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
}
