//! The refusal to undo a compaction, and its alternatives.

use engine::id::{CompactionId, MessageId};
use engine::prompt::item::SectionSize;
use thiserror::Error;

/// The refusal to undo a compaction, with what can be done instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("compaction \"{compaction}\" cannot be undone; nothing was changed")]
pub struct CannotUndo {
    /// The compaction that stays in force.
    pub compaction: CompactionId,
    /// The prompt's limit, in tokens; 0 if size was not the reason.
    pub limit: u32,
    /// The prompt's size without the compaction, in tokens; 0 if size was not the reason.
    pub needed: u32,
    /// The sections of that prompt, with their sizes.
    pub sections: Vec<SectionSize>,
    /// The alternatives, the least change first.
    pub ways: Vec<Alternative>,
}

/// An alternative to an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alternative {
    /// Undo this newer compaction first; it hides the older one.
    UndoFirst(CompactionId),
    /// Compact again from the original messages, with a focus and messages to keep.
    Redo(CompactionId),
    /// Pin messages of the compacted part.
    Pin {
        /// Messages that would fit, newest first.
        messages: Vec<MessageId>,
        /// The budget for new pins, in tokens.
        most: u32,
    },
    /// Switch to a model with a window of at least this many tokens.
    Window(u32),
}
