//! Reads sessions from rows. Unreadable rows are reported with position and reason, and the rest is still read. All
//! tables of a session are asked in one round trip; a second one fetches large contents.

pub(super) mod contents;
pub(super) mod list;
pub(super) mod part;
pub(super) mod places;
pub(super) mod revisions;
pub(super) mod rows;
pub(super) mod search;
pub(super) mod tasks;

use super::fault::Done;
use super::holder::{Identity, LEASE_COLUMNS, Lease, WITH_HOLDER};
use super::tx::{Statement, Tx};
use super::value::{number, text, values};
use crate::follow::{Change, FollowState, Mark};
use contents::{Contents, decoded};
use engine::id::{Ordinal, SessionId};
use engine::message::Message;
use places::{RowKind, in_places};
use rows::Rows;
use session::stored::Stored;
use std::sync::Arc;

/// Loads a session without messages before `from`.
pub(super) async fn load(tx: &mut Tx<'_>, session: &SessionId, from: Ordinal) -> Done<Option<Stored>> {
    let asked = rows::whole(tx, session, from);
    let found = tx.queries(asked).await?;
    Ok(stored(tx, session, from, &found).await?.map(|(stored, _)| stored))
}

/// See [`crate::Store::older_versions`].
pub(super) async fn older_versions(tx: &mut Tx<'_>, session: &SessionId) -> Done<Vec<(u32, Arc<Message>)>> {
    let older = "AND EXISTS (SELECT 1 FROM chat_messages n WHERE n.tenant = $1 AND n.segment = r.segment
         AND n.ord = r.ord AND n.rev > 0 AND n.rev > r.rev)";
    let sql = in_places(RowKind::Messages, rows::MESSAGE, older, "ORDER BY r.ord, r.rev");
    let rows = tx.query(sql, values![session.as_str()]).await?;
    decoded(tx, &mut Contents::default(), |contents| {
        rows.iter().filter_map(|row| rows::message(row, contents).ok()).collect()
    })
    .await
}

/// A session from the rows of [`rows::whole`], with the numbers of its streamed pieces.
async fn stored(
    tx: &mut Tx<'_>,
    session: &SessionId,
    from: Ordinal,
    found: &[Vec<tokio_postgres::Row>],
) -> Done<Option<(Stored, Vec<u64>)>> {
    let rows = Rows::of(session, found);
    if rows.head.is_empty() {
        return Ok(None);
    }
    let mut contents = Contents::default();
    rows.prefix(&mut contents)?;
    decoded(tx, &mut contents, |contents| {
        let mut unreadable = Vec::new();
        let head = rows.head(contents, &mut unreadable)?;
        let turns = rows.turns(&mut unreadable);
        let told = unreadable.len();
        let messages = rows.messages(from, contents, &mut unreadable);
        // Rows that are lost leave no trace in those that are read.
        let here = u32::try_from(messages.len()).unwrap_or(u32::MAX).saturating_add(from.0);
        let missing =
            rows.counted().and_then(|counted| counted.checked_sub(here)).filter(|missing| *missing > 0);
        if let Some(missing) = missing.filter(|_| unreadable.len() == told) {
            unreadable.push(format!("{missing} messages are missing"));
        }
        let compactions = rows.compactions(contents, &mut unreadable);
        let queue = rows.queue(contents, &mut unreadable);
        let keys = rows.keys(&mut unreadable);
        let draft = rows.draft(&mut unreadable);
        let (numbers, streamed) = rows.streamed(&mut unreadable).into_iter().unzip();
        let stored = Stored { head, turns, messages, compactions, queue, keys, draft, streamed, unreadable };
        Ok(Some((stored, numbers)))
    })
    .await?
}

const PULSE: &str = "SELECT commits, rewrites FROM chat_activity WHERE tenant = $1 AND session = $2";

/// Selects the lease of a session.
fn lease(tx: &Tx<'_>, session: &SessionId) -> Statement {
    let sql =
        format!("SELECT {LEASE_COLUMNS} FROM leases l {WITH_HOLDER} WHERE l.tenant = $1 AND l.session = $2");
    tx.of_tenant(sql, values![session.as_str()])
}

/// See [`crate::Store::follow`].
pub(super) async fn follow(
    tx: &mut Tx<'_>,
    session: &SessionId,
    known: Option<&Mark>,
    me: &Identity,
) -> Done<Option<FollowState>> {
    let piece = known.map_or(0, |mark| mark.piece);
    let asked = vec![
        tx.of_tenant(PULSE, values![session.as_str()]),
        lease(tx, session),
        rows::streamed_from(tx, session, piece),
    ];
    let found = tx.queries(asked).await?;
    let [pulse, lease, pieces] = &found[..] else { return Ok(None) };
    let Some(pulse) = pulse.first() else { return Ok(None) };
    let (commits, rewrites) = (number(pulse, 0)?, number(pulse, 1)?);
    let lease = lease.first().map(|row| Lease::read(row, 0)).transpose()?;
    let holder = lease.and_then(|lease| lease.other(me));
    let Some(from) = Mark::reads_from(known, commits, rewrites) else {
        let Some(mark) = known else { return Ok(None) };
        let pieces = rows::pieces(pieces, &mut Vec::new());
        return Ok(Some(FollowState::new(*mark, holder, None, pieces)));
    };
    let asked = rows::whole(tx, session, from);
    let found = tx.queries(asked).await?;
    let Some((mut stored, numbers)) = stored(tx, session, from, &found).await? else { return Ok(None) };
    let pieces = numbers.into_iter().zip(std::mem::take(&mut stored.streamed)).collect();
    let mark = Mark::of(commits, rewrites, &stored, from);
    Ok(Some(FollowState::new(mark, holder, Some(Change { from, stored }), pieces)))
}

/// See [`crate::Store::workspace`].
pub(super) async fn workspace(tx: &mut Tx<'_>, session: &SessionId) -> Done<Option<String>> {
    let sql = "SELECT workspace FROM chat_sessions WHERE tenant = $1 AND id = $2";
    let rows = tx.query(sql, values![session.as_str()]).await?;
    Ok(rows.first().map(|row| text(row, 0)).transpose()?)
}

/// The numbers of sessions and of their messages; the database's bytes and how durable a commit is.
pub(super) async fn diagnostics(tx: &mut Tx<'_>) -> Done<(u64, u64, u64, String)> {
    let sql = "SELECT count(*), coalesce(sum(messages), 0)::bigint, pg_database_size(current_database()),
             current_setting('synchronous_commit'), current_setting('server_version')
         FROM chat_activity WHERE tenant = $1 AND NOT is_revision";
    let rows = tx.query(sql, values![]).await?;
    let row = rows.first().ok_or_else(|| "no counts".to_owned())?;
    let journal = format!("PostgreSQL {}, synchronous_commit {}", text(row, 4)?, text(row, 3)?);
    Ok((number(row, 0)?, number(row, 1)?, number(row, 2)?, journal))
}
