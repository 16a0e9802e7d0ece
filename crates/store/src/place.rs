//! Where a store lies and how carefully it writes. The only place of the store that reads the environment.

use super::error::StoreError;
use super::schema::FILE;
use engine::text::{head, sha256_hex};
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
