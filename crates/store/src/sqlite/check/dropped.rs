//! Deletion of a damaged session or revision, for people: what the wire refuses to delete by itself, or finds no row of.

use super::{Checked, OF_A_SESSION, Repair, change, check};
use crate::error::StoreError;
use crate::place::Options;
use crate::sqlite::{Fault, delete, segments};
use engine::id::SessionId;
use rusqlite::Transaction;
use std::path::PathBuf;

/// The outcome of [`drop_session`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dropped {
    /// It was deleted: the damage that is left, and the path of the copy made before.
    Done(Checked, PathBuf),
    /// No damage is this session's alone; nothing was changed.
    NotDamaged,
}

/// Deletes a damaged session with its revisions, or a damaged revision, after a copy of the file. No other process may
/// use the file.
///
/// # Errors
/// [`StoreError::Held`] if a process holds a session of the file; errors of [`check`] and of the file.
pub fn drop_session(options: &Options, session: &SessionId) -> Result<Dropped, StoreError> {
    let found = check(options)?;
    if !found.faults.iter().any(|damage| damage.session.as_ref() == Some(session)) {
        return Ok(Dropped::NotDamaged);
    }
    let ((), copy) = change(options, |tx| delete_rows(tx, session))?;
    Ok(Dropped::Done(check(options)?, copy))
}

/// Deletes a session as a client does, else each row that names it.
fn delete_rows(tx: &Transaction<'_>, session: &SessionId) -> Result<(), Fault> {
    let left_behind = delete::left_behind(tx, session).unwrap_or_default();
    if matches!(delete::delete_all(tx, session, left_behind), Ok(Some(_))) {
        return Ok(());
    }
    // Its own row is lost, or cannot be read.
    let segments = segments::forget(tx, session)?;
    for table in OF_A_SESSION {
        tx.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [session.as_str()])?;
    }
    tx.execute("DELETE FROM leases WHERE session = ?1", [session.as_str()])?;
    tx.execute("DELETE FROM chat_sessions WHERE id = ?1", [session.as_str()])?;
    for segment in segments {
        segments::drop_unused(tx, &segment)?;
    }
    Repair::DropContents.make(tx)
}
