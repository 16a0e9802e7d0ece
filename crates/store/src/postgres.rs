//! The PostgreSQL backend: many stores on one database, a tenant for each team. This file has the store itself; the
//! modules below have its connection, its tables and its statements.

pub mod check;
mod fault;
mod holder;
mod leases;
mod link;
mod memories;
mod migrate;
mod options;
mod read;
mod searched;
mod shared;
mod tx;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use options::{Options, OptionsError};
pub use tx::Traffic;

use crate::error::StoreError;
use crate::follow::{FollowState, Mark};
use crate::list::{ListQuery, Page, RevisionPage};
use crate::task::{Task, Waiting};
use crate::{Commit, Deleted, Fence, MessagePage, Store, StoreDiagnostics, one_by_one};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::Message;
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use link::{Link, Unknown};
use searched::Searched;
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
        link.write(async |tx| {
            leases::forget_the_dead(tx);
            Ok(())
        })?;
        Ok(PostgresStore { link, searched: Searched::default(), unknown: None })
    }
}

/// The outcome of each of several commits.
type Outcomes = Vec<Result<(), StoreError>>;

/// A store in a PostgreSQL database.
#[derive(Debug)]
pub struct PostgresStore {
    link: Arc<Link>,
    searched: Searched,
    /// The newest commits, if it is not known whether they were made.
    unknown: Option<(Vec<Commit>, Unknown<Outcomes>)>,
}

impl PostgresStore {
    /// The exchange with the server so far.
    pub fn traffic(&self) -> Traffic {
        self.link.traffic()
    }

    /// Reads [`PostgresStore::traffic`] beside the store.
    #[cfg(any(test, feature = "testing"))]
    pub fn counter(&self) -> impl Fn() -> Traffic + use<> {
        let link = Arc::clone(&self.link);
        move || link.traffic()
    }

    /// Extends the index of a session by a slice; the rest is done while the store is idle.
    fn index(&mut self, session: &SessionId) -> Result<(), StoreError> {
        if self.link.write(async |tx| write::search::catch_up(tx, session).await)? {
            self.searched.push(session);
        }
        Ok(())
    }

    fn take(&self, session: &SessionId, since: Time, by_force: bool) -> Result<Fence, StoreError> {
        let me = self.link.me();
        let fence = self.link.write(async |tx| leases::take(tx, session, since, me, by_force).await)?;
        self.link.hold(session);
        Ok(fence)
    }

    /// The outcomes of the first of these commits, if they were made before, when the answer was lost.
    fn made_before(&mut self, commits: &[Commit]) -> Result<Outcomes, StoreError> {
        let Some((made, unknown)) = self.unknown.take().filter(|(made, _)| commits.starts_with(made)) else {
            return Ok(Vec::new());
        };
        match self.link.is_committed(&unknown.mark) {
            Ok(true) => Ok(unknown.value),
            Ok(false) => Ok(Vec::new()),
            Err(error) => {
                self.unknown = Some((made, unknown));
                Err(error)
            }
        }
    }
}

