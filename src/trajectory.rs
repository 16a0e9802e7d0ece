//! Session files in a workspace, `.threadhold/trajectories/{chat_id}.json`: their paths, their owners and
//! atomic writes. [`saver`] decides when to write; the format is the [`import`] crate's.

pub mod check;
pub mod saver;

use engine::text::sha256_hex;
use import::ImportError;
use import::trajectory::{Trajectory, is_name, read};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest file that is read, in bytes.
const MOST: u64 = 256 << 20;

/// Path components from the workspace to the files.
const WAY: [&str; 2] = [".threadhold", "trajectories"];

/// The `.gitignore` of a newly created `.threadhold`.
const IGNORED: &str = "/.gitignore\n/trajectories/\n";

/// Longest assumed duration of a write, where process ids cannot be checked.
const LONGEST_WRITING: Duration = Duration::from_secs(10 * 60);

/// An error of a session file, which is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The id cannot be a file name.
    #[error(
        "the id {0:?} cannot be a file name; it must have 1 to 128 characters, only letters, digits, - and _"
    )]
    Name(String),
    /// The path is a symbolic link.
    #[error("{} is a link; links are not followed", .0.display())]
    Link(PathBuf),
    /// The path is not a regular file.
    #[error("{} is not a file", .0.display())]
    NoFile(PathBuf),
    /// The file exceeds the size limit.
    #[error("{} has {bytes} bytes and the limit is {MOST}", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Size of the file.
        bytes: u64,
    },
    /// The content names another session than the file name.
    #[error(
        "the id in the file is {found:?}, but its name is {name:?}; rename it to {found:?}.json if it is that session's, \
         or set its `id` to {name:?}"
    )]
    OtherId {
        /// Session id in the file name.
        name: String,
        /// Session id in the content.
        found: String,
    },
    /// The content is not a trajectory.
    #[error("the file cannot be read: {0}")]
    Unreadable(ImportError),
    /// A file system operation failed.
    #[error("{}: {kind}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        kind: ErrorKind,
    },
}

/// The trajectories folder of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder {
    workspace: PathBuf,
}

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// SHA-256 of `bytes`.
    pub hash: String,
}

impl FileContent {
    /// Hashes the content.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self { hash: sha256_hex(&bytes), bytes }
    }

    /// Parses the content as the trajectory of session `id`.
    ///
    /// # Errors
    /// Fails if it is not a trajectory, or another session's.
    pub fn trajectory(&self, id: &str) -> Result<Trajectory, FileError> {
        let found = read(&self.bytes).map_err(FileError::Unreadable)?;
        if found.id != id {
            return Err(FileError::OtherId { name: id.to_owned(), found: found.id });
        }
        Ok(found)
    }
}

/// A written session file that is not yet in its place. Dropping it removes the temporary file.
#[derive(Debug)]
pub struct Staged {
    new: PathBuf,
    path: PathBuf,
}

impl Staged {
    /// Metadata of the file. Size, time and inode stay the same once it is in place.
    #[must_use]
    pub fn about(&self) -> Option<fs::Metadata> {
        fs::symlink_metadata(&self.new).ok()
    }

    /// Moves the file into place, over the one that is there.
    ///
    /// # Errors
    /// Fails if the rename fails; the old file remains.
    pub fn place(self) -> Result<(), FileError> {
        fs::rename(&self.new, &self.path).map_err(io(&self.path))?;
        // The rename must survive a power loss, too. A folder that cannot be flushed is left at that.
        if let Some(Ok(folder)) = self.path.parent().map(File::open) {
            drop(folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.new));
    }
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> FileError {
    let path = path.to_owned();
    move |error| FileError::Io { path: path.clone(), kind: error.kind() }
}

impl Folder {
    /// The folder of this workspace; `None` if its path is not absolute.
    pub fn of(workspace: &str) -> Option<Self> {
        let workspace = PathBuf::from(workspace);
        workspace.is_absolute().then_some(Self { workspace })
    }

    /// Path of the folder.
    pub fn path(&self) -> PathBuf {
        self.workspace.join(WAY[0]).join(WAY[1])
    }

    /// The folders to watch, from the workspace down.
    pub fn way(&self) -> [PathBuf; 3] {
        [self.workspace.clone(), self.workspace.join(WAY[0]), self.path()]
    }

    /// Path of a session's file.
    ///
    /// # Errors
    /// Fails if the id cannot be a file name.
    pub fn file(&self, id: &str) -> Result<PathBuf, FileError> {
        match is_name(id) {
            true => Ok(self.path().join(format!("{id}.json"))),
            false => Err(FileError::Name(id.to_owned())),
        }
    }

    /// Path of the copy of a session's file that a repair makes.
    fn copy(&self, id: &str) -> Result<PathBuf, FileError> {
        Ok(self.file(id)?.with_extension("json.repair.bak"))
    }

    /// The session id in a file's name; `None` if the path is no session file of this folder.
    pub fn id_of(&self, file: &Path) -> Option<String> {
        let name = file.strip_prefix(self.path()).ok()?.to_str()?.strip_suffix(".json")?;
        is_name(name).then(|| name.to_owned())
    }

    /// `true` if the folder exists.
    ///
    /// # Errors
    /// Fails if a folder on the path is a link or not a folder.
    fn is_there(&self) -> Result<bool, FileError> {
        for folder in &self.way()[1..] {
            match fs::symlink_metadata(folder) {
                Ok(about) if about.is_symlink() => return Err(FileError::Link(folder.clone())),
                Ok(about) if about.is_dir() => {}
                Ok(_) => return Err(io(folder)(ErrorKind::NotADirectory.into())),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(io(folder)(error)),
            }
        }
        Ok(true)
    }

