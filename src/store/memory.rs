//! The backend without a file: what `--ephemeral` uses, and the measure for the others, which must behave as it does.
//! Stores that are made from one [`World`] stand for processes on one file.

use super::error::StoreError;
use super::list::{ListQuery, Page, PageMaker, SessionRow};
use super::{Deleted, Fence, Store, StoreDiagnostics, request_of};
use crate::engine::compact::record::{Compaction, Status};
use crate::engine::id::{Ordinal, SessionId, Time};
use crate::engine::message::{Body, Message, Text};
use crate::engine::session::queue::{Accepted, QueueItem};
use crate::engine::session::stored::{Head, KEPT_KEYS, Origin, Stored, TurnRow, Write};
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
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
    /// In the order of acceptance.
    queue: Vec<QueueItem>,
    /// Oldest first.
    keys: Vec<(String, Accepted)>,
    draft: Option<Text>,
}

/// A step that is under way: sessions as it leaves them, over those that are there.
struct Step<'a> {
    sessions: &'a BTreeMap<SessionId, Kept>,
    changed: BTreeMap<SessionId, Kept>,
}

/// A store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    world: World,
    holder: u64,
    is_closed: bool,
}

impl World {
    /// A store on it, as a process of its own.
    pub fn open(&self) -> MemoryStore {
        let mut state = self.lock();
        let holder = state.next_holder;
        state.next_holder += 1;
        state.holders.insert(holder);
        MemoryStore { world: self.clone(), holder, is_closed: false }
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
            queue: Vec::new(),
            keys: Vec::new(),
            draft: None,
        }
    }

    fn append(&mut self, turn: u32, message: &Arc<Message>) -> Result<(), String> {
        let place = (message.ord, message.rev);
        if let Some((there_in, there)) = self.messages.get(&place) {
            let same = *there_in == turn && is_same(there, message);
            // The editor's id of a message may become known later.
            if !same && there.external_id.is_none() && there.hash == message.hash {
                self.messages.insert(place, (turn, Arc::clone(message)));
                return Ok(());
            }
            let other = || format!("another message stands at {} (rev {})", message.ord, message.rev);
            return if same { Ok(()) } else { Err(other()) };
        }
        self.messages.insert(place, (turn, Arc::clone(message)));
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

    fn enqueue(&mut self, item: &QueueItem) -> Result<(), String> {
        let Some(there) = self.queue.iter().find(|there| there.id == item.id) else {
            self.queue.push(item.clone());
            return Ok(());
        };
        if there == item { Ok(()) } else { Err(format!("another command waits as {}", item.id)) }
    }

    fn remember(&mut self, key: &str, accepted: &Accepted) {
        if self.keys.iter().any(|(there, answer)| there == key && answer == accepted) {
            return;
        }
        self.keys.retain(|(there, _)| there != key);
        self.keys.push((key.to_owned(), accepted.clone()));
        self.keys.drain(..self.keys.len().saturating_sub(KEPT_KEYS));
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
            }
            Write::Enqueue(item) => return self.enqueue(item),
            Write::Dequeue(item) => self.queue.retain(|there| there.id != *item),
            Write::Key { key, accepted } => self.remember(key, accepted),
            Write::Draft(draft) => self.draft.clone_from(draft),
            // Changes of more than one session.
            Write::Head(_) | Write::Fork { .. } | Write::Branch { .. } => {}
        }
        Ok(())
    }

    /// The newest version of each message.
    fn newest(&self) -> BTreeMap<Ordinal, &(u32, Arc<Message>)> {
        self.messages.iter().map(|((ord, _), message)| (*ord, message)).collect()
    }

    /// What is urgent first.
    fn queue_in_order(&self) -> Vec<QueueItem> {
        let mut queue = self.queue.clone();
        queue.sort_by_key(|item| !item.priority);
        queue
    }

    fn row(&self) -> SessionRow {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let in_force = self.compactions.iter().rev().find(|record| record.status == Status::InForce);
        let newest = self.newest();
        SessionRow {
            id: self.head.id.clone(),
            workspace: self.head.workspace.clone(),
            title: self.head.title.clone(),
            driver: self.head.driver,
            kind: self.head.kind.clone(),
            parent: self.head.parent.clone(),
            origin: self.head.origin,
            work_scope: self.head.work_scope.clone(),
            updated_at: self.head.updated_at,
            created_at: self.head.created_at,
            messages: count(newest.len()),
            turns: count(self.turns.len()),
            first_request: newest.values().find_map(|(_, message)| request_of(message)),
            summary: in_force.map(|record| record.block.to_string()).filter(|block| !block.is_empty()),
            summarized_count: in_force.and_then(|record| record.covers).map_or(0, |span| span.to.next().0),
        }
    }
}

