//! Snapshots of the folders' files. Git works on a thread of its own; two requests for one folder take turns.

use crate::convert;
use protocol::command::worktree::{WorktreeChangesParams, WorktreeChangesResult, WorktreeSnapshotResult};
use protocol::error::ProtocolError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;
use worktree::{SnapshotId, Unavailable, Worktree};

/// Time after which a folder that was too large or too slow is tried again.
const BETWEEN_TRIES: Duration = Duration::from_secs(600);

/// A folder's snapshots, taken by one request at a time.
type Shared = Arc<Mutex<Folder>>;

#[derive(Default)]
struct Folder {
    /// `None` before the first snapshot.
    worktree: Option<Worktree>,
    /// Why the last one was not taken that is not tried again soon.
    refused: Option<(Instant, String)>,
}

/// The snapshots of all folders, by folder.
#[derive(Default)]
pub(in crate::server) struct Worktrees(BTreeMap<String, Shared>);

impl Worktrees {
    /// A job that takes a snapshot of a folder; `storage` is where it is kept, `None` if nothing is kept on disk.
    pub fn snapshot(
        &mut self,
        folder: String,
        storage: Option<PathBuf>,
    ) -> impl FnOnce() -> WorktreeSnapshotResult + Send + use<> {
        let shared = self.0.entry(folder.clone()).or_default().clone();
        move || {
            let Some(storage) = storage else {
                return unavailable("sessions are kept in memory only");
            };
            match take(&shared, Path::new(&folder), &storage) {
                Ok(id) => WorktreeSnapshotResult { snapshot_id: Some(id.0), unavailable: None },
                Err(why) => unavailable(&why),
            }
        }
    }

    /// A job that compares two snapshots of a folder.
    pub fn changes(
        &self,
        folder: &str,
        params: WorktreeChangesParams,
    ) -> impl FnOnce() -> Result<WorktreeChangesResult, ProtocolError> + Send + use<> {
        let shared = self.0.get(folder).cloned();
        move || {
            let unknown = || ProtocolError::invalid("from", "must be a snapshot that this sidecar took");
            let shared = shared.ok_or_else(unknown)?;
            let locked = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let worktree = locked.worktree.as_ref().ok_or_else(unknown)?;
            let (from, to) = (SnapshotId(params.from), SnapshotId(params.to));
            let page = worktree.changes(&from, &to, params.after.as_deref());
            page.map(convert::worktree_changes).map_err(|error| convert::changes_error(&error, &from))
        }
    }
}

fn take(shared: &Shared, folder: &Path, storage: &Path) -> Result<SnapshotId, String> {
    // After a panic nothing is known of the index.
    let mut locked = shared.lock().unwrap_or_else(|poisoned| {
        let mut locked = poisoned.into_inner();
        locked.worktree = None;
        locked
    });
    shared.clear_poison();
    if let Some((since, why)) = &locked.refused
        && since.elapsed() < BETWEEN_TRIES
    {
        return Err(why.clone());
    }
    if locked.worktree.as_ref().is_some_and(Worktree::is_outgrown) {
        locked.worktree = None;
    }
    let id = SnapshotId(Uuid::now_v7().to_string());
    let taken = snapshot(&mut locked.worktree, (folder, storage), id.clone());
    let is_lasting = |error: &Unavailable| {
        use Unavailable::{Bytes, Files, Repositories, Time};
        matches!(error, Bytes(_) | Files(_) | Repositories(_) | Time(_))
    };
    locked.refused = match &taken {
        Err(error) if is_lasting(error) => Some((Instant::now(), error.to_string())),
        _ => None,
    };
    taken.map(|()| id).map_err(|error| error.to_string())
}

fn snapshot(
    worktree: &mut Option<Worktree>,
    (folder, storage): (&Path, &Path),
    id: SnapshotId,
) -> Result<(), Unavailable> {
    match worktree {
        Some(worktree) => worktree.snapshot(id),
        None => worktree.insert(Worktree::open(folder, storage)?).snapshot(id),
    }
}

fn unavailable(why: &str) -> WorktreeSnapshotResult {
    WorktreeSnapshotResult { snapshot_id: None, unavailable: Some(why.to_owned()) }
}
