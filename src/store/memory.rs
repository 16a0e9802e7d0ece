//! The backend without a file: what `--ephemeral` uses, and the measure for the others, which must behave as it does.
//! Stores that are made from one [`World`] stand for processes on one file.

use super::error::StoreError;
use super::follow::{Change, Holder, Mark, News};
use super::list::{ListQuery, Page, PageMaker, SessionRow};
use super::{Deleted, Fence, Store, StoreDiagnostics, request_of};
use crate::engine::compact::record::{Compaction, Status};
use crate::engine::id::{Ordinal, SessionId, Time};
use crate::engine::message::{Body, Message};
use crate::engine::session::stored::{Head, Stored, TurnRow, Write};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What memory stores share. Gone with the last of them.
#[derive(Debug, Clone, Default)]
pub struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionId, Kept>,
    leases: BTreeMap<SessionId, Lease>,
    /// Holders that live.
    holders: BTreeSet<u64>,
    next_holder: u64,
    /// Changes so far.
    changes: u64,
}

#[derive(Debug, Clone)]
struct Lease {
    fence: u64,
    holder: Option<u64>,
    since: Time,
}

/// A session.
#[derive(Debug, Clone)]
struct Kept {
    head: Head,
    turns: BTreeMap<u32, TurnRow>,
    /// By position and version; each with its turn's place.
    messages: BTreeMap<(Ordinal, u32), (u32, Arc<Message>)>,
    compactions: Vec<Compaction>,
    first_request: Option<(Ordinal, String)>,
    /// See [`Mark`].
    commits: u64,
    rewrites: u64,
}

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    world: World,
    holder: u64,
    is_closed: bool,
    /// Changes of the world that are its own.
    own_changes: u64,
}

impl World {
    /// A store on it, as a process of its own.
    pub fn open(&self) -> MemoryStore {
        let mut state = self.lock();
        let holder = state.next_holder;
        state.next_holder += 1;
        state.holders.insert(holder);
        MemoryStore { world: self.clone(), holder, is_closed: false, own_changes: 0 }
    }

    /// A step changes a copy, so a breakdown in its middle leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        World::default().open()
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.world.lock().holders.remove(&self.holder);
    }
}

impl MemoryStore {
    fn state(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        if self.is_closed { Err(StoreError::Closed) } else { Ok(self.world.lock()) }
    }
}

impl State {
    /// Refuses while another holder lives.
    fn free_for(&self, session: &SessionId, own: u64) -> Result<Option<&Lease>, StoreError> {
        let lease = self.leases.get(session);
        match lease {
            Some(Lease { holder: Some(other), since, .. })
                if *other != own && self.holders.contains(other) =>
            {
                Err(StoreError::Held { session: session.clone(), pid: process::id(), since: *since })
            }
            _ => Ok(lease),
        }
    }

    /// Frees what this holder holds.
    fn let_go(&mut self, holder: u64, is_meant: impl Fn(&SessionId, &Lease) -> bool) {
        let sessions = &self.sessions;
        let is_it =
            |session: &SessionId, lease: &Lease| lease.holder == Some(holder) && is_meant(session, lease);
        self.leases.retain(|session, lease| sessions.contains_key(session) || !is_it(session, lease));
        for (session, lease) in &mut self.leases {
            if is_it(session, lease) {
                lease.holder = None;
            }
        }
    }
}

impl Kept {
    fn new(head: Head) -> Self {
        Self {
            head,
            turns: BTreeMap::new(),
            messages: BTreeMap::new(),
            compactions: Vec::new(),
            first_request: None,
            commits: 0,
            rewrites: 0,
        }
    }

    /// All of it, but for messages before `from`.
    fn stored(&self, from: Ordinal) -> Stored {
        let newest = self.newest().into_iter().filter(|(ord, _)| *ord >= from);
        Stored {
            head: self.head.clone(),
            turns: self.turns.values().cloned().collect(),
            messages: newest.map(|(_, message)| message.clone()).collect(),
            compactions: self.compactions.clone(),
            unreadable: Vec::new(),
        }
    }

