//! A store of plain maps: the model that tests compare the backends with. Stores of one [`World`] behave like
//! processes on one file.

mod related;
mod step;

use super::error::StoreError;
use super::follow::{FollowState, Holder, Mark};
use super::list::{ListQuery, Page, PageMaker, RevisionPage, SessionRow};
use super::task::{Task, TaskState, Waiting};
use super::{Deleted, Fence, MessagePage, Store, StoreDiagnostics};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::{Body, Message};
use engine::scope::{Scope, ScopePatch};
use engine::search::{self, Query, SearchPage};
use session::part::Claims;
use session::stored::{Always, Head, Origin, Part, Rest, Stored, Write};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use step::{PendingStep, StoredSession};

/// State shared by stores; dropped with the last of them.
#[derive(Debug, Clone, Default)]
pub struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionId, StoredSession>,
    leases: BTreeMap<SessionId, Lease>,
    /// By workspace and name.
    scopes: BTreeMap<(String, String), Scope>,
    /// By workspace.
    approvals: BTreeMap<String, BTreeSet<Always>>,
    /// By workspace and id.
    memories: BTreeMap<String, BTreeMap<String, Memory>>,
    /// Live holders.
    holders: BTreeSet<u64>,
    next_holder: u64,
    /// The number of changes so far.
    changes: u64,
}

#[derive(Debug, Clone)]
struct Lease {
    fence: u64,
    holder: Option<u64>,
    since: Time,
}

/// A store of plain maps.
#[derive(Debug)]
pub struct ModelStore {
    world: World,
    holder: u64,
    is_closed: bool,
    /// Changes that this store made.
    own_changes: u64,
}

impl World {
    /// Opens another store, which counts as another process.
    pub fn open(&self) -> ModelStore {
        let mut state = self.lock();
        let holder = state.next_holder;
        state.next_holder += 1;
        state.holders.insert(holder);
        ModelStore { world: self.clone(), holder, is_closed: false, own_changes: 0 }
    }

    /// A poisoned lock is harmless: a step changes a copy.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ModelStore {
    fn default() -> Self {
        World::default().open()
    }
}

impl Drop for ModelStore {
    fn drop(&mut self) {
        self.world.lock().holders.remove(&self.holder);
    }
}

impl ModelStore {
    fn state(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        if self.is_closed { Err(StoreError::Closed) } else { Ok(self.world.lock()) }
    }

    /// Acquires a session if `may` allows it.
    fn take(
        &mut self,
        session: &SessionId,
        since: Time,
        may: impl FnOnce(&State, u64) -> Result<(), StoreError>,
    ) -> Result<Fence, StoreError> {
        let mut state = self.state()?;
        may(&state, self.holder)?;
        let lease = state.leases.get(session);
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
}

impl State {
    /// The session's live holder, if it is another one.
    fn other(&self, session: &SessionId, own: u64) -> Option<Holder> {
        let lease = self.leases.get(session)?;
        let is_other = lease.holder.is_some_and(|id| id != own && self.holders.contains(&id));
        is_other.then_some(Holder::here(process::id(), lease.since))
    }

    /// `true` if a live holder has the session.
    fn is_held(&self, session: &SessionId) -> bool {
        let holder = self.leases.get(session).and_then(|lease| lease.holder);
        holder.is_some_and(|id| self.holders.contains(&id))
    }

    /// Fails with `IsRevision` for a revision.
    fn is_own(&self, session: &SessionId) -> Result<(), StoreError> {
        match self.sessions.get(session) {
            Some(StoredSession { revision: Some(_), head, .. }) => {
                let of = head.parent.clone().unwrap_or_else(|| session.clone());
                Err(StoreError::IsRevision { session: session.clone(), of })
            }
            _ => Ok(()),
        }
    }

    /// Fails with `Held` while another live holder has the session.
    fn free_for(&self, session: &SessionId, own: u64) -> Result<(), StoreError> {
        match self.other(session, own) {
            Some(holder) => Err(StoreError::Held { session: session.clone(), holder }),
            None => Ok(()),
        }
    }

    /// Fails with `FenceLost` unless the session is held under this fence.
    fn held(&self, session: &SessionId, fence: Fence, own: u64) -> Result<(), StoreError> {
        let lease = self.leases.get(session);
        if lease.is_some_and(|lease| lease.fence == fence.0 && lease.holder == Some(own)) {
            return Ok(());
        }
        Err(StoreError::FenceLost { session: session.clone(), holder: self.other(session, own) })
    }

