//! Requests about snapshots of a folder's files.

use crate::server::folder::given_folder;
use crate::server::router::Router;
use crate::server::wire::to_value;
use ::session::input::ReplyTo;
use protocol::command::worktree::{WorktreeChangesParams, WorktreeSnapshotParams};
use protocol::error::ProtocolError;

/// Takes a snapshot.
pub(super) fn snapshot(
    router: &mut Router,
    to: ReplyTo,
    params: WorktreeSnapshotParams,
) -> Result<(), ProtocolError> {
    let workspace_folder = given_folder(&params.workspace_folder)?;
    let storage = router.stores.place(&workspace_folder);
    let pending = router.replies.pending(to, &router.hosts);
    let job = router.worktrees.snapshot(WorktreeSnapshotParams { workspace_folder }, storage);
    tokio::task::spawn_blocking(move || pending.answer(to_value(&job())));
    Ok(())
}

/// Compares two snapshots.
pub(super) fn changes(
    router: &mut Router,
    to: ReplyTo,
    params: WorktreeChangesParams,
) -> Result<(), ProtocolError> {
    let workspace_folder = given_folder(&params.workspace_folder)?;
    let pending = router.replies.pending(to, &router.hosts);
    let job = router.worktrees.changes(WorktreeChangesParams { workspace_folder, ..params });
    tokio::task::spawn_blocking(move || pending.answer(job().and_then(|changes| to_value(&changes))));
    Ok(())
}
