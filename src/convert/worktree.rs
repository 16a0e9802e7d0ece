//! Changes of files, as clients see them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::command::worktree::{WorktreeChange, WorktreeChangeKind, WorktreeChangesResult};
use protocol::error::{ErrorData, ProtocolError};
use worktree::{Before, Change, ChangeKind, ChangesError, Page, SnapshotId};

/// A page of changes.
pub fn worktree_changes(page: Page) -> WorktreeChangesResult {
    WorktreeChangesResult { changes: page.changes.into_iter().map(change).collect(), next: page.next }
}

/// Why there are none; `from` is the earlier one of the two snapshots.
pub fn changes_error(error: &ChangesError, from: &SnapshotId) -> ProtocolError {
    match error {
        ChangesError::Unknown(id) => {
            let field = if id == from { "from" } else { "to" };
            ProtocolError::invalid(field, "must be a snapshot that is still known; the oldest are forgotten")
        }
        ChangesError::Failed(why) => {
            let message = format!("the changes cannot be read because {why}");
            ProtocolError::new(ErrorData::InternalError {}, message)
        }
    }
}

fn change(Change { path, kind, before, after }: Change) -> WorktreeChange {
    let kind = match kind {
        ChangeKind::Created => WorktreeChangeKind::Created,
        ChangeKind::Modified => WorktreeChangeKind::Modified,
        ChangeKind::Deleted => WorktreeChangeKind::Deleted,
    };
    let (before, executable) = match before {
        Some(Before::File { bytes, is_executable }) => (Some(STANDARD.encode(bytes)), is_executable),
        Some(Before::Link | Before::NotKept) | None => (None, false),
    };
    WorktreeChange { path, kind, before, executable, after }
}
