//! Rows of `leases`: acquiring, taking over and releasing sessions. `crate::lease` tells whether a holder is
//! alive.

use super::Fault;
use super::columns::{millis, time};
use crate::Fence;
use crate::error::StoreError;
use crate::follow::Holder;
use crate::lease::{Holders, Registered};
use engine::id::{SessionId, Time};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::process;
use std::sync::Arc;

/// A row of `leases`.
pub(super) struct Lease {
    pub fence: u64,
    pub holder: Option<String>,
    pub pid: u32,
    pub since: Time,
}

pub(super) const LEASE: &str = "SELECT fence, holder, pid, since FROM leases WHERE session = ?1";

pub(super) fn lease_of(tx: &Transaction<'_>, session: &SessionId) -> rusqlite::Result<Option<Lease>> {
    let mut statement = tx.prepare_cached(LEASE)?;
    let row = |row: &rusqlite::Row<'_>| {
        Ok(Lease { fence: row.get(0)?, holder: row.get(1)?, pid: row.get(2)?, since: time(row.get(3)?) })
    };
    statement.query_row([session.as_str()], row).optional()
}

/// The calling store, as a holder.
pub(super) struct Caller(pub Arc<Registered>);

impl Caller {
    /// The lease's holder, if it is another one that is alive.
    pub fn other(&self, lease: &Lease) -> Option<Holder> {
        let is_other = lease.holder.as_deref().is_some_and(|holder| self.0.is_other(holder));
        is_other.then_some(Holder::here(lease.pid, lease.since))
    }

    fn holds(&self, lease: &Lease) -> bool {
        lease.holder.as_deref() == Some(self.0.id())
    }
}

/// `true` if a live holder has the session. If that cannot be read, nobody is known to have it.
pub(super) fn is_held(tx: &Transaction<'_>, session: &SessionId, me: &Caller) -> bool {
    let lease = lease_of(tx, session).ok().flatten();
    lease.is_some_and(|lease| me.holds(&lease) || me.other(&lease).is_some())
}

/// Fails with `Held` while another live holder has the session; otherwise returns the lease.
pub(super) fn free_for(
    tx: &Transaction<'_>,
    session: &SessionId,
    me: &Caller,
) -> Result<Option<Lease>, Fault> {
    let lease = lease_of(tx, session)?;
    if let Some(holder) = lease.as_ref().and_then(|lease| me.other(lease)) {
        return Err(StoreError::Held { session: session.clone(), holder }.into());
    }
    Ok(lease)
}

/// Fails with `FenceLost` unless the session is held under this fence.
pub(super) fn held(
    tx: &Transaction<'_>,
    session: &SessionId,
    fence: Fence,
    me: &Caller,
) -> Result<(), Fault> {
    let lease = lease_of(tx, session)?;
    if lease.as_ref().is_some_and(|lease| lease.fence == fence.0 && me.holds(lease)) {
        return Ok(());
    }
    let holder = lease.and_then(|lease| me.other(&lease));
    Err(StoreError::FenceLost { session: session.clone(), holder }.into())
}

/// Makes this store the holder, under a new fence, or returns the fence that it has.
pub(super) fn take(
    tx: &Transaction<'_>,
    session: &SessionId,
    since: Time,
    lease: Option<Lease>,
    me: &Caller,
) -> Result<Fence, Fault> {
    if let Some(lease) = lease.as_ref().filter(|lease| me.holds(lease)) {
        return Ok(Fence(lease.fence));
    }
    let fence = lease.map_or(0, |lease| lease.fence) + 1;
    let mut statement = tx.prepare_cached(
        "INSERT INTO leases (session, fence, holder, pid, since) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (session) DO UPDATE SET
             fence = excluded.fence, holder = excluded.holder, pid = excluded.pid, since = excluded.since",
    )?;
    statement.execute(params![session.as_str(), fence, me.0.id(), process::id(), millis(since)])?;
    Ok(Fence(fence))
}

/// Releases a session. A session without a row leaves no lease.
pub(super) fn release(
    tx: &Transaction<'_>,
    session: &SessionId,
    fence: Fence,
    own: &Registered,
) -> rusqlite::Result<()> {
    let mine = params![session.as_str(), fence.0, own.id()];
    tx.execute(
        "DELETE FROM leases WHERE session = ?1 AND fence = ?2 AND holder = ?3
         AND session NOT IN (SELECT id FROM chat_sessions)",
        mine,
    )?;
    tx.execute("UPDATE leases SET holder = NULL WHERE session = ?1 AND fence = ?2 AND holder = ?3", mine)
        .map(drop)
}

/// Releases all sessions of this holder. A session without a row leaves no lease.
pub(super) fn let_go(tx: &Connection, holder: &str) -> rusqlite::Result<()> {
    tx.execute(
        "DELETE FROM leases WHERE holder = ?1 AND session NOT IN (SELECT id FROM chat_sessions)",
        [holder],
    )?;
    tx.execute("UPDATE leases SET holder = NULL WHERE holder = ?1", [holder]).map(drop)
}

/// Fails with `Held` while a live process holds any session.
pub(super) fn is_free(tx: &Transaction<'_>, holders: &Holders) -> Result<(), Fault> {
    let mut statement =
        tx.prepare("SELECT session, holder, pid, since FROM leases WHERE holder IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, holder): (String, String) = (row.get(0)?, row.get(1)?);
        if holders.is_alive(&holder) {
            let (session, holder) = (SessionId::new(session), Holder::here(row.get(2)?, time(row.get(3)?)));
            return Err(StoreError::Held { session, holder }.into());
        }
    }
    Ok(())
}
