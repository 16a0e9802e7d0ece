//! Segments: where the rows of messages, turns and compactions are. A session writes into a segment of its own. A branch
//! and a revision have ranges of rows in the segments of their session instead of copies.
//!
//! A row that another session has, too, is never changed. Before a session changes one, the row is copied into its own
//! segment ([`own`]); if its own segment is what others have rows in, it goes on in a new one. A segment that nobody
//! writes any more goes away with the last session that has rows in it ([`drop_unused`]).

mod copies;

pub(super) use copies::forget_versions;

use super::Done;
use super::blobs::{COMPACTION, MESSAGE, QUEUED, drop_all_refs, drop_refs};
use super::columns::count;
use crate::Deleted;
use copies::Versions;
use engine::id::SessionId;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::renaming::Renaming;
use std::collections::BTreeSet;
use std::ops::Range;

/// What sessions share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Messages,
    Turns,
    Compactions,
}

impl RowKind {
    const ALL: [Self; 3] = [Self::Messages, Self::Turns, Self::Compactions];

    /// Its name in `shares`.
    fn word(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Turns => "turns",
            Self::Compactions => "compactions",
        }
    }

    /// The table, and its column with the position.
    fn table(self) -> (&'static str, &'static str) {
        match self {
            Self::Messages => ("chat_messages", "ord"),
            Self::Turns => ("chat_turns", "idx"),
            Self::Compactions => ("compactions", "n"),
        }
    }

    /// Counts rows that were deleted.
    fn count(self, deleted: &mut Deleted, rows: usize) {
        *match self {
            Self::Messages => &mut deleted.messages,
            Self::Turns => &mut deleted.turns,
            Self::Compactions => &mut deleted.compactions,
        } += count(rows);
    }

    /// The owner of its contents in `blob_refs`.
    fn owner(self) -> Option<&'static str> {
        match self {
            Self::Messages => Some(MESSAGE),
            Self::Turns => None,
            Self::Compactions => Some(COMPACTION),
        }
    }
}

/// Consecutive rows of a session in one segment.
#[derive(Debug)]
pub(super) struct Span {
    pub segment: String,
    pub range: Range<u32>,
    /// `None` if the ids in the rows are those of the session.
    pub renaming: Option<Renaming>,
    /// `true` for the session's own segment.
    is_own: bool,
}

impl Span {
    /// The segment and the ends of the range, as the parameters `?1` to `?3` of a statement.
    pub fn bounds(&self) -> (&str, u32, u32) {
        (&self.segment, self.range.start, self.range.end)
    }
}

/// The segment that a session writes, and the session whose id its ids begin with.
struct Own {
    segment: String,
    named: String,
}

pub(super) const OWN: &str =
    "SELECT s.segment, coalesce(g.named, s.id) FROM chat_sessions s LEFT JOIN segments g ON g.id = s.segment
     WHERE s.id = ?1 AND s.segment IS NOT NULL";

