//! The kinds of notices and diagnostics that have a name of their own. What each of them says, and when, is with those who
//! make them.

#[cfg(doc)]
use super::Body;

/// The kind of [`Body::Event`] under which system messages of a loaded history are stored.
pub const SYSTEM_IN_HISTORY: &str = "system";

/// The kind of [`Body::Event`] that asks the user how a turn goes on that ran as many rounds as it may.
pub const ROUND_LIMIT: &str = "roundLimit";

/// The kind of [`Body::Event`] that asks the model to bring its turn to an end; the only one that a model sees.
pub const WRAP_UP: &str = "wrapUp";

/// The kind of [`Body::Event`] that asks the user how a turn goes on that came near the window's end.
pub const BUDGET_EXIT: &str = "budgetExit";

/// The kind of a notice, and of a diagnostic: a compaction left messages out, and no summary stands for them.
pub const COMPACTION_DROPPED: &str = "compactionDropped";

/// The kind of a diagnostic: a compaction that a single render needed holds for later prompts.
pub const COMPACTION_LASTS: &str = "compactionLasts";

/// The kind of a notice, and of a diagnostic: what a user answered about a compaction could not be used.
pub const REVIEW_UNUSABLE: &str = "reviewUnusable";

/// The kind of [`Body::Event`] that stands where a user removed a message. No client is shown it.
pub const REMOVED: &str = "removed";

/// The kind of [`Body::Event`] that stands where a message was that a setting keeps no longer than its turn. No client is
/// shown it.
pub const NOT_KEPT: &str = "notKept";

/// The kind of [`Body::Event`] that tells that a background session came to rest.
pub const PROCESS_COMPLETED: &str = "process_completed";

/// The kind of [`Body::Event`] that says what a tool asked the user.
pub const QUESTION: &str = "question";

/// The kind of [`Body::Event`] that stands where a store lost a message.
pub const UNREADABLE: &str = "unreadable";
