//! The location and durability of a store, in a file or in memory. The only part of the store that reads the
//! environment.

use super::error::StoreError;
use super::schema::{self, FILE};
use engine::text::{head, sha256_hex};
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use uuid::Uuid;

/// Options for opening a SQLite store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The folder of its file; created if missing.
    pub folder: PathBuf,
    /// The durability of commits.
    pub synchronous: Synchronous,
    /// The longest wait for another process before [`StoreError::Locked`].
    pub busy_timeout: Duration,
}

/// The point at which a commit counts as written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// On disk: survives a loss of power.
    #[default]
    Full,
    /// Handed to the system: survives a crash of this process. A loss of power may undo the newest commits,
    /// each as a whole.
    Normal,
}

impl Options {
    /// Options for a store in this folder, with full durability and a timeout of 5 s.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(5),
        }
    }
}

/// A SQLite database in this process's memory, dropped with the last clone and the last store on it. Several
/// stores on it behave like processes on one file.
#[derive(Debug, Clone)]
pub struct InMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: Uuid,
    /// Keeps the database alive while no store is open.
    anchor: Mutex<Option<Connection>>,
    holders: Arc<Mutex<BTreeSet<String>>>,
}

impl Default for InMemory {
    fn default() -> Self {
        Self(Arc::new(Shared { name: Uuid::now_v7(), anchor: Mutex::default(), holders: Arc::default() }))
    }
}

impl InMemory {
    /// Opens a connection; the first one creates the database.
    pub(super) fn open(&self) -> rusqlite::Result<Connection> {
        let mut anchor = self.0.anchor.lock().unwrap_or_else(PoisonError::into_inner);
        if anchor.is_none() {
            *anchor = Some(schema::open_in_memory(&self.0.name.to_string())?);
        }
        schema::open_in_memory(&self.0.name.to_string())
    }

    pub(super) fn holders(&self) -> Arc<Mutex<BTreeSet<String>>> {
        Arc::clone(&self.0.holders)
    }
}

/// `true` if this folder has a store's file.
pub fn is_store(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// Returns the platform's data folder for a workspace, for editors that name none. Each workspace gets its
/// own, named by a hash: paths may have any characters.
///
/// # Errors
/// [`StoreError::NoFolder`] if the environment names no place for data.
pub fn data_folder(workspace: &str) -> Result<PathBuf, StoreError> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else {
        set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))
    };
    let names = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME or HOME" };
    let base = base.ok_or_else(|| StoreError::NoFolder {
        reason: format!("the environment has no absolute path in {names}"),
    })?;
    Ok(base.join("threadhold").join(head(&sha256_hex(workspace.as_bytes()), 16)))
}

/// Device and inode of a file, which identify it even if another one takes its path. `None` without a file.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let about = std::fs::metadata(path).ok()?;
        Some((about.dev(), about.ino()))
    }
    #[cfg(not(unix))]
    {
        path.exists().then_some((0, 0))
    }
}
