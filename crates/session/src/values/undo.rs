//! Why a compaction cannot be undone, and what can be done in the place of that.

use engine::id::{CompactionId, MessageId};
use engine::prompt::item::SectionSize;
use thiserror::Error;

/// Why a compaction stays in force, and what can be done in the place of undoing it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("compaction {compaction} stays in force; nothing was changed")]
pub struct CannotUndo {
    /// The compaction.
    pub compaction: CompactionId,
    /// The most that a prompt may weigh, in tokens.
    pub limit: u32,
    /// What it would weigh without the compaction, in tokens; 0 where that was not the reason.
    pub needed: u32,
    /// What it would be made of.
    pub sections: Vec<SectionSize>,
    /// What can be done, the least change first.
    pub ways: Vec<Way>,
}

/// Something that can be done in the place of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// A newer compaction hides it: undo that one first.
    UndoFirst(CompactionId),
    /// Compact again from the originals, with a focus, and messages to keep.
    Redo(CompactionId),
    /// Bring messages back as pins.
    Pin {
        /// Those that would fit, the newest first.
        messages: Vec<MessageId>,
        /// Tokens that new pins may have together.
        most: u32,
    },
    /// A model with a window of so many tokens.
    Window(u32),
}
