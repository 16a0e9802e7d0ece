//! Liveness of lease holders. Each store has a row in `holders` with the time until which it counts as alive, by the
//! database's clock: that is compared by the server alone, so no other clock matters, and a dropped connection or a
//! pooler in between changes nothing. Each commit renews it, and so does a task while the store is idle.
//!
//! Whoever waits for an ended process would wait for that time. So a process on the same machine is looked for, too: one
//! that is gone is no holder any more.

use crate::follow::Holder;
use crate::postgres::value::{boolean, number, text, text_or_null};
use engine::id::Time;
use std::collections::BTreeSet;
use std::fs;
use std::process;
use std::sync::{Mutex, PoisonError};
use tokio_postgres::Row;
use uuid::Uuid;

/// Stores of this process that were not dropped.
static OPEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// A store as the holder of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub id: String,
    pub process: Process,
}

/// A process, as others on its machine can find it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    /// The running system and its space of process ids; empty where these are not known.
    pub machine: String,
    pub pid: u32,
    /// Tells processes with the same id apart.
    pub started: u64,
}

impl Identity {
    /// A new holder in this process.
    pub fn register() -> Self {
        let id = Uuid::now_v7().to_string();
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        Self { id, process: Process::own() }
    }

    /// From now on the store holds nothing.
    pub fn unregister(&self) {
        OPEN.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}

impl Process {
    fn own() -> Self {
        let pid = process::id();
        Self { machine: machine(), pid, started: started(pid).unwrap_or_default() }
    }

    /// `true` if it is known that the process ended, or dropped this store.
    fn is_gone(&self, own: &Self, holder: &str) -> bool {
        if self.machine.is_empty() || self.machine != own.machine {
            return false;
        }
        if self == own {
            return !OPEN.lock().unwrap_or_else(PoisonError::into_inner).contains(holder);
        }
        started(self.pid) != Some(self.started)
    }
}

/// The system since its start, and the space of process ids in it: a container may have one of its own.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let space = fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default();
    if boot.is_empty() || space.is_empty() { String::new() } else { format!("{} {space}", boot.trim()) }
}

/// When a process started, in ticks since the start of the system; `None` if there is none.
fn started(pid: u32) -> Option<u64> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may have spaces and brackets.
    let (_, behind) = line.rsplit_once(')')?;
    let mut fields = behind.split_ascii_whitespace();
    // One that ended and was not waited for is gone, too.
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The columns of a lease `l`, which may be missing, with its holder, and the table of holders.
pub(super) const LEASE_COLUMNS: &str =
    "coalesce(l.fence, 0), l.holder, coalesce(l.since, 0), coalesce(h.pid, 0), coalesce(h.machine, ''),
     coalesce(h.started, 0), coalesce(h.expires_at > clock_timestamp(), false), h.user_name, h.host";
pub(super) const WITH_HOLDER: &str = "LEFT JOIN holders h ON h.tenant = l.tenant AND h.holder = l.holder";

/// A row of `leases` with its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lease {
    pub fence: u64,
    pub holder: Option<String>,
    pub since: Time,
    process: Process,
    is_fresh: bool,
    user: Option<String>,
    host: Option<String>,
}

impl Lease {
    /// Reads a lease from a row with [`LEASE_COLUMNS`] from this column on.
    pub fn read(row: &Row, at: usize) -> Result<Self, String> {
        let process =
            Process { machine: text(row, at + 4)?, pid: number(row, at + 3)?, started: number(row, at + 5)? };
        Ok(Self {
            fence: number(row, at)?,
            holder: text_or_null(row, at + 1)?,
            since: Time(number(row, at + 2)?),
            process,
            is_fresh: boolean(row, at + 6)?,
            user: text_or_null(row, at + 7)?,
            host: text_or_null(row, at + 8)?,
        })
    }

    /// The holder, if it is another one that is alive.
    pub fn other(&self, me: &Identity) -> Option<Holder> {
        let holder = self.holder.as_deref().filter(|holder| *holder != me.id)?;
        let is_alive = self.is_fresh && !self.process.is_gone(&me.process, holder);
        let (pid, since) = (self.process.pid, self.since);
        is_alive.then(|| Holder { pid, since, user: self.user.clone(), host: self.host.clone() })
    }

    /// `true` if this store is the holder.
    pub fn is_of(&self, me: &Identity) -> bool {
        self.holder.as_deref() == Some(&me.id)
    }

    /// `true` if a live store is the holder.
    pub fn is_held(&self, me: &Identity) -> bool {
        self.is_of(me) || self.other(me).is_some()
    }
}
