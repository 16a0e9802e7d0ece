//! Partial loading: the rows of a session's next prompt, in a number that does not grow with the session. A
//! part is exact, or it is not returned: the newest compaction covers what it leaves out, and every row is
//! readable.

use super::columns::{MESSAGE_COLUMNS, next};
use super::read::records::compactions_sql;
use super::segments::{self, RowKind, Span};
use super::{Fault, read, streamed, waiting};
use crate::MessagePage;
use engine::compact::record::{Compaction, Status};
use engine::id::{MessageId, Ordinal, SessionId};
use engine::message::Message;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::part::{Claims, WIDEST_ROUND, opens_round, pinned};
use session::stored::{Part, Rest, Stored};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const KEY: &str = "SELECT 1 FROM chat_keys WHERE session = ?1 AND key = ?2";
pub(super) const REQUEST_BEFORE: &str = "SELECT 1 FROM chat_messages
     WHERE external_id = ?4 AND role = 'user' AND segment = ?1 AND ord >= ?2 AND ord < ?3";

pub(super) fn message_sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE segment = ?1 AND ord = ?2 ORDER BY rev DESC LIMIT 1"
    )
}

/// See [`crate::Store::load_part`].
pub(super) fn load(tx: &Transaction<'_>, session: &SessionId, newest: u32) -> Result<Option<Part>, Fault> {
    if streamed::are_there(tx, session)? {
        // The answer is stored first, by the whole session.
        return Ok(None);
    }
    let mut unreadable = Vec::new();
    let Some(record) = in_force(tx, session, &mut unreadable)? else { return Ok(None) };
    let end = segments::end(tx, session, RowKind::Messages)?;
    let shown = end.saturating_sub(newest);
    let resume = record.resume_at();
    let places = segments::spans(tx, session, RowKind::Messages, 0..u32::MAX)?;
    let Some(from) = round_before(tx, &places, resume)?.map(|round| round.min(Ordinal(shown))) else {
        return Ok(None);
    };
    let Some(head) = read::head_of(tx, session, &mut unreadable)? else { return Ok(None) };
    let Some(pinned) = pinned(session, &head.prefix.pins) else { return Ok(None) };
    let users = record.kept_users.iter().chain(&record.open_requests).chain(&record.reported_users);
    let named = users.chain(&record.excluded).chain(pinned.keys());
    let mut messages = BTreeMap::new();
    for ord in named.filter(|ord| **ord < from) {
        let Some(found) = message_at(tx, &places, *ord)? else { return Ok(None) };
        messages.insert(*ord, found);
    }
    let here = read::messages(tx, session, from, &mut unreadable)?;
    let is_whole = here.iter().zip(from.0..).all(|((_, message), ord)| message.ord.0 == ord);
    let Some(first) = here.first().filter(|_| is_whole).map(|(turn, _)| *turn) else { return Ok(None) };
    let turns = read::turns(tx, session, first, &mut unreadable)?;
    messages.extend(here.into_iter().map(|(turn, message)| (message.ord, (turn, message))));
    let is_pinned = |(ord, id): (&Ordinal, &MessageId)| messages.get(ord).is_some_and(|(_, m)| m.id == *id);
    let is_found = pinned.iter().all(is_pinned) && record.is_within(end as usize);
    let queue = waiting::queue(tx, session, &mut unreadable)?;
    let draft = waiting::draft(tx, session, &mut unreadable)?;
    let is_exact = is_found
        && unreadable.is_empty()
        && from > Ordinal(0)
        && turns.first().is_some_and(|turn| turn.index == first);
    let messages = messages.into_values().collect();
    let (compactions, keys, streamed) = (vec![record], Vec::new(), Vec::new());
    let stored = Stored { head, turns, messages, compactions, queue, keys, draft, streamed, unreadable };
    Ok(is_exact.then_some(Part { stored, from }))
}

