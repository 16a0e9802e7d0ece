//! Writes messages, and what their session says of them: counts, its first request.

use super::count_rewrite;
use crate::blob::split;
use crate::request_of;
use crate::sqlite::blobs::{MESSAGE, put_for};
use crate::sqlite::columns::{MESSAGE_COLUMNS, MessageRow};
use crate::sqlite::segments::{self, RowKind};
use crate::sqlite::{Done, read, refused, search};
use engine::id::{Ordinal, SessionId};
use engine::message::Message;
use rusqlite::{OptionalExtension, Transaction, params};
use std::ops::Range;

pub(in crate::sqlite) fn append(
    tx: &Transaction<'_>,
    session: &SessionId,
    turn: u32,
    message: &Message,
) -> Done {
    let (body, blobs) = split(&message.body).map_err(|error| refused(session, error.to_string()))?;
    let row = MessageRow::of(turn, message, &body);
    let segment = segments::own(tx, session, RowKind::Messages, row.ord)?;
    let inserted = insert_message(tx, &segment, &row)?;
    if inserted == 0 {
        let there: i64 = tx
            .prepare_cached(
                "SELECT check_sum FROM chat_messages WHERE segment = ?1 AND ord = ?2 AND rev = ?3",
            )?
            .query_row(params![segment, row.ord, row.rev], |row| row.get(0))?;
        let same = there == row.check_sum();
        // The editor's id of a message may become known later.
        if !same && row.external_id.is_some() {
            let learned = tx
                .prepare_cached(
                    "UPDATE chat_messages SET external_id = ?4, check_sum = ?5 WHERE segment = ?1 AND ord = ?2
                     AND rev = ?3 AND external_id IS NULL AND hash = ?6",
                )?
                .execute(params![segment, row.ord, row.rev, row.external_id, row.check_sum(), row.hash])?;
            if learned == 1 {
                return Ok(count_rewrite(tx, session)?);
            }
        }
        let other = || {
            refused(session, format!("message {} (revision {}) exists with other content", row.ord, row.rev))
        };
        return if same { Ok(()) } else { Err(other()) };
    }
    put_for(tx, &segment, (MESSAGE, row.ord, row.rev), &blobs)?;
    let (versions, newest): (u32, u32) = tx
        .prepare_cached("SELECT count(*), max(rev) FROM chat_messages WHERE segment = ?1 AND ord = ?2")?
        .query_row(params![segment, row.ord], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if versions > 1 {
        count_rewrite(tx, session)?;
    } else {
        tx.prepare_cached("UPDATE chat_activity SET messages = messages + 1 WHERE session = ?1")?
            .execute([session.as_str()])?;
    }
    if newest == row.rev {
        search::replace(tx, session, message)?;
        follow_requests(tx, session, message, versions > 1)?;
    }
    Ok(())
}

/// Updates the beginning of the first request, from its newest version.
pub(in crate::sqlite) fn follow_requests(
    tx: &Transaction<'_>,
    session: &SessionId,
    message: &Message,
    is_edit: bool,
) -> Done {
    let (id, ord) = (session.as_str(), message.ord.0);
    if let Some(request) = request_of(message) {
        tx.prepare_cached(
            "UPDATE chat_sessions SET first_request = ?2, first_request_ord = ?3
             WHERE id = ?1 AND (first_request_ord IS NULL OR first_request_ord >= ?3)",
        )?
        .execute(params![id, request, ord])?;
        return Ok(());
    }
    let was_first = || -> rusqlite::Result<bool> {
        tx.prepare_cached("SELECT 1 FROM chat_sessions WHERE id = ?1 AND first_request_ord = ?2")?
            .exists(params![id, ord])
    };
    if !is_edit || !was_first()? {
        return Ok(());
    }
    let mut first = None;
    for span in segments::spans(tx, session, RowKind::Messages, ord.saturating_add(1)..u32::MAX)? {
        let mut statement = tx.prepare_cached(&later_requests())?;
        let mut rows = statement.query(span.bounds())?;
        while first.is_none()
            && let Some(row) = rows.next()?
        {
            // An unreadable message cannot be shown.
            let message = read::message(tx, row, None).ok();
            first = message.and_then(|(_, later)| Some((request_of(&later)?, later.ord.0)));
        }
        if first.is_some() {
            break;
        }
    }
    let (request, ord) = first.unzip();
    tx.prepare_cached("UPDATE chat_sessions SET first_request = ?2, first_request_ord = ?3 WHERE id = ?1")?
        .execute(params![id, request, ord])?;
    Ok(())
}

/// Selects the newest versions of requests between two positions.
pub(in crate::sqlite) fn later_requests() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages AS m
         WHERE segment = ?1 AND ord >= ?2 AND ord < ?3 AND role = 'user' AND visible = 1 AND NOT EXISTS
             (SELECT 1 FROM chat_messages AS newer
              WHERE newer.segment = m.segment AND newer.ord = m.ord AND newer.rev > m.rev)
         ORDER BY ord"
    )
}

/// Inserts a row into a segment, unless it has one of this position and version. Returns the number of inserted rows.
fn insert_message(tx: &Transaction<'_>, segment: &str, row: &MessageRow<'_>) -> rusqlite::Result<usize> {
    let mut statement = tx.prepare_cached(
        "INSERT INTO chat_messages
             (segment, ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash,
              check_sum, body, shown)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) ON CONFLICT DO NOTHING",
    )?;
    statement.execute(params![
        segment,
        row.ord,
        row.rev,
        row.turn,
        row.role,
        row.external_id,
        row.message_id,
        row.turn_id,
        row.visible,
        row.created_at,
        row.tokens,
        row.hash,
        row.check_sum(),
        row.body,
        row.shown.as_deref(),
    ])
}

/// Deletes messages from `from` on and turns from `turns` on.
pub(in crate::sqlite) fn truncate(
    tx: &Transaction<'_>,
    session: &SessionId,
    from: Ordinal,
    turns: u32,
) -> Done {
    let id = session.as_str();
    let gone = number_in(tx, session, from.0..u32::MAX)?;
    let turns_gone = segments::number_of(tx, session, RowKind::Turns, turns..u32::MAX)?;
    segments::cut(tx, session, RowKind::Messages, from.0)?;
    segments::cut(tx, session, RowKind::Turns, turns)?;
    tx.prepare_cached(
        "UPDATE chat_activity SET messages = messages - ?2, turns = turns - ?3 WHERE session = ?1",
    )?
    .execute(params![id, gone, turns_gone])?;
    count_rewrite(tx, session)?;
    search::forget(tx, session, from)?;
    tx.prepare_cached(
        "UPDATE chat_sessions SET first_request = NULL, first_request_ord = NULL
         WHERE id = ?1 AND first_request_ord >= ?2",
    )?
    .execute(params![id, from.0])?;
    Ok(())
}

/// The number of a session's messages in a range. They are counted only if some are missing.
pub(super) fn number_in(
    tx: &Transaction<'_>,
    session: &SessionId,
    range: Range<u32>,
) -> rusqlite::Result<u32> {
    let counted: Option<u32> =
        tx.prepare_cached(read::COUNTED)?.query_row([session.as_str()], |row| row.get(0)).optional()?;
    let end = segments::end(tx, session, RowKind::Messages)?;
    match counted {
        Some(counted) if counted == end => Ok(range.end.min(end).saturating_sub(range.start)),
        _ => segments::number_of(tx, session, RowKind::Messages, range),
    }
}
