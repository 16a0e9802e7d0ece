//! Partial loading: the rows of a session's next prompt, in a number that does not grow with the session. A part is exact,
//! or it is not returned: the newest compaction covers what it leaves out, and every row is readable.

use super::contents::{Contents, decoded};
use super::places::{RowKind, in_places, newest_in};
use super::rows::{self, MESSAGE, RECORD, Rows};
use crate::MessagePage;
use crate::postgres::fault::Done;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{boolean, number_or_null, values};
use engine::compact::record::{Compaction, Status};
use engine::id::{MessageId, Ordinal, SessionId};
use session::part::{Claims, WIDEST_ROUND, opens_round, pinned};
use session::stored::{Part, Rest, Stored};
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// Messages before the one to resume at that are read with the first look for its round.
const MOST_ROUNDS_HAVE: u32 = 8;

/// Selects the position behind the last message.
fn end(tx: &Tx<'_>, session: &SessionId) -> Statement {
    tx.of_tenant(newest_in(RowKind::Messages, "r.ord + 1"), values![session.as_str()])
}

fn end_in(rows: &[Row]) -> Result<u32, String> {
    Ok(rows.first().map(|row| number_or_null(row, 0)).transpose()?.flatten().unwrap_or_default())
}

/// See [`crate::Store::load_part`].
pub(in crate::postgres) async fn load(
    tx: &mut Tx<'_>,
    session: &SessionId,
    newest: u32,
) -> Done<Option<Part>> {
    let last = newest_in(RowKind::Compactions, RECORD);
    let asked = vec![
        rows::streamed_from(tx, session, 0),
        tx.of_tenant(last, values![session.as_str()]),
        end(tx, session),
        rows::head_of(tx, session),
    ];
    let first = tx.queries(asked).await?;
    let [streamed, last, end, head] = &first[..] else { return Ok(None) };
    let (Some(last), true, false) = (last.first(), streamed.is_empty(), head.is_empty()) else {
        // The answer in progress is stored first, by the whole session.
        return Ok(None);
    };
    let mut contents = Contents::default();
    let of_head = [head.clone()];
    Rows::of(session, &of_head).prefix(&mut contents)?;
    let mut unreadable = Vec::new();
    let known = decoded(tx, &mut contents, |contents| {
        let mut unreadable = Vec::new();
        let head = Rows::of(session, &of_head).head(contents, &mut unreadable);
        (rows::record(last, contents), head, unreadable)
    });
    let (record, head, of_head) = known.await?;
    unreadable.extend(of_head);
    let Some(record) = record.ok().filter(|record| record.status == Status::InForce) else { return Ok(None) };
    let head = head?;
    let shown = end_in(end)?.saturating_sub(newest);
    let Some(round) = round_before(tx, session, record.resume_at()).await? else { return Ok(None) };
    let from = round.min(Ordinal(shown));
    let Some(pinned) = pinned(session, &head.prefix.pins) else { return Ok(None) };
    let named: Vec<i64> =
        named(&record, pinned.keys()).filter(|ord| *ord < from).map(|ord| i64::from(ord.0)).collect();
    let some = in_places(RowKind::Messages, MESSAGE, "AND r.ord = ANY($3)", "ORDER BY r.ord, r.rev");
    let asked = vec![
        rows::messages_in(tx, session, from.0, u32::MAX),
        tx.of_tenant(some, values![session.as_str(), named.clone()]),
        rows::turns_at(tx, session, from),
        rows::queued(tx, session),
        rows::draft(tx, session),
    ];
    let found = tx.queries(asked).await?;
    let [here, some, turns, queue, draft] = &found[..] else { return Ok(None) };
    let all = Rows { messages: here, turns, queue, draft, ..Rows::of(session, &[]) };
    let some = Rows { messages: some, ..Rows::of(session, &[]) };
    let (messages, before, queue, draft, turns, more) = decoded(tx, &mut contents, |contents| {
        let mut unreadable = Vec::new();
        let messages = all.messages(from, contents, &mut unreadable);
        let before = some.messages(Ordinal(0), contents, &mut unreadable);
        let queue = all.queue(contents, &mut unreadable);
        let (draft, turns) = (all.draft(&mut unreadable), all.turns(&mut unreadable));
        (messages, before, queue, draft, turns, unreadable)
    })
    .await?;
    unreadable.extend(more);
    let is_whole = messages.iter().zip(from.0..).all(|((_, message), ord)| message.ord.0 == ord);
    let Some(first) = messages.first().filter(|_| is_whole).map(|(turn, _)| *turn) else { return Ok(None) };
    let turns: Vec<_> = turns.into_iter().filter(|turn| turn.index >= first).collect();
    let count = messages.len() + before.len();
    let messages: BTreeMap<Ordinal, _> =
        before.into_iter().chain(messages).map(|(turn, message)| (message.ord, (turn, message))).collect();
    let has = |ord: &i64| u32::try_from(*ord).is_ok_and(|ord| messages.contains_key(&Ordinal(ord)));
    let is_pinned = |(ord, id): (&Ordinal, &MessageId)| messages.get(ord).is_some_and(|(_, m)| m.id == *id);
    let is_found = named.iter().all(has)
        && count == messages.len()
        && pinned.iter().all(is_pinned)
        && record.is_within(end_in(end)? as usize);
    let is_exact = is_found
        && unreadable.is_empty()
        && from > Ordinal(0)
        && turns.first().is_some_and(|turn| turn.index == first);
    let messages = messages.into_values().collect();
    let (compactions, keys, streamed) = (vec![record], Vec::new(), Vec::new());
    let stored = Stored { head, turns, messages, compactions, queue, keys, draft, streamed, unreadable };
    Ok(is_exact.then_some(Part { stored, from }))
}

