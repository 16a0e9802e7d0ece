//! Background sessions: those that wait, and the state of each.

use super::places::{RowKind, newest_in};
use crate::postgres::fault::Done;
use crate::postgres::holder::{Identity, LEASE_COLUMNS, Lease, WITH_HOLDER};
use crate::postgres::tx::Tx;
use crate::postgres::value::{boolean, number, number_or_null, text, text_or_null, values};
use crate::row::{json, time, variant};
use crate::task::{Task, TaskState, Waiting};
use engine::id::SessionId;
use session::stored::TurnStatus;
use tokio_postgres::Row;

/// See [`crate::Store::waiting`]. Unreadable settings count as empty, as in the session's head.
pub(in crate::postgres) async fn waiting(
    tx: &mut Tx<'_>,
    workspace: &str,
    me: &Identity,
) -> Done<Vec<Waiting>> {
    let sql = format!(
        "SELECT s.id, s.settings, {LEASE_COLUMNS} FROM chat_sessions s
         LEFT JOIN leases l ON l.tenant = s.tenant AND l.session = s.id {WITH_HOLDER}
         WHERE s.tenant = $1 AND s.workspace = $2 AND s.waits ORDER BY s.created_at, s.id"
    );
    let read = |row: &Row| -> Result<Option<Waiting>, String> {
        let settings = text(row, 1).and_then(|settings| json(&settings)).unwrap_or_default();
        let waiting = Waiting { session: SessionId::new(text(row, 0)?), settings };
        Ok(Some(waiting).filter(|_| Lease::read(row, 2).is_ok_and(|lease| lease.other(me).is_none())))
    };
    Ok(collect(&tx.query(sql, values![workspace]).await?, read))
}

/// See [`crate::Store::tasks`].
pub(in crate::postgres) async fn tasks(
    tx: &mut Tx<'_>,
    parent: &SessionId,
    me: &Identity,
) -> Done<Vec<Task>> {
    let sql = format!(
        "SELECT s.id, s.title, s.waits, s.created_at, s.kind, a.state, coalesce(a.used, 0), {LEASE_COLUMNS}
         FROM chat_sessions s LEFT JOIN chat_activity a ON a.tenant = s.tenant AND a.session = s.id
         LEFT JOIN leases l ON l.tenant = s.tenant AND l.session = s.id {WITH_HOLDER}
         WHERE s.tenant = $1 AND s.parent = $2 AND s.origin = 'background' ORDER BY s.created_at, s.id"
    );
    let rows = tx.query(sql, values![parent.as_str()]).await?;
    let last = newest_in(RowKind::Turns, "r.status");
    let mut asked = Vec::new();
    for row in &rows {
        asked.push(tx.of_tenant(last.clone(), values![text(row, 0)?]));
    }
    let last = if asked.is_empty() { Vec::new() } else { tx.queries(asked).await? };
    let mut last = last.into_iter();
    let read = |row: &Row| -> Result<Option<Task>, String> {
        let last = last.next().unwrap_or_default();
        let last = last.first().map(|row| text(row, 0)).transpose()?;
        let last = last.as_deref().map(variant::<TurnStatus>).transpose()?;
        let is_held = || Lease::read(row, 7).is_ok_and(|lease| lease.is_held(me));
        let rest = text_or_null(row, 5)?.and_then(|word| variant(&word).ok());
        let Some(state) = TaskState::of(boolean(row, 2)?, last, rest, is_held) else { return Ok(None) };
        Ok(Some(Task {
            session: SessionId::new(text(row, 0)?),
            title: text_or_null(row, 1)?,
            kind: text_or_null(row, 4)?,
            state,
            rest,
            used: number_or_null(row, 6)?.unwrap_or_default(),
            created_at: time(number(row, 3)?),
        }))
    };
    Ok(collect(&rows, read))
}

/// Reads rows; unreadable ones are logged.
fn collect<T>(rows: &[Row], mut read: impl FnMut(&Row) -> Result<Option<T>, String>) -> Vec<T> {
    let mut found = Vec::new();
    for row in rows {
        match read(row) {
            Ok(one) => found.extend(one),
            Err(reason) => tracing::warn!(reason, "a session that runs for another one cannot be read"),
        }
    }
    found
}