    /// Releases this holder's leases that are meant.
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

impl Store for ModelStore {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let mut state = self.state()?;
        state.held(session, fence, self.holder)?;
        state.is_own(session)?;
        let mut changed = PendingStep::make(&state.sessions, session, writes)?;
        if let Some(kept) = changed.get_mut(session) {
            kept.commits += u64::from(!writes.iter().all(|write| matches!(write, Write::Streamed(_))));
        }
        state.copy_scopes(session, writes);
        state.sessions.extend(changed);
        state.changes += 1;
        drop(state);
        self.own_changes += 1;
        Ok(())
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        let state = self.state()?;
        Ok(state.sessions.get(session).map(|kept| kept.stored(Ordinal(0))))
    }

    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError> {
        Ok(self.load(session)?.and_then(|stored| Part::of(&stored, newest)))
    }

    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError> {
        let stored = self.load(session)?;
        Ok(stored.map_or_else(Rest::default, |stored| Rest {
            messages: stored.messages.into_iter().filter(|(_, message)| message.ord < from).collect(),
            turns: stored.turns,
            compactions: stored.compactions,
            keys: stored.keys,
            unreadable: stored.unreadable,
        }))
    }

    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError> {
        let Some(stored) = self.load(session)? else { return Ok(None) };
        let all = stored.messages.into_iter().map(|(_, message)| message);
        let end = all.len().min(before.map_or(usize::MAX, Ordinal::index));
        let from = end.saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
        let messages = all.filter(|message| (from..end).contains(&message.ord.index())).collect();
        let start = Ordinal(u32::try_from(from).unwrap_or(u32::MAX));
        Ok(Some(MessagePage { start, messages, unreadable: Vec::new() }))
    }