/// The messages that a record and pins name.
fn named<'a>(
    record: &'a Compaction,
    pinned: impl Iterator<Item = &'a Ordinal>,
) -> impl Iterator<Item = Ordinal> {
    let users = record.kept_users.iter().chain(&record.open_requests).chain(&record.reported_users);
    let all: std::collections::BTreeSet<Ordinal> =
        users.chain(&record.excluded).chain(pinned).copied().collect();
    all.into_iter()
}

/// The beginning of the last round before this message; `None` if there is none, or it has too many results.
async fn round_before(tx: &mut Tx<'_>, session: &SessionId, until: Ordinal) -> Done<Option<Ordinal>> {
    for many in [MOST_ROUNDS_HAVE, u32::try_from(WIDEST_ROUND).unwrap_or(u32::MAX)] {
        let from = until.0.saturating_sub(many);
        let asked = vec![rows::messages_in(tx, session, from, until.0)];
        let found = tx.queries(asked).await?;
        let rows = Rows { messages: &found[0], ..Rows::of(session, &[]) };
        let (messages, lost) = decoded(tx, &mut Contents::default(), |contents| {
            let mut unreadable = Vec::new();
            (rows.messages(Ordinal(from), contents, &mut unreadable), unreadable)
        })
        .await?;
        let mut newest = messages.iter().rev().zip((from..until.0).rev());
        let mut is_whole = lost.is_empty();
        for ((_, message), ord) in newest.by_ref() {
            is_whole &= message.ord.0 == ord;
            if !is_whole {
                break;
            }
            if opens_round(message) {
                return Ok(Some(message.ord));
            }
        }
        if !is_whole || from == 0 {
            break;
        }
    }
    Ok(None)
}

/// See [`crate::Store::load_rest`].
pub(in crate::postgres) async fn rest(tx: &mut Tx<'_>, session: &SessionId, from: Ordinal) -> Done<Rest> {
    let asked = vec![
        rows::messages_in(tx, session, 0, from.0),
        rows::turns_from(tx, session, 0),
        rows::records(tx, session),
        rows::keys(tx, session),
    ];
    let found = tx.queries(asked).await?;
    let [messages, turns, compactions, keys] = &found[..] else { return Ok(Rest::default()) };
    let rows = Rows { messages, turns, compactions, keys, ..Rows::of(session, &[]) };
    decoded(tx, &mut Contents::default(), |contents| {
        let mut unreadable = Vec::new();
        let messages = rows.messages(Ordinal(0), contents, &mut unreadable);
        let turns = rows.turns(&mut unreadable);
        let compactions = rows.compactions(contents, &mut unreadable);
        let keys = rows.keys(&mut unreadable);
        Rest { messages, turns, compactions, keys, unreadable }
    })
    .await
}

/// See [`crate::Store::messages`].
pub(in crate::postgres) async fn page(
    tx: &mut Tx<'_>,
    session: &SessionId,
    before: Option<Ordinal>,
    limit: u32,
) -> Done<Option<MessagePage>> {
    let there = tx.of_tenant(super::revisions::IS_THERE, values![session.as_str()]);
    let asked = vec![there, end(tx, session)];
    let found = tx.queries(asked).await?;
    let [there, end] = &found[..] else { return Ok(None) };
    if there.is_empty() {
        return Ok(None);
    }
    let end = Ordinal(end_in(end)?);
    let end = before.map_or(end, |before| before.min(end));
    let start = Ordinal(end.0.saturating_sub(limit));
    let asked = vec![rows::messages_in(tx, session, start.0, end.0)];
    let found = tx.queries(asked).await?;
    let rows = Rows { messages: &found[0], ..Rows::of(session, &[]) };
    let page = decoded(tx, &mut Contents::default(), |contents| {
        let mut unreadable = Vec::new();
        let messages = rows.messages(start, contents, &mut unreadable);
        MessagePage {
            start,
            messages: messages.into_iter().map(|(_, message)| message).collect(),
            unreadable,
        }
    })
    .await?;
    Ok(Some(page))
}

const KEY: &str = "SELECT EXISTS (SELECT 1 FROM chat_keys WHERE tenant = $1 AND session = $2 AND key = $3)";

/// See [`crate::Store::is_known`].
pub(in crate::postgres) async fn is_known(
    tx: &mut Tx<'_>,
    session: &SessionId,
    claims: &Claims,
    from: Ordinal,
) -> Done<bool> {
    let said = "AND r.external_id = $3 AND r.role = 'user' AND r.ord < $4";
    let request = in_places(RowKind::Messages, "true", said, "LIMIT 1");
    let mut asked = Vec::new();
    if let Some(key) = &claims.key {
        asked.push(tx.of_tenant(KEY, values![session.as_str(), key]));
    }
    if let Some(external_id) = &claims.external_id {
        asked.push(tx.of_tenant(request, values![session.as_str(), external_id, from.0]));
    }
    if asked.is_empty() {
        return Ok(false);
    }
    for row in tx.queries(asked).await?.iter().flatten() {
        if boolean(row, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
}
