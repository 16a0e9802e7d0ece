//! The full-text index of messages. Searches fill it and treat its hits as candidates: each is read and
//! checked by `engine::search`, and messages that are not indexed yet are checked without it.
//!
//! Commits do not add to it. The cost of an index grows with its size however its segments are merged, but a
//! commit must cost the same in long and short sessions; most sessions are never searched.
//!
//! Its tokens are all runs of three characters, because identifiers are searched by parts that no tokenizer
//! of words foresees: measured in `tests/search.rs` against one that splits at everything except letters,
//! digits and characters inside names, which missed half of them.

use super::read::message;
use super::{Fault, columns};
use columns::MESSAGE_COLUMNS;
use engine::id::{Ordinal, SessionId};
use engine::message::Message;
use engine::search::{Finder, Query, SearchPage, Words, folded};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Bits of the ordinal in a row id.
const ORD_BITS: u32 = 32;
/// The most runs of a query. More would not change the result: each hit is checked anyway.
const MOST_RUNS: usize = 24;
/// Index pages merged at a time, plus one per page of added messages. More makes small steps slow; fewer
/// leave more segments to search.
const MERGED_PAGES: i64 = 4;
/// Message bytes that one search adds to the index.
const SLICE_BYTES: usize = 1 << 20;

/// Replaces an indexed older version of a written message, so that edited text does not stay. Other messages
/// wait for a search.
pub(super) fn replace(tx: &Transaction<'_>, session: &SessionId, message: &Message) -> rusqlite::Result<()> {
    let Some(n) = number_if_any(tx, session)? else { return Ok(()) };
    if message.ord >= indexed(tx, session)? {
        return Ok(());
    }
    let row = row_id(n, message.ord);
    tx.prepare_cached("DELETE FROM search_messages WHERE rowid = ?1")?.execute([row])?;
    let said = message.body.said();
    insert(tx, row, &said)?;
    tidy(tx, said.len())
}

/// Removes messages from `from` on.
pub(super) fn forget(tx: &Transaction<'_>, session: &SessionId, from: Ordinal) -> rusqlite::Result<()> {
    let indexed = indexed(tx, session)?;
    let Some(n) = number_if_any(tx, session)?.filter(|_| from < indexed) else { return Ok(()) };
    // A full-text table cannot delete a range.
    let mut statement = tx.prepare_cached("DELETE FROM search_messages WHERE rowid = ?1")?;
    for ord in from.0..indexed.0 {
        statement.execute([row_id(n, Ordinal(ord))])?;
    }
    set_indexed(tx, session, from)
}

/// Removes a session that is being deleted, and its number.
pub(super) fn forget_all(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<()> {
    forget(tx, session, Ordinal(0))?;
    tx.execute("DELETE FROM search_sessions WHERE session = ?1", [session.as_str()]).map(drop)
}

/// Rewrites the indexes without deleted entries.
pub(super) fn purge(tx: &Transaction<'_>) -> rusqlite::Result<()> {
    for table in ["search_messages", "search_memories"] {
        tx.execute(&format!("INSERT INTO {table} ({table}) VALUES ('optimize')"), [])?;
    }
    Ok(())
}

/// Merges some segments. `added`: bytes of messages added since the last time.
fn tidy(tx: &Transaction<'_>, added: usize) -> rusqlite::Result<()> {
    let pages = MERGED_PAGES + i64::try_from(added / 4096).unwrap_or(i64::MAX / 2);
    tx.prepare_cached("INSERT INTO search_messages (search_messages, rank) VALUES ('merge', ?1)")?
        .execute([pages])
        .map(drop)
}

/// `true` if some messages are not indexed yet.
pub(super) fn lags(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<bool> {
    tx.prepare_cached(
        "SELECT 1 FROM chat_activity AS a WHERE session = ?1 AND EXISTS
             (SELECT 1 FROM chat_messages AS m WHERE m.session = a.session AND m.ord >= a.indexed)",
    )?
    .exists([session.as_str()])
}

/// Indexes the next messages, up to `SLICE_BYTES`.
pub(super) fn catch_up(tx: &Transaction<'_>, session: &SessionId) -> Result<(), Fault> {
    let n = number(tx, session)?;
    let mut next = indexed(tx, session)?;
    let mut bytes = 0;
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages AS m WHERE session = ?1 AND ord >= ?2 AND NOT EXISTS
             (SELECT 1 FROM chat_messages AS newer
              WHERE newer.session = m.session AND newer.ord = m.ord AND newer.rev > m.rev)
         ORDER BY ord"
    ))?;
    let mut rows = statement.query(params![session.as_str(), next.0])?;
    while let Some(row) = rows.next()?
        && bytes < SLICE_BYTES
    {
        next = Ordinal(row.get::<_, u32>(0)?).next();
        // An unreadable message cannot be found.
        if let Ok((_, message)) = message(tx, row) {
            let said = message.body.said();
            bytes += said.len();
            insert(tx, row_id(n, message.ord), &said)?;
        }
    }
    set_indexed(tx, session, next)?;
    Ok(tidy(tx, bytes)?)
}

