//! Pieces of an answer in progress: read when the process ended before the answer did, and deleted with its end.

use super::columns::{CHANGED, json, next, number, place, text};
use super::{Done, refused};
use crate::blob::check_sum;
use engine::id::SessionId;
use rusqlite::{Row, Transaction, params};
use session::stored::Streamed;

/// Appends a piece.
pub(super) fn keep(tx: &Transaction<'_>, session: &SessionId, piece: &Streamed) -> Done {
    let row = serde_json::to_string(piece).map_err(|error| refused(session, error.to_string()))?;
    tx.prepare_cached(
        "INSERT INTO chat_streamed (session, n, check_sum, piece)
         SELECT ?1, coalesce(max(n) + 1, 0), ?2, ?3 FROM chat_streamed WHERE session = ?1",
    )?
    .execute(params![session.as_str(), check_sum(&[row.as_bytes()]), row])?;
    Ok(())
}

/// Deletes all pieces of a session.
pub(super) fn forget(tx: &Transaction<'_>, session: &SessionId) -> Done {
    tx.prepare_cached("DELETE FROM chat_streamed WHERE session = ?1")?.execute([session.as_str()])?;
    Ok(())
}

/// `true` if there are any.
pub(super) fn are_there(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM chat_streamed WHERE session = ?1")?.exists([session.as_str()])
}

/// The pieces of a session from this number on, with their numbers, in order.
pub(super) fn pieces(
    tx: &Transaction<'_>,
    session: &SessionId,
    from: u64,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<(u64, Streamed)>> {
    let mut statement = tx.prepare_cached(
        "SELECT n, check_sum, piece FROM chat_streamed WHERE session = ?1 AND n >= ?2 ORDER BY n",
    )?;
    let mut rows = statement.query(params![session.as_str(), from])?;
    let mut found = Vec::new();
    while let Some(row) = next(&mut rows, "streamed text", unreadable)? {
        match piece(row) {
            Ok(piece) => found.push((row.get(0)?, piece)),
            Err(reason) => unreadable.push(format!("streamed text {}: {reason}", place(row))),
        }
    }
    Ok(found)
}

fn piece(row: &Row<'_>) -> Result<Streamed, String> {
    let piece = text(row, 2)?;
    match check_sum(&[piece.as_bytes()]) == number::<i64>(row, 1)? {
        true => json(piece),
        false => Err(CHANGED.to_owned()),
    }
}
