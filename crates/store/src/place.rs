//! Where a store lies, in a file or in memory, and how carefully it writes. The only place of the store that reads the
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

/// How a SQLite store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The folder of its file; made where it is not there.
    pub folder: PathBuf,
    /// When a commit counts as written.
    pub synchronous: Synchronous,
    /// How long a call waits for another process before it is [`StoreError::Locked`].
    pub busy_timeout: Duration,
}

/// When a commit counts as written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// When the disk has it: survives a loss of power.
    #[default]
    Full,
    /// When the system has it: survives a crash of this process; a loss of power may take the newest commits, never
    /// half of one.
    Normal,
}

impl Options {
    /// A store in this folder, as careful as can be.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            synchronous: Synchronous::default(),
            busy_timeout: Duration::from_secs(5),
        }
    }
}

/// A database of SQLite in this process's memory, gone with the last value and the last store on it. Several stores on it
/// stand to each other as processes on one file.
#[derive(Debug, Clone)]
pub struct InMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    name: Uuid,
    /// Keeps the database while no store is open.
    anchor: Mutex<Option<Connection>>,
    holders: Arc<Mutex<BTreeSet<String>>>,
}

impl Default for InMemory {
    fn default() -> Self {
        Self(Arc::new(Shared { name: Uuid::now_v7(), anchor: Mutex::default(), holders: Arc::default() }))
    }
}

impl InMemory {
    /// A connection to it; the first one makes it.
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

/// Whether a store is in this folder.
pub fn is_store(folder: &Path) -> bool {
    folder.join(FILE).is_file()
}

/// The platform's data folder for a workspace, for an editor that gives none. A folder for each, named by its hash:
/// paths may hold anything.
///
/// # Errors
/// [`StoreError::NoFolder`] where the environment names no place for data.
pub fn data_folder(workspace: &str) -> Result<PathBuf, StoreError> {
    let set = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else {
        set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")))
    };
    let names = if cfg!(windows) { "LOCALAPPDATA" } else { "XDG_DATA_HOME nor HOME" };
    let base = base.ok_or_else(|| StoreError::NoFolder {
        reason: format!("the environment does not name one: neither {names} is an absolute path"),
    })?;
    Ok(base.join("threadhold").join(head(&sha256_hex(workspace.as_bytes()), 16)))
}

/// Device and inode of a file: they tell it from another one at the same path. Nothing where there is no file.
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
