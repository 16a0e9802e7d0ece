//! Liveness of lease holders. Each store on a file keeps an exclusive lock of the operating system on a file
//! of its own, which is released however the process ends. So liveness needs no clock. Stores in one
//! process's memory share a set. The tables record which holder has which session.

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

/// The folder of the holders' files, beside the database.
const FOLDER: &str = "holders";
/// The lock for opening, creating and migrating a file: one process at a time.
const OPENING: &str = "opening";

/// The registry of a store's holders.
#[derive(Debug, Clone)]
pub(super) enum Holders {
    /// Files in this storage folder.
    Folder(PathBuf),
    /// Ids of stores in this process.
    Process(Arc<Mutex<BTreeSet<String>>>),
}

/// A registered holder; dropping it unregisters the store.
#[derive(Debug)]
pub(super) struct Registered {
    id: String,
    holders: Holders,
    /// The open file, which holds the lock.
    _file: Option<File>,
}

impl Holders {
    /// Registers a new holder.
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

    /// `true` if the holder is alive: its file's lock cannot be shared. Concurrent checks do not disturb each
    /// other, since they share the lock.
    pub fn is_alive(&self, id: &str) -> bool {
        match self {
            Self::Folder(storage) => match File::open(file_of(storage, id)) {
                Ok(file) => file.try_lock_shared().is_err(),
                // An error counts as alive.
                Err(error) => error.kind() != std::io::ErrorKind::NotFound,
            },
            Self::Process(ids) => ids.lock().unwrap_or_else(PoisonError::into_inner).contains(id),
        }
    }

    /// Removes the files of ended processes. Must be called inside a write transaction.
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
    /// The holder's id in the tables.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// `true` if this id is another holder that is alive.
    pub fn is_other(&self, holder: &str) -> bool {
        holder != self.id && self.holders.is_alive(holder)
    }

    /// The registry that this holder is in.
    pub fn holders(&self) -> &Holders {
        &self.holders
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        match &self.holders {
            // Removed before the lock is released. A file left behind is unlocked, which the next store
            // finds.
            Holders::Folder(storage) => drop(fs::remove_file(file_of(storage, &self.id))),
            Holders::Process(ids) => {
                ids.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
            }
        }
    }
}

/// Creates a holder's locked file.
fn make_file(storage: &Path, id: &str) -> Result<File, StoreError> {
    let folder = storage.join(FOLDER);
    // Locked before it is renamed into view, so that it never looks like an ended process's.
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

/// Waits until no other process is opening this store. Dropping the file releases the lock.
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
