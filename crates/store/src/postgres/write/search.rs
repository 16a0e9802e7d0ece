//! The index of the terms of messages: filled by searches, in slices, and kept right by commits that change messages
//! which are in it. A commit that only appends does not touch it: most sessions are never searched.
//!
//! Whoever fills it, and whoever changes a message that may be in it, holds the lock on the row of the segment.

use crate::blob::keyed_number;
use crate::postgres::fault::Done;
use crate::postgres::read::contents::{Contents, decoded};
use crate::postgres::read::places::{RowKind, places};
use crate::postgres::read::rows;
use crate::postgres::tx::Tx;
use crate::postgres::value::{number, text, text_or_null, values};
use engine::id::SessionId;
use engine::message::Message;
use engine::search::pieces::pieces;
use std::sync::Arc;
use uuid::Uuid;

/// Bytes of messages that one call adds.
const SLICE_BYTES: usize = 1 << 20;
/// The most messages that one call reads for that.
const SLICE_MESSAGES: u32 = 1024;

/// A term of a segment, as it is stored.
pub(in crate::postgres) fn hashed(key: &str, term: &str) -> i64 {
    keyed_number(key.as_bytes(), term).cast_signed()
}

/// Lets a message be indexed anew, if it was.
pub(super) fn changed(tx: &mut Tx<'_>, segment: &str, ord: u32) {
    // A statement of its own: those behind it see what was indexed until then.
    tx.push("SELECT id FROM segments WHERE tenant = $1 AND id = $2 FOR UPDATE", values![segment]);
    tx.push(
        "DELETE FROM search_pieces WHERE tenant = $1 AND segment = $2 AND ord = $3",
        values![segment, ord],
    );
    tx.push(
        "INSERT INTO search_stale (tenant, segment, ord) SELECT g.tenant, g.id, $3 FROM segments g
         WHERE g.tenant = $1 AND g.id = $2 AND g.indexed > $3 ON CONFLICT DO NOTHING",
        values![segment, ord],
    );
}

/// The statements that remove deleted messages of a segment, where `ranges` is a table `gone` of their positions.
pub(super) fn forget(ranges: &str) -> [String; 3] {
    let table = |name: &str| {
        format!(
            "{ranges} DELETE FROM {name} r USING gone WHERE r.tenant = $1 AND r.segment = $2
                 AND r.ord >= gone.start AND r.ord < gone.until"
        )
    };
    let last = format!(
        "{ranges} UPDATE segments g SET indexed = least(g.indexed, gone.start) FROM gone
             WHERE g.tenant = $1 AND g.id = $2 AND gone.until = 4294967296"
    );
    [last, table("search_pieces"), table("search_stale")]
}

/// The newest versions of messages of a segment, with no ids but their own. Most have no other: those that were changed
/// have an index of their own, so that a plan made without statistics compares few.
const NEWEST: &str = "FROM chat_messages r, (SELECT ''::text AS named, ''::text AS own) p
     WHERE r.tenant = $1 AND r.segment = $2 AND NOT EXISTS (SELECT 1 FROM chat_messages n
         WHERE n.tenant = $1 AND n.segment = $2 AND n.ord = r.ord AND n.rev > 0 AND n.rev > r.rev)";

/// Indexes the next messages of a session. Returns `true` if there are more.
pub(in crate::postgres) async fn catch_up(tx: &mut Tx<'_>, session: &SessionId) -> Done<bool> {
    let locked = format!(
        "{} SELECT g.id, g.indexed, g.search_key FROM segments g WHERE g.tenant = $1
             AND g.id IN (SELECT p.segment FROM places p) ORDER BY g.id FOR UPDATE",
        places(RowKind::Messages)
    );
    let mut left = SLICE_BYTES;
    for row in tx.query(locked, values![session.as_str()]).await? {
        let segment = Segment {
            id: text(&row, 0)?,
            indexed: number(&row, 1)?,
            key: text_or_null(&row, 2)?.unwrap_or_else(|| Uuid::now_v7().simple().to_string()),
        };
        if segment.extend(tx, &mut left).await? || left == 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How far a segment is indexed.
struct Segment {
    id: String,
    indexed: u32,
    key: String,
}

impl Segment {
    /// Indexes what changed and the next messages. Returns `true` if there are more.
    async fn extend(&self, tx: &mut Tx<'_>, left: &mut usize) -> Done<bool> {
        let stale = format!(
            "SELECT {} {NEWEST} AND r.ord IN (SELECT t.ord FROM search_stale t WHERE t.tenant = $1 AND t.segment = $2)",
            rows::MESSAGE
        );
        let next = format!("SELECT {} {NEWEST} AND r.ord >= $3 ORDER BY r.ord LIMIT $4", rows::MESSAGE);
        let asked = vec![
            tx.of_tenant(stale, values![&self.id]),
            tx.of_tenant(next, values![&self.id, self.indexed, SLICE_MESSAGES]),
        ];
        let found = tx.queries(asked).await?;
        let [stale, next] = &found[..] else { return Ok(false) };
        let (stale_messages, messages) = decoded(tx, &mut Contents::default(), |contents| {
            // An unreadable message cannot be found.
            let mut read = |row| rows::message(row, contents).ok().map(|(_, message)| message);
            let stale: Vec<_> = stale.iter().filter_map(&mut read).collect();
            let next: Vec<_> = next.iter().map(|row| (number::<u32>(row, 0), read(row))).collect();
            (stale, next)
        })
        .await?;
        let mut added = Pieces::default();
        for message in &stale_messages {
            added.add(&self.key, message);
        }
        let (mut indexed, mut taken) = (self.indexed, 0);
        for (ord, message) in &messages {
            if *left == 0 {
                break;
            }
            if let Some(message) = message {
                *left = left.saturating_sub(message.body.bytes());
                added.add(&self.key, message);
            }
            (indexed, taken) = (ord.clone()?.saturating_add(1), taken + 1);
        }
        if stale.is_empty() && taken == 0 {
            return Ok(!messages.is_empty());
        }
        tx.push(
            "INSERT INTO search_pieces (tenant, segment, ord, piece, terms)
             SELECT $1, $2, q.ord, q.piece, q.terms::bigint[]
             FROM unnest($3, $4, $5) AS q (ord, piece, terms)
             ON CONFLICT (tenant, segment, ord, piece) DO UPDATE SET terms = excluded.terms",
            values![&self.id, added.ords, added.numbers, &added.terms[..]],
        );
        if !stale.is_empty() {
            tx.push("DELETE FROM search_stale WHERE tenant = $1 AND segment = $2", values![&self.id]);
        }
        tx.push(
            "UPDATE segments SET indexed = $3, search_key = $4 WHERE tenant = $1 AND id = $2",
            values![&self.id, indexed, &self.key],
        );
        Ok(taken < messages.len() || messages.len() >= SLICE_MESSAGES as usize)
    }
}

/// Rows of the index, by column.
#[derive(Debug, Default)]
struct Pieces {
    ords: Vec<i64>,
    numbers: Vec<i64>,
    /// Arrays as PostgreSQL writes them: it has none of arrays that differ in length.
    terms: Vec<String>,
}

impl Pieces {
    fn add(&mut self, key: &str, message: &Arc<Message>) {
        for (number, piece) in (0_i64..).zip(pieces(message)) {
            let terms: Vec<String> = piece.terms().iter().map(|term| hashed(key, term).to_string()).collect();
            self.ords.push(message.ord.0.into());
            self.numbers.push(number);
            self.terms.push(format!("{{{}}}", terms.join(",")));
        }
    }
}
