//! Requests about snapshots of a folder's files.

use crate::server::folder::given_folder;
use crate::server::router::Router;
use crate::server::wire::to_json;
use ::session::input::ReplyTo;
use protocol::command::worktree::{WorktreeChangesParams, WorktreeSnapshotParams};
use protocol::error::ProtocolError;
use serde::Serialize;

/// Takes a snapshot.
pub(super) fn snapshot(
    router: &mut Router,
    to: ReplyTo,
    params: &WorktreeSnapshotParams,
) -> Result<(), ProtocolError> {
    let folder = given_folder(&params.workspace_folder)?;
    let storage = router.stores.place(&folder);
    let job = router.worktrees.snapshot(folder, storage);
    answer(router, to, || Ok(job()));
    Ok(())
}

/// Compares two snapshots.
pub(super) fn changes(
    router: &mut Router,
    to: ReplyTo,
    params: WorktreeChangesParams,
) -> Result<(), ProtocolError> {
    let folder = given_folder(&params.workspace_folder)?;
    let job = router.worktrees.changes(&folder, params);
    answer(router, to, job);
    Ok(())
}

/// Does the work on a thread of its own, and answers with what comes of it.
fn answer<T: Serialize>(
    router: &mut Router,
    to: ReplyTo,
    job: impl FnOnce() -> Result<T, ProtocolError> + Send + 'static,
) {
    let pending = router.replies.pending(to, &router.hosts);
    tokio::task::spawn_blocking(move || pending.answer(job().and_then(|done| to_json(&done))));
}
