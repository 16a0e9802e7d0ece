//! Sessions as files of their workspace (source: 001): `.threadhold/trajectories/{chat_id}.json`. Where one lies, whose
//! it is, and how it is written whole; [`saver`] says when. What stands in one is [`transcript_io`](crate::transcript_io)'s.

pub mod saver;

use crate::engine::text::sha256_hex;
use crate::transcript_io::ImportError;
use crate::transcript_io::trajectory::{Trajectory, is_name, read};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes of a file that are read at most.
const MOST: u64 = 256 << 20;

/// Folders on the way to the files.
const WAY: [&str; 2] = [".threadhold", "trajectories"];

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
    #[error("it says that its id is {found:?}, and its name says {name:?}")]
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
        let path = self.file(id)?;
        let folder = self.path();
        if !self.is_there()? {
            fs::create_dir_all(&folder).map_err(io(&folder))?;
            self.is_there()?;
        }
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_symlink() => return Err(FileError::Link(path)),
            Ok(about) if !about.is_file() => return Err(FileError::NoFile(path)),
            _ => {}
        }
        self.remove_left(id);
        let new = folder.join(format!(".{id}.{}.tmp", std::process::id()));
        let written = write_new(&new, bytes).and_then(|()| fs::rename(&new, &path));
        if let Err(error) = written {
            drop(fs::remove_file(&new));
            return Err(io(&path)(error));
        }
        // The name, too, is to survive a loss of power. Where a folder cannot be flushed, it is so without it.
        if let Ok(folder) = File::open(&folder) {
            drop(folder.sync_all());
        }
        Ok(())
    }

    /// Removes what a process that was killed left of a writing of this file: only the session's one writer writes it.
    fn remove_left(&self, id: &str) {
        let Ok(entries) = fs::read_dir(self.path()) else { return };
        let start = format!(".{id}.");
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(&start) && name.ends_with(".tmp")) {
                drop(fs::remove_file(entry.path()));
            }
        }
    }

    /// Removes a session's file, where it is that session's.
    ///
    /// # Errors
    /// When it cannot be read or removed.
    pub fn remove(&self, id: &str) -> Result<bool, FileError> {
        let Some(held) = self.read(id)? else { return Ok(false) };
        held.trajectory(id)?;
        let path = self.file(id)?;
        fs::remove_file(&path).map_err(io(&path))?;
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

fn write_new(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // Never through a link that somebody put there.
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
