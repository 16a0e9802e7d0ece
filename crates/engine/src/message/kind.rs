//! Kinds of notices, records and diagnostics. Their texts belong to the code that emits them.

#[cfg(doc)]
use super::Body;

/// The kind of [`Body::Event`] under which system messages of a loaded history are stored.
pub const SYSTEM_IN_HISTORY: &str = "system";

/// The kind of [`Body::Event`] that asks the user how to continue a turn that reached its round limit.
pub const ROUND_LIMIT: &str = "roundLimit";

/// The kind of [`Body::Event`] that asks the model to finish its turn. A model sees this kind and [`CONTINUED`] only.
pub const WRAP_UP: &str = "wrapUp";

/// The kind of [`Body::Event`] that asks the model to continue an answer which its length limit cut off: the next
/// answer of the turn continues it.
pub const CONTINUED: &str = "continued";

/// The kind of [`Body::Event`] behind an answer that its provider paused: the next answer of the turn continues it.
pub const PAUSED: &str = "paused";

/// Returns `true` for the kinds of [`Body::Event`] between an answer and its continuation.
pub fn joins_answers(kind: &str) -> bool {
    [CONTINUED, PAUSED].contains(&kind)
}

/// The kind of [`Body::Event`] that asks the user how to continue a turn that nearly filled the context window.
pub const BUDGET_EXIT: &str = "budgetExit";

/// The kind of a notice or diagnostic: a compaction dropped messages without a summary.
pub const COMPACTION_DROPPED: &str = "compactionDropped";

/// The kind of a diagnostic: a compaction made for the budget of a single render applies to later prompts too.
pub const COMPACTION_LASTS: &str = "compactionLasts";

/// The kind of a notice or diagnostic: a user's answer about a compaction could not be used.
pub const REVIEW_UNUSABLE: &str = "reviewUnusable";

/// The kind of a diagnostic: a tool call came with an empty id and got one.
pub const REPAIRED_CALL: &str = "repairedCall";

/// The kind of [`Body::Event`] that replaces a message removed by the user. Hidden from clients.
pub const REMOVED: &str = "removed";

/// The kind of [`Body::Event`] that replaces a message which a setting keeps only until its turn ends. Hidden
/// from clients.
pub const NOT_KEPT: &str = "notKept";

/// The kind of [`Body::Event`] that reports the end of a background session.
pub const PROCESS_COMPLETED: &str = "process_completed";

/// The kind of [`Body::Event`] that reports a tool server whose tools are missing.
pub const SERVER_FAILED: &str = "serverFailed";

/// The kind of [`Body::Event`] that records a tool's question to the user.
pub const QUESTION: &str = "question";

/// The kind of [`Body::Event`] that replaces a message which the store lost, or which is not loaded.
pub const UNREADABLE: &str = "unreadable";
