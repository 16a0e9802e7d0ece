//! Snapshots of the folders' files. Git works on a thread of its own; two requests for one folder take turns.

use crate::convert;
use protocol::command::worktree::{
    WorktreeChangesParams, WorktreeChangesResult, WorktreeSnapshotParams, WorktreeSnapshotResult,
};
use protocol::error::ProtocolError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use worktree::{SnapshotId, Unavailable, Worktree};

/// A folder's snapshots; `None` before the first one.
type Shared = Arc<Mutex<Option<Worktree>>>;

/// The snapshots of all folders, by folder.
#[derive(Default)]
pub(in crate::server) struct Worktrees(BTreeMap<String, Shared>);

impl Worktrees {
    /// A job that takes a snapshot of a folder; `storage` is where it is kept, `None` if nothing is kept on disk.
    pub fn snapshot(
        &mut self,
        params: WorktreeSnapshotParams,
        storage: Option<PathBuf>,
    ) -> impl FnOnce() -> WorktreeSnapshotResult + Send + use<> {
        let shared = self.0.entry(params.workspace_folder.clone()).or_default().clone();
        move || {
            let Some(storage) = storage else {
                return unavailable("sessions are kept in memory only");
            };
            match take(&shared, Path::new(&params.workspace_folder), &storage) {
                Ok(id) => WorktreeSnapshotResult { snapshot: Some(id.0), unavailable: None },
                Err(error) => unavailable(&error.to_string()),
            }
        }
    }

    /// A job that compares two snapshots of a folder.
    pub fn changes(
        &self,
        params: WorktreeChangesParams,
    ) -> impl FnOnce() -> Result<WorktreeChangesResult, ProtocolError> + Send + use<> {
        let shared = self.0.get(&params.workspace_folder).cloned();
        move || {
            let unknown = || ProtocolError::invalid("from", "must be a snapshot that this sidecar took");
            let shared = shared.ok_or_else(unknown)?;
            let locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let worktree = locked.as_ref().ok_or_else(unknown)?;
            let (from, to) = (SnapshotId(params.from), SnapshotId(params.to));
            let page = worktree.changes(from, to, params.after.as_deref());
            page.map(convert::worktree_changes).map_err(|error| convert::changes_error(&error, from))
        }
    }
}

fn take(shared: &Shared, folder: &Path, storage: &Path) -> Result<SnapshotId, Unavailable> {
    // After a panic nothing is known of the index.
    let mut locked = shared.lock().unwrap_or_else(|poisoned| {
        let mut locked = poisoned.into_inner();
        *locked = None;
        locked
    });
    shared.clear_poison();
    let mut worktree = match locked.take() {
        Some(worktree) => worktree,
        None => Worktree::open(folder, storage)?,
    };
    let taken = worktree.snapshot();
    *locked = Some(worktree);
    taken
}

fn unavailable(why: &str) -> WorktreeSnapshotResult {
    WorktreeSnapshotResult { snapshot: None, unavailable: Some(why.to_owned()) }
}
