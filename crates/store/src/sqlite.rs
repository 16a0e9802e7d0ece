//! The SQLite backend: one file per workspace, a write-ahead log, one connection. This file has the store
//! itself; the modules below have its tables, checks, and deletions.

mod blobs;
pub mod check;
mod columns;
mod delete;
mod erase;
mod fault;
mod identity;
mod leases;
mod memories;
mod part;
mod read;
mod revisions;
mod search;
mod segments;
mod shared;
mod streamed;
mod tasks;
mod waiting;
mod write;

use super::error::{StoreError, from_sqlite};
use super::follow::{Change, FollowState, Mark};
use super::lease::{self, Holders, Registered};
use super::list::{ListQuery, Page, RevisionPage};
use super::place::{InMemory, Options, Synchronous, identity};
use super::schema;
use super::task::{Task, Waiting};
use super::{Commit, Deleted, Fence, MessagePage, Store, StoreDiagnostics};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::Message;
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use erase::Traces;
use fault::{Done, Fault, refused};
use leases::Caller;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A store in a file, or in memory.
#[derive(Debug)]
pub struct SqliteStore {
    /// `None` once closed.
    connection: Option<Connection>,
    /// The file, or `:memory:`.
    path: PathBuf,
    /// `None` for a store in memory.
    file: Option<OpenFile>,
    /// Commits since the last checkpoint.
    unmoved: u32,
    /// Sessions with messages that may not be in the index yet.
    unindexed: BTreeSet<SessionId>,
    /// Where deleted content is still to be erased.
    traces: Traces,
    /// `true` once the free space of all pages was overwritten: from then on it is kept clean, by checkpoints.
    is_clean: bool,
    /// Pages from which on a file is rewritten instead of overwritten page by page.
    page_limit: i64,
    /// Shared with the opener, so that a store reopened after a panic still holds its sessions.
    holder: Arc<Registered>,
}

/// Facts about a store's file.
#[derive(Debug)]
struct OpenFile {
    synchronous: Synchronous,
    /// The longest wait for another process.
    busy_timeout: Duration,
    /// Identifies the opened file; another one at its path is not written.
    identity: Option<(u64, u64)>,
}

/// Opens a store, and reopens it after a panic. Its sessions stay held while this value lives.
#[derive(Debug)]
pub struct Opener {
    place: Place,
    holder: Option<Arc<Registered>>,
}

#[derive(Debug)]
enum Place {
    File(Options),
    Memory(InMemory),
}

impl Opener {
    /// An opener of a file. Nothing is touched before the first [`Opener::open`].
    pub fn new(options: Options) -> Self {
        Self { place: Place::File(options), holder: None }
    }

    /// An opener of a store in memory.
    pub fn in_memory(memory: InMemory) -> Self {
        Self { place: Place::Memory(memory), holder: None }
    }

    /// Opens the store; creates its folder, file and tables if missing.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`] and [`StoreError::Corrupt`], with the file unchanged;
    /// [`StoreError::ReadOnly`], [`StoreError::Locked`], [`StoreError::Full`], [`StoreError::Io`].
    pub fn open(&mut self) -> Result<SqliteStore, StoreError> {
        let (connection, path, file, holders) = match &self.place {
            Place::File(options) => {
                schema::make_folder(&options.folder)?;
                let _opening = lease::opening(&options.folder, options.busy_timeout)?;
                let connection = schema::open(options, schema::MIGRATIONS)?;
                let path = options.folder.join(schema::FILE);
                let Options { synchronous, busy_timeout, .. } = *options;
                let file = OpenFile { synchronous, busy_timeout, identity: identity(&path) };
                (connection, path, Some(file), Holders::Folder(options.folder.clone()))
            }
            Place::Memory(memory) => {
                let path = PathBuf::from(":memory:");
                let connection = memory.open().map_err(|error| from_sqlite(&error, &path))?;
                (connection, path, None, Holders::Process(memory.holders()))
            }
        };
        let holder = match &self.holder {
            Some(holder) => Arc::clone(holder),
            None => Arc::clone(self.holder.insert(Arc::new(holders.register()?))),
        };
        let (traces, page_limit) = (Traces::default(), erase::MOST_PAGES);
        let connection = Some(connection);
        let mut store = SqliteStore {
            connection,
            path,
            file,
            unmoved: 0,
            unindexed: BTreeSet::new(),
            traces,
            is_clean: false,
            page_limit,
            holder,
        };
        match store.forget_the_dead() {
            // This can wait: `acquire` checks whether a holder is alive.
            Ok(()) | Err(StoreError::Locked { .. }) => Ok(store),
            Err(error) => Err(error),
        }
    }
}

impl SqliteStore {
    /// The size of the file and of the files beside it with these suffixes, in bytes.
    fn bytes(&self, beside: &[&str]) -> u64 {
        if self.file.is_none() {
            return 0;
        }
        bytes_of(&self.path)
            + beside.iter().map(|end| bytes_of(&schema::beside(&self.path, end))).sum::<u64>()
    }

