//! Failures of one piece of work on a connection, before the file's name is put to them.

use crate::error::{StoreError, from_sqlite};
use engine::id::SessionId;
use std::path::Path;

/// The result of a piece of work.
pub(super) type Done<T = ()> = Result<T, Fault>;

/// Undoes the step: it cannot be carried out on this session.
pub(super) fn refused(session: &SessionId, reason: String) -> Fault {
    StoreError::Refused { session: session.clone(), reason }.into()
}

/// A failure without the file that it is about.
#[derive(Debug)]
pub(super) enum Fault {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl Fault {
    pub(super) fn in_file(self, path: &Path) -> StoreError {
        match self {
            Fault::Sqlite(error) => from_sqlite(&error, path),
            Fault::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Store(error)
    }
}
