//! Search in the messages of a session. The index gives counts and candidates, `engine::search` reads, scores and orders
//! them; messages that are not indexed yet are read without it, so the order of hits is that of every other store.
//!
//! A query without a ranked hit looks for its words as parts of others. The server then passes over the texts that lack
//! them, and nothing of those is sent.

use super::contents::{Contents, decoded};
use super::places::{RowKind, in_places, places};
use super::rows::{self, MESSAGE, Rows};
use crate::blob::KEY_END;
use crate::postgres::fault::Done;
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{number, text, text_or_null, values};
use crate::postgres::write::search::hashed;
use engine::id::SessionId;
use engine::message::Message;
use engine::search::{AllWords, B, FRAMED, K1, MOST_RANKED, Query, Ranking, SearchPage, USUAL_TERMS};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_postgres::Row;

/// The most messages and their bytes that a search reads without an index, before they are indexed.
const MOST_UNINDEXED: usize = 256;
const MOST_UNINDEXED_BYTES: usize = 1 << 18;
/// Messages of one page of texts that have the words, at least and at most.
const PAGE: std::ops::RangeInclusive<usize> = 16..=256;

/// The result of a search.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Searched {
    pub page: SearchPage,
    /// `true` if so much was read without an index that it should be extended.
    pub lags: bool,
}

/// See [`crate::Store::search`].
pub(in crate::postgres) async fn search(
    tx: &mut Tx<'_>,
    session: &SessionId,
    query: &Query,
) -> Done<Searched> {
    if query.words.is_empty() {
        return Ok(Searched::default());
    }
    let mut lags = false;
    let mut ranking = Ranking::new(query);
    if !ranking.is_empty() {
        lags = rank(tx, session, query, &mut ranking).await?;
        if ranking.has_found() {
            return Ok(Searched { page: ranking.finish(), lags });
        }
    }
    Ok(Searched { page: with_all_words(tx, session, query).await?, lags })
}

/// Ranks the messages of a session. Returns whether the index lags behind.
async fn rank(tx: &mut Tx<'_>, session: &SessionId, query: &Query, ranking: &mut Ranking<'_>) -> Done<bool> {
    let index = Index::of(tx, session, query).await?;
    let (mut messages, mut bytes) = (0, 0);
    for rows in &index.unindexed {
        for message in newest(tx, session, rows).await? {
            (messages, bytes) = (messages + 1, bytes + message.body.bytes());
            ranking.take_new(&message);
        }
    }
    let lags = messages > MOST_UNINDEXED || bytes > MOST_UNINDEXED_BYTES;
    if index.keys.is_empty() {
        return Ok(lags);
    }
    let counted = tx.queries(index.counts(tx, session)).await?;
    let [all, each] = &counted[..] else { return Ok(lags) };
    let mut with = vec![0; query.words.terms().len()];
    for row in each {
        if let Some(with) = with.get_mut(number::<usize>(row, 0)?) {
            *with = number(row, 1)?;
        }
    }
    let all = all.first().map(|row| number(row, 0)).transpose()?.unwrap_or_default();
    ranking.count(all, &with);
    if with.iter().all(|with| *with == 0) {
        return Ok(lags);
    }
    let best = index.best(tx, session, query, &ranking.weights());
    let mut ords: Vec<i64> = Vec::new();
    for row in tx.queries(vec![best]).await?.iter().flatten() {
        ords.push(number(row, 0)?);
    }
    ords.sort_unstable();
    ords.dedup();
    let sql = in_places(RowKind::Messages, MESSAGE, "AND r.ord = ANY($3)", "ORDER BY r.ord, r.rev");
    let rows = tx.query(sql, values![session.as_str(), ords]).await?;
    for message in newest(tx, session, &rows).await? {
        ranking.take_counted(&message);
    }
    Ok(lags)
}