/// See [`crate::Store::search`].
pub(super) fn search(tx: &Transaction<'_>, session: &SessionId, query: &Query) -> Result<SearchPage, Fault> {
    let mut finder = Finder::new(query);
    if query.words.is_empty() {
        return Ok(finder.finish());
    }
    let asked = asked(&query.words);
    let indexed = if asked.is_some() { indexed(tx, session)? } else { Ordinal(0) };
    let before = query.before.unwrap_or(Ordinal(u32::MAX));
    let goes_on = each(tx, session, indexed..before, &mut |message| finder.take(message))?;
    let (Some(asked), Some(n)) = (asked, number_if_any(tx, session)?) else { return Ok(finder.finish()) };
    if goes_on.is_break() {
        return Ok(finder.finish());
    }
    let mut places = tx.prepare_cached(PLACES)?;
    let end = row_id(n, before.min(indexed));
    let mut rows = places.query(params![asked, row_id(n, Ordinal(0)), end])?;
    while let Some(row) = rows.next()? {
        let ord = Ordinal(u32::try_from(row.get::<_, i64>(0)? & i64::from(u32::MAX)).unwrap_or(u32::MAX));
        if each(tx, session, ord..ord.next(), &mut |message| finder.take(message))?.is_break() {
            break;
        }
    }
    Ok(finder.finish())
}

/// Selects rows that may match, newest first.
pub(super) const PLACES: &str = "SELECT rowid FROM search_messages
     WHERE search_messages MATCH ?1 AND rowid >= ?2 AND rowid < ?3 ORDER BY rowid DESC";

/// Passes the newest versions of these messages to `take`, newest message first, until it returns `false`.
fn each(
    tx: &Transaction<'_>,
    session: &SessionId,
    range: std::ops::Range<Ordinal>,
    take: &mut dyn FnMut(&Message) -> bool,
) -> Result<ControlFlow<()>, Fault> {
    let mut statement = tx.prepare_cached(&format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE session = ?1 AND ord >= ?2 AND ord < ?3
         ORDER BY ord DESC, rev DESC"
    ))?;
    let mut rows = statement.query(params![session.as_str(), range.start.0, range.end.0])?;
    let (mut last, mut lost) = (None, Vec::new());
    while let Some(row) = columns::next(&mut rows, "messages", &mut lost)? {
        let ord: i64 = row.get(0)?;
        if last.replace(ord) == Some(ord) {
            continue;
        }
        if let Ok((_, message)) = message(tx, row)
            && !take(&message)
        {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The index query: runs that every match contains. `None` if all words are too short.
pub(super) fn asked(words: &Words) -> Option<String> {
    let mut runs: BTreeSet<String> = BTreeSet::new();
    for word in words.iter() {
        let chars: Vec<char> = word.chars().collect();
        // Every second run covers the word; the last one reaches its end.
        let starts = (0..chars.len().saturating_sub(2)).step_by(2).chain(chars.len().checked_sub(3));
        runs.extend(starts.filter_map(|at| chars.get(at..at + 3)).map(|run| run.iter().collect()));
    }
    let each: Vec<String> =
        runs.iter().take(MOST_RUNS).map(|run| format!("\"{}\"", run.replace('"', "\"\""))).collect();
    (!each.is_empty()).then(|| each.join(" AND "))
}

fn insert(tx: &Transaction<'_>, row: i64, said: &str) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT INTO search_messages (rowid, said) VALUES (?1, ?2)")?
        .execute(params![row, folded(said)])
        .map(drop)
}

fn row_id(n: u32, ord: Ordinal) -> i64 {
    (i64::from(n) << ORD_BITS) | i64::from(ord.0)
}

fn indexed(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Ordinal> {
    let found: Option<u32> = tx
        .prepare_cached("SELECT indexed FROM chat_activity WHERE session = ?1")?
        .query_row([session.as_str()], |row: &Row<'_>| row.get(0))
        .optional()?;
    Ok(Ordinal(found.unwrap_or_default()))
}

fn set_indexed(tx: &Transaction<'_>, session: &SessionId, upto: Ordinal) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE chat_activity SET indexed = ?2 WHERE session = ?1")?
        .execute(params![session.as_str(), upto.0])
        .map(drop)
}

fn number_if_any(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<u32>> {
    tx.prepare_cached("SELECT n FROM search_sessions WHERE session = ?1")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()
}

/// The session's number, assigned if it has none.
fn number(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<u32> {
    if let Some(n) = number_if_any(tx, session)? {
        return Ok(n);
    }
    tx.prepare_cached("INSERT INTO search_sessions (session) VALUES (?1) RETURNING n")?
        .query_row([session.as_str()], |row| row.get(0))
}
