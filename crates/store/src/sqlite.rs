//! The SQLite backend: one file per workspace, a write-ahead log, one connection. This file has the store
//! itself; the modules below have its tables, checks, and deletions.

mod blobs;
pub mod check;
mod columns;
mod delete;
mod fault;
mod leases;
mod let_go;
mod memories;
mod part;
mod read;
mod search;
mod shared;
mod tasks;
mod waiting;
mod write;

use super::error::{StoreError, from_sqlite};
use super::follow::{Change, FollowState, Mark};
use super::lease::{self, Holders, Registered};
use super::list::{ListQuery, Page};
use super::place::{InMemory, Options, Synchronous, identity};
use super::schema;
use super::task::{Task, Waiting};
use super::{Deleted, Fence, MessagePage, Store, StoreDiagnostics};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use fault::{Done, Fault, refused};
use leases::Caller;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Commits, and bytes of the log, that make a checkpoint worthwhile when the store is idle.
const WORTH_MOVING: u32 = 256;
const LONG_LOG: u64 = 4 * 1024 * 1024;
/// Commits and bytes that force a checkpoint even when it is busy: reads slow down, and the disk fills up.
const MOST_UNMOVED: u32 = 8192;
const LONGEST_LOG: u64 = 128 * 1024 * 1024;

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
    /// `true` while deleted content is still to be overwritten.
    needs_scrub: bool,
    /// Shared with the opener, so that a store reopened after a panic still holds its sessions.
    holder: Arc<Registered>,
}

/// Facts about a store's file.
#[derive(Debug)]
struct OpenFile {
    synchronous: Synchronous,
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
                let file = OpenFile { synchronous: options.synchronous, identity: identity(&path) };
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
        let mut store =
            SqliteStore { connection: Some(connection), path, file, unmoved: 0, needs_scrub: false, holder };
        match store.forget_the_dead() {
            // This can wait: `acquire` checks whether a holder is alive.
            Ok(()) | Err(StoreError::Locked { .. }) => Ok(store),
            Err(error) => Err(error),
        }
    }
}

/// The largest file that is rewritten within a deletion, in bytes.
const SCRUBBED_AT_ONCE: u64 = 32 * 1024 * 1024;

impl SqliteStore {
    /// The size of the file and of the files beside it with these suffixes, in bytes.
    fn bytes(&self, beside: &[&str]) -> u64 {
        if self.file.is_none() {
            return 0;
        }
        bytes_of(&self.path)
            + beside.iter().map(|end| bytes_of(&schema::beside(&self.path, end))).sum::<u64>()
    }

