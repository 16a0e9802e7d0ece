//! Partial loading: the rows of a session's next prompt, in a number that does not grow with the session. A
//! part is exact, or it is not returned: the newest compaction covers what it leaves out, and every row is
//! readable.

use super::columns::{MESSAGE_COLUMNS, next};
use super::{Fault, read, streamed, waiting};
use crate::MessagePage;
use engine::compact::record::{Compaction, Status};
use engine::id::{MessageId, Ordinal, SessionId};
use engine::message::{Body, Message};
use engine::prompt::pins::{Pin, Pinned};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use session::part::{Claims, WIDEST_ROUND};
use session::stored::{Part, Rest, Stored};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const NEWEST_COMPACTION: &str =
    "SELECT n, status, block, record, check_sum FROM compactions WHERE session = ?1 ORDER BY n DESC LIMIT 1";
pub(super) const LAST_ORD: &str = "SELECT max(ord) FROM chat_messages WHERE session = ?1";
pub(super) const KEY: &str = "SELECT 1 FROM chat_keys WHERE session = ?1 AND key = ?2";
pub(super) const REQUEST_BEFORE: &str = "SELECT 1 FROM chat_messages
     WHERE external_id = ?2 AND role = 'user' AND session = ?1 AND ord < ?3";

pub(super) fn message_sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE session = ?1 AND ord = ?2 ORDER BY rev DESC LIMIT 1"
    )
}

pub(super) fn before_sql() -> String {
    format!(
        "SELECT {MESSAGE_COLUMNS} FROM chat_messages WHERE session = ?1 AND ord < ?2 ORDER BY ord DESC, rev DESC"
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
    let last: Option<u32> = tx.prepare_cached(LAST_ORD)?.query_row([session.as_str()], |row| row.get(0))?;
    let shown = last.map_or(0, |last| last.saturating_add(1).saturating_sub(newest));
    let resume = record.resume_at();
    let Some(from) = round_before(tx, session, resume)?.map(|round| round.min(Ordinal(shown))) else {
        return Ok(None);
    };
    let Some(head) = read::head_of(tx, session, &mut unreadable)? else { return Ok(None) };
    let Some(pinned) = pinned(session, &head.prefix.pins) else { return Ok(None) };
    let users = record.kept_users.iter().chain(&record.open_requests).chain(&record.reported_users);
    let named = users.chain(&record.excluded).chain(pinned.keys());
    let mut messages = BTreeMap::new();
    for ord in named.filter(|ord| **ord < from) {
        let Some(found) = message_at(tx, session, *ord)? else { return Ok(None) };
        messages.insert(*ord, found);
    }
    let here = read::messages(tx, session, from, &mut unreadable)?;
    let is_whole = here.iter().zip(from.0..).all(|((_, message), ord)| message.ord.0 == ord);
    let Some(first) = here.first().filter(|_| is_whole).map(|(turn, _)| *turn) else { return Ok(None) };
    let turns = read::turns(tx, session, first, &mut unreadable)?;
    messages.extend(here.into_iter().map(|(turn, message)| (message.ord, (turn, message))));
    let is_pinned = |(ord, id): (&Ordinal, &MessageId)| messages.get(ord).is_some_and(|(_, m)| m.id == *id);
    let is_found = pinned.iter().all(is_pinned) && record.is_within(last.map_or(0, |last| last as usize + 1));
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
    let mut statement = tx.prepare_cached(NEWEST_COMPACTION)?;
    let mut rows = statement.query([session.as_str()])?;
    let row = next(&mut rows, "compactions", unreadable)?;
    let record = row.and_then(|row| read::compaction(tx, row).ok());
    Ok(record.filter(|record| record.status == Status::InForce))
}

/// The beginning of the last round before this message; `None` if there is none, or it has too many results.
fn round_before(
    tx: &Transaction<'_>,
    session: &SessionId,
    until: Ordinal,
) -> rusqlite::Result<Option<Ordinal>> {
    let mut statement = tx.prepare_cached(&before_sql())?;
    let mut rows = statement.query(params![session.as_str(), until.0])?;
    let mut newest = None;
    for _ in 0..WIDEST_ROUND {
        let Some(row) = rows.next()? else { break };
        let Ok((_, message)) = read::message(tx, row) else { break };
        // An older version of the same message; the newest comes first.
        if newest.replace(message.ord) == Some(message.ord) {
            continue;
        }
        if opens_round(&message) {
            return Ok(Some(message.ord));
        }
    }
    Ok(None)
}

fn opens_round(message: &Message) -> bool {
    matches!(message.body, Body::Assistant { .. }) && !message.is_hidden()
}

/// The newest version of a message, with the index of its turn; `None` if missing or unreadable.
fn message_at(
    tx: &Transaction<'_>,
    session: &SessionId,
    ord: Ordinal,
) -> rusqlite::Result<Option<(u32, Arc<Message>)>> {
    let mut statement = tx.prepare_cached(&message_sql())?;
    let read = |row: &Row<'_>| Ok(read::message(tx, row).ok());
    Ok(statement.query_row(params![session.as_str(), ord.0], read).optional()?.flatten())
}

/// Positions of pinned messages, parsed from their ids; `None` if an id was not assigned by this session.
fn pinned(session: &SessionId, pins: &[Pin]) -> Option<BTreeMap<Ordinal, MessageId>> {
    let place = |id: &MessageId| {
        let counter = id.as_str().strip_prefix(session.as_str())?.strip_prefix("/m")?;
        counter.split('.').next()?.parse().ok().map(Ordinal)
    };
    let messages = pins.iter().filter_map(|pin| match &pin.what {
        Pinned::Message(id) => Some(id),
        Pinned::Text(_) => None,
    });
    messages.map(|id| Some((place(id)?, id.clone()))).collect()
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
    let last: Option<u32> = tx.prepare_cached(LAST_ORD)?.query_row([session.as_str()], |row| row.get(0))?;
    let end = last.map_or(Ordinal(0), |last| Ordinal(last).next());
    let end = before.map_or(end, |before| before.min(end));
    let range = Ordinal(end.0.saturating_sub(limit))..end;
    let mut page = MessagePage::default();
    let found = read::messages_between(tx, session, range, &mut page.unreadable)?;
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
        Some(external_id) => tx.prepare_cached(REQUEST_BEFORE)?.exists(params![id, external_id, from.0])?,
        None => false,
    };
    Ok(key || request)
}
