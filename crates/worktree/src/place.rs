//! Where snapshots are kept: a bare repository of our own with a file that its processes lock. It is emptied when it is
//! large or old and nobody else uses it; git never cleans it up.

use crate::error::{Unavailable, at};
use crate::git::Git;
use engine::text::sha256_hex;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Size from which it is emptied, in bytes.
const MOST_BYTES: u64 = 500_000_000;
/// Time without use after which it is emptied.
const MOST_AGE: Duration = Duration::from_secs(14 * 24 * 3600);
/// Bytes are stored as they are on disk, whatever the attributes of the folder say.
const ATTRIBUTES: &str = "* -text -filter -ident !eol !working-tree-encoding\n";

/// The folder in the storage.
const FOLDER: &str = "snapshots";

/// Tells the indexes of one process apart.
static OPENED: AtomicUsize = AtomicUsize::new(0);

/// The repository of a folder's snapshots. Its lock is held while this lives.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder that everything of ours lies in.
    storage: PathBuf,
    repository: PathBuf,
    indexes: PathBuf,
    _lock: File,
}

impl Place {
    /// Opens or creates that of a folder.
    pub fn open(storage: &Path, folder: &Path, deadline: Instant) -> Result<Self, Unavailable> {
        let name: String = sha256_hex(folder.as_os_str().as_encoded_bytes()).chars().take(16).collect();
        let home = &storage.join(FOLDER).join(name);
        create_private(home).map_err(at(home))?;
        let storage = storage.canonicalize().map_err(at(storage))?;
        let (repository, path) = (home.join("git"), home.join("lock"));
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = opened.map_err(at(&path))?;
        if lock.try_lock().is_ok() {
            if is_outgrown(&lock, &repository) {
                fs::remove_dir_all(&repository).map_err(at(&repository))?;
            }
            // Indexes of processes that have ended.
            remove_all(&home.join("index"))?;
            if !repository.join("info/attributes").is_file() {
                create(&repository, home, deadline)?;
            }
            lock.set_modified(SystemTime::now()).map_err(at(&path))?;
            lock.unlock().map_err(at(&path))?;
        }
        // Another process may be creating it at this moment.
        lock.lock_shared().map_err(at(&path))?;
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let indexes = home.join("index").join(format!("{}-{number}", process::id()));
        fs::create_dir_all(&indexes).map_err(at(&indexes))?;
        Ok(Self { storage, repository, indexes, _lock: lock })
    }

    /// `true` if it would be emptied if nobody used it.
    pub fn is_outgrown(&self) -> bool {
        is_large(&self.repository)
    }

    /// The pattern that leaves out what is ours of a worktree with this root, if it is in there.
    pub fn ours(&self, top: &Path) -> Option<String> {
        let within = self.storage.strip_prefix(top).ok()?.to_str()?.replace('\\', "/");
        // A user may keep other files beside the store.
        Some(if within.is_empty() {
            format!("--exclude=/{FOLDER}/")
        } else {
            format!("--exclude=/{within}/")
        })
    }

    /// Git on this repository.
    pub fn git(&self, folder: &Path, deadline: Instant) -> Git {
        Git::of_repository(&self.repository, folder, deadline)
    }

    /// The path of a new index.
    pub fn index(&self, number: usize) -> PathBuf {
        self.indexes.join(number.to_string())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.indexes);
    }
}

/// Creates a folder that only the user may look into.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create(repository: &Path, home: &Path, deadline: Instant) -> Result<(), Unavailable> {
    let path = repository.to_string_lossy();
    Git::of_user(home, deadline).run(&["init", "--quiet", "--bare", "--template=", &path], b"")?;
    let git = Git::of_repository(repository, home, deadline);
    let settings = [
        ("core.bare", "false"),
        ("core.autocrlf", "false"),
        ("core.safecrlf", "false"),
        ("core.fsmonitor", "false"),
        ("core.untrackedCache", "false"),
        ("core.hooksPath", if cfg!(windows) { "NUL" } else { "/dev/null" }),
        ("gc.auto", "0"),
    ];
    for (name, value) in settings {
        git.run(&["config", name, value], b"")?;
    }
    let info = repository.join("info");
    fs::create_dir_all(&info).map_err(at(&info))?;
    // The last step: without this file the repository is not complete.
    let attributes = info.join("attributes");
    fs::write(&attributes, ATTRIBUTES).map_err(at(&attributes))
}

fn is_outgrown(lock: &File, repository: &Path) -> bool {
    let used = lock.metadata().and_then(|metadata| metadata.modified());
    let is_old = used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > MOST_AGE));
    repository.is_dir() && (is_old || is_large(repository))
}

fn is_large(repository: &Path) -> bool {
    size_of(&repository.join("objects")) > MOST_BYTES
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

fn remove_all(folder: &Path) -> Result<(), Unavailable> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(folder)(error)),
        _ => Ok(()),
    }
}