/// The newest compaction, if it is in force and readable.
fn in_force(
    tx: &Transaction<'_>,
    session: &SessionId,
    unreadable: &mut Vec<String>,
) -> rusqlite::Result<Option<Compaction>> {
    let mut lost = None;
    let newest = segments::newest(tx, (session, RowKind::Compactions, 0..u32::MAX), |span| {
        let mut statement = tx.prepare_cached(&compactions_sql("DESC"))?;
        let of = params![span.segment, span.range.start, span.range.end, session.as_str()];
        let mut rows = statement.query(of)?;
        let mut reasons = Vec::new();
        let row = next(&mut rows, "compactions", &mut reasons)?;
        let record = row.map(|row| read::compaction(tx, row, span.renaming.as_ref()).ok());
        lost = lost.take().or(reasons.pop());
        Ok(record)
    })?;
    unreadable.extend(lost);
    Ok(newest.flatten().filter(|record| record.status == Status::InForce))
}

/// The beginning of the last round before this message; `None` if there is none, or it has too many results.
fn round_before(tx: &Transaction<'_>, places: &[Span], until: Ordinal) -> rusqlite::Result<Option<Ordinal>> {
    for ord in (0..until.0).rev().take(WIDEST_ROUND) {
        let Some((_, message)) = message_at(tx, places, Ordinal(ord))? else { break };
        if opens_round(&message) {
            return Ok(Some(message.ord));
        }
    }
    Ok(None)
}

/// The newest version of a message, with the index of its turn; `None` if missing or unreadable.
fn message_at(
    tx: &Transaction<'_>,
    places: &[Span],
    ord: Ordinal,
) -> rusqlite::Result<Option<(u32, Arc<Message>)>> {
    let behind = places.partition_point(|span| span.range.start <= ord.0);
    let Some(span) = behind.checked_sub(1).and_then(|at| places.get(at)) else { return Ok(None) };
    let mut statement = tx.prepare_cached(&message_sql())?;
    let read = |row: &Row<'_>| Ok(read::message(tx, row, span.renaming.as_ref()).ok());
    Ok(statement.query_row(params![span.segment, ord.0], read).optional()?.flatten())
}

/// See [`crate::Store::load_rest`].
pub(super) fn rest(tx: &Transaction<'_>, session: &SessionId, from: Ordinal) -> Result<Rest, Fault> {
    let mut rest = Rest::default();
    let unreadable = &mut rest.unreadable;
    rest.messages = read::messages_between(tx, session, Ordinal(0)..from, unreadable)?;
    rest.turns = read::turns(tx, session, 0, unreadable)?;
    rest.compactions = read::compactions(tx, session, unreadable)?;
    rest.keys = waiting::keys(tx, session, unreadable)?;
    Ok(rest)
}

/// See [`crate::Store::messages`].
pub(super) fn page(
    tx: &Transaction<'_>,
    session: &SessionId,
    before: Option<Ordinal>,
    limit: u32,
) -> Result<Option<MessagePage>, Fault> {
    if !tx.prepare_cached("SELECT 1 FROM chat_sessions WHERE id = ?1")?.exists([session.as_str()])? {
        return Ok(None);
    }
    let end = Ordinal(segments::end(tx, session, RowKind::Messages)?);
    let end = before.map_or(end, |before| before.min(end));
    let start = Ordinal(end.0.saturating_sub(limit));
    let mut page = MessagePage { start, ..MessagePage::default() };
    let found = read::messages_between(tx, session, start..end, &mut page.unreadable)?;
    page.messages = found.into_iter().map(|(_, message)| message).collect();
    Ok(Some(page))
}

/// See [`crate::Store::is_known`].
pub(super) fn is_known(
    tx: &Transaction<'_>,
    session: &SessionId,
    claims: &Claims,
    from: Ordinal,
) -> Result<bool, Fault> {
    let id = session.as_str();
    let key = match &claims.key {
        Some(key) => tx.prepare_cached(KEY)?.exists([id, key])?,
        None => false,
    };
    let request = match &claims.external_id {
        Some(external_id) => {
            let before = (session, RowKind::Messages, 0..from.0);
            let found = segments::newest(tx, before, |span| {
                let of = params![span.segment, span.range.start, span.range.end, external_id];
                Ok(tx.prepare_cached(REQUEST_BEFORE)?.exists(of)?.then_some(()))
            })?;
            found.is_some()
        }
        None => false,
    };
    Ok(key || request)
}
