//! Copies of rows that a session changes while others have them, too.

use super::{RowKind, Span, drop_unused, insert_share, own_segment, spans};
use crate::sqlite::Done;
use crate::sqlite::blobs::MESSAGE;
use crate::sqlite::columns::{MESSAGE_COLUMNS, MessageRow, message_row};
use engine::id::SessionId;
use rusqlite::{OptionalExtension, Transaction, params};

/// Which versions of a message are copied.
#[derive(Clone, Copy)]
pub(super) enum Versions {
    All,
    Newest,
}

/// Copies a row and the references to its contents into the own segment, under the session's ids. From now on it is the
/// session's own.
pub(super) fn copy(
    tx: &Transaction<'_>,
    session: &SessionId,
    own: &str,
    (kind, at): (RowKind, u32),
    versions: Versions,
) -> Done {
    let here = spans(tx, session, kind, at..at.saturating_add(1))?;
    let Some(span) = here.first().filter(|span| !span.is_own) else { return Ok(()) };
    match kind {
        RowKind::Messages => copy_message(tx, own, at, span, versions)?,
        RowKind::Turns => copy_turn(tx, own, at, span)?,
        // A record never changes; its status is beside it.
        RowKind::Compactions => {}
    }
    let share: (u32, u32) = tx
        .prepare_cached(
            "DELETE FROM shares WHERE session = ?1 AND kind = ?2 AND start <= ?3 AND until > ?3
             RETURNING start, until",
        )?
        .query_row(params![session.as_str(), kind.word(), at], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (start, until) = share;
    insert_share(tx, session, kind, &span.segment, start..at)?;
    insert_share(tx, session, kind, &span.segment, at.saturating_add(1)..until)?;
    drop_unused(tx, &span.segment).map(drop)
}

fn copy_message(tx: &Transaction<'_>, own: &str, at: u32, span: &Span, versions: Versions) -> Done {
    let newest = "SELECT coalesce(max(rev), 0) FROM chat_messages WHERE segment = ?1 AND ord = ?2";
    let from: u32 = match versions {
        Versions::All => 0,
        Versions::Newest => {
            tx.prepare_cached(newest)?.query_row(params![span.segment, at], |row| row.get(0))?
        }
    };
    // Raw, so that what is unreadable there is so here.
    tx.prepare_cached(
        "INSERT INTO chat_messages
             (segment, ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash, check_sum,
              body, shown)
         SELECT ?3, ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at, tokens, hash, check_sum,
              body, shown FROM chat_messages WHERE segment = ?1 AND ord = ?2 AND rev >= ?4",
    )?
    .execute(params![span.segment, at, own, from])?;
    tx.prepare_cached(
        "INSERT INTO blob_refs (segment, owner, n, rev, hash)
         SELECT ?2, owner, n, rev, hash FROM blob_refs WHERE segment = ?1 AND owner = ?3 AND n = ?4 AND rev >= ?5",
    )?
    .execute(params![span.segment, own, MESSAGE, at, from])?;
    let Some(renaming) = &span.renaming else { return Ok(()) };
    let sql = format!("SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE segment = ?1 AND ord = ?2");
    let mut statement = tx.prepare_cached(&sql)?;
    let mut rows = statement.query(params![span.segment, at])?;
    while let Some(row) = rows.next()? {
        let Ok(row) = message_row(row) else { continue };
        let (id, turn) = (renaming.id(row.message_id), renaming.id(row.turn_id));
        let renamed = MessageRow { message_id: &id, turn_id: &turn, ..row };
        tx.prepare_cached(
            "UPDATE chat_messages SET message_id = ?4, turn_id = ?5, check_sum = ?6
             WHERE segment = ?1 AND ord = ?2 AND rev = ?3",
        )?
        .execute(params![own, at, renamed.rev, id, turn, renamed.check_sum()])?;
    }
    Ok(())
}

fn copy_turn(tx: &Transaction<'_>, own: &str, at: u32, span: &Span) -> Done {
    let sql = "SELECT id FROM chat_turns WHERE segment = ?1 AND idx = ?2";
    let known: Option<String> =
        tx.prepare_cached(sql)?.query_row(params![span.segment, at], |row| row.get(0)).optional()?;
    let id = known.map(|known| span.renaming.as_ref().map_or(known.clone(), |renaming| renaming.id(&known)));
    // A session does not take over what another one decided.
    tx.prepare_cached(
        "INSERT INTO chat_turns (segment, idx, id, status, started, decided, figures)
         SELECT ?3, idx, ?4, status, started, iif(?5, '[]', decided), figures FROM chat_turns
         WHERE segment = ?1 AND idx = ?2",
    )?
    .execute(params![span.segment, at, own, id, span.renaming.is_some()])?;
    Ok(())
}

/// Gives a session only the newest version of what it shares: what its session changed was never the branch's.
pub(in crate::sqlite) fn forget_versions(tx: &Transaction<'_>, session: &SessionId) -> Done {
    let own = own_segment(tx, session)?;
    for span in spans(tx, session, RowKind::Messages, 0..u32::MAX)? {
        let mut statement = tx.prepare_cached(CHANGED_BETWEEN)?;
        let of = span.bounds();
        let changed = statement.query_map(of, |row| row.get(0))?;
        for ord in changed.collect::<Result<Vec<u32>, _>>()? {
            copy(tx, session, &own, (RowKind::Messages, ord), Versions::Newest)?;
        }
    }
    Ok(())
}

pub(in crate::sqlite) const CHANGED_BETWEEN: &str =
    "SELECT DISTINCT ord FROM chat_messages WHERE segment = ?1 AND ord >= ?2 AND ord < ?3 AND rev > 0";
