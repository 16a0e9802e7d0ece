//! Rows of a session beside its transcript: queued commands, keys of accepted commands, the draft. The
//! session decides what a command does, and how many may wait.

use super::blobs::{QUEUED, content, drop_refs, put_for};
use super::columns::{CHANGED, json, next, number, place, text};
use super::{Fault, refused, segments};
use crate::Deleted;
use crate::blob::{join, split};
use crate::row::named_sum;
use engine::id::{ItemId, SessionId};
use engine::message::Text;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::queue::{Accepted, QueueItem};
use session::stored::KEPT_KEYS;

pub(super) const QUEUED_BY_ID: &str = "SELECT check_sum FROM chat_queue WHERE session = ?1 AND id = ?2";
pub(super) const NEXT_QUEUED: &str = "SELECT coalesce(max(n) + 1, 0) FROM chat_queue WHERE session = ?1";

/// Appends a command to the queue.
pub(super) fn enqueue(tx: &Transaction<'_>, session: &SessionId, item: &QueueItem) -> Result<(), Fault> {
    let (id, name) = (session.as_str(), item.id.as_str());
    let (row, blobs) = split(item).map_err(|error| refused(session, error.to_string()))?;
    let check_sum = named_sum(name, &row);
    let there: Option<i64> =
        tx.prepare_cached(QUEUED_BY_ID)?.query_row([id, name], |row| row.get(0)).optional()?;
    if let Some(there) = there {
        let other = || refused(session, format!("queued command {name} exists with other content"));
        return if there == check_sum { Ok(()) } else { Err(other()) };
    }
    let n: u32 = tx.prepare_cached(NEXT_QUEUED)?.query_row([id], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO chat_queue (session, n, id, check_sum, item) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![id, n, name, check_sum, row])?;
    Ok(put_for(tx, &segments::own_segment(tx, session)?, (QUEUED, n, 0), &blobs)?)
}

/// Removes a command from the queue, if it is there.
pub(super) fn dequeue(tx: &Transaction<'_>, session: &SessionId, item: &ItemId) -> Result<(), Fault> {
    let mut statement =
        tx.prepare_cached("DELETE FROM chat_queue WHERE session = ?1 AND id = ?2 RETURNING n")?;
    let row =
        statement.query_row([session.as_str(), item.as_str()], |row| row.get::<_, u32>(0)).optional()?;
    if let Some(n) = row {
        drop_refs(tx, &segments::own_segment(tx, session)?, QUEUED, n..=n)?;
    }
    Ok(())
}

pub(super) const SAME_KEY: &str =
    "SELECT 1 FROM chat_keys WHERE session = ?1 AND key = ?2 AND (check_sum, accepted) = (?3, ?4)";
pub(super) const OLD_KEYS: &str = "DELETE FROM chat_keys WHERE session = ?1 AND n <=
     (SELECT n FROM chat_keys WHERE session = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)";

/// Stores the answer to a key, and removes the oldest keys. An unreadable answer may be replaced.
pub(super) fn remember(
    tx: &Transaction<'_>,
    session: &SessionId,
    key: &str,
    accepted: &Accepted,
) -> Result<(), Fault> {
    let id = session.as_str();
    let row = serde_json::to_string(accepted).map_err(|error| refused(session, error.to_string()))?;
    let check_sum = named_sum(key, &row);
    if tx.prepare_cached(SAME_KEY)?.exists(params![id, key, check_sum, row])? {
        return Ok(());
    }
    tx.prepare_cached("DELETE FROM chat_keys WHERE session = ?1 AND key = ?2")?.execute([id, key])?;
    tx.prepare_cached(
        "INSERT INTO chat_keys (session, n, key, check_sum, accepted)
         SELECT ?1, coalesce(max(n) + 1, 0), ?2, ?3, ?4 FROM chat_keys WHERE session = ?1",
    )?
    .execute(params![id, key, check_sum, row])?;
    tx.prepare_cached(OLD_KEYS)?.execute(params![id, KEPT_KEYS])?;
    Ok(())
}

