//! Who lives. Each store that writes holds an exclusive lock of the operating system on a file of its own; a process
//! that ends in whatever way loses it. So whether a holder is gone is a question to the system and not to a clock.
//! Which holder has which session stands in the tables.

use super::error::{StoreError, from_io};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use uuid::Uuid;

/// The folder of these files, beside the database.
const FOLDER: &str = "holders";
/// The lock under which a file is opened, made and migrated: one process at a time.
const OPENING: &str = "opening";

/// A file that is locked for as long as this value lives, and removed with it.
#[derive(Debug)]
pub(super) struct HolderFile {
    id: String,
    path: PathBuf,
    /// Holds the lock.
    _file: File,
}

impl HolderFile {
    /// A new one in this storage folder.
    pub fn create(storage: &Path) -> Result<Self, StoreError> {
        let folder = storage.join(FOLDER);
        let id = Uuid::now_v7().to_string();
        // Locked first, then seen: nobody can take it for a dead one's.
        let (unseen, path) = (folder.join(format!("{id}.new")), file_of(storage, &id));
        let made = || -> std::io::Result<File> {
            fs::create_dir_all(&folder)?;
            let mut file = File::create(&unseen)?;
            file.try_lock()?;
            let start = humantime::format_rfc3339_seconds(SystemTime::now());
            writeln!(file, "pid {}\nsince {start}", process::id())?;
            fs::rename(&unseen, &path)?;
            Ok(file)
        };
        let file = made().map_err(|error| from_io(&error, &folder))?;
        Ok(Self { id, path, _file: file })
    }

    /// Its name in the tables.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for HolderFile {
    fn drop(&mut self) {
        // Before the lock goes. Where it stays behind, the next store finds it unlocked.
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the holder's process lives. Those who ask do not stand in each other's way: they share the lock, which none can
/// while its holder has it.
pub(super) fn is_alive(storage: &Path, id: &str) -> bool {
    match File::open(file_of(storage, id)) {
        Ok(file) => file.try_lock_shared().is_err(),
        // What cannot be looked at is taken for alive.
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// Removes the files of processes that are gone. To be called inside a write transaction.
pub(super) fn sweep(storage: &Path) {
    let Ok(entries) = fs::read_dir(storage.join(FOLDER)) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let id = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".lock"));
        if id.is_some_and(|id| !is_alive(storage, id)) {
            let _ = fs::remove_file(&path);
        }
    }
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