    /// Reads a session's file; `None` if there is none.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is too large, or a link is on its path.
    pub fn read(&self, id: &str) -> Result<Option<FileContent>, FileError> {
        let path = self.file(id)?;
        if !self.is_there()? {
            return Ok(None);
        }
        let about = match fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(&path)(error)),
        };
        if about.is_symlink() {
            return Err(FileError::Link(path));
        }
        if !about.is_file() {
            return Err(FileError::NoFile(path));
        }
        if about.len() > MOST {
            return Err(FileError::TooLarge { bytes: about.len(), path });
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).map_err(io(&path))?;
        file.take(MOST).read_to_end(&mut bytes).map_err(io(&path))?;
        Ok(Some(FileContent::of(bytes)))
    }

    /// Replaces a session's file atomically: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// Fails as [`Folder::stage`] and [`Staged::place`] do; the old file remains.
    pub fn write(&self, id: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.stage(id, bytes)?.place()
    }

    /// Writes a session's new file beside the old one.
    ///
    /// # Errors
    /// Fails if it cannot be written, or the old one is a link or no regular file.
    pub fn stage(&self, id: &str, bytes: &[u8]) -> Result<Staged, FileError> {
        let path = self.file(id)?;
        let folder = self.path();
        if !self.is_there()? {
            self.make()?;
            self.is_there()?;
        }
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => return Err(FileError::Link(path)),
            Ok(about) if !about.is_file() => return Err(FileError::NoFile(path)),
            _ => {}
        }
        self.remove_left(id);
        let new = folder.join(format!(".{id}.{}.tmp", std::process::id()));
        let staged = Staged { new, path };
        write_new(&staged.new, bytes).map_err(io(&staged.path))?;
        Ok(staged)
    }

    /// Creates the folder. A new `.threadhold` gets a `.gitignore`, so that git shares only settings from it.
    fn make(&self) -> Result<(), FileError> {
        let [workspace, ours, files] = self.way();
        fs::create_dir_all(&workspace).map_err(io(&workspace))?;
        if make_folder(&ours).map_err(io(&ours))? {
            // A failure here does not stop the session from being saved.
            drop(write_new(&ours.join(".gitignore"), IGNORED.as_bytes()));
        }
        make_folder(&files).map_err(io(&files))?;
        Ok(())
    }

    /// Temporary files of a session's file, each with the id of the process that wrote it.
    fn begun(&self, id: &str) -> Vec<(PathBuf, Option<u32>)> {
        let Ok(entries) = fs::read_dir(self.path()) else { return Vec::new() };
        let start = format!(".{id}.");
        let begun = entries.flatten().filter_map(|entry| {
            let name = entry.file_name();
            let process = name.to_str()?.strip_prefix(&start)?.strip_suffix(".tmp")?;
            Some((entry.path(), process.parse().ok()))
        });
        begun.collect()
    }

    /// Removes temporary files of this process and of dead ones. A live process keeps its own: two may hold
    /// the same session, each in its own store.
    fn remove_left(&self, id: &str) {
        let is_left = |(path, process): &(PathBuf, Option<u32>)| match process {
            Some(process) => *process == std::process::id() || !may_live(*process, path),
            None => false,
        };
        self.begun(id)
            .iter()
            .filter(|begun| is_left(begun))
            .for_each(|(path, _)| drop(fs::remove_file(path)));
    }

    /// Removes a session's file and its temporary files. Returns `false` if there is no file.
    ///
    /// # Errors
    /// Fails if a file cannot be read or removed, or is another session's.
    pub fn remove(&self, id: &str) -> Result<bool, FileError> {
        let path = self.file(id)?;
        if !self.is_there()? {
            return Ok(false);
        }
        // Temporary files belong to the session, even if the file does not.
        for (begun, _) in self.begun(id) {
            gone(&begun)?;
        }
        gone(&self.copy(id)?)?;
        let Some(held) = self.read(id)? else { return Ok(false) };
        held.trajectory(id)?;
        gone(&path)?;
        Ok(true)
    }

    /// Ids of the sessions that have a file, sorted.
    ///
    /// # Errors
    /// Fails if the folder cannot be read, or a link is on its path.
    pub fn ids(&self) -> Result<Vec<String>, FileError> {
        if !self.is_there()? {
            return Ok(Vec::new());
        }
        let folder = self.path();
        let entries = fs::read_dir(&folder).map_err(io(&folder))?;
        let mut ids: Vec<String> = entries.flatten().filter_map(|entry| self.id_of(&entry.path())).collect();
        ids.sort();
        Ok(ids)
    }
}

/// Removes a file; a missing file is no error.
fn gone(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path)(error)),
        _ => Ok(()),
    }
}

/// `true` if the process that writes to `path` may be alive.
fn may_live(process: u32, path: &Path) -> bool {
    if cfg!(target_os = "linux") && Path::new("/proc/self").exists() {
        return Path::new("/proc").join(process.to_string()).exists();
    }
    // No process table here: a temporary file is live until no write takes that long.
    let age =
        fs::metadata(path).and_then(|about| about.modified()).map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age < LONGEST_WRITING)
}

/// Creates a folder that only its user can access. Returns `false` if it exists.
fn make_folder(path: &Path) -> std::io::Result<bool> {
    let mut new = fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        new.mode(0o700);
    }
    match new.create(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates a file that only its user can access. Fails if it exists.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut new = OpenOptions::new();
    // `create_new` does not follow links.
    new.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        new.mode(0o600);
    }
    let mut file = new.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
