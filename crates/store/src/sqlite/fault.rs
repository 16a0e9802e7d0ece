//! Errors inside a transaction, before the file's path is added.

use crate::error::{StoreError, from_sqlite};
use engine::id::SessionId;
use std::path::Path;

pub(super) type Done<T = ()> = Result<T, Fault>;

/// The error for a write that contradicts the stored rows; rolls the step back.
pub(super) fn refused(session: &SessionId, reason: String) -> Fault {
    StoreError::Refused { session: session.clone(), reason }.into()
}

/// An error without the file's path.
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
