//! Reasons why there is no snapshot, or no comparison of two.

use crate::SnapshotId;
use crate::git::GitError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a snapshot cannot be taken. Each is a phrase that goes after "because".
#[derive(Debug, Error)]
pub enum Unavailable {
    /// Git is not installed.
    #[error("git is not installed")]
    NoGit,
    /// There is no such folder on this machine.
    #[error("{} is not a folder on this machine", .0.display())]
    NoFolder(PathBuf),
    /// The folder holds more than one project.
    #[error("the folder is a home folder or the root of a file system")]
    TooWide,
    /// More files would have to be stored than are allowed.
    #[error("more than {0} files would have to be stored")]
    Files(usize),
    /// More bytes would have to be stored than are allowed.
    #[error("more than {} MB would have to be stored", .0 / 1_000_000)]
    Bytes(u64),
    /// More repositories are nested in the folder than are looked at.
    #[error("more than {0} repositories are nested in it")]
    Repositories(usize),
    /// The deadline passed.
    #[error("it took longer than {0} seconds")]
    Time(u64),
    /// Git failed.
    #[error("git failed: {0}")]
    Git(String),
    /// The file system failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path that could not be read or written.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// Why two snapshots cannot be compared.
#[derive(Debug, Error)]
pub enum ChangesError {
    /// The snapshot was taken by another process, or too many were taken since.
    #[error("snapshot {} is not known", .0.0)]
    Unknown(SnapshotId),
    /// Git failed, or took too long.
    #[error(transparent)]
    Failed(#[from] Unavailable),
}

impl From<GitError> for Unavailable {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Missing => Self::NoGit,
            GitError::TimedOut => Self::Time(crate::MOST_TIME.as_secs()),
            GitError::Failed(message) => Self::Git(message),
        }
    }
}

impl From<GitError> for ChangesError {
    fn from(error: GitError) -> Self {
        Self::Failed(error.into())
    }
}

/// An error of the file system at a path.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Unavailable {
    move |error| Unavailable::Io { path: path.into(), error }
}
