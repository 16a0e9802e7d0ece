//! Snapshots of a folder's files, and what changed between two of them with the contents before. Git takes them, in a
//! repository and with an index of their own; the user's repository is only read, so that its objects need not be
//! stored twice.

mod changes;
mod error;
mod git;
mod place;
mod repository;
mod seed;
mod snapshot;
#[cfg(test)]
mod tests;

pub use changes::{Before, Change, ChangeKind, Page};
pub use error::{ChangesError, Unavailable};

use place::Place;
use repository::Repository;
use snapshot::Snapshot;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Largest file whose contents are kept, in bytes.
pub const MOST_FILE_BYTES: u64 = 5_000_000;
/// The longest time that one snapshot or one page of changes may take.
pub const MOST_TIME: Duration = Duration::from_secs(60);
/// Snapshots between two looks at the size of what is stored.
const BETWEEN_LOOKS: usize = 100;
/// Snapshots that are known at a time; the oldest is forgotten first.
const MOST_SNAPSHOTS: usize = 64;

/// The name of a snapshot, unique over all processes and times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotId(pub String);

/// A folder and its snapshots.
#[derive(Debug)]
pub struct Worktree {
    folder: PathBuf,
    place: Place,
    /// The repositories in it by their path from the folder on; that of the folder has an empty one.
    repositories: BTreeMap<String, Repository>,
    taken: VecDeque<(SnapshotId, Snapshot)>,
    /// Snapshots since it was opened.
    count: usize,
}

impl Worktree {
    /// Prepares for snapshots of `folder`, which are kept in `storage` and leave that out. What lies there from earlier
    /// is dropped if it is large or old and no other process uses it.
    ///
    /// # Errors
    /// [`Unavailable`] if the folder cannot have snapshots.
    pub fn open(folder: &Path, storage: &Path) -> Result<Self, Unavailable> {
        let folder = repository::usable(folder)?;
        let place = Place::open(storage, &folder, Instant::now() + MOST_TIME)?;
        Ok(Self { folder, place, repositories: BTreeMap::new(), taken: VecDeque::new(), count: 0 })
    }

    /// Takes a snapshot of the files as they are now, without those that git ignores, under a new name.
    ///
    /// # Errors
    /// [`Unavailable`] if it cannot be taken or would be too large; nothing is kept then.
    pub fn snapshot(&mut self, id: SnapshotId) -> Result<(), Unavailable> {
        let deadline = Instant::now() + MOST_TIME;
        let taken = snapshot::take(&self.folder, &self.place, &mut self.repositories, deadline)?;
        self.count += 1;
        self.taken.push_back((id, taken));
        if self.taken.len() > MOST_SNAPSHOTS {
            self.taken.pop_front();
        }
        Ok(())
    }

    /// `true` if it should be opened again, which empties its place where it has become too large. Looks now and then.
    pub fn is_outgrown(&self) -> bool {
        self.count > 0 && self.count.is_multiple_of(BETWEEN_LOOKS) && self.place.is_outgrown()
    }

    /// The changes between two snapshots in the order of their paths: those behind the path `after`, up to the size of a
    /// page.
    ///
    /// # Errors
    /// [`ChangesError`] if a snapshot is not known any more, or git fails.
    pub fn changes(
        &self,
        from: &SnapshotId,
        to: &SnapshotId,
        after: Option<&str>,
    ) -> Result<Page, ChangesError> {
        let (from, to) = (self.known(from)?, self.known(to)?);
        let git = self.place.git(&self.folder, Instant::now() + MOST_TIME);
        let objects = self.repositories.values().filter_map(Repository::objects);
        changes::page((&git.alternates(objects), &self.folder), from, to, after)
    }

    fn known(&self, id: &SnapshotId) -> Result<&Snapshot, ChangesError> {
        let found = self.taken.iter().find(|(known, _)| known == id);
        found.map(|(_, snapshot)| snapshot).ok_or_else(|| ChangesError::Unknown(id.clone()))
    }
}