    fn older_versions(&mut self, session: &SessionId) -> Result<Vec<(u32, Arc<Message>)>, StoreError> {
        Ok(self.state()?.sessions.get(session).map(StoredSession::older).unwrap_or_default())
    }

    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError> {
        let _ = is_late;
        Ok(false)
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        let Some(stored) = self.load(session)? else { return Ok(false) };
        let id = claims.external_id.as_deref();
        let mut before = stored.messages.iter().filter(|(_, message)| message.ord < from);
        let is_said = before.any(|(_, message)| id.is_some() && message.external_id.as_deref() == id);
        Ok(is_said || stored.keys.iter().any(|(key, _)| Some(key) == claims.key.as_ref()))
    }

    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let state = self.state()?;
        Ok(state.sessions.get(session).map(|kept| kept.head.workspace.clone()))
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        let state = self.state()?;
        let mut best = None;
        let own = |kept: &StoredSession| kept.head.workspace == workspace && kept.revision.is_none();
        for (id, kept) in state.sessions.iter().filter(|(_, kept)| own(kept)) {
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

    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError> {
        let state = self.state()?;
        let Some(_) = state.sessions.get(session) else { return Ok(None) };
        let its = state.sessions.values().filter(|kept| kept.head.parent.as_ref() == Some(session));
        let mut rows: Vec<_> = its.filter_map(StoredSession::revision_row).collect();
        rows.retain(|row| before.is_none_or(|before| row.number < before));
        rows.sort_by_key(|row| Reverse(row.number));
        let last = rows.get(limit.saturating_sub(1) as usize).map(|row| row.number);
        let next = rows.get(limit as usize).and(last);
        rows.truncate(limit as usize);
        Ok(Some(RevisionPage { revisions: rows, next }))
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        let state = self.state()?;
        let is_wanted = |kept: &&StoredSession| {
            kept.revision.is_none() && query.workspace.as_ref().is_none_or(|w| *w == kept.head.workspace)
        };
        let row = |kept: &StoredSession| kept.row(state.is_held(&kept.head.id));
        let mut rows: Vec<SessionRow> = state.sessions.values().filter(is_wanted).map(row).collect();
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

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        let state = self.state()?;
        let Some(kept) = state.sessions.get(session) else { return Ok(SearchPage::default()) };
        let newest: Vec<&Message> =
            kept.newest().into_values().rev().map(|(_, message)| &**message).collect();
        Ok(search::find(newest.into_iter(), query))
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.take(session, since, |state, holder| {
            state.is_own(session)?;
            state.free_for(session, holder)
        })
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.take(session, since, |state, _| state.is_own(session))
    }

    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        self.state()?.held(session, fence, self.holder)
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

    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError> {
        let state = self.state()?;
        let waits = |kept: &&StoredSession| kept.head.waits && kept.head.workspace == workspace;
        let free = |kept: &&StoredSession| state.free_for(&kept.head.id, self.holder).is_ok();
        let mut found: Vec<&Head> =
            state.sessions.values().filter(waits).filter(free).map(|kept| &kept.head).collect();
        found.sort_by_key(|head| (head.created_at, &head.id));
        let of = |head: &Head| Waiting { session: head.id.clone(), settings: head.settings.clone() };
        Ok(found.into_iter().map(of).collect())
    }

    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError> {
        let state = self.state()?;
        let is_its = |kept: &&StoredSession| {
            kept.head.parent.as_ref() == Some(parent) && kept.head.origin == Origin::Background
        };
        let lives = |id: &SessionId| {
            let holder = state.leases.get(id).and_then(|lease| lease.holder);
            holder.is_some_and(|holder| state.holders.contains(&holder))
        };
        let task = |kept: &StoredSession| {
            let head = &kept.head;
            let last = kept.turns.values().last().map(|turn| turn.status);
            let (rest, used) = (head.carried.state, head.carried.used());
            let state = TaskState::of(head.waits, last, rest, || lives(&head.id))?;
            let (session, title, kind) = (head.id.clone(), head.title.clone(), head.kind.clone());
            Some(Task { session, title, kind, state, rest, used, created_at: head.created_at })
        };
        let mut tasks: Vec<Task> = state.sessions.values().filter(is_its).filter_map(task).collect();
        tasks.sort_by_key(|task| (task.created_at, task.session.clone()));
        Ok(tasks)
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        Ok(self.state()?.changes - self.own_changes)
    }

    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError> {
        let state = self.state()?;
        let Some(kept) = state.sessions.get(session) else { return Ok(None) };
        let holder = state.other(session, self.holder);
        Ok(kept.follow(known, holder))
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let mut state = self.state()?;
        state.is_own(session)?;
        let mut gone = vec![session.clone()];
        gone.extend(state.copies(session));
        gone.iter().try_for_each(|id| state.free_for(id, self.holder))?;
        let Some(head) = state.sessions.get(session).map(|kept| kept.head.clone()) else { return Ok(None) };
        let (scrubbed, branches) = (!state.has_related(&gone), state.branches(&gone));
        let mut deleted = Deleted { workspace: head.workspace, scrubbed, branches, ..Deleted::default() };
        let mut all = Vec::new();
        for id in &gone {
            let Some(kept) = state.sessions.remove(id) else { continue };
            let list = if kept.revision.is_some() { &mut deleted.revisions } else { &mut deleted.copies };
            list.extend((id != session).then(|| id.clone()));
            state.leases.remove(id);
            state.drop_scopes(&kept.head);
            all.push(kept);
        }
        related::count(&mut deleted, all);
        state.changes += 1;
        drop(state);
        self.own_changes += 1;
        Ok(Some(deleted))
    }

    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError> {
        let key = (workspace.to_owned(), name.to_owned());
        Ok(self.state()?.scopes.get(&key).cloned().unwrap_or_default())
    }

    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError> {
        let key = (workspace.to_owned(), name.to_owned());
        let mut state = self.state()?;
        let mut scope = state.scopes.get(&key).cloned().unwrap_or_default();
        super::patch(name, &mut scope, patch, if_revision)?;
        if scope.revision > 0 {
            state.scopes.insert(key, scope.clone());
        }
        Ok(scope)
    }

    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError> {
        Ok(self.state()?.approvals.get(workspace).into_iter().flatten().cloned().collect())
    }

    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.revoke(workspace, always)?;
        self.state()?.approvals.entry(workspace.to_owned()).or_default().insert(always.clone());
        Ok(())
    }

    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        if let Some(approvals) = self.state()?.approvals.get_mut(workspace) {
            approvals.retain(|known| (&known.tool, &known.pattern) != (&always.tool, &always.pattern));
        }
        Ok(())
    }

    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError> {
        let state = self.state()?;
        Ok(query.page(state.memories.get(workspace).into_iter().flat_map(BTreeMap::values).cloned()))
    }

    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError> {
        let mut state = self.state()?;
        let memories = state.memories.entry(workspace.to_owned()).or_default();
        if let Some(memory) = memories.get_mut(id) {
            memory.apply(patch, now);
            return Ok(Some(memory.clone()));
        }
        let new = Memory::new(id, patch, now);
        memories.extend(new.iter().map(|memory| (id.to_owned(), memory.clone())));
        Ok(new)
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        Ok(state.memories.get_mut(workspace).is_some_and(|memories| memories.remove(id).is_some()))
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        let state = self.state()?;
        let own = || state.sessions.values().filter(|kept| kept.revision.is_none());
        Ok(StoreDiagnostics {
            backend: "model",
            path: None,
            schema_version: 0,
            sessions: own().count() as u64,
            messages: own().map(|kept| kept.newest().len() as u64).sum(),
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
