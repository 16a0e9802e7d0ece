//! The outcome of merging an editor's history.

use engine::compact::restore::Restored;
use engine::id::{CompactionId, SessionId};

/// The outcome of merging an editor's history into the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of turns that the editor brought.
    pub given: u32,
    /// The number of messages appended.
    pub appended: u32,
    /// The number of messages cut off.
    pub truncated: u32,
    /// The session that keeps the messages cut off.
    pub fork: Option<SessionId>,
    /// Compactions that the merge put out of force.
    pub void: Vec<CompactionId>,
    /// The outcome for each summary that the editor brought.
    pub summaries: Vec<Restored>,
    /// The call ids of results that answer no call.
    pub strays: Vec<String>,
    /// Unreadable rows of the store.
    pub unreadable: Vec<String>,
}
