//! A store and a counter that fail on demand, and report how much they did.

use super::*;
use engine::id::{Ordinal, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::Message;
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::sync::Condvar;
use std::thread::{self, ThreadId};
use store::follow::{FollowState, Mark};
use store::list::{ListQuery, Page, RevisionPage};
use store::task::{Task, Waiting};
use store::{Deleted, Fence, MessagePage, Store, StoreDiagnostics};

/// Controls of the store and the counter, and their figures.
#[derive(Debug, Default)]
pub(super) struct Works {
    /// Errors of the next commits, in their order.
    pub(super) fails: Mutex<Vec<StoreError>>,
    /// Number of committed rows.
    pub(super) rows: AtomicUsize,
    /// Number of messages that were loaded for a part of a session.
    pub(super) loaded: AtomicUsize,
    /// Number of counted bytes.
    pub(super) counted: AtomicUsize,
    /// `true` if every count panics.
    pub(super) is_broken: AtomicBool,
    /// `true` if every deletion fails.
    pub(super) is_undeletable: AtomicBool,
    /// The threads that counted a text of [`LARGE`] bytes or more.
    pub(super) large: Mutex<Vec<ThreadId>>,
    /// Holds back counts on all threads but that of the test.
    pub(super) gate: Gate,
}

/// The size of a large text, in bytes.
const LARGE: usize = 100_000;

/// A gate, open at first.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The thread that closed it, and the bytes of a text from which on it is held back.
    closed: Mutex<Option<(ThreadId, usize)>>,
    opened: Condvar,
}

impl Gate {
    /// Closes it for large texts.
    pub(super) fn close(&self) {
        self.close_for(LARGE);
    }

    /// Closes it for texts of so many bytes.
    pub(super) fn close_for(&self, bytes: usize) {
        *self.closed.lock().unwrap() = Some((thread::current().id(), bytes));
    }

    pub(super) fn open(&self) {
        *self.closed.lock().unwrap() = None;
        self.opened.notify_all();
    }

    fn pass(&self, text: &str) {
        let holds = |closed: &mut Option<(ThreadId, usize)>| {
            closed.is_some_and(|(by, bytes)| by != thread::current().id() && text.len() >= bytes)
        };
        drop(self.opened.wait_while(self.closed.lock().unwrap(), holds).unwrap());
    }
}

/// Counts tokens; panics if the text contains `BOOM`.
pub(super) struct Counter(pub(super) Arc<Works>);

impl TokenCount for Counter {
    fn name(&self) -> &str {
        "test"
    }

    fn count(&self, text: &str) -> u32 {
        let is_broken = self.0.is_broken.load(Ordering::Relaxed);
        assert!(!is_broken && !text.contains("BOOM"), "a defect of the test's own");
        self.0.gate.pass(text);
        if text.len() >= LARGE {
            self.0.large.lock().unwrap().push(thread::current().id());
        }
        self.0.counted.fetch_add(text.len(), Ordering::Relaxed);
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }
}

/// A store in memory whose commits can fail.
#[derive(Debug)]
pub(super) struct Disk(pub(super) SqliteStore, pub(super) Arc<Works>);

impl Store for Disk {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let mut fails = self.1.fails.lock().unwrap();
        if !fails.is_empty() {
            return Err(fails.remove(0));
        }
        let rows = writes.iter().map(|write| match write {
            Write::Branch { writes, .. } => writes.len(),
            _ => 1,
        });
        self.1.rows.fetch_add(rows.sum(), Ordering::Relaxed);
        self.0.commit(session, fence, writes)
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        self.0.load(session)
    }

    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError> {
        let part = self.0.load_part(session, newest)?;
        let messages = part.iter().map(|part| part.stored.messages.len()).sum();
        self.1.loaded.fetch_add(messages, Ordering::Relaxed);
        Ok(part)
    }

    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError> {
        self.0.load_rest(session, from)
    }

    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError> {
        self.0.messages(session, before, limit)
    }

    fn older_versions(&mut self, session: &SessionId) -> Result<Vec<(u32, Arc<Message>)>, StoreError> {
        self.0.older_versions(session)
    }

    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError> {
        self.0.tidy(is_late)
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        self.0.is_known(session, claims, from)
    }

    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError> {
        self.0.workspace(session)
    }

    fn find(&mut self, ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        self.0.find(ids, workspace)
    }

    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError> {
        self.0.revisions(session, before, limit)
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        self.0.list(query)
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.0.acquire(session, since)
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.0.take_over(session, since)
    }

    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        self.0.holds(session, fence)
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        self.0.release(session, fence)
    }

    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError> {
        self.0.waiting(workspace)
    }

    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError> {
        self.0.tasks(parent)
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        self.0.pulse()
    }

    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError> {
        self.0.follow(session, known)
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        if self.1.is_undeletable.load(Ordering::Relaxed) {
            return Err(full());
        }
        self.0.delete(session)
    }

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        self.0.search(session, query)
    }

    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError> {
        self.0.memories(workspace, query)
    }

    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError> {
        self.0.put_memory(workspace, id, patch, now)
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        self.0.delete_memory(workspace, id)
    }

    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError> {
        self.0.scope(workspace, name)
    }

    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError> {
        self.0.put_scope(workspace, name, patch, if_revision)
    }

    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError> {
        self.0.approvals(workspace)
    }

    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.0.approve(workspace, always)
    }

    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.0.revoke(workspace, always)
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        self.0.diagnostics()
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.0.close()
    }
}
