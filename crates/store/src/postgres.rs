//! The PostgreSQL backend: many stores on one database, a tenant for each team. This file has the store itself; the
//! modules below have its connection, its tables and its statements.

mod fault;
mod holder;
mod link;
mod migrate;
mod options;
mod tx;
mod value;

pub use options::{Options, OptionsError};
pub use tx::Traffic;

use crate::error::StoreError;
use crate::follow::{FollowState, Mark};
use crate::list::{ListQuery, Page, RevisionPage};
use crate::task::{Task, Waiting};
use crate::{Deleted, Fence, MessagePage, Store, StoreDiagnostics};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use link::Link;
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::sync::Arc;

/// Opens a store, and opens it again after a panic. Its sessions stay held while this value lives.
#[derive(Debug)]
pub struct Opener {
    options: Options,
    link: Option<Arc<Link>>,
}

impl Opener {
    /// An opener of a database. Nothing is connected before the first [`Opener::open`].
    pub fn new(options: Options) -> Self {
        Self { options, link: None }
    }

    /// Connects, and makes the tables if they are missing.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`], with the database unchanged; [`StoreError::ReadOnly`]; [`StoreError::Io`] if the
    /// server is away or refuses the connection.
    pub fn open(&mut self) -> Result<PostgresStore, StoreError> {
        let link = match &self.link {
            Some(link) => Arc::clone(link),
            None => Arc::clone(self.link.insert(Arc::new(Link::start(self.options.clone())?))),
        };
        link.connect()?;
        Ok(PostgresStore { link })
    }
}

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    link: Arc<Link>,
}

impl PostgresStore {
    /// What was exchanged with the server so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }
}

/// The error of a call that is not built yet.
fn unbuilt() -> StoreError {
    StoreError::Crashed { reason: "this call of the PostgreSQL store is not built yet".to_owned() }
}

impl Store for PostgresStore {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let _ = (session, fence, writes);
        Err(unbuilt())
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        let _ = (session);
        Err(unbuilt())
    }

    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError> {
        let _ = (session, newest);
        Err(unbuilt())
    }

    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError> {
        let _ = (session, from);
        Err(unbuilt())
    }

    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError> {
        let _ = (session, before, limit);
        Err(unbuilt())
    }

    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError> {
        let _ = (is_late);
        Err(unbuilt())
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        let _ = (session, claims, from);
        Err(unbuilt())
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        let _ = (external_ids, workspace);
        Err(unbuilt())
    }

    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let _ = (session);
        Err(unbuilt())
    }

    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError> {
        let _ = (session, before, limit);
        Err(unbuilt())
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        let _ = (query);
        Err(unbuilt())
    }

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        let _ = (session, query);
        Err(unbuilt())
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let _ = (session, since);
        Err(unbuilt())
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let _ = (session, since);
        Err(unbuilt())
    }

    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let _ = (session, fence);
        Err(unbuilt())
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let _ = (session, fence);
        Err(unbuilt())
    }

    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError> {
        let _ = (workspace);
        Err(unbuilt())
    }

    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError> {
        let _ = (parent);
        Err(unbuilt())
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        let _ = ();
        Err(unbuilt())
    }

    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError> {
        let _ = (session, known);
        Err(unbuilt())
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let _ = (session);
        Err(unbuilt())
    }

    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError> {
        let _ = (workspace, name);
        Err(unbuilt())
    }

    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError> {
        let _ = (workspace, name, patch, if_revision);
        Err(unbuilt())
    }

    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError> {
        let _ = (workspace);
        Err(unbuilt())
    }

    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        let _ = (workspace, always);
        Err(unbuilt())
    }

    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        let _ = (workspace, always);
        Err(unbuilt())
    }

    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError> {
        let _ = (workspace, query);
        Err(unbuilt())
    }

    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError> {
        let _ = (workspace, id, patch, now);
        Err(unbuilt())
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        let _ = (workspace, id);
        Err(unbuilt())
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        let _ = ();
        Err(unbuilt())
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let _ = ();
        Err(unbuilt())
    }
}
