//! Reads sessions from rows. Unreadable rows are reported with position and reason, and the rest is still
//! read.

pub(super) mod list;
pub(super) mod records;

pub(super) use list::list;
pub(super) use records::{compaction, compactions, record};

use super::blobs::content;
use super::columns::{
    MESSAGE_COLUMNS, json, message_row, next, number, place, text, text_or_null, time, variant,
};
use super::leases::Lease;
use super::segments::{self, RowKind};
use super::{Fault, streamed, waiting};
use crate::lost::{FoundOrLost, Left, Lost, Parts, in_order};
use engine::id::{Generation, Ordinal, SessionId, TurnId};
use engine::message::Message;
use rusqlite::{OptionalExtension, Row, Transaction};
use session::renaming::Renaming;
use session::stored::{Head, Prefix, Stored, TurnRow};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

pub(super) const HEAD: &str = "SELECT s.workspace, s.title, s.driver, s.kind, s.parent, s.work_scope, s.generation, s.cuts, s.settings, s.prefix,
            s.created_at, a.updated_at, s.title_from, s.origin, a.accepted, a.carried, s.waits
     FROM chat_sessions s LEFT JOIN chat_activity a ON a.session = s.id WHERE s.id = ?1";

pub(super) const PULSE: &str = "SELECT a.commits, a.rewrites, l.fence, l.holder, l.pid, l.since
     FROM chat_activity a LEFT JOIN leases l ON l.session = a.session WHERE a.session = ?1";

/// The session's commits, its rewriting commits, and its lease.
pub(super) fn pulse(
    tx: &Transaction<'_>,
    session: &SessionId,
) -> rusqlite::Result<Option<(u64, u64, Option<Lease>)>> {
    let row = |row: &Row<'_>| {
        let fence: Option<u64> = row.get(2)?;
        let lease = |fence| -> rusqlite::Result<Lease> {
            Ok(Lease { fence, holder: row.get(3)?, pid: row.get(4)?, since: time(row.get(5)?) })
        };
        Ok((row.get(0)?, row.get(1)?, fence.map(lease).transpose()?))
    };
    tx.prepare_cached(PULSE)?.query_row([session.as_str()], row).optional()
}

/// Loads a session without messages before `from`.
pub(super) fn load(
    tx: &Transaction<'_>,
    session: &SessionId,
    from: Ordinal,
) -> Result<Option<Stored>, Fault> {
    let mut unreadable = Vec::new();
    let Some(head) = head_of(tx, session, &mut unreadable)? else { return Ok(None) };
    let turns = turns(tx, session, 0, &mut unreadable)?;
    let told = unreadable.len();
    let messages = messages(tx, session, from, &mut unreadable)?;
    // A damaged page can end a table early without a trace in the rows that are read.
    let counted: Option<u32> =
        tx.prepare_cached(COUNTED)?.query_row([session.as_str()], |row| row.get(0)).optional()?;
    let here = u32::try_from(messages.len()).unwrap_or(u32::MAX).saturating_add(from.0);
    if let Some(missing) =
        counted.and_then(|counted| counted.checked_sub(here)).filter(|missing| *missing > 0)
        && unreadable.len() == told
    {
        unreadable.push(format!("{missing} messages are missing"));
    }
    let compactions = compactions(tx, session, &mut unreadable)?;
    let queue = waiting::queue(tx, session, &mut unreadable)?;
    let keys = waiting::keys(tx, session, &mut unreadable)?;
    let draft = waiting::draft(tx, session, &mut unreadable)?;
    let streamed =
        streamed::pieces(tx, session, 0, &mut unreadable)?.into_iter().map(|(_, piece)| piece).collect();
    Ok(Some(Stored { head, turns, messages, compactions, queue, keys, draft, streamed, unreadable }))
}

/// The session's stored count of messages.
pub(super) const COUNTED: &str = "SELECT messages FROM chat_activity WHERE session = ?1";