/// Readable messages in their newest versions, from rows in order of position and version.
async fn newest(tx: &mut Tx<'_>, session: &SessionId, rows: &[Row]) -> Done<Vec<Arc<Message>>> {
    let rows = Rows { messages: rows, ..Rows::of(session, &[]) };
    decoded(tx, &mut Contents::default(), |contents| {
        let read = |row| rows::message(row, contents).ok();
        rows.newest().filter_map(read).map(|(_, message)| message).collect()
    })
    .await
}

/// The index as a session has it.
struct Index {
    /// The segments that are indexed, at least in part, with the keys of their terms.
    keys: BTreeMap<String, String>,
    /// Of each pair of segment and term the segment, the term's number and its hash.
    segments: Vec<String>,
    terms: Vec<i64>,
    hashes: Vec<i64>,
    /// Rows of messages that are not indexed.
    unindexed: Vec<Vec<Row>>,
}

/// Pieces of the session, as `r`, with the terms of the query that they contain, as `q`.
const WITH_TERM: &str = "JOIN places p ON p.segment = q.segment
     JOIN search_pieces r ON r.tenant = $1 AND r.segment = p.segment AND r.ord >= p.start AND r.ord < p.until
         AND r.terms @> ARRAY[q.hash]";

impl Index {
    async fn of(tx: &mut Tx<'_>, session: &SessionId, query: &Query) -> Done<Self> {
        let places = places(RowKind::Messages);
        let segments = format!(
            "{places} SELECT DISTINCT g.id, g.search_key FROM places p
             JOIN segments g ON g.tenant = $1 AND g.id = p.segment WHERE g.indexed > 0"
        );
        let behind = "AND r.ord >= coalesce((SELECT g.indexed FROM segments g
             WHERE g.tenant = $1 AND g.id = p.segment), 0)";
        let behind = in_places(RowKind::Messages, MESSAGE, behind, "ORDER BY r.ord, r.rev");
        let stale = format!(
            "{places} SELECT {MESSAGE} FROM places p
             JOIN search_stale t ON t.tenant = $1 AND t.segment = p.segment AND t.ord >= p.start AND t.ord < p.until
             JOIN chat_messages r ON r.tenant = $1 AND r.segment = p.segment AND r.ord = t.ord
             ORDER BY r.ord, r.rev"
        );
        let asked = [segments, behind, stale].map(|sql| tx.of_tenant(sql, values![session.as_str()]));
        let mut found = tx.queries(asked.into()).await?;
        let unindexed = found.split_off(1);
        let mut index =
            Self { keys: BTreeMap::new(), segments: vec![], terms: vec![], hashes: vec![], unindexed };
        for row in found.iter().flatten() {
            index.keys.insert(text(row, 0)?, text_or_null(row, 1)?.unwrap_or_default());
        }
        for (segment, key) in &index.keys {
            for (number, term) in (0..).zip(query.words.terms()) {
                index.segments.push(segment.clone());
                index.terms.push(number);
                index.hashes.push(hashed(key, term));
            }
        }
        Ok(index)
    }

    /// Counts the pieces, and those that contain each term.
    fn counts(&self, tx: &Tx<'_>, session: &SessionId) -> Vec<Statement> {
        let places = places(RowKind::Messages);
        let all = format!(
            "{places} SELECT count(*) FROM places p JOIN search_pieces r ON r.tenant = $1
                 AND r.segment = p.segment AND r.ord >= p.start AND r.ord < p.until"
        );
        let each = format!(
            "{places} SELECT q.term, count(*) FROM unnest($3, $4, $5) AS q (segment, term, hash) {WITH_TERM}
             GROUP BY q.term"
        );
        let terms = values![session.as_str(), &self.segments[..], self.terms.clone(), self.hashes.clone()];
        vec![tx.of_tenant(all, values![session.as_str()]), tx.of_tenant(each, terms)]
    }

    /// Selects the pieces that score best by themselves, with the formula of [`engine::search::score`].
    fn best(&self, tx: &Tx<'_>, session: &SessionId, query: &Query, weights: &[f64]) -> Statement {
        let here = "cardinality(array_positions(r.terms, q.hash))";
        let length = format!("{K1} * (1 - {B} + {B} * cardinality(r.terms) / {USUAL_TERMS:?}::float8)");
        let sql = format!(
            "{} SELECT r.ord FROM unnest($3, $4, $5) AS q (segment, hash, weight) {WITH_TERM} AND r.ord < $6
             GROUP BY r.segment, r.ord, r.piece
             ORDER BY sum(q.weight::float8 * {here} / ({here} + {length})) DESC, r.ord DESC, r.piece DESC
             LIMIT {MOST_RANKED}",
            places(RowKind::Messages)
        );
        let of_term = |term: &i64| usize::try_from(*term).ok().and_then(|term| weights.get(term));
        let weights: Vec<String> =
            self.terms.iter().filter_map(of_term).map(|weight| weight.to_string()).collect();
        let before = query.before.map_or(u32::MAX, |before| before.0);
        let values = values![session.as_str(), &self.segments[..], self.hashes.clone(), &weights[..], before];
        tx.of_tenant(sql, values)
    }
}

