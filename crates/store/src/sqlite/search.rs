//! The full-text index of pieces of messages. Searches fill it and take from it how many pieces contain each term, and
//! the best candidates by FTS5's BM25; `engine::search` reads, scores and orders them. Messages that are not indexed yet
//! are counted and ranked without it, so the order of hits does not depend on how far the index is.
//!
//! Terms are stored as keyed hashes, with a key of each session that is deleted with it. FTS5 removes entries
//! only when it merges its segments; until then nothing of a deleted session can be read from them.
//!
//! Commits do not add to it. The cost of an index grows with its size however its segments are merged, but a
//! commit must cost the same in long and short sessions; most sessions are never searched. What commits brought to one
//! that was is indexed while the store is idle.

use super::read::{message, messages_sql};
use super::segments::{self, RowKind};
use super::{Fault, columns};
use crate::blob::{has_reference, keyed_hash};
use columns::MESSAGE_COLUMNS;
use engine::id::{Ordinal, SessionId};
use engine::message::Message;
use engine::search::pieces::{MOST_PIECES, pieces};
use engine::search::{AllWords, MOST_RANKED, Query, Ranking, SearchPage};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Bits of a piece's number in a row id.
const PIECE_BITS: u32 = MOST_PIECES.ilog2();
/// Bits of the ordinal in a row id. A message beyond is not indexed.
const ORD_BITS: u32 = 25;
/// Index pages merged at a time, plus one per page of added messages. More makes small steps slow; fewer
/// leave more segments to search.
const MERGED_PAGES: i64 = 4;
/// Bytes of a piece, about.
const PIECE_BYTES: usize = 1024;
/// Message bytes that one search adds to the index.
pub(super) const SLICE_BYTES: usize = 1 << 20;
/// The same of an idle store, for which the next commit may have to wait.
pub(super) const IDLE_BYTES: usize = 1 << 16;

/// Replaces an indexed older version of a written message, so that edited text does not stay. Other messages
/// are indexed later.
pub(super) fn replace(tx: &Transaction<'_>, session: &SessionId, message: &Message) -> rusqlite::Result<()> {
    let Some(entry) = entry_if_any(tx, session)? else { return Ok(()) };
    if message.ord >= indexed(tx, session)? {
        return Ok(());
    }
    remove(tx, row_id(entry.n, message.ord), row_id(entry.n, message.ord.next()))?;
    let added = insert(tx, &entry, message)?;
    tidy(tx, added)
}

/// Removes messages from `from` on.
pub(super) fn forget(tx: &Transaction<'_>, session: &SessionId, from: Ordinal) -> rusqlite::Result<()> {
    let indexed = indexed(tx, session)?;
    let Some(entry) = entry_if_any(tx, session)?.filter(|_| from < indexed) else { return Ok(()) };
    let removed = remove(tx, row_id(entry.n, from), row_id(entry.n, indexed))?;
    // Removed entries cost space until their segments are merged.
    tidy(tx, removed * PIECE_BYTES)?;
    set_indexed(tx, session, from)
}

