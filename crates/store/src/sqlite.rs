//! The SQLite backend: one file for a workspace, write-ahead log, one connection. Here stands its life; rows are written in
//! `write` and read in `read`, both in `waiting` for what waits, in `shared` and `memories` for what belongs to no session,
//! in `leases` for who writes one, as few as a prompt needs in `part`; what is searched stands in `search`, what waits for
//! a process in `tasks`, large contents in `blobs`, what a column holds in `columns`, what is wrong with a file is found in
//! `check`.

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
use super::follow::{Change, Mark, News};
use super::lease::{self, Holders, Registered};
use super::list::{ListQuery, Page};
use super::place::{InMemory, Options, Synchronous, identity};
use super::schema;
use super::task::{Task, Waiting};
use super::{Deleted, Fence, MessagePage, Store, StoreDiagnostics};
use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::scope::{Scope, ScopePatch};
use engine::search::{Found, Query};
use fault::{Done, Fault, refused};
use leases::Me;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Commits, and bytes of the log, that are worth moving into the file when there is time.
const WORTH_MOVING: u32 = 256;
const LONG_LOG: u64 = 4 * 1024 * 1024;
/// Commits and bytes after which that is done although somebody may wait: reading becomes slow, and the disk full.
const MOST_UNMOVED: u32 = 8192;
const LONGEST_LOG: u64 = 128 * 1024 * 1024;

/// A store in a file, or in memory.
#[derive(Debug)]
pub struct SqliteStore {
    /// Nothing once it is closed.
    connection: Option<Connection>,
    /// The file; a name for people where there is none.
    path: PathBuf,
    /// Nothing for a store in memory.
    file: Option<OpenFile>,
    /// Commits since the log was moved into the file last.
    unmoved: u32,
    /// Whether what deletions left behind is still to be overwritten.
    needs_scrub: bool,
    /// Shared with the opener, so that a store that is opened again after a breakdown still holds its sessions.
    holder: Arc<Registered>,
}

/// What is known of the file of a store.
#[derive(Debug)]
struct OpenFile {
    synchronous: Synchronous,
    /// The file that was opened; another one at its place is not written.
    identity: Option<(u64, u64)>,
}

/// Opens one store, and the same one again after a breakdown. What it held stays held for as long as this value lives.
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
    /// A store in a file. Nothing is touched before the first [`Opener::open`].
    pub fn new(options: Options) -> Self {
        Self { place: Place::File(options), holder: None }
    }

    /// A store in memory, as [`Opener::new`].
    pub fn in_memory(memory: InMemory) -> Self {
        Self { place: Place::Memory(memory), holder: None }
    }

    /// Opens the file; makes it, its folder and its tables where they are not there.
    ///
    /// # Errors
    /// [`StoreError::NewerSchema`] and [`StoreError::Corrupt`], the file untouched; [`StoreError::ReadOnly`],
    /// [`StoreError::Locked`], [`StoreError::Full`], [`StoreError::Io`].
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
            // It can wait: whoever asks for a session looks whether its holder lives.
            Ok(()) | Err(StoreError::Locked { .. }) => Ok(store),
            Err(error) => Err(error),
        }
    }
}

/// Bytes of a file that is written anew within a deletion.
const SCRUBBED_AT_ONCE: u64 = 32 * 1024 * 1024;

impl SqliteStore {
    /// Bytes of the file and of those beside it with these endings.
    fn bytes(&self, beside: &[&str]) -> u64 {
        if self.file.is_none() {
            return 0;
        }
        bytes_of(&self.path)
            + beside.iter().map(|end| bytes_of(&schema::beside(&self.path, end))).sum::<u64>()
    }

    /// Overwrites what deletions left behind: entries of the index that are only marked as gone, rows that were moved
    /// between pages, the log, copies of the file. False where some of it is still there; it is tried again.
    fn scrub(&mut self) -> bool {
        let copies_gone = self.file.is_none() || schema::remove_copies(&self.path);
        let is_purged = self.write(|tx| Ok(search::purge(tx)?)).is_ok();
        let is_rewritten = self.connection.as_ref().is_some_and(|connection| {
            copies_gone && is_purged && connection.execute_batch("VACUUM").is_ok() && truncate_log(connection)
        });
        self.needs_scrub = !is_rewritten;
        is_rewritten
    }

    /// A store in the options' folder.
    ///
    /// # Errors
    /// As [`Opener::open`].
    pub fn open(options: Options) -> Result<Self, StoreError> {
        Opener::new(options).open()
    }

    /// A store in memory, beside the others there.
    ///
    /// # Errors
    /// [`StoreError::Io`] where there is no memory for it.
    pub fn in_memory(memory: &InMemory) -> Result<Self, StoreError> {
        Opener::in_memory(memory.clone()).open()
    }

    /// Does the work in one transaction of its own: all of it, or nothing where it fails.
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

    /// Does the work on one state of the file, whatever others write meanwhile. Nothing is committed: in a damaged
    /// file not even a transaction without writes could be.
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

    fn me(&self) -> Me {
        Me(Arc::clone(&self.holder))
    }

    /// Takes holders out of the tables whose processes are gone, and their files out of the folder.
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

/// Refuses while a process that lives holds any session.
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

/// Bytes of a file; none where there is no file.
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
        // Whatever is the matter, loading all of it says so, or reads around it.
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
        // Nobody is waited for: what others still read stays for the next time.
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

    fn search(&mut self, session: &SessionId, query: &Query) -> Result<Found, StoreError> {
        if self.read(|tx| Ok(search::lags(tx, session)?))? {
            // What cannot be taken in is looked at without the index.
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

    fn follow(&mut self, session: &SessionId, known: Option<&Mark>) -> Result<Option<News>, StoreError> {
        let me = self.me();
        self.read(|tx| {
            let Some((commits, rewrites, lease)) = read::pulse(tx, session)? else { return Ok(None) };
            let holder = lease.and_then(|lease| me.other(&lease));
            let Some(from) = Mark::reads_from(known, commits, rewrites) else {
                return Ok(known.map(|mark| News { mark: *mark, holder, change: None }));
            };
            let Some(stored) = read::load(tx, session, from)? else { return Ok(None) };
            let mark = Mark::of(commits, rewrites, &stored, from);
            Ok(Some(News { mark, holder, change: Some(Change { from, stored }) }))
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
        // A large file is written anew once for all that goes, when nobody waits.
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

/// Moves the log into the file and empties it; false where somebody still reads from it.
fn truncate_log(connection: &Connection) -> bool {
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy.is_ok_and(|busy| busy == 0)
}

#[cfg(test)]
mod tests;
