//! What became of a history that an editor brought.

use engine::compact::restore::Restored;
use engine::id::{CompactionId, SessionId};

/// What became of a history that an editor brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Turns that were given.
    pub given: u32,
    /// Messages that were taken in.
    pub appended: u32,
    /// Messages that left the session.
    pub truncated: u32,
    /// The session that keeps them.
    pub fork: Option<SessionId>,
    /// Compactions that went out of force because of it.
    pub void: Vec<CompactionId>,
    /// What became of each summary.
    pub summaries: Vec<Restored>,
    /// Results that answer no call, by the id that they name.
    pub strays: Vec<String>,
    /// Rows of the store that could not be read.
    pub unreadable: Vec<String>,
}
