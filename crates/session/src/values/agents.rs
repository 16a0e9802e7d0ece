//! Sessions that run in the background for another one, as that one shows them.

use engine::id::SessionId;
use engine::words::{StateName, TurnStatus};

/// A session that runs in the background for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The session.
    pub session: SessionId,
    /// The title, if there is one.
    pub title: Option<String>,
    /// The purpose, such as [`AGENT`].
    pub kind: Option<String>,
    /// The state.
    pub state: StateName,
    /// The status of the newest turn; `None` before the first.
    pub status: Option<TurnStatus>,
}

/// The kind of a session that a model started. It is cancelled with its parent, and bounded.
pub const AGENT: &str = "agent";

/// Bounds for the agents of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// The most levels of agents below a session that a user opened; 0 for none.
    pub depth: u32,
    /// The most agents of a session that are not done at the same time.
    pub running: u32,
    /// The most tokens that a session's agents may use together.
    pub tokens: u64,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self { depth: 2, running: 8, tokens: 2_000_000 }
    }
}