/// Stores or removes the draft.
pub(super) fn keep_draft(
    tx: &Transaction<'_>,
    session: &SessionId,
    draft: Option<&str>,
) -> Result<(), Fault> {
    let id = session.as_str();
    match draft {
        None => tx.prepare_cached("DELETE FROM chat_drafts WHERE session = ?1")?.execute([id])?,
        Some(draft) => tx
            .prepare_cached(
                "INSERT INTO chat_drafts (session, check_sum, draft) VALUES (?1, ?2, ?3)
                 ON CONFLICT (session) DO UPDATE SET check_sum = excluded.check_sum, draft = excluded.draft
                 WHERE (check_sum, draft) IS NOT (excluded.check_sum, excluded.draft)",
            )?
            .execute(params![id, named_sum("draft", draft), draft])?,
    };
    Ok(())
}

/// Deletes all of these rows; returns the deleted contents.
pub(super) fn delete(tx: &Transaction<'_>, session: &SessionId) -> Result<Deleted, Fault> {
    let deleted = drop_refs(tx, &segments::own_segment(tx, session)?, QUEUED, 0..=u32::MAX)?;
    for table in ["chat_queue", "chat_keys", "chat_drafts", "chat_streamed"] {
        tx.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [session.as_str()])?;
    }
    Ok(deleted)
}

/// Queued commands: urgent ones first, otherwise in order of acceptance.
pub(super) fn queue(
    tx: &Transaction<'_>,
    session: &SessionId,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<QueueItem>> {
    let sql = "SELECT n, id, check_sum, item FROM chat_queue WHERE session = ?1 ORDER BY n";
    let item = |row: &Row<'_>| join(checked(row)?.1, &mut |hash| content(tx, hash));
    let mut queue: Vec<QueueItem> = collect(tx, session, sql, "queued command", item, unreadable)?;
    queue.sort_by_key(|item| !item.priority);
    Ok(queue)
}

/// Keys of accepted commands with their answers, oldest first.
pub(super) fn keys(
    tx: &Transaction<'_>,
    session: &SessionId,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<(String, Accepted)>> {
    let sql = "SELECT n, key, check_sum, accepted FROM chat_keys WHERE session = ?1 ORDER BY n";
    let key = |row: &Row<'_>| {
        let (key, accepted) = checked(row)?;
        Ok((key.to_owned(), json(accepted)?))
    };
    collect(tx, session, sql, "accepted command", key, unreadable)
}

/// The unsent text of the user.
pub(super) fn draft(
    tx: &Transaction<'_>,
    session: &SessionId,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Option<Text>> {
    let sql = "SELECT 0, 'draft', check_sum, draft FROM chat_drafts WHERE session = ?1";
    let draft = |row: &Row<'_>| Ok(Text::from(checked(row)?.1));
    Ok(collect(tx, session, sql, "draft", draft, unreadable)?.pop())
}

/// Name and value of a row (columns 1 and 3), if its check sum is right.
fn checked<'a>(row: &'a Row<'_>) -> Result<(&'a str, &'a str), String> {
    let (name, value) = (text(row, 1)?, text(row, 3)?);
    if named_sum(name, value) == number::<i64>(row, 2)? { Ok((name, value)) } else { Err(CHANGED.to_owned()) }
}

/// Reads these rows; unreadable ones are reported under `what`.
fn collect<T>(
    tx: &Transaction<'_>,
    session: &SessionId,
    sql: &str,
    what: &str,
    read: impl Fn(&Row<'_>) -> Result<T, String>,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = tx.prepare_cached(sql)?;
    let mut rows = statement.query([session.as_str()])?;
    let mut found = Vec::new();
    while let Some(row) = next(&mut rows, what, unreadable)? {
        match read(row) {
            Ok(value) => found.push(value),
            Err(reason) => unreadable.push(format!("{what} {}: {reason}", place(row))),
        }
    }
    Ok(found)
}
