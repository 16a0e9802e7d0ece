//! Which holders live. Each store that writes a file holds an exclusive lock of the operating system on a file of its own;
//! a process that ends in whatever way loses it. So whether a holder is gone is a question to the system and not to a clock.
//! Stores in one memory know each other. Which holder has which session stands in the tables.

use super::error::{StoreError, from_io};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use uuid::Uuid;

/// The folder of these files, beside the database.
const FOLDER: &str = "holders";
/// The lock under which a file is opened, made and migrated: one process at a time.
const OPENING: &str = "opening";

/// Where the holders of a store are seen.
#[derive(Debug, Clone)]
pub(super) enum Holders {
    /// By their files in this storage folder.
    Folder(PathBuf),
    /// By their ids, all of one process.
    Process(Arc<Mutex<BTreeSet<String>>>),
}

/// A store among the holders, for as long as this value lives.
#[derive(Debug)]
pub(super) struct Registered {
    id: String,
    holders: Holders,
    /// Holds the lock.
    _file: Option<File>,
}

impl Holders {
    /// Registers another one.
    pub fn register(&self) -> Result<Registered, StoreError> {
        let id = Uuid::now_v7().to_string();
        let file = match self {
            Self::Folder(storage) => Some(make_file(storage, &id)?),
            Self::Process(ids) => {
                ids.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
                None
            }
        };
        Ok(Registered { id, holders: self.clone(), _file: file })
    }

    /// Whether a holder lives. Those who ask do not stand in each other's way: they share the lock of its file, which none
    /// can while it has it.
    pub fn is_alive(&self, id: &str) -> bool {
        match self {
            Self::Folder(storage) => match File::open(file_of(storage, id)) {
                Ok(file) => file.try_lock_shared().is_err(),
                // What cannot be looked at is taken for alive.
                Err(error) => error.kind() != std::io::ErrorKind::NotFound,
            },
            Self::Process(ids) => ids.lock().unwrap_or_else(PoisonError::into_inner).contains(id),
        }
    }

    /// Removes the files of processes that are gone. To be called inside a write transaction.
    pub fn sweep(&self) {
        let Self::Folder(storage) = self else { return };
        let Ok(entries) = fs::read_dir(storage.join(FOLDER)) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".lock"));
            if id.is_some_and(|id| !self.is_alive(id)) {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

impl Registered {
    /// Its name in the tables.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether a holder of this name is another one, and lives.
    pub fn is_other(&self, holder: &str) -> bool {
        holder != self.id && self.holders.is_alive(holder)
    }

    /// All holders, this one among them.
    pub fn holders(&self) -> &Holders {
        &self.holders
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        match &self.holders {
            // Before the lock goes. Where it stays behind, the next store finds it unlocked.
            Holders::Folder(storage) => drop(fs::remove_file(file_of(storage, &self.id))),
            Holders::Process(ids) => {
                ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
            }
        }
    }
}

/// A locked file of this holder.
fn make_file(storage: &Path, id: &str) -> Result<File, StoreError> {
    let folder = storage.join(FOLDER);
    // Locked first, then seen: nobody can take it for a dead one's.
    let unseen = folder.join(format!("{id}.new"));
    let made = || -> std::io::Result<File> {
        fs::create_dir_all(&folder)?;
        let mut file = File::create(&unseen)?;
        file.try_lock()?;
        let start = humantime::format_rfc3339_seconds(SystemTime::now());
        writeln!(file, "pid {}\nsince {start}", process::id())?;
        fs::rename(&unseen, file_of(storage, id))?;
        Ok(file)
    };
    made().map_err(|error| from_io(&error, &folder))
}

/// Waits until no other process opens this store. The lock goes with the value.
pub(super) fn opening(storage: &Path, patience: Duration) -> Result<File, StoreError> {
    let folder = storage.join(FOLDER);
    let path = folder.join(OPENING);
    let file = fs::create_dir_all(&folder)
        .and_then(|()| OpenOptions::new().create(true).truncate(false).write(true).open(&path))
        .map_err(|error| from_io(&error, storage))?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path }),
            Err(TryLockError::Error(error)) => return Err(from_io(&error, &path)),
        }
    }
}

fn file_of(storage: &Path, id: &str) -> PathBuf {
    storage.join(FOLDER).join(format!("{id}.lock"))
}
