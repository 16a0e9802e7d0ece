//! Errors of a store. Each message says what happened, what was kept and what to do. SQLite's and the
//! system's errors are converted here; the server maps them to the protocol.

use super::follow::Holder;
use engine::id::SessionId;
use std::path::{Path, PathBuf};

/// An error of a store. The session keeps what was not written, and a later write may succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another store is the session's writer.
    #[error(
        "session \"{session}\" is open in another process ({holder}); nothing was changed; follow it, close it there, or take it over"
    )]
    Held {
        /// The session.
        session: SessionId,
        /// The process of that store.
        holder: Holder,
    },
    /// This store does not hold the session under this fence.
    #[error(
        "session \"{session}\" has another writer now{}; this write was not made; earlier writes are stored; follow the session, or take it over",
        in_process(.holder.as_ref())
    )]
    FenceLost {
        /// The session.
        session: SessionId,
        /// The session's current writer, if there is one.
        holder: Option<Holder>,
    },
    /// The session belongs to another workspace.
    #[error(
        "session \"{session}\" belongs to another folder; nothing was done; choose another id, or name that folder"
    )]
    OtherWorkspace {
        /// The session.
        session: SessionId,
    },
    /// The session is a revision of another one: it can be read, but not be opened, written or deleted by itself.
    #[error(
        "\"{session}\" is a revision of session \"{of}\" and cannot be opened or changed; session/history of that session lists it"
    )]
    IsRevision {
        /// The revision.
        session: SessionId,
        /// The session that it belongs to.
        of: SessionId,
    },
    /// A write contradicts the stored rows: a defect of the caller.
    #[error(
        "the store refused a write to session \"{session}\": {reason}; nothing of this step was written; please report it"
    )]
    Refused {
        /// The session.
        session: SessionId,
        /// The contradiction.
        reason: String,
    },
    /// The scope was changed since the caller read it.
    #[error(
        "scope {scope:?} is at revision {found}, no longer at {expected}; nothing was changed; get it again, then change it"
    )]
    StaleScope {
        /// The scope's name.
        scope: String,
        /// The revision that the caller expected.
        expected: u64,
        /// The current revision.
        found: u64,
    },
    /// A newer version of this program wrote the file.
    #[error(
        "{path} was written by a newer version (schema {found}, this one knows {known}); the file was not touched; update this program, or choose another storage folder"
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The file's schema version.
        found: u32,
        /// The newest schema version that this program knows.
        known: u32,
    },
    /// The file is not a database, belongs to another program, or is damaged.
    #[error(
        "{path} cannot be read as a store: {reason}; the file is unchanged; run threadhold doctor with --storage and its folder to see what can be repaired, or move it away to start with an empty store; the editor's history restores its chats"
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The damage.
        reason: String,
    },
    /// The file was moved away, removed or replaced while it was open.
    #[error(
        "{path} was moved away or replaced while it was open; this write was not made; put the file back, or restart the server to continue with the file that is there now"
    )]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// The folder or the file cannot be written.
    #[error(
        "{path} cannot be written: {reason}; stored data is unchanged; make it writable, or choose another storage folder"
    )]
    ReadOnly {
        /// The folder or file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// The disk is full.
    #[error(
        "the disk of {path} is full; this write was not made; earlier writes are stored; free some space; the next write tries again"
    )]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process kept the file locked for longer than the timeout.
    #[error(
        "{path} is locked by another process; this write was not made; earlier writes are stored; the next write tries again"
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The database cannot be reached, or its connection was lost: it is not known whether this write was made.
    #[error("{path} cannot be reached: {reason}; earlier writes are stored; the next write tries again")]
    Away {
        /// The database.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// Any other error of the system.
    #[error(
        "{path} failed: {reason}; this write was not made; earlier writes are stored; the next write tries again"
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// No folder was given, and the platform defines none.
    #[error(
        "no folder for the store: {reason}; nothing was stored; give a storage folder, or choose the memory backend"
    )]
    NoFolder {
        /// The missing environment variables.
        reason: String,
    },
    /// The store panicked during a call: a defect.
    #[error(
        "internal error in the store: {reason}; this write was not made; earlier writes are stored; the store was opened again; please report it"
    )]
    Crashed {
        /// The panic's message.
        reason: String,
    },
    /// The store was closed before.
    #[error("the store is closed; this write was not made; earlier writes are stored; restart the server")]
    Closed,
}

/// The holder's process, as a part of a sentence.
fn in_process(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(", in another process ({holder})"))
}

/// Converts an error of SQLite on this file.
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

/// Converts an error of the file system on this path.
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