/// Reads the session's own row.
pub(super) fn head_of(
    tx: &Transaction<'_>,
    session: &SessionId,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Option<Head>> {
    let mut statement = tx.prepare_cached(HEAD)?;
    let read = |row: &Row<'_>| Ok(head(tx, session, row, unreadable));
    statement.query_row([session.as_str()], read).optional()
}

/// The head, with defaults for unreadable parts.
fn head(tx: &Transaction<'_>, session: &SessionId, row: &Row<'_>, unreadable: &mut Vec<String>) -> Head {
    let mut parts = Parts { unreadable };
    Head {
        id: session.clone(),
        workspace: parts.part("workspace", text(row, 0)).to_owned(),
        title: parts.part("title", text_or_null(row, 1)).map(str::to_owned),
        driver: parts.part("driver", text(row, 2).and_then(variant)),
        kind: parts.part("kind", text_or_null(row, 3)).map(str::to_owned),
        parent: parts.part("parent", text_or_null(row, 4)).map(SessionId::new),
        work_scope: parts.part("work scope", text_or_null(row, 5)).map(str::to_owned),
        generation: Generation(parts.part("generation", number(row, 6))),
        cuts: parts.part("cuts", number(row, 7)),
        title_from: parts.part(
            "origin of the title",
            text_or_null(row, 12).and_then(|word| word.map(variant).transpose()),
        ),
        origin: parts.part("origin", text(row, 13).and_then(variant)),
        accepted: parts.part("number of commands", number(row, 14)),
        waits: parts.part("waiting state", number::<u8>(row, 16)) != 0,
        carried: parts.part("carried state", text(row, 15).and_then(json)),
        settings: parts.part("settings", text(row, 8).and_then(json)),
        prefix: parts.part::<Prefix>("prefix", text(row, 9).and_then(|hash| json(&content(tx, hash)?))),
        created_at: parts.part("creation time", number(row, 10).map(time)),
        updated_at: parts.part("time of last use", number(row, 11).map(time)),
    }
}

pub(super) const TURNS: &str = "SELECT idx, id, status, started, decided, figures FROM chat_turns
     WHERE segment = ?1 AND idx >= ?2 AND idx < ?3 ORDER BY idx";

/// Turns from this index on.
pub(super) fn turns(
    tx: &Transaction<'_>,
    session: &SessionId,
    from: u32,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<TurnRow>> {
    let mut found = Vec::new();
    for span in segments::spans(tx, session, RowKind::Turns, from..u32::MAX)? {
        let mut statement = tx.prepare_cached(TURNS)?;
        let mut rows = statement.query(span.bounds())?;
        while let Some(row) = next(&mut rows, "turns", unreadable)? {
            match turn(row) {
                Ok(turn) => found.push(span.renaming.iter().fold(turn, |turn, renaming| renaming.turn(turn))),
                Err(reason) => unreadable.push(format!("turn {}: {reason}", place(row))),
            }
        }
    }
    Ok(found)
}

fn turn(row: &Row<'_>) -> Result<TurnRow, String> {
    Ok(TurnRow {
        index: number(row, 0)?,
        id: TurnId::new(text(row, 1)?),
        status: variant(text(row, 2)?)?,
        started: row.get::<_, Option<u32>>(3).map_err(|error| error.to_string())?.map(Ordinal),
        decided: serde_json::from_str(text(row, 4)?).map_err(|error| error.to_string())?,
        // Figures that cannot be read are not worth a turn.
        figures: serde_json::from_str(text(row, 5)?).unwrap_or_default(),
    })
}

pub(super) const LAST_STATUS: &str = "SELECT status FROM chat_turns
     WHERE segment = ?1 AND idx >= ?2 AND idx < ?3 ORDER BY idx DESC LIMIT 1";

/// The status of a session's last turn, as it is stored.
pub(super) fn last_status(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<String>> {
    segments::newest(tx, (session, RowKind::Turns, 0..u32::MAX), |span| {
        let of = span.bounds();
        tx.prepare_cached(LAST_STATUS)?.query_row(of, |row| row.get(0)).optional()
    })
}

/// A message with the index of its turn, or the reason why it is unreadable.
type Found = Result<(u32, Arc<Message>), String>;

/// The newest version of each message from `from` on.
pub(super) fn messages(
    tx: &Transaction<'_>,
    session: &SessionId,
    from: Ordinal,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<(u32, Arc<Message>)>> {
    messages_between(tx, session, from..Ordinal(u32::MAX), unreadable)
}

/// The newest version of each message in a range, with a stand-in for each unreadable one. After a damaged page, the
/// rest is read from the other end.
pub(super) fn messages_between(
    tx: &Transaction<'_>,
    session: &SessionId,
    range: Range<Ordinal>,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<(u32, Arc<Message>)>> {
    let mut found = BTreeMap::new();
    let damages = unreadable.len();
    collect(tx, (session, &range), "ASC", &mut found, unreadable)?;
    if unreadable.len() > damages {
        collect(tx, (session, &range), "DESC", &mut found, unreadable)?;
        unreadable.truncate(damages + 1);
    }
    Ok(in_order(found, range.start, unreadable))
}

/// See [`crate::Store::older_versions`].
pub(super) fn older_versions(
    tx: &Transaction<'_>,
    session: &SessionId,
) -> rusqlite::Result<Vec<(u32, Arc<Message>)>> {
    let mut found = Vec::new();
    for span in segments::spans(tx, session, RowKind::Messages, 0..u32::MAX)? {
        let mut statement = tx.prepare_cached(&format!(
            "SELECT {MESSAGE_COLUMNS} FROM chat_messages AS m
             WHERE segment = ?1 AND ord >= ?2 AND ord < ?3 AND EXISTS
                 (SELECT 1 FROM chat_messages AS newer
                  WHERE newer.segment = m.segment AND newer.ord = m.ord AND newer.rev > m.rev)
             ORDER BY ord, rev"
        ))?;
        let mut rows = statement.query(span.bounds())?;
        while let Some(row) = next(&mut rows, "messages", &mut Vec::new())? {
            found.extend(message(tx, row, span.renaming.as_ref()).ok());
        }
    }
    Ok(found)
}

pub(super) fn messages_sql(order: &str) -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE segment = ?1 AND ord >= ?2 AND ord < ?3
         ORDER BY ord {order}, rev {order}"
    )
}

fn collect(
    tx: &Transaction<'_>,
    (session, range): (&SessionId, &Range<Ordinal>),
    order: &str,
    found: &mut BTreeMap<i64, (i64, FoundOrLost)>,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<()> {
    for span in segments::spans(tx, session, RowKind::Messages, range.start.0..range.end.0)? {
        let mut statement = tx.prepare_cached(&messages_sql(order))?;
        let mut rows = statement.query(span.bounds())?;
        while let Some(row) = next(&mut rows, "messages", unreadable)? {
            let (ord, rev) = (row.get(0)?, row.get(1)?);
            if found.get(&ord).is_none_or(|(newest, _)| *newest < rev) {
                let renaming = span.renaming.as_ref();
                let message = message(tx, row, renaming)
                    .map_err(|reason| Lost::of(session, (ord, rev), left(row), reason).renamed(renaming));
                found.insert(ord, (rev, message));
            }
        }
    }
    Ok(())
}

/// What is left of an unreadable row with [`MESSAGE_COLUMNS`].
fn left<'a>(row: &'a Row<'_>) -> Left<'a> {
    let optional = |column| text_or_null(row, column).ok().flatten();
    Left {
        turn: number(row, 2).ok(),
        role: text(row, 3).ok(),
        external_id: optional(4),
        message_id: text(row, 5).ok(),
        turn_id: text(row, 6).ok(),
        visible: number::<u8>(row, 7) != Ok(0),
        created_at: optional(8),
    }
}

/// Reads a message from a row with [`MESSAGE_COLUMNS`].
pub(super) fn message(tx: &Transaction<'_>, row: &Row<'_>, renaming: Option<&Renaming>) -> Found {
    message_row(row)?.message(&mut |hash| content(tx, hash), renaming)
}

pub(super) const FIND: &str =
    "SELECT s.id FROM chat_messages m JOIN chat_sessions s ON s.segment = m.segment
     WHERE m.external_id = ?1 AND m.role = 'user'
     UNION ALL SELECT h.session FROM chat_messages m JOIN shares h ON h.segment = m.segment
     WHERE m.external_id = ?1 AND m.role = 'user' AND h.kind = 'messages' AND h.until > m.ord AND h.start <= m.ord";

/// See [`crate::Store::find`].
pub(super) fn find(
    tx: &Transaction<'_>,
    external_ids: &[String],
    workspace: &str,
) -> rusqlite::Result<Option<SessionId>> {
    let mut held: BTreeMap<String, u32> = BTreeMap::new();
    let mut statement = tx.prepare_cached(FIND)?;
    for external_id in external_ids {
        let sessions = statement.query_map([external_id], |row| row.get(0))?;
        // One for each version of the message.
        let sessions: BTreeSet<String> = sessions.collect::<Result<_, _>>()?;
        for session in sessions {
            *held.entry(session).or_default() += 1;
        }
    }
    let mut used = tx.prepare_cached(
        "SELECT a.updated_at, s.parent IS NULL FROM chat_activity a JOIN chat_sessions s ON s.id = a.session
         WHERE a.session = ?1 AND a.workspace = ?2 AND a.is_revision = 0",
    )?;
    let mut best = None;
    for (session, ids) in held {
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?));
        if let Some((updated_at, is_first)) = used.query_row([&session, workspace], row).optional()? {
            best = best.max(Some((ids, updated_at, is_first, Reverse(session))));
        }
    }
    Ok(best.map(|(.., Reverse(session))| SessionId::new(session)))
}

/// See [`crate::Store::workspace`].
pub(super) fn workspace(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<String>> {
    let mut statement = tx.prepare_cached("SELECT workspace FROM chat_sessions WHERE id = ?1")?;
    statement.query_row([session.as_str()], |row| row.get(0)).optional()
}
