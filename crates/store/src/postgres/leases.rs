//! Rows of `leases`: acquiring, taking over and releasing sessions. `holder` tells whether a holder is alive. The row is
//! locked by whoever changes the session, so the fence is checked against what nobody else can change meanwhile.

use super::fault::{Done, Fault};
use super::holder::{Identity, LEASE_COLUMNS, Lease, WITH_HOLDER};
use super::read::revisions::session_of;
use super::tx::{Statement, Tx};
use super::value::{text, values};
use crate::Fence;
use crate::error::StoreError;
use engine::id::{SessionId, Time};
use tokio_postgres::Row;

/// Selects the leases of these sessions, in order, and locks them.
pub(super) fn locked(tx: &Tx<'_>, sessions: &[String]) -> Statement {
    let sql = format!(
        "SELECT {LEASE_COLUMNS}, l.session FROM leases l {WITH_HOLDER}
         WHERE l.tenant = $1 AND l.session = ANY($2) ORDER BY l.session FOR UPDATE OF l"
    );
    tx.of_tenant(sql, values![sessions])
}

/// The session and the lease of a row of [`locked`].
pub(super) fn read(row: &Row) -> Result<(SessionId, Lease), String> {
    Ok((SessionId::new(text(row, 9)?), Lease::read(row, 0)?))
}

/// The lease of a session, locked.
async fn lease_of(tx: &mut Tx<'_>, session: &SessionId) -> Done<Option<Lease>> {
    let ask = locked(tx, &[session.as_str().to_owned()]);
    let rows = tx.queries(vec![ask]).await?.pop().unwrap_or_default();
    Ok(rows.first().map(read).transpose()?.map(|(_, lease)| lease))
}

/// Fails with `Held` if another live holder has the session.
pub(super) fn is_free(session: &SessionId, lease: Option<&Lease>, me: &Identity) -> Done {
    match lease.and_then(|lease| lease.other(me)) {
        Some(holder) => Err(StoreError::Held { session: session.clone(), holder }.into()),
        None => Ok(()),
    }
}

/// Fails with `FenceLost` unless the session is held under this fence.
pub(super) fn held(
    session: &SessionId,
    fence: Fence,
    lease: Option<&Lease>,
    me: &Identity,
) -> Result<(), Fault> {
    if lease.is_some_and(|lease| lease.fence == fence.0 && lease.is_of(me)) {
        return Ok(());
    }
    let holder = lease.and_then(|lease| lease.other(me));
    Err(StoreError::FenceLost { session: session.clone(), holder }.into())
}

/// See [`crate::Store::acquire`] and [`crate::Store::take_over`].
pub(super) async fn take(
    tx: &mut Tx<'_>,
    session: &SessionId,
    since: Time,
    me: &Identity,
    by_force: bool,
) -> Done<Fence> {
    // Two that make the first lease at once wait for each other at this row.
    let make = "INSERT INTO leases (tenant, session, fence, holder, since) VALUES ($1, $2, 0, NULL, $3)
         ON CONFLICT (tenant, session) DO NOTHING";
    tx.push(make, values![session.as_str(), since.0]);
    let of = session_of(tx, session);
    let lock = locked(tx, &[session.as_str().to_owned()]);
    let mut rows = tx.queries(vec![of, lock]).await?;
    let leases = rows.pop().unwrap_or_default();
    super::read::revisions::is_own(session, rows.pop().unwrap_or_default().first())?;
    let lease = leases.first().map(read).transpose()?.map(|(_, lease)| lease);
    if !by_force {
        is_free(session, lease.as_ref(), me)?;
    }
    if let Some(lease) = lease.as_ref().filter(|lease| lease.is_of(me)) {
        return Ok(Fence(lease.fence));
    }
    let fence = lease.map_or(0, |lease| lease.fence) + 1;
    let take = "UPDATE leases SET fence = $3, holder = $4, since = $5 WHERE tenant = $1 AND session = $2";
    tx.push(take, values![session.as_str(), fence, &me.id, since.0]);
    Ok(Fence(fence))
}

/// See [`crate::Store::holds`].
pub(super) async fn holds(tx: &mut Tx<'_>, session: &SessionId, fence: Fence, me: &Identity) -> Done {
    let sql =
        format!("SELECT {LEASE_COLUMNS} FROM leases l {WITH_HOLDER} WHERE l.tenant = $1 AND l.session = $2");
    let rows = tx.query(sql, values![session.as_str()]).await?;
    let lease = rows.first().map(|row| Lease::read(row, 0)).transpose()?;
    held(session, fence, lease.as_ref(), me)
}

/// Releases a session. A session without a row leaves no lease.
pub(super) async fn release(tx: &mut Tx<'_>, session: &SessionId, fence: Fence, me: &Identity) -> Done {
    let lease = lease_of(tx, session).await?;
    if lease.is_some_and(|lease| lease.fence == fence.0 && lease.is_of(me)) {
        tx.push(
            "DELETE FROM leases l WHERE l.tenant = $1 AND l.session = $2
             AND NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.tenant = $1 AND s.id = l.session)",
            values![session.as_str()],
        );
        let free = "UPDATE leases SET holder = NULL WHERE tenant = $1 AND session = $2";
        tx.push(free, values![session.as_str()]);
    }
    Ok(())
}

/// Releases all sessions of this holder, and removes its row.
pub(super) fn let_go(tx: &mut Tx<'_>, me: &Identity) {
    tx.push(
        "DELETE FROM leases l WHERE l.tenant = $1 AND l.holder = $2
         AND NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.tenant = $1 AND s.id = l.session)",
        values![&me.id],
    );
    tx.push("UPDATE leases SET holder = NULL WHERE tenant = $1 AND holder = $2", values![&me.id]);
}

/// Removes what holders left that ended long ago, and did not say so.
pub(super) fn forget_the_dead(tx: &mut Tx<'_>) {
    tx.push(
        "DELETE FROM holders WHERE tenant = $1 AND expires_at < clock_timestamp() - interval '1 day'",
        values![],
    );
    tx.push(
        "DELETE FROM leases l WHERE l.tenant = $1 AND l.holder IS NOT NULL
         AND NOT EXISTS (SELECT 1 FROM holders h WHERE h.tenant = $1 AND h.holder = l.holder)
         AND NOT EXISTS (SELECT 1 FROM chat_sessions s WHERE s.tenant = $1 AND s.id = l.session)",
        values![],
    );
}