    /// Opens a store in the options' folder.
    ///
    /// # Errors
    /// As [`Opener::open`].
    pub fn open(options: Options) -> Result<Self, StoreError> {
        Opener::new(options).open()
    }

    /// Opens a store in this memory.
    ///
    /// # Errors
    /// [`StoreError::Io`] if there is not enough memory.
    pub fn in_memory(memory: &InMemory) -> Result<Self, StoreError> {
        Opener::in_memory(memory.clone()).open()
    }

    /// Runs work in a transaction: all of it, or nothing if it fails.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        if self.file.as_ref().is_some_and(|file| identity(&self.path) != file.identity) {
            return Err(StoreError::Moved { path: self.path.clone() });
        }
        let path = self.path.clone();
        self.transact(TransactionBehavior::Immediate, |transaction| {
            let (found, known) = (schema::version(&transaction)?, schema::newest());
            if found > known {
                return Err(StoreError::NewerSchema { path, found, known }.into());
            }
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
        .inspect(|_| self.unmoved += 1)
    }

    /// Runs work on one snapshot of the file. Never commits: in a damaged file even an empty transaction
    /// fails to.
    fn read<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Fault>) -> Result<T, StoreError> {
        self.transact(TransactionBehavior::Deferred, |transaction| work(&transaction))
    }

    fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(Transaction<'_>) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let connection = self.connection.as_mut().ok_or(StoreError::Closed)?;
        let transaction = connection.transaction_with_behavior(behavior).map_err(Fault::from);
        transaction.and_then(work).map_err(|fault| fault.in_file(&self.path))
    }

    fn me(&self) -> Caller {
        Caller(Arc::clone(&self.holder))
    }

    /// Releases the leases of ended processes, and removes their files.
    fn forget_the_dead(&mut self) -> Result<(), StoreError> {
        let holders = self.holder.holders().clone();
        self.write(|tx| {
            let mut known = tx.prepare("SELECT DISTINCT holder FROM leases WHERE holder IS NOT NULL")?;
            let known: Vec<String> = known.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
            for holder in known.iter().filter(|holder| !holders.is_alive(holder)) {
                leases::let_go(tx, holder)?;
            }
            holders.sweep();
            Ok(())
        })
    }
}

/// The size of a file, in bytes; 0 if missing.
fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