    fn append(&mut self, turn: u32, message: &Arc<Message>) -> Result<(), String> {
        let place = (message.ord, message.rev);
        if let Some((there_in, there)) = self.messages.get(&place) {
            let same = *there_in == turn && is_same(there, message);
            // The editor's id of a message may become known later.
            if !same && there.external_id.is_none() && there.hash == message.hash {
                self.rewrites += 1;
                self.messages.insert(place, (turn, Arc::clone(message)));
                return Ok(());
            }
            let other = || format!("another message stands at {} (rev {})", message.ord, message.rev);
            return if same { Ok(()) } else { Err(other()) };
        }
        self.rewrites +=
            u64::from(self.messages.range((message.ord, 0)..=(message.ord, u32::MAX)).next().is_some());
        self.messages.insert(place, (turn, Arc::clone(message)));
        if let Some(request) = request_of(message)
            && self.first_request.as_ref().is_none_or(|(first, _)| *first >= message.ord)
        {
            self.first_request = Some((message.ord, request));
        }
        Ok(())
    }

    fn record(&mut self, record: &Compaction) -> Result<(), String> {
        let Some(there) = self.compactions.iter().find(|there| there.id == record.id) else {
            self.compactions.push(record.clone());
            return Ok(());
        };
        let same = *there == Compaction { status: there.status, ..record.clone() };
        if same { Ok(()) } else { Err(format!("another compaction is called {}", record.id)) }
    }

    fn apply(&mut self, write: &Write) -> Result<(), String> {
        match write {
            Write::Message { turn, message } => return self.append(*turn, message),
            Write::Compaction(record) => return self.record(record),
            Write::Turn(turn) => {
                self.turns.insert(turn.index, turn.clone());
            }
            Write::CompactionStatus { id, status } => {
                let record = self.compactions.iter_mut().find(|record| record.id == *id);
                record.ok_or_else(|| format!("there is no compaction {id}"))?.status = *status;
            }
            Write::Truncate { from, turns } => {
                self.messages.retain(|(ord, _), _| ord < from);
                self.turns.retain(|index, _| index < turns);
                self.first_request.take_if(|(ord, _)| *ord >= *from);
                self.rewrites += 1;
            }
            // Both are changes of the world.
            Write::Head(_) | Write::Fork { .. } => {}
        }
        Ok(())
    }

    /// The newest version of each message.
    fn newest(&self) -> BTreeMap<Ordinal, &(u32, Arc<Message>)> {
        self.messages.iter().map(|((ord, _), message)| (*ord, message)).collect()
    }

    fn row(&self) -> SessionRow {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let in_force = self.compactions.iter().rev().find(|record| record.status == Status::InForce);
        SessionRow {
            id: self.head.id.clone(),
            workspace: self.head.workspace.clone(),
            title: self.head.title.clone(),
            driver: self.head.driver,
            kind: self.head.kind.clone(),
            parent: self.head.parent.clone(),
            updated_at: self.head.updated_at,
            created_at: self.head.created_at,
            messages: count(self.newest().len()),
            turns: count(self.turns.len()),
            first_request: self.first_request.as_ref().map(|(_, text)| text.clone()),
            summary: in_force.map(|record| record.block.to_string()).filter(|block| !block.is_empty()),
            summarized_count: in_force.and_then(|record| record.covers).map_or(0, |span| span.to.next().0),
        }
    }
}

/// Whether both say the same, whatever was found in them since.
fn is_same(one: &Message, other: &Message) -> bool {
    let forget = |message: &Message| Message { mentions: Default::default(), ..message.clone() };
    forget(one) == forget(other)
}