/// The own segment; of a session whose row is lost, the one with its id.
fn own_of(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Own> {
    let own = |row: &Row<'_>| Ok(Own { segment: row.get(0)?, named: row.get(1)? });
    let found = tx.prepare_cached(OWN)?.query_row([session.as_str()], own).optional()?;
    let id = || session.as_str().to_owned();
    Ok(found.unwrap_or_else(|| Own { segment: id(), named: id() }))
}

/// `true` if there is such a session or revision.
pub(super) fn is_there(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM chat_sessions WHERE id = ?1")?.exists([session.as_str()])
}

/// The segment that a session writes.
pub(super) fn own_segment(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<String> {
    Ok(own_of(tx, session)?.segment)
}

/// The session whose id the ids of this one begin with: its own, and that of its session for a revision.
pub(super) fn named(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<String> {
    Ok(own_of(tx, session)?.named)
}

pub(super) const SHARES: &str = "SELECT h.start, h.until, h.segment, coalesce(g.named, h.segment)
     FROM shares h LEFT JOIN segments g ON g.id = h.segment
     WHERE h.session = ?1 AND h.kind = ?2 AND h.start < ?4 AND h.until > ?3 AND h.start >= coalesce(
         (SELECT max(start) FROM shares WHERE session = ?1 AND kind = ?2 AND start <= ?3), 0)
     ORDER BY h.start";

/// Where the rows of a session are, in order and without gaps.
pub(super) fn spans(
    tx: &Transaction<'_>,
    session: &SessionId,
    kind: RowKind,
    range: Range<u32>,
) -> rusqlite::Result<Vec<Span>> {
    let own = own_of(tx, session)?;
    let of_own = |range| Span { segment: own.segment.clone(), range, renaming: None, is_own: true };
    let mut spans = Vec::new();
    let mut at = range.start;
    let mut statement = tx.prepare_cached(SHARES)?;
    let mut shares = statement.query(params![session.as_str(), kind.word(), range.start, range.end])?;
    while let Some(share) = shares.next()? {
        let (start, until): (u32, u32) = (share.get(0)?, share.get(1)?);
        let (start, until) = (start.max(at), until.min(range.end));
        if at < start {
            spans.push(of_own(at..start));
        }
        let renaming = Renaming::between(&share.get::<_, String>(3)?, &own.named);
        spans.push(Span { segment: share.get(2)?, range: start..until, renaming, is_own: false });
        at = until;
    }
    if at < range.end {
        spans.push(of_own(at..range.end));
    }
    Ok(spans)
}

/// Returns what `look` finds in the newest of these spans in which it finds something.
pub(super) fn newest<T>(
    tx: &Transaction<'_>,
    (session, kind, range): (&SessionId, RowKind, Range<u32>),
    mut look: impl FnMut(&Span) -> rusqlite::Result<Option<T>>,
) -> rusqlite::Result<Option<T>> {
    for span in spans(tx, session, kind, range)?.iter().rev() {
        let found = look(span)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The position behind the last row of a session; 0 if there is none.
pub(super) fn end(tx: &Transaction<'_>, session: &SessionId, kind: RowKind) -> rusqlite::Result<u32> {
    let last = newest(tx, (session, kind, 0..u32::MAX), |span| last_in(tx, kind, span))?;
    Ok(last.map_or(0, |last| last.saturating_add(1)))
}

/// The position of a segment's last row in a span.
fn last_in(tx: &Transaction<'_>, kind: RowKind, span: &Span) -> rusqlite::Result<Option<u32>> {
    let (table, position) = kind.table();
    let sql = format!(
        "SELECT max({position}) FROM {table} WHERE segment = ?1 AND {position} >= ?2 AND {position} < ?3"
    );
    tx.prepare_cached(&sql)?.query_row(span.bounds(), |row| row.get(0))
}

/// The number of a session's rows in a range, the versions of a message counted once.
pub(super) fn number_of(
    tx: &Transaction<'_>,
    session: &SessionId,
    kind: RowKind,
    range: Range<u32>,
) -> rusqlite::Result<u32> {
    let (table, position) = kind.table();
    let sql = format!(
        "SELECT count(DISTINCT {position}) FROM {table} WHERE segment = ?1 AND {position} >= ?2 AND {position} < ?3"
    );
    let mut rows = 0;
    for span in spans(tx, session, kind, range)? {
        let of = span.bounds();
        rows += tx.prepare_cached(&sql)?.query_row(of, |row| row.get::<_, u32>(0))?;
    }
    Ok(rows)
}

/// Makes a segment with ids of this session. Its name is its own: a session may have the id of one that was deleted, whose
/// segment others still have rows in.
pub(super) fn create(tx: &Transaction<'_>, wish: &str, named: &str) -> rusqlite::Result<String> {
    let mut insert =
        tx.prepare_cached("INSERT INTO segments (id, named) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING")?;
    let mut name = wish.to_owned();
    while insert.execute([&name, named])? == 0 {
        let random = tx.prepare_cached("SELECT lower(hex(randomblob(8)))")?;
        let random: String = { random }.query_row([], |row| row.get(0))?;
        name = format!("{wish}#{random}");
    }
    Ok(name)
}

pub(super) const PLACE: &str = "SELECT s.segment,
         EXISTS (SELECT 1 FROM shares h WHERE h.segment = s.segment AND h.kind = ?2 AND h.until > ?3 AND h.start <= ?3),
         coalesce((SELECT h.until > ?3 FROM shares h WHERE h.session = s.id AND h.kind = ?2 AND h.start <= ?3
                   ORDER BY h.start DESC LIMIT 1), 0)
     FROM chat_sessions s WHERE s.id = ?1";

/// The segment in which a session may write the row at this position. All versions of the row are there from now on,
/// if there are any.
pub(super) fn own(tx: &Transaction<'_>, session: &SessionId, kind: RowKind, at: u32) -> Done<String> {
    let place = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: (Option<String>, bool, bool) =
        tx.prepare_cached(PLACE)?.query_row(params![session.as_str(), kind.word(), at], place)?;
    let (segment, others_have_it, is_elsewhere) = found;
    let segment = segment.unwrap_or_else(|| session.as_str().to_owned());
    let segment = if others_have_it { go_on(tx, session)? } else { segment };
    if others_have_it || is_elsewhere {
        copies::copy(tx, session, &segment, (kind, at), Versions::All)?;
    }
    Ok(segment)
}

/// Lets a session write a new segment; it has the rows of the one before as others do. Returns the new one.
fn go_on(tx: &Transaction<'_>, session: &SessionId) -> Done<String> {
    let own = own_of(tx, session)?;
    let new = create(tx, session.as_str(), &own.named)?;
    for kind in RowKind::ALL {
        for span in spans(tx, session, kind, 0..u32::MAX)?.into_iter().filter(|span| span.is_own) {
            share_span(tx, session, kind, &span)?;
        }
    }
    tx.prepare_cached("UPDATE chat_sessions SET segment = ?2 WHERE id = ?1")?
        .execute([session.as_str(), &new])?;
    tx.prepare_cached("UPDATE blob_refs SET segment = ?2 WHERE segment = ?1 AND owner = ?3")?.execute([
        own.segment.as_str(),
        &new,
        QUEUED,
    ])?;
    Ok(new)
}

/// Gives a session the rows that a span has so far.
fn share_span(tx: &Transaction<'_>, to: &SessionId, kind: RowKind, span: &Span) -> rusqlite::Result<()> {
    let until = match span.is_own {
        // More rows may follow there.
        true => last_in(tx, kind, span)?.map_or(0, |last| last.saturating_add(1)),
        false => span.range.end,
    };
    if span.range.start < until {
        insert_share(tx, to, kind, &span.segment, span.range.start..until)?;
    }
    Ok(())
}

fn insert_share(
    tx: &Transaction<'_>,
    session: &SessionId,
    kind: RowKind,
    segment: &str,
    range: Range<u32>,
) -> rusqlite::Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    tx.prepare_cached(
        "INSERT INTO shares (session, kind, start, until, segment) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![session.as_str(), kind.word(), range.start, range.end, segment])
    .map(drop)
}

/// How far another session shares messages, turns and compactions: the first position that is not shared.
pub(super) type Limits = [u32; 3];

/// The limits of a session that shares everything.
pub(super) const EVERYTHING: Limits = [u32::MAX; 3];

/// Gives a new session the rows of another one before these limits.
pub(super) fn share(tx: &Transaction<'_>, from: &SessionId, to: &SessionId, limits: Limits) -> Done {
    for (kind, limit) in RowKind::ALL.into_iter().zip(limits) {
        for span in spans(tx, from, kind, 0..limit)? {
            share_span(tx, to, kind, &span)?;
        }
    }
    let [.., records] = limits;
    tx.prepare_cached(
        "INSERT INTO compaction_statuses (session, n, status)
         SELECT ?2, n, status FROM compaction_statuses WHERE session = ?1 AND n < ?3",
    )?
    .execute(params![from.as_str(), to.as_str(), records])?;
    Ok(())
}

/// `true` if a session alone has the row at this position, which it may change in place.
pub(super) fn is_its_alone(
    tx: &Transaction<'_>,
    session: &SessionId,
    kind: RowKind,
    at: u32,
) -> rusqlite::Result<bool> {
    let is_alone = |row: &Row<'_>| Ok(!row.get::<_, bool>(1)? && !row.get::<_, bool>(2)?);
    tx.prepare_cached(PLACE)?.query_row(params![session.as_str(), kind.word(), at], is_alone)
}

/// Removes a session's rows of a kind from a position on; those that others have stay with them.
pub(super) fn cut(tx: &Transaction<'_>, session: &SessionId, kind: RowKind, from: u32) -> Done {
    let own = own_of(tx, session)?.segment;
    let is_shared = "SELECT 1 FROM shares WHERE segment = ?1 AND kind = ?2 AND until > ?3";
    let own = match tx.prepare_cached(is_shared)?.exists(params![own, kind.word(), from])? {
        true => go_on(tx, session)?,
        false => own,
    };
    delete_rows(tx, &own, kind, from..u32::MAX)?;
    let behind = params![session.as_str(), kind.word(), from];
    let mut statement = tx.prepare_cached(
        "SELECT DISTINCT segment FROM shares WHERE session = ?1 AND kind = ?2 AND until > ?3",
    )?;
    let segments = statement.query_map(behind, |row| row.get(0))?;
    let segments: BTreeSet<String> = segments.collect::<Result<_, _>>()?;
    tx.prepare_cached("DELETE FROM shares WHERE session = ?1 AND kind = ?2 AND start >= ?3")?
        .execute(behind)?;
    tx.prepare_cached("UPDATE shares SET until = ?3 WHERE session = ?1 AND kind = ?2 AND until > ?3")?
        .execute(behind)?;
    segments.iter().try_for_each(|segment| drop_unused(tx, segment).map(drop))
}

/// Forgets where a session has its rows, before its own row is deleted. Returns the segments that it had some in.
pub(super) fn forget(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement = tx.prepare_cached("DELETE FROM shares WHERE session = ?1 RETURNING segment")?;
    let shared = statement.query_map([session.as_str()], |row| row.get(0))?;
    tx.prepare_cached("DELETE FROM compaction_statuses WHERE session = ?1")?.execute([session.as_str()])?;
    let mut segments: BTreeSet<String> = shared.collect::<Result<_, _>>()?;
    segments.insert(own_of(tx, session)?.segment);
    if !is_there(tx, session)? {
        // Nothing says any more which segment it wrote; its revisions may be lost with it.
        tx.prepare_cached(
            "DELETE FROM shares WHERE session NOT IN (SELECT id FROM chat_sessions)
                 AND segment IN (SELECT id FROM segments WHERE named = ?1)",
        )?
        .execute([session.as_str()])?;
        let mut statement = tx.prepare_cached("SELECT id FROM segments WHERE named = ?1")?;
        let named = statement.query_map([session.as_str()], |row| row.get(0))?;
        segments.extend(named.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(segments)
}

/// Deletes the rows of a segment that no session has, unless one still writes it.
pub(super) fn drop_unused(tx: &Transaction<'_>, segment: &str) -> Done<Deleted> {
    if tx.prepare_cached("SELECT 1 FROM chat_sessions WHERE segment = ?1")?.exists([segment])? {
        return Ok(Deleted::default());
    }
    if !tx.prepare_cached("SELECT 1 FROM shares WHERE segment = ?1")?.exists([segment])? {
        return drop_whole(tx, segment);
    }
    let mut deleted = Deleted::default();
    for kind in RowKind::ALL {
        let mut statement = tx.prepare_cached(
            "SELECT DISTINCT start, until FROM shares WHERE segment = ?1 AND kind = ?2 ORDER BY start",
        )?;
        let ranges = statement.query_map([segment, kind.word()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut at = 0;
        for (start, until) in ranges.collect::<Result<Vec<(u32, u32)>, _>>()? {
            if at < start {
                deleted.add(&delete_rows(tx, segment, kind, at..start)?);
            }
            at = at.max(until);
        }
        deleted.add(&delete_rows(tx, segment, kind, at..u32::MAX)?);
    }
    Ok(deleted)
}

/// Deletes a segment with all its rows, those with a damaged position, too.
fn drop_whole(tx: &Transaction<'_>, segment: &str) -> Done<Deleted> {
    let mut deleted = Deleted::default();
    for kind in RowKind::ALL {
        let (table, _) = kind.table();
        let sql = format!("DELETE FROM {table} WHERE segment = ?1");
        kind.count(&mut deleted, tx.prepare_cached(&sql)?.execute([segment])?);
    }
    deleted.add(&drop_all_refs(tx, segment)?);
    tx.prepare_cached("DELETE FROM segments WHERE id = ?1")?.execute([segment])?;
    Ok(deleted)
}

/// Deletes rows of a segment with what they refer to.
fn delete_rows(tx: &Transaction<'_>, segment: &str, kind: RowKind, range: Range<u32>) -> Done<Deleted> {
    let mut deleted = match kind.owner() {
        Some(owner) => drop_refs(tx, segment, owner, range.start..=range.end.saturating_sub(1))?,
        None => Deleted::default(),
    };
    let (table, position) = kind.table();
    let sql = format!("DELETE FROM {table} WHERE segment = ?1 AND {position} >= ?2 AND {position} < ?3");
    kind.count(&mut deleted, tx.prepare_cached(&sql)?.execute(params![segment, range.start, range.end])?);
    Ok(deleted)
}

/// A session that has a row of a segment, for people: not a revision, if others have it, too.
pub(super) fn a_session_with(
    tx: &Transaction<'_>,
    segment: &str,
    kind: RowKind,
    at: u32,
) -> rusqlite::Result<Option<String>> {
    tx.prepare_cached(
        "SELECT id FROM chat_sessions s WHERE segment = ?1 OR EXISTS
             (SELECT 1 FROM shares h WHERE h.session = s.id AND h.segment = ?1 AND h.kind = ?2
                  AND h.until > ?3 AND h.start <= ?3)
         ORDER BY origin = 'revision', segment <> ?1, id LIMIT 1",
    )?
    .query_row(params![segment, kind.word(), at], |row| row.get(0))
    .optional()
}
