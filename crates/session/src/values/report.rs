//! The outcome of merging an editor's history.

use crate::values::refusal::Diagnostic;
use engine::compact::restore::Restored;
use engine::id::{CallId, CompactionId, MessageId, SessionId};

/// The outcome of merging an editor's history into the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of turns that the editor brought.
    pub given: u32,
    /// The number of messages appended.
    pub appended: u32,
    /// The number of messages cut off.
    pub truncated: u32,
    /// The revision that keeps the messages cut off.
    pub revision: Option<SessionId>,
    /// Compactions that the merge put out of force.
    pub void: Vec<CompactionId>,
    /// The outcome for each summary that the editor brought.
    pub summaries: Vec<Restored>,
    /// The call ids of results that answer no call.
    pub strays: Vec<String>,
    /// The call ids of results that a summary in force covers, and that the editor brought with other content.
    pub changed: Vec<String>,
    /// The calls that came with an empty id, by the ids that they have now.
    pub repaired: Vec<CallId>,
    /// Diagnostics about parts of the request that were ignored.
    pub left_out: Vec<Diagnostic>,
    /// The messages that the store holds and could not read, each with a stand-in in its place.
    pub lost: Vec<MessageId>,
    /// Unreadable rows of the store.
    pub unreadable: Vec<String>,
}