    /// Overwrites deleted content: index entries only marked as deleted, rows moved between pages, the log,
    /// copies of the file. Returns `false` if some is left, for a later attempt.
    fn scrub(&mut self) -> bool {
        let copies_gone = self.file.is_none() || schema::remove_copies(&self.path);
        let is_purged = self.write(|tx| Ok(search::purge(tx)?)).is_ok();
        let is_rewritten = self.connection.as_ref().is_some_and(|connection| {
            copies_gone && is_purged && connection.execute_batch("VACUUM").is_ok() && truncate_log(connection)
        });
        self.needs_scrub = !is_rewritten;
        is_rewritten
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

/// Fails with `Held` while a live process holds any session.
fn is_free(tx: &Transaction<'_>, holders: &Holders) -> Result<(), Fault> {
    let mut statement =
        tx.prepare("SELECT session, holder, pid, since FROM leases WHERE holder IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (session, holder): (String, String) = (row.get(0)?, row.get(1)?);
        if holders.is_alive(&holder) {
            let session = SessionId::new(session);
            return Err(
                StoreError::Held { session, pid: row.get(2)?, since: columns::time(row.get(3)?) }.into()
            );
        }
    }
    Ok(())
}

/// The size of a file, in bytes; 0 if missing.
fn bytes_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

impl Store for SqliteStore {
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError> {
        let me = self.me();
        self.write(|tx| {
            leases::held(tx, session, fence, &me)?;
            writes.iter().try_for_each(|write| write::apply(tx, session, write))?;
            write::count_commit(tx, session)
        })
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

    fn tidy(&mut self, is_late: bool) -> Result<(), StoreError> {
        if self.needs_scrub && !is_late && self.scrub() {
            return Ok(());
        }
        let log = bytes_of(&schema::beside(&self.path, "-wal"));
        let is_due = match is_late {
            true => self.unmoved >= MOST_UNMOVED || log >= LONGEST_LOG,
            false => self.unmoved > 0 && (self.unmoved >= WORTH_MOVING || log >= LONG_LOG),
        };
        if !is_due {
            return Ok(());
        }
        self.unmoved = 0;
        let connection = self.connection.as_ref().ok_or(StoreError::Closed)?;
        // PASSIVE waits for no one; pages that others still read are left for the next time.
        let moved = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        moved.map_err(|error| from_sqlite(&error, &self.path))
    }

    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError> {
        self.read(|tx| part::is_known(tx, session, claims, from))
    }

    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError> {
        self.read(|tx| Ok(read::find(tx, external_ids, workspace)?))
    }

    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError> {
        self.read(|tx| Ok(read::list(tx, query)?))
    }

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError> {
        if self.read(|tx| Ok(search::lags(tx, session)?))? {
            // Messages outside of the index are searched without it.
            if let Err(error) = self.write(|tx| search::catch_up(tx, session)) {
                tracing::info!(%session, %error, "the index stays behind");
            }
        }
        self.read(|tx| search::search(tx, session, query))
    }

    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let me = self.me();
        self.write(|tx| {
            let lease = leases::free_for(tx, session, &me)?;
            leases::take(tx, session, since, lease, &me)
        })
    }

    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError> {
        let me = self.me();
        self.write(|tx| {
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
                return Ok(known.map(|mark| FollowState { mark: *mark, holder, change: None }));
            };
            let Some(stored) = read::load(tx, session, from)? else { return Ok(None) };
            let mark = Mark::of(commits, rewrites, &stored, from);
            Ok(Some(FollowState { mark, holder, change: Some(Change { from, stored }) }))
        })
    }

    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError> {
        let me = self.me();
        let deleted = self.write(|tx| {
            let copies = delete::copies(tx, session)?;
            for id in std::iter::once(session).chain(&copies) {
                leases::free_for(tx, id, &me)?;
            }
            delete::delete_all(tx, session, copies)
        })?;
        let Some(deleted) = deleted else { return Ok(None) };
        self.needs_scrub = true;
        // A large file is rewritten once for all deletions, when the store is idle.
        let is_rewritten = self.bytes(&["-wal"]) <= SCRUBBED_AT_ONCE && self.scrub();
        Ok(Some(Deleted { scrubbed: deleted.scrubbed && is_rewritten, ..deleted }))
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
        self.write(|tx| memories::put(tx, workspace, id, patch, now))
    }

    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError> {
        self.write(|tx| Ok(memories::delete(tx, workspace, id)?))
    }

    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError> {
        let (sessions, messages, schema_version) = self.read(|tx| {
            let counts = "SELECT count(*), coalesce(sum(messages), 0) FROM chat_activity";
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
        let scrubbed = !self.needs_scrub || self.scrub();
        let Some(connection) = self.connection.take() else { return Ok(()) };
        if !scrubbed {
            tracing::info!("what was deleted is overwritten when this store is next at rest");
        }
        let done = leases::let_go(&connection, self.holder.id());
        truncate_log(&connection);
        let closed = connection.close().map_err(|(_, error)| error);
        done.and(closed).map_err(|error| from_sqlite(&error, &self.path))
    }
}

/// Moves the log into the file and truncates it. Returns `false` if another connection still reads from it.
fn truncate_log(connection: &Connection) -> bool {
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy.is_ok_and(|busy| busy == 0)
}

#[cfg(test)]
mod tests;
