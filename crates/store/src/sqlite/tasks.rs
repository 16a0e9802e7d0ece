//! Queries for background sessions: those that wait, and the state of each. Their rows are written in
//! `write`.

use super::columns::{json, number, text, text_or_null, time, variant};
use super::read;
use crate::task::{Task, TaskState, Waiting};
use engine::id::SessionId;
use rusqlite::{Row, Transaction};
use session::stored::TurnStatus;

pub(super) const WAITING: &str = "SELECT s.id, s.settings, l.holder
     FROM chat_sessions s LEFT JOIN leases l ON l.session = s.id
     WHERE s.waits = 1 AND s.workspace = ?1 ORDER BY s.created_at, s.id";

/// See [`crate::Store::waiting`]. Unreadable settings count as empty, as in the session's head.
pub(super) fn waiting(
    tx: &Transaction<'_>,
    workspace: &str,
    is_free: impl Fn(&str) -> bool,
) -> rusqlite::Result<Vec<Waiting>> {
    let read = |row: &Row<'_>| -> Result<Option<Waiting>, String> {
        let settings = text(row, 1).and_then(json).unwrap_or_default();
        let waiting = Waiting { session: SessionId::new(text(row, 0)?), settings };
        Ok(Some(waiting).filter(|_| text_or_null(row, 2).is_ok_and(|holder| holder.is_none_or(&is_free))))
    };
    collect(tx, WAITING, workspace, read)
}

pub(super) const TASKS: &str = "SELECT s.id, s.title, s.waits, s.created_at, l.holder,
         s.kind,
         CASE WHEN json_valid(a.carried) THEN json_extract(a.carried, '$.state') END,
         CASE WHEN json_valid(a.carried) THEN coalesce(json_extract(a.carried, '$.used'), 0) ELSE 0 END
     FROM chat_sessions s LEFT JOIN leases l ON l.session = s.id LEFT JOIN chat_activity a ON a.session = s.id
     WHERE s.parent = ?1 AND s.origin = 'background' ORDER BY s.created_at, s.id";

/// See [`crate::Store::tasks`].
pub(super) fn tasks(
    tx: &Transaction<'_>,
    parent: &SessionId,
    lives: impl Fn(&str) -> bool,
) -> rusqlite::Result<Vec<Task>> {
    let read = |row: &Row<'_>| -> Result<Option<Task>, String> {
        let session = SessionId::new(text(row, 0)?);
        let last = read::last_status(tx, &session).map_err(|error| error.to_string())?;
        let last = last.as_deref().map(variant::<TurnStatus>).transpose()?;
        let is_held = || text_or_null(row, 4).is_ok_and(|holder| holder.is_some_and(&lives));
        let (waits, rest) =
            (number::<u8>(row, 2)? != 0, text_or_null(row, 6)?.and_then(|word| variant(word).ok()));
        let Some(state) = TaskState::of(waits, last, rest, is_held) else { return Ok(None) };
        let (title, kind) =
            (text_or_null(row, 1)?.map(str::to_owned), text_or_null(row, 5)?.map(str::to_owned));
        let used = number(row, 7)?;
        let created_at = time(number(row, 3)?);
        Ok(Some(Task { session, title, kind, state, rest, used, created_at }))
    };
    collect(tx, TASKS, parent.as_str(), read)
}

/// Reads the matching rows; unreadable ones are logged.
fn collect<T>(
    tx: &Transaction<'_>,
    sql: &str,
    of: &str,
    read: impl Fn(&Row<'_>) -> Result<Option<T>, String>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = tx.prepare_cached(sql)?;
    let mut rows = statement.query([of])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(one) => found.extend(one),
            Err(reason) => tracing::warn!(reason, "a session that runs for another one cannot be read"),
        }
    }
    Ok(found)
}
