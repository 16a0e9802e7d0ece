//! Sessions as files of their workspace: `.threadhold/trajectories/{chat_id}.json`. Where one lies, whose
//! it is, and how it is written whole; [`saver`] says when. What stands in one is [`transcript_io`](import)'s.

pub mod saver;

use engine::text::sha256_hex;
use import::ImportError;
use import::trajectory::{Trajectory, is_name, read};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a file that are read at most.
const MOST: u64 = 256 << 20;

/// Folders on the way to the files.
const WAY: [&str; 2] = [".threadhold", "trajectories"];

/// What git does not see of a folder that was made for them.
const IGNORED: &str = "/.gitignore\n/trajectories/\n";

/// How long a writing takes at most, where nobody can say whether its process lives.
const LONGEST_WRITING: Duration = Duration::from_secs(10 * 60);

/// Why a file was left as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// No file has such a name.
    #[error("the id {0:?} can be no file's name: it has 1 to 128 characters out of letters, digits, - and _")]
    Name(String),
    /// Somebody put a link there.
    #[error("{} is a link, and links are not followed", .0.display())]
    Link(PathBuf),
    /// It is something else.
    #[error("{} is no file", .0.display())]
    NoFile(PathBuf),
    /// It is too large to be one.
    #[error("{} has {bytes} bytes, and at most {MOST} are read", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// It is another session's.
    #[error(
        "it says that its id is {found:?}, and its name says {name:?}: rename it to {found:?}.json if it is that session's, \
         or set its `id` to {name:?}"
    )]
    OtherId {
        /// What its name says.
        name: String,
        /// What it says itself.
        found: String,
    },
    /// It is no trajectory.
    #[error("it cannot be read: {0}")]
    Unreadable(ImportError),
    /// The system could not do it.
    #[error("{}: {kind}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        kind: ErrorKind,
    },
}

/// The trajectories of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Folder {
    workspace: PathBuf,
}

/// What a file held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// All of it.
    pub bytes: Vec<u8>,
    /// SHA-256 of that.
    pub hash: String,
}

impl Held {
    /// What was just written.
    pub fn of(bytes: Vec<u8>) -> Self {
        Self { hash: sha256_hex(&bytes), bytes }
    }

    /// It as the trajectory of this session.
    ///
    /// # Errors
    /// When it is none, or another session's.
    pub fn trajectory(&self, id: &str) -> Result<Trajectory, FileError> {
        let found = read(&self.bytes).map_err(FileError::Unreadable)?;
        if found.id != id {
            return Err(FileError::OtherId { name: id.to_owned(), found: found.id });
        }
        Ok(found)
    }
}

/// A session's file that is written and not in its place yet. It is removed where it never gets there.
#[derive(Debug)]
pub struct Staged {
    new: PathBuf,
    path: PathBuf,
}

impl Staged {
    /// What the system says of it, also once it is in its place.
    #[must_use]
    pub fn about(&self) -> Option<fs::Metadata> {
        fs::symlink_metadata(&self.new).ok()
    }

