//! What can go wrong with a store. Each message says what happened, what was kept and what to do. How a code of SQLite
//! becomes one of these stands here too; what becomes of it on the wire does not.

use super::follow::Holder;
use engine::id::{SessionId, Time};
use std::path::{Path, PathBuf};

/// Why a store did not do what it was asked. The session machine keeps what was not written; the next write may do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another store is the session's writer.
    #[error(
        "session {session} is open in another process (pid {pid}). Nothing was changed. Follow it, close it there, or take it over"
    )]
    Held {
        /// The session.
        session: SessionId,
        /// Its process.
        pid: u32,
        /// Since when.
        since: Time,
    },
    /// This store is no longer the session's writer, or never was.
    #[error(
        "session {session} has another writer by now{}. This write was not made, everything before it is there. Follow the session, or take it over",
        in_process(.holder.as_ref())
    )]
    FenceLost {
        /// The session.
        session: SessionId,
        /// Who writes it now, where somebody does.
        holder: Option<Holder>,
    },
    /// A write contradicts what is there: a defect of the caller.
    #[error(
        "the store refused a write to session {session}: {reason}. Nothing of this step was written. Please report it"
    )]
    Refused {
        /// The session.
        session: SessionId,
        /// What contradicts what.
        reason: String,
    },
    /// A scope was changed since the caller saw it.
    #[error(
        "scope {scope} is at revision {found} and no longer at {expected}. Nothing was changed. Get it again, then change it"
    )]
    StaleScope {
        /// Its name.
        scope: String,
        /// The revision that the caller saw.
        expected: u64,
        /// The revision that it has.
        found: u64,
    },
    /// A newer version of this program wrote the file.
    #[error(
        "{path} was written by a newer version (schema {found}, this one knows {known}). The file was not touched. Update this program, or choose another storage folder"
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema that this program knows.
        known: u32,
    },
    /// The file is no database, is not ours, or is damaged.
    #[error(
        "{path} cannot be read as a store: {reason}. The file was left as it is. Run threadhold doctor with --storage and its folder to see what can be repaired, or move it away to start with an empty store; the editor's history restores its chats"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// The file was moved away, removed or replaced while it was open.
    #[error(
        "{path} was moved away or replaced while it was open. This write was not made. Put the file back, or start the server again to go on with what is there now"
    )]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// The folder or the file cannot be written.
    #[error(
        "{path} cannot be written: {reason}. What was stored is unchanged. Make it writable, or choose another storage folder"
    )]
    ReadOnly {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The disk is full.
    #[error(
        "the disk of {path} is full. This write was not made, everything before it is there. Free some space; the next write tries again"
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the file busy for too long.
    #[error(
        "{path} is locked by another process. This write was not made, everything before it is there. The next write tries again"
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The system failed otherwise.
    #[error(
        "{path} failed: {reason}. This write was not made, everything before it is there. The next write tries again"
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// No folder was given and the platform names none.
    #[error(
        "no folder for the store: {reason}. Nothing was stored. Give a storage folder, or choose the memory backend"
    )]
    NoFolder {
        /// What is missing.
        reason: String,
    },
    /// The store itself broke down in the middle of a call: a defect.
    #[error(
        "the store broke down: {reason}. This write was not made, everything before it is there. The store was opened again; please report it"
    )]
    Crashed {
        /// What it said.
        reason: String,
    },
    /// It was closed before.
    #[error(
        "the store is closed. This write was not made, everything before it is there. Start the server again"
    )]
    Closed,
}

/// Where a session is written, as a part of a sentence.
fn in_process(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(", in another process (pid {})", holder.pid))
}

/// What SQLite's error means for the store in this file.
pub(super) fn from_sqlite(error: &rusqlite::Error, path: &Path) -> StoreError {
    use rusqlite::ErrorCode as Code;
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Locked { path },
        Some(Code::DiskFull) => StoreError::Full { path },
        Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => {
            StoreError::ReadOnly { path, reason }
        }
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => StoreError::Corrupt { path, reason },
        _ => StoreError::Io { path, reason },
    }
}

/// What an error of the file system means for the store in this place.
pub(super) fn from_io(error: &std::io::Error, path: &Path) -> StoreError {
    use std::io::ErrorKind as Kind;
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.kind() {
        Kind::StorageFull | Kind::QuotaExceeded => StoreError::Full { path },
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem | Kind::NotADirectory | Kind::AlreadyExists => {
            StoreError::ReadOnly { path, reason }
        }
        _ => StoreError::Io { path, reason },
    }
}