/// Selects the newest versions of messages before `$3` that may have all of the literals `$4`, newest first: in the body,
/// or in a content that it refers to. See [`engine::search::Words::literals`]. Bytes that are not ASCII are written by
/// `escape` as octal numbers, in both.
fn may_have_words() -> String {
    let framed = FRAMED.map(|start| format!("strpos(r.body, '{start}') > 0")).join(" OR ");
    let more = format!(
        "AND r.ord < $3 AND NOT EXISTS (SELECT 1 FROM chat_messages n
             WHERE n.tenant = $1 AND n.segment = r.segment AND n.ord = r.ord AND n.rev > 0 AND n.rev > r.rev)
         AND ({framed} OR NOT EXISTS (SELECT 1 FROM unnest($4) AS w (part) WHERE NOT (
             strpos(lower(r.body COLLATE \"C\"), w.part) > 0
             OR (strpos(w.part, 'k') > 0 AND octet_length(r.body) <> char_length(r.body))
             OR (strpos(r.body, '{KEY_END}') > 0 AND EXISTS (SELECT 1 FROM blob_refs f
                 JOIN blobs b ON b.tenant = $1 AND b.hash = f.hash
                 CROSS JOIN LATERAL (SELECT encode(b.bytes, 'escape') COLLATE \"C\" AS said) e
                 WHERE f.tenant = $1 AND f.segment = r.segment AND f.owner = 'message' AND f.n = r.ord
                     AND f.rev = r.rev AND (strpos(lower(e.said), encode(convert_to(w.part, 'UTF8'), 'escape')) > 0
                     OR (strpos(w.part, 'k') > 0 AND length(e.said) <> octet_length(b.bytes))))))))"
    );
    in_places(RowKind::Messages, MESSAGE, &more, "ORDER BY r.ord DESC LIMIT $5")
}

/// The messages that contain all words as parts of others.
async fn with_all_words(tx: &mut Tx<'_>, session: &SessionId, query: &Query) -> Done<SearchPage> {
    let mut whole = AllWords::new(query);
    let literals: Vec<String> = query.words.literals().map(str::to_owned).collect();
    let most = (query.skip.saturating_add(query.limit).saturating_add(1)).clamp(*PAGE.start(), *PAGE.end());
    let mut before = query.before.map_or(u32::MAX, |before| before.0);
    loop {
        let values = values![session.as_str(), before, &literals[..], most as u64];
        let mut rows = tx.query(may_have_words(), values).await?;
        let is_last = rows.len() < most;
        if let Some(row) = rows.last() {
            before = number(row, 0)?;
        }
        rows.reverse();
        let messages = newest(tx, session, &rows).await?;
        let is_full = !messages.iter().rev().all(|message| whole.take(message));
        if is_full || is_last {
            return Ok(whole.finish());
        }
    }
}