    /// Puts it in the place of the file that is there.
    ///
    /// # Errors
    /// When that cannot be done; the old one is there then.
    pub fn place(self) -> Result<(), FileError> {
        fs::rename(&self.new, &self.path).map_err(io(&self.path))?;
        // The name, too, is to survive a loss of power. Where a folder cannot be flushed, it is so without it.
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
    /// Those of this workspace; nothing where it is not at a place of this machine's files.
    pub fn of(workspace: &str) -> Option<Self> {
        let workspace = PathBuf::from(workspace);
        workspace.is_absolute().then_some(Self { workspace })
    }

    /// Where they lie.
    pub fn path(&self) -> PathBuf {
        self.workspace.join(WAY[0]).join(WAY[1])
    }

    /// The folders whose changes matter, from the workspace down.
    pub fn way(&self) -> [PathBuf; 3] {
        [self.workspace.clone(), self.workspace.join(WAY[0]), self.path()]
    }

    /// The file of this session.
    ///
    /// # Errors
    /// When no file can have that name.
    pub fn file(&self, id: &str) -> Result<PathBuf, FileError> {
        match is_name(id) {
            true => Ok(self.path().join(format!("{id}.json"))),
            false => Err(FileError::Name(id.to_owned())),
        }
    }

    /// The session whose file this is, by its name alone.
    pub fn id_of(&self, file: &Path) -> Option<String> {
        let name = file.strip_prefix(self.path()).ok()?.to_str()?.strip_suffix(".json")?;
        is_name(name).then(|| name.to_owned())
    }

    /// Whether the folder is there.
    ///
    /// # Errors
    /// When there is a link on the way, or something that is no folder.
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

    /// What the file of this session holds; nothing where there is none.
    ///
    /// # Errors
    /// When it cannot be read, or must not be: links lead elsewhere.
    pub fn read(&self, id: &str) -> Result<Option<Held>, FileError> {
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
        Ok(Some(Held::of(bytes)))
    }

    /// Puts a session's file in the place of the one that is there, whole or not at all: whoever reads meets the old one
    /// or the new one.
    ///
    /// # Errors
    /// When it cannot be written, or must not be; the old one is there then.
    pub fn write(&self, id: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.stage(id, bytes)?.place()
    }

    /// Writes what a session's file is to be, beside the one that is there.
    ///
    /// # Errors
    /// When it cannot be written, or must not be.
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

    /// Makes the folder. One that is ours alone is kept out of what the workspace's people share through git, but for the
    /// settings that they may put there.
    fn make(&self) -> Result<(), FileError> {
        let [workspace, ours, files] = self.way();
        fs::create_dir_all(&workspace).map_err(io(&workspace))?;
        if make_folder(&ours).map_err(io(&ours))? {
            // Where it cannot be written, sessions are worth more than it is.
            drop(write_new(&ours.join(".gitignore"), IGNORED.as_bytes()));
        }
        make_folder(&files).map_err(io(&files))?;
        Ok(())
    }

    /// What was begun and not put in the place of this session's file, each with the process that began it.
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

    /// Removes what processes that were killed left of a writing of this file. What one that lives has begun is left to it:
    /// two of them may have the same session, each in a store of its own.
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

    /// Removes a session's file, where it is that session's, and what is left of any writing of it.
    ///
    /// # Errors
    /// When it cannot be read or removed.
    pub fn remove(&self, id: &str) -> Result<bool, FileError> {
        let path = self.file(id)?;
        if !self.is_there()? {
            return Ok(false);
        }
        // First: whatever becomes of the file, these are nobody's but the session's.
        for (begun, _) in self.begun(id) {
            gone(&begun)?;
        }
        let Some(held) = self.read(id)? else { return Ok(false) };
        held.trajectory(id)?;
        gone(&path)?;
        Ok(true)
    }

    /// The sessions that have a file, by their names, in order.
    ///
    /// # Errors
    /// When the folder cannot be read, or must not be.
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

/// Removes a file. One that is not there is removed.
fn gone(path: &Path) -> Result<(), FileError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io(path)(error)),
        _ => Ok(()),
    }
}

/// Whether the process may live that began to write there.
fn may_live(process: u32, path: &Path) -> bool {
    if cfg!(target_os = "linux") && Path::new("/proc/self").exists() {
        return Path::new("/proc").join(process.to_string()).exists();
    }
    // Nobody can be asked: no writing takes that long.
    let age =
        fs::metadata(path).and_then(|about| about.modified()).map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age < LONGEST_WRITING)
}

/// Makes a folder that others on this machine cannot look into, unless it is there; whether it was made.
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

/// Writes a file that is not there yet, which others on this machine cannot read.
fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut new = OpenOptions::new();
    // Never through a link that somebody put there.
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