impl Store for MemoryStore {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let lease = state.leases.get(session);
        if !lease.is_some_and(|lease| lease.fence == fence.0 && lease.holder == Some(self.holder)) {
            return Err(StoreError::FenceLost { session: session.clone() });
        }
        let refused = |reason: String| StoreError::Refused { session: session.clone(), reason };
        let mut kept = state.sessions.get(session).cloned();
        let mut forks: BTreeMap<SessionId, Kept> = BTreeMap::new();
        for write in writes {
            match (write, &mut kept) {
                (Write::Head(head), _) if head.id != *session => {
                    return Err(refused(format!("it is the head of {}", head.id)));
                }
                (Write::Head(head), Some(kept)) => kept.head = (**head).clone(),
                (Write::Head(head), none) => *none = Some(Kept::new((**head).clone())),
                (_, None) => return Err(refused("there is no such session".to_owned())),
                (Write::Fork { to }, Some(kept)) => {
                    if to == session || forks.contains_key(to) || state.sessions.contains_key(to) {
                        return Err(refused(format!("there is a session {to} already")));
                    }
                    let mut fork = kept.clone();
                    fork.head.id = to.clone();
                    fork.head.parent = Some(session.clone());
                    forks.insert(to.clone(), fork);
                }
                (write, Some(kept)) => kept.apply(write).map_err(refused)?,
            }
        }
        state.sessions.extend(forks);
        state.sessions.extend(kept.map(|kept| (session.clone(), Kept { commits: kept.commits + 1, ..kept })));
        state.changes += 1;
        drop(state);
        self.own_changes += 1;
        Ok(())
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        let state = self.state()?;
        Ok(state.sessions.get(session).map(|kept| kept.stored(Ordinal(0))))
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        let state = self.state()?;
        let mut best = None;
        for (id, kept) in state.sessions.iter().filter(|(_, kept)| kept.head.workspace == workspace) {
            let users = kept.messages.values().filter(|(_, m)| matches!(m.body, Body::User(_)));
            let held: BTreeSet<&str> = users.filter_map(|(_, m)| m.external_id.as_deref()).collect();
            let ids = external_ids.iter().filter(|id| held.contains(id.as_str())).count();
            if ids > 0 {
                let is_first = kept.head.parent.is_none();
                best = best.max(Some((ids, kept.head.updated_at, is_first, Reverse(id.clone()))));
            }
        }
        Ok(best.map(|(.., Reverse(id))| id))
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        let state = self.state()?;
        let is_wanted = |kept: &&Kept| query.workspace.as_ref().is_none_or(|w| *w == kept.head.workspace);
        let mut rows: Vec<SessionRow> = state.sessions.values().filter(is_wanted).map(Kept::row).collect();
        let order = |time: Time, id: &SessionId| (Reverse(time), id.clone());
        rows.sort_by_key(|row| order(row.updated_at, &row.id));
        let mut page = PageMaker::new(query);
        for row in rows {
            let is_before = |after: &super::list::Cursor| {
                order(row.updated_at, &row.id) <= order(after.updated_at, &after.id)
            };
            if !query.after.as_ref().is_some_and(is_before) && !page.take(row) {
                break;
            }
        }
        Ok(page.finish())
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let mut state = self.state()?;
        let lease = state.free_for(session, self.holder)?;
        if let Some(lease) = lease.filter(|lease| lease.holder == Some(self.holder)) {
            return Ok(Fence(lease.fence));
        }
        let fence = lease.map_or(0, |lease| lease.fence) + 1;
        state.leases.insert(session.clone(), Lease { fence, holder: Some(self.holder), since });
        state.changes += 1;
        drop(state);
        self.own_changes += 1;
        Ok(Fence(fence))
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let holder = self.holder;
        let mut state = self.state()?;
        state.let_go(holder, |id, lease| id == session && lease.fence == fence.0);
        state.changes += 1;
        drop(state);
        self.own_changes += 1;
        Ok(())
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        Ok(self.state()?.changes - self.own_changes)
    }

    fn follow(&mut self, session: &SessionId, known: Option<&Mark>) -> Result<Option<News>, StoreError> {
        let state = self.state()?;
        let Some(kept) = state.sessions.get(session) else { return Ok(None) };
        let lease = state.leases.get(session);
        let is_other = |id: u64| id != self.holder && state.holders.contains(&id);
        let holder = lease
            .filter(|lease| lease.holder.is_some_and(is_other))
            .map(|lease| Holder { pid: process::id(), since: lease.since });
        let Some(from) = Mark::reads_from(known, kept.commits, kept.rewrites) else {
            return Ok(known.map(|mark| News { mark: *mark, holder, change: None }));
        };
        let stored = kept.stored(from);
        let mark = Mark::of(kept.commits, kept.rewrites, &stored, from);
        Ok(Some(News { mark, holder, change: Some(Change { from, stored }) }))
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let mut state = self.state()?;
        state.free_for(session, self.holder)?;
        let Some(kept) = state.sessions.remove(session) else { return Ok(None) };
        state.leases.remove(session);
        state.changes += 1;
        drop(state);
        self.own_changes += 1;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Ok(Some(Deleted {
            messages: count(kept.messages.len()),
            turns: count(kept.turns.len()),
            compactions: count(kept.compactions.len()),
            scrubbed: true,
            ..Deleted::default()
        }))
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        let state = self.state()?;
        Ok(StoreDiagnostics {
            backend: "memory",
            path: None,
            schema_version: 0,
            sessions: state.sessions.len() as u64,
            messages: state.sessions.values().map(|kept| kept.newest().len() as u64).sum(),
            bytes: 0,
            journal: "none".to_owned(),
        })
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let holder = self.holder;
        let mut state = self.world.lock();
        state.let_go(holder, |_, _| true);
        state.changes += 1;
        drop(state);
        self.is_closed = true;
        Ok(())
    }
}