/// Removes a range of rows, which a full-text table cannot do at once; returns their number.
fn remove(tx: &Transaction<'_>, from: i64, to: i64) -> rusqlite::Result<usize> {
    let mut rows = tx.prepare_cached("SELECT id FROM search_pieces_docsize WHERE id >= ?1 AND id < ?2")?;
    let rows: Vec<i64> = rows.query_map([from, to], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut statement = tx.prepare_cached("DELETE FROM search_pieces WHERE rowid = ?1")?;
    for row in &rows {
        statement.execute([row])?;
    }
    Ok(rows.len())
}

/// Removes a session that is being deleted, its number and its key.
pub(super) fn forget_all(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<()> {
    forget(tx, session, Ordinal(0))?;
    let gone = tx.execute("DELETE FROM search_sessions WHERE session = ?1", [session.as_str()])?;
    let is_empty = || -> rusqlite::Result<bool> {
        tx.query_row("SELECT NOT EXISTS (SELECT 1 FROM search_pieces_docsize)", [], |row| row.get(0))
    };
    if gone > 0 && is_empty()? {
        tx.execute("INSERT INTO search_pieces (search_pieces) VALUES ('delete-all')", [])?;
    }
    Ok(())
}

/// Merges some segments. `added`: bytes of messages added since the last time.
fn tidy(tx: &Transaction<'_>, added: usize) -> rusqlite::Result<()> {
    let pages = MERGED_PAGES + i64::try_from(added / 4096).unwrap_or(i64::MAX / 2);
    tx.prepare_cached("INSERT INTO search_pieces (search_pieces, rank) VALUES ('merge', ?1)")?
        .execute([pages])
        .map(drop)
}

/// `true` if the session has an index.
pub(super) fn is_searched(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<bool> {
    Ok(entry_if_any(tx, session)?.is_some())
}

/// `true` if some messages are not indexed yet.
pub(super) fn lags(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<bool> {
    Ok(indexed(tx, session)?.0 < segments::end(tx, session, RowKind::Messages)?)
}

/// Indexes the next messages, about so many bytes of them.
pub(super) fn catch_up(tx: &Transaction<'_>, session: &SessionId, most: usize) -> Result<(), Fault> {
    let entry = entry(tx, session)?;
    let mut next = indexed(tx, session)?;
    let mut bytes = 0;
    for span in segments::spans(tx, session, RowKind::Messages, next.0..u32::MAX)? {
        let mut statement = tx.prepare_cached(&format!(
            "SELECT {MESSAGE_COLUMNS} FROM chat_messages AS m
             WHERE segment = ?1 AND ord >= ?2 AND ord < ?3 AND NOT EXISTS
                 (SELECT 1 FROM chat_messages AS newer
                  WHERE newer.segment = m.segment AND newer.ord = m.ord AND newer.rev > m.rev)
             ORDER BY ord"
        ))?;
        let mut rows = statement.query(span.bounds())?;
        while bytes < most
            && let Some(row) = rows.next()?
        {
            next = Ordinal(row.get::<_, u32>(0)?).next();
            // An unreadable message cannot be found.
            if let Ok((_, message)) = message(tx, row, span.renaming.as_ref()) {
                // Terms are few in images, which take as long to read.
                bytes += insert(tx, &entry, &message)?.max(message.body.bytes());
            }
        }
    }
    set_indexed(tx, session, next)?;
    Ok(tidy(tx, bytes)?)
}

/// See [`crate::Store::search`].
pub(super) fn search(tx: &Transaction<'_>, session: &SessionId, query: &Query) -> Result<SearchPage, Fault> {
    if !query.words.terms().is_empty() {
        let ranking = ranked(tx, session, query)?;
        if ranking.has_found() {
            return Ok(ranking.finish());
        }
    }
    let mut whole = AllWords::new(query);
    if !query.words.is_empty() {
        let may = |body: &str| has_reference(body) || query.words.may_be_in(body);
        let all = Ordinal(0)..Ordinal(u32::MAX);
        let _ = each(tx, session, all, may, &mut |message| whole.take(message))?;
    }
    Ok(whole.finish())
}

/// The best pieces of a session: the candidates of the index, and all pieces that are not indexed.
fn ranked<'q>(tx: &Transaction<'_>, session: &SessionId, query: &'q Query) -> Result<Ranking<'q>, Fault> {
    let mut ranking = Ranking::new(query);
    let indexed = indexed(tx, session)?;
    let mut take_new = |message: &Message| {
        ranking.take_new(message);
        true
    };
    let _ = each(tx, session, indexed..Ordinal(u32::MAX), |_| true, &mut take_new)?;
    let Some(entry) = entry_if_any(tx, session)? else { return Ok(ranking) };
    let (from, to) = (row_id(entry.n, Ordinal(0)), row_id(entry.n, indexed));
    let all: u64 = tx
        .prepare_cached("SELECT count(*) FROM search_pieces_docsize WHERE id >= ?1 AND id < ?2")?
        .query_row([from, to], |row| row.get(0))?;
    let terms: Vec<String> = query.words.terms().iter().map(|term| entry.hashed(term)).collect();
    let mut counting = tx.prepare_cached(WITH_TERM)?;
    let with = terms.iter().map(|term| counting.query_row(params![term, from, to], |row| row.get(0)));
    let with: Vec<u64> = with.collect::<Result<_, _>>()?;
    ranking.count(all, &with);
    let mut best = tx.prepare_cached(BEST)?;
    let most = i64::try_from(MOST_RANKED).unwrap_or(i64::MAX);
    let to = query.before.map_or(to, |before| to.min(row_id(entry.n, before)));
    let mut rows = best.query(params![terms.join(" OR "), from, to, most])?;
    let mut candidates: BTreeSet<Ordinal> = BTreeSet::new();
    while let Some(row) = rows.next()? {
        candidates.insert(message_of(row.get(0)?));
    }
    for ord in candidates {
        let mut take = |message: &Message| {
            ranking.take_counted(message);
            true
        };
        let _ = each(tx, session, ord..ord.next(), |_| true, &mut take)?;
    }
    Ok(ranking)
}

/// Counts the pieces of a session that contain a term.
const WITH_TERM: &str = "SELECT count(*) FROM search_pieces
     WHERE search_pieces MATCH ?1 AND rowid >= ?2 AND rowid < ?3";

/// Selects the pieces of a session that match best.
const BEST: &str = "SELECT rowid FROM search_pieces
     WHERE search_pieces MATCH ?1 AND rowid >= ?2 AND rowid < ?3
     ORDER BY bm25(search_pieces), rowid DESC LIMIT ?4";

/// Passes the newest versions of these messages to `take`, newest message first, until it returns `false`; without
/// those whose serialized body `may` rejects.
fn each(
    tx: &Transaction<'_>,
    session: &SessionId,
    range: std::ops::Range<Ordinal>,
    may: impl Fn(&str) -> bool,
    take: &mut dyn FnMut(&Message) -> bool,
) -> Result<ControlFlow<()>, Fault> {
    let mut lost = Vec::new();
    for span in segments::spans(tx, session, RowKind::Messages, range.start.0..range.end.0)?.into_iter().rev()
    {
        let mut statement = tx.prepare_cached(&messages_sql("DESC"))?;
        let mut rows = statement.query(span.bounds())?;
        let mut last = None;
        while let Some(row) = columns::next(&mut rows, "messages", &mut lost)? {
            let ord: i64 = row.get(0)?;
            if last.replace(ord) == Some(ord) {
                continue;
            }
            if columns::body(row).is_ok_and(|body| !may(body)) {
                continue;
            }
            if let Ok((_, message)) = message(tx, row, span.renaming.as_ref())
                && !take(&message)
            {
                return Ok(ControlFlow::Break(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Adds a message's pieces and returns the bytes of their terms.
fn insert(tx: &Transaction<'_>, entry: &Entry, message: &Message) -> rusqlite::Result<usize> {
    let mut bytes = 0;
    if message.ord.0 >= 1 << ORD_BITS {
        return Ok(bytes);
    }
    let mut statement = tx.prepare_cached("INSERT INTO search_pieces (rowid, terms) VALUES (?1, ?2)")?;
    for (number, piece) in (0_i64..).zip(pieces(message)) {
        let terms = piece.terms();
        bytes += terms.iter().map(|term| term.len() + 1).sum::<usize>();
        let hashed: Vec<String> = terms.iter().map(|term| entry.hashed(term)).collect();
        statement.execute(params![row_id(entry.n, message.ord) + number, hashed.join(" ")])?;
    }
    Ok(bytes)
}

/// The row id of a message's first piece.
fn row_id(n: u32, ord: Ordinal) -> i64 {
    let ord = ord.0.min(1 << ORD_BITS);
    ((i64::from(n) << ORD_BITS) + i64::from(ord)) << PIECE_BITS
}

/// The message of a row.
fn message_of(row: i64) -> Ordinal {
    Ordinal(u32::try_from((row >> PIECE_BITS) & ((1 << ORD_BITS) - 1)).unwrap_or(u32::MAX))
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

/// How a session stands in the index.
struct Entry {
    /// The number of its rows.
    n: u32,
    /// The key of its terms.
    key: Vec<u8>,
}

impl Entry {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { n: row.get(0)?, key: row.get(1)? })
    }

    /// A term as it is stored.
    fn hashed(&self, term: &str) -> String {
        keyed_hash(&self.key, term)
    }
}

fn entry_if_any(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<Entry>> {
    tx.prepare_cached("SELECT n, key FROM search_sessions WHERE session = ?1")?
        .query_row([session.as_str()], Entry::of)
        .optional()
}

/// The session's number and key, assigned if it has none.
fn entry(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Entry> {
    if let Some(entry) = entry_if_any(tx, session)? {
        return Ok(entry);
    }
    tx.prepare_cached(
        "INSERT INTO search_sessions (session, key) VALUES (?1, randomblob(16)) RETURNING n, key",
    )?
    .query_row([session.as_str()], Entry::of)
}