impl Step<'_> {
    fn is_there(&self, session: &SessionId) -> bool {
        self.changed.contains_key(session) || self.sessions.contains_key(session)
    }

    /// A session, to be changed.
    fn kept(&mut self, session: &SessionId) -> Result<&mut Kept, StoreError> {
        match self.changed.entry(session.clone()) {
            Entry::Occupied(changed) => Ok(changed.into_mut()),
            Entry::Vacant(place) => match self.sessions.get(session) {
                Some(kept) => Ok(place.insert(kept.clone())),
                None => Err(refused(session, "there is no such session")),
            },
        }
    }

    /// Refuses to make a session over another one.
    fn free(&self, session: &SessionId, to: &SessionId) -> Result<(), StoreError> {
        let taken = || Err(refused(session, format!("there is a session {to} already")));
        if self.is_there(to) { taken() } else { Ok(()) }
    }

    fn apply(&mut self, session: &SessionId, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::Head(head) if head.id != *session => {
                Err(refused(session, format!("it is the head of {}", head.id)))
            }
            Write::Head(head) if self.is_there(session) => {
                self.kept(session)?.head = (**head).clone();
                Ok(())
            }
            Write::Head(head) => {
                self.changed.insert(session.clone(), Kept::new((**head).clone()));
                Ok(())
            }
            Write::Fork { to } => {
                let mut fork = self.kept(session)?.clone();
                self.free(session, to)?;
                fork.head.id = to.clone();
                fork.head.parent = Some(session.clone());
                fork.head.origin = Origin::Rewind;
                (fork.queue, fork.keys, fork.draft) = (Vec::new(), Vec::new(), None);
                self.changed.insert(to.clone(), fork);
                Ok(())
            }
            Write::Branch { to, writes } => {
                self.kept(session)?;
                self.free(session, to)?;
                if !matches!(writes.first(), Some(Write::Head(_))) {
                    return Err(refused(session, format!("the branch {to} does not begin with its head")));
                }
                writes.iter().try_for_each(|write| self.apply(to, write))
            }
            write => self.kept(session)?.apply(write).map_err(|reason| refused(session, reason)),
        }
    }
}

fn refused(session: &SessionId, reason: impl Into<String>) -> StoreError {
    StoreError::Refused { session: session.clone(), reason: reason.into() }
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
        let mut step = Step { sessions: &state.sessions, changed: BTreeMap::new() };
        writes.iter().try_for_each(|write| step.apply(session, write))?;
        let changed = step.changed;
        state.sessions.extend(changed);
        Ok(())
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        let state = self.state()?;
        Ok(state.sessions.get(session).map(|kept| Stored {
            head: kept.head.clone(),
            turns: kept.turns.values().cloned().collect(),
            messages: kept.newest().into_values().cloned().collect(),
            compactions: kept.compactions.clone(),
            queue: kept.queue_in_order(),
            keys: kept.keys.clone(),
            draft: kept.draft.clone(),
            unreadable: Vec::new(),
        }))
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
        Ok(Fence(fence))
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let holder = self.holder;
        self.state()?.let_go(holder, |id, lease| id == session && lease.fence == fence.0);
        Ok(())
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let mut state = self.state()?;
        state.free_for(session, self.holder)?;
        let Some(kept) = state.sessions.remove(session) else { return Ok(None) };
        state.leases.remove(session);
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
        self.world.lock().let_go(holder, |_, _| true);
        self.is_closed = true;
        Ok(())
    }
}