impl Store for PostgresStore {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let commit = Commit { session: session.clone(), fence, writes: Arc::new(writes.to_vec()) };
        self.commit_all(&[commit]).pop().unwrap_or(Err(StoreError::Closed))
    }

    fn commit_all(&mut self, commits: &[Commit]) -> Vec<Result<(), StoreError>> {
        let mut outcomes = match self.made_before(commits) {
            Ok(outcomes) => outcomes,
            Err(error) => return vec![Err(error); commits.len()],
        };
        let commits = commits.get(outcomes.len()..).unwrap_or_default();
        if commits.is_empty() {
            return outcomes;
        }
        let me = self.link.me();
        commits.iter().for_each(|commit| self.searched.count(&commit.session, &commit.writes));
        let changes: Vec<_> =
            commits.iter().map(|commit| (&commit.session, commit.fence, &commit.writes[..])).collect();
        match self.link.write_or_mark(async |tx| write::commit(tx, &changes, me).await) {
            Ok(done) => outcomes.extend(done),
            Err((error, unknown)) => {
                self.unknown = unknown.map(|unknown| (commits.to_vec(), unknown));
                // Each would wait as long for the same answer.
                let is_of_all =
                    commits.len() < 2 || matches!(error, StoreError::Closed | StoreError::Away { .. });
                match is_of_all {
                    true => outcomes.extend(vec![Err(error); commits.len()]),
                    // Nothing of it is stored: each has its own error, or none.
                    false => outcomes.extend(one_by_one(self, commits)),
                }
            }
        }
        outcomes
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        self.link.read(async |tx| read::load(tx, session, Ordinal(0)).await)
    }

    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError> {
        self.link.read(async |tx| read::part::load(tx, session, newest).await)
    }

    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError> {
        self.link.read(async |tx| read::part::rest(tx, session, from).await)
    }

    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError> {
        self.link.read(async |tx| read::part::page(tx, session, before, limit).await)
    }

    fn older_versions(&mut self, session: &SessionId) -> Result<Vec<(u32, Arc<Message>)>, StoreError> {
        self.link.read(async |tx| read::older_versions(tx, session).await)
    }

    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError> {
        // The server does its own maintenance.
        if is_late {
            return Ok(false);
        }
        let Some(session) = self.searched.pop() else { return Ok(false) };
        self.index(&session).map(|()| true)
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        self.link.read(async |tx| read::part::is_known(tx, session, claims, from).await)
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        self.link.read(async |tx| read::list::find(tx, external_ids, workspace).await)
    }

    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError> {
        self.link.read(async |tx| read::workspace(tx, session).await)
    }

    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError> {
        self.link.read(async |tx| read::revisions::page(tx, session, before, limit).await)
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        let me = self.link.me();
        self.link.read(async |tx| read::list::list(tx, query, me).await)
    }

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        let found = self.link.read(async |tx| read::search::search(tx, session, query).await)?;
        self.searched.add(session);
        // A server that cannot be written to has what was read.
        if found.lags
            && let Err(error) = self.index(session)
        {
            tracing::debug!(%error, "the index was not extended");
        }
        Ok(found.page)
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.take(session, since, false)
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        self.take(session, since, true)
    }

    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let me = self.link.me();
        self.link.read(async |tx| leases::holds(tx, session, fence, me).await)
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let me = self.link.me();
        self.link.write(async |tx| leases::release(tx, session, fence, me).await)?;
        self.link.let_go(session);
        Ok(())
    }

    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError> {
        let me = self.link.me();
        self.link.read(async |tx| read::tasks::waiting(tx, workspace, me).await)
    }

    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError> {
        let me = self.link.me();
        self.link.read(async |tx| read::tasks::tasks(tx, parent, me).await)
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        self.link.pulse()
    }

    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError> {
        let me = self.link.me();
        self.link.read(async |tx| read::follow(tx, session, known, me).await)
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let me = self.link.me();
        let deleted = self.link.write(async |tx| write::delete::delete(tx, session, me).await)?;
        self.link.let_go(session);
        Ok(deleted)
    }

    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError> {
        self.link.read(async |tx| shared::scope(tx, workspace, name).await)
    }

    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError> {
        self.link.write(async |tx| shared::put_scope(tx, workspace, name, patch, if_revision).await)
    }

    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError> {
        self.link.read(async |tx| shared::approvals(tx, workspace).await)
    }

    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.link.write(async |tx| {
            shared::approve(tx, workspace, always);
            Ok(())
        })
    }

    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.link.write(async |tx| {
            shared::revoke(tx, workspace, always);
            Ok(())
        })
    }

    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError> {
        self.link.read(async |tx| memories::memories(tx, workspace, query).await)
    }

    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError> {
        self.link.write(async |tx| memories::put(tx, workspace, id, patch.clone(), now).await)
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        self.link.write(async |tx| memories::delete(tx, workspace, id).await)
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        let (sessions, messages, bytes, journal) = self.link.read(async |tx| read::diagnostics(tx).await)?;
        Ok(StoreDiagnostics {
            backend: "postgres",
            path: Some(self.link.place().to_owned()),
            schema_version: self.link.schema(),
            sessions,
            messages,
            bytes,
            journal,
        })
    }

    fn close(&mut self) -> Result<(), StoreError> {
        let me = self.link.me();
        let closed = self.link.write(async |tx| {
            leases::let_go(tx, me);
            Ok(())
        });
        self.link.close();
        match closed {
            Err(StoreError::Closed) => Ok(()),
            closed => closed,
        }
    }
}
