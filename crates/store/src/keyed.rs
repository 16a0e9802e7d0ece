//! A store in which workspaces have other names than on this machine: a key that several machines agree on, in place of
//! a path. Names are replaced on the way in and on the way out.

use crate::error::StoreError;
use crate::follow::{FollowState, Mark};
use crate::list::{ListQuery, Page, RevisionPage};
use crate::task::{Task, Waiting};
use crate::{Commit, Deleted, Fence, MessagePage, Store, StoreDiagnostics};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::Message;
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Finds the key of a folder; `None` if it has none.
type KeyOf = Box<dyn FnMut(&str) -> Option<String> + Send>;

/// The keys of folders. A folder without a key is its own. A key that another folder has already is not given twice: the
/// sessions of two folders are kept apart.
pub struct Names {
    key_of: KeyOf,
    keys: BTreeMap<String, String>,
    folders: BTreeMap<String, String>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl Names {
    /// Names by this function, which is asked once for each folder.
    pub fn new(key_of: impl FnMut(&str) -> Option<String> + Send + 'static) -> Self {
        Self { key_of: Box::new(key_of), keys: BTreeMap::new(), folders: BTreeMap::new() }
    }

    fn key(&mut self, folder: &str) -> String {
        if let Some(key) = self.keys.get(folder) {
            return key.clone();
        }
        let key = (self.key_of)(folder).filter(|key| !self.folders.contains_key(key));
        let key = key.unwrap_or_else(|| folder.to_owned());
        self.keys.insert(folder.to_owned(), key.clone());
        self.folders.insert(key.clone(), folder.to_owned());
        key
    }

    /// The folder of a key. A key that no folder had yet is kept.
    fn folder(&self, key: &mut String) {
        if let Some(folder) = self.folders.get(key) {
            key.clone_from(folder);
        }
    }

    fn writes(&mut self, writes: &mut [Write]) {
        for write in writes {
            match write {
                Write::Head(head) => head.workspace = self.key(&head.workspace),
                Write::Branch { writes, .. } => self.writes(writes),
                _ => {}
            }
        }
    }

    /// The writes with keys. They are copied only if they name a workspace.
    fn keyed<'a>(&mut self, writes: &'a [Write]) -> Cow<'a, [Write]> {
        let names_one = |write: &Write| matches!(write, Write::Head(_) | Write::Branch { .. });
        if !writes.iter().any(names_one) {
            return Cow::Borrowed(writes);
        }
        let mut writes = writes.to_vec();
        self.writes(&mut writes);
        Cow::Owned(writes)
    }
}

/// A store behind [`Names`].
#[derive(Debug)]
pub struct Keyed<S> {
    store: S,
    names: Names,
}

impl<S: Store> Keyed<S> {
    /// This store, with workspaces under these names.
    pub fn new(store: S, names: Names) -> Self {
        Self { store, names }
    }
}

impl<S: Store> Store for Keyed<S> {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        self.store.commit(session, fence, &self.names.keyed(writes))
    }

    fn commit_all(&mut self, commits: &[Commit]) -> Vec<Result<(), StoreError>> {
        let keyed = commits.iter().map(|commit| {
            let writes = match self.names.keyed(&commit.writes) {
                Cow::Borrowed(_) => Arc::clone(&commit.writes),
                Cow::Owned(writes) => Arc::new(writes),
            };
            Commit { session: commit.session.clone(), fence: commit.fence, writes }
        });
        let keyed: Vec<Commit> = keyed.collect();
        self.store.commit_all(&keyed)
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        let mut stored = self.store.load(session)?;
        stored.iter_mut().for_each(|stored| self.names.folder(&mut stored.head.workspace));
        Ok(stored)
    }

    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError> {
        let mut part = self.store.load_part(session, newest)?;
        part.iter_mut().for_each(|part| self.names.folder(&mut part.stored.head.workspace));
        Ok(part)
    }

    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError> {
        self.store.load_rest(session, from)
    }

    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError> {
        self.store.messages(session, before, limit)
    }

    fn older_versions(&mut self, session: &SessionId) -> Result<Vec<(u32, Arc<Message>)>, StoreError> {
        self.store.older_versions(session)
    }

    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError> {
        self.store.tidy(is_late)
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        self.store.is_known(session, claims, from)
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        self.store.find(external_ids, &self.names.key(workspace))
    }

    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let mut workspace = self.store.workspace(session)?;
        workspace.iter_mut().for_each(|workspace| self.names.folder(workspace));
        Ok(workspace)
    }

    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError> {
        self.store.revisions(session, before, limit)
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        let workspace = query.workspace.as_deref().map(|workspace| self.names.key(workspace));
        let mut page = self.store.list(&ListQuery { workspace, ..query.clone() })?;
        page.sessions.iter_mut().for_each(|row| self.names.folder(&mut row.workspace));
        Ok(page)
    }

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        self.store.search(session, query)
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.store.acquire(session, since)
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.store.take_over(session, since)
    }

    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        self.store.holds(session, fence)
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        self.store.release(session, fence)
    }

    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError> {
        self.store.waiting(&self.names.key(workspace))
    }

    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError> {
        self.store.tasks(parent)
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        self.store.pulse()
    }

    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError> {
        let mut state = self.store.follow(session, known)?;
        let changes = state.iter_mut().filter_map(|state| state.change.as_mut());
        changes.for_each(|change| self.names.folder(&mut change.stored.head.workspace));
        Ok(state)
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let mut deleted = self.store.delete(session)?;
        deleted.iter_mut().for_each(|deleted| self.names.folder(&mut deleted.workspace));
        Ok(deleted)
    }

    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError> {
        self.store.scope(&self.names.key(workspace), name)
    }

    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError> {
        self.store.put_scope(&self.names.key(workspace), name, patch, if_revision)
    }

    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError> {
        self.store.approvals(&self.names.key(workspace))
    }

    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.store.approve(&self.names.key(workspace), always)
    }

    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.store.revoke(&self.names.key(workspace), always)
    }

    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError> {
        self.store.memories(&self.names.key(workspace), query)
    }

    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError> {
        self.store.put_memory(&self.names.key(workspace), id, patch, now)
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        self.store.delete_memory(&self.names.key(workspace), id)
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        self.store.diagnostics()
    }

    fn close(&mut self) -> Result<(), StoreError> {
        self.store.close()
    }
}