impl Store for SqliteStore {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let me = self.me();
        self.write(|tx| write::commit(tx, (session, fence, &me), writes))?;
        self.committed(session, writes);
        Ok(())
    }

    fn commit_all(&mut self, commits: &[Commit]) -> Vec<Result<(), StoreError>> {
        self.commit_group(commits)
    }

    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError> {
        self.read(|tx| read::load(tx, session, Ordinal(0)))
    }

    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError> {
        // On any error the caller loads the whole, which reports the error or reads around it.
        Ok(self.read(|tx| part::load(tx, session, newest)).unwrap_or_default())
    }

    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError> {
        self.read(|tx| part::rest(tx, session, from))
    }

    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError> {
        self.read(|tx| part::page(tx, session, before, limit))
    }

    fn older_versions(&mut self, session: &SessionId) -> Result<Vec<(u32, Arc<Message>)>, StoreError> {
        self.read(|tx| Ok(read::older_versions(tx, session)?))
    }

    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError> {
        // Pages are moved once everything is in the log; what is to be erased goes before all else.
        let is_clean = self.traces == Traces::default();
        if !is_late && is_clean && self.index_more() {
            return Ok(true);
        }
        self.maintain(is_late)?;
        Ok(false)
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        self.read(|tx| part::is_known(tx, session, claims, from))
    }

    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError> {
        self.read(|tx| Ok(read::workspace(tx, session)?))
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        self.read(|tx| Ok(read::find(tx, external_ids, workspace)?))
    }

    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError> {
        self.read(|tx| Ok(revisions::page(tx, session, before, limit)?))
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        let me = self.me();
        self.read(|tx| Ok(read::list(tx, query, &me)?))
    }

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        if self.read(|tx| Ok(search::lags(tx, session)?))? {
            self.unindexed.insert(session.clone());
            // Messages outside of the index are searched without it.
            if let Err(error) = self.write(|tx| search::catch_up(tx, session, search::SLICE_BYTES)) {
                tracing::info!(%session, %error, "the index stays behind");
            }
        }
        self.read(|tx| search::search(tx, session, query))
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let me = self.me();
        self.write(|tx| {
            revisions::is_own(tx, session)?;
            let lease = leases::free_for(tx, session, &me)?;
            leases::take(tx, session, since, lease, &me)
        })
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let me = self.me();
        self.write(|tx| {
            revisions::is_own(tx, session)?;
            let lease = leases::lease_of(tx, session)?;
            leases::take(tx, session, since, lease, &me)
        })
    }

    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let me = self.me();
        self.read(|tx| leases::held(tx, session, fence, &me))
    }

    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError> {
        let own = Arc::clone(&self.holder);
        self.write(|tx| Ok(leases::release(tx, session, fence, &own)?))
    }

    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError> {
        let me = self.me();
        self.read(|tx| Ok(tasks::waiting(tx, workspace, |holder: &str| !me.0.is_other(holder))?))
    }

    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError> {
        let me = self.me();
        let lives = |holder: &str| holder == me.0.id() || me.0.is_other(holder);
        self.read(|tx| Ok(tasks::tasks(tx, parent, lives)?))
    }

    fn pulse(&mut self) -> Result<u64, StoreError> {
        let connection = self.connection.as_ref().ok_or(StoreError::Closed)?;
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0));
        version.map_err(|error| from_sqlite(&error, &self.path))
    }

    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError> {
        let me = self.me();
        self.read(|tx| {
            let Some((commits, rewrites, lease)) = read::pulse(tx, session)? else { return Ok(None) };
            let holder = lease.and_then(|lease| me.other(&lease));
            let Some(from) = Mark::reads_from(known, commits, rewrites) else {
                let Some(mark) = known else { return Ok(None) };
                let pieces = streamed::pieces(tx, session, mark.piece, &mut Vec::new())?;
                return Ok(Some(FollowState::new(*mark, holder, None, pieces)));
            };
            let Some(mut stored) = read::load(tx, session, from)? else { return Ok(None) };
            stored.streamed.clear();
            let pieces = streamed::pieces(tx, session, 0, &mut Vec::new())?;
            let mark = Mark::of(commits, rewrites, &stored, from);
            Ok(Some(FollowState::new(mark, holder, Some(Change { from, stored }), pieces)))
        })
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let me = self.me();
        let deleted = self.write(|tx| {
            revisions::is_own(tx, session)?;
            let left_behind = delete::left_behind(tx, session)?;
            for id in std::iter::once(session).chain(left_behind.iter().map(|(id, _)| id)) {
                leases::free_for(tx, id, &me)?;
            }
            delete::delete_all(tx, session, left_behind)
        })?;
        let Some(deleted) = deleted else { return Ok(None) };
        self.unindexed.remove(session);
        let is_erased = self.erase_session();
        Ok(Some(Deleted { scrubbed: deleted.scrubbed && is_erased, ..deleted }))
    }

    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError> {
        self.read(|tx| Ok(shared::scope(tx, workspace, name)?))
    }

    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError> {
        self.write(|tx| shared::put_scope(tx, workspace, name, patch, if_revision))
    }

    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError> {
        self.read(|tx| Ok(shared::approvals(tx, workspace)?))
    }

    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.write(|tx| Ok(shared::approve(tx, workspace, always)?))
    }

    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError> {
        self.write(|tx| Ok(shared::revoke(tx, workspace, always)?))
    }

    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError> {
        self.read(|tx| Ok(memories::memories(tx, workspace, query)?))
    }

    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError> {
        let put = self.write(|tx| memories::put(tx, workspace, id, patch, now))?;
        self.erase_later();
        Ok(put)
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        let is_deleted = self.write(|tx| Ok(memories::delete(tx, workspace, id)?))?;
        self.erase_later();
        Ok(is_deleted)
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        let (sessions, messages, schema_version) = self.read(|tx| {
            let counts =
                "SELECT count(*), coalesce(sum(messages), 0) FROM chat_activity WHERE is_revision = 0";
            let (sessions, messages) = tx.query_row(counts, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok((sessions, messages, schema::version(tx)?))
        })?;
        let diagnostics = StoreDiagnostics {
            backend: "memory",
            path: None,
            schema_version: 0,
            sessions,
            messages,
            bytes: self.bytes(&["-wal", "-shm"]),
            journal: "none".to_owned(),
        };
        let Some(file) = &self.file else { return Ok(diagnostics) };
        let synchronous = match file.synchronous {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
        };
        Ok(StoreDiagnostics {
            backend: "sqlite",
            path: Some(self.path.clone()),
            schema_version,
            journal: format!("wal, synchronous {synchronous}"),
            ..diagnostics
        })
    }

    fn close(&mut self) -> Result<(), StoreError> {
        if self.connection.is_none() {
            return Ok(());
        }
        if !self.erase() {
            tracing::info!("deleted content is left in the file or its log until the next deletion");
        }
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let done = leases::let_go(&connection, self.holder.id());
        erase::truncate_log(&connection);
        let closed = connection.close().map_err(|(_, error)| error);
        done.and(closed).map_err(|error| from_sqlite(&error, &self.path))
    }
}

#[cfg(test)]
mod tests;
