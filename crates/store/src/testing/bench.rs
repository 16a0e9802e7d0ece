//! A store of each backend on data of its own, which tests open, write, drop and open again.

use super::{postgres, session};
use crate::error::StoreError;
use crate::follow::Holder;
use crate::list::{ListQuery, Page, SessionRow};
use crate::model::World;
use crate::place::{InMemory, Options};
use crate::postgres::{Opener, PostgresStore};
use crate::sqlite::SqliteStore;
use crate::{Deleted, Store};
use engine::id::Time;
use session::stored::{Stored, Write};
use std::env;
use std::fs;
use std::path::PathBuf;
use uuid::Uuid;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Memory,
    Model,
    Postgres,
}

impl Backend {
    /// `true` if a deletion leaves no trace.
    pub fn can_scrub(self) -> bool {
        self != Self::Postgres
    }
}

/// A folder in the system's temporary folder, removed on drop.
#[derive(Debug)]
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        Self(env::temp_dir().join(format!("threadhold-{}", Uuid::now_v7())))
    }

    pub fn options(&self) -> Options {
        Options::in_folder(&self.0)
    }

    pub fn open(&self) -> SqliteStore {
        SqliteStore::open(self.options()).expect("a store")
    }

    pub fn file(&self) -> PathBuf {
        self.0.join("threadhold.db")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A store and its location.
#[derive(Debug)]
pub struct Bench {
    kind: Backend,
    folder: Folder,
    memory: InMemory,
    world: World,
    tenant: String,
    store: Option<Box<dyn Store>>,
}

/// Runs a test on each backend, with an empty store each.
pub fn on_each(test: impl Fn(&mut Bench)) {
    for kind in backends() {
        test(&mut Bench::new(kind));
    }
}

/// The backends that can be tested here.
pub fn backends() -> Vec<Backend> {
    let postgres = postgres::server().map(|_| Backend::Postgres);
    [Backend::Sqlite, Backend::Memory, Backend::Model].into_iter().chain(postgres).collect()
}

impl Bench {
    pub fn new(kind: Backend) -> Self {
        let (memory, world) = (InMemory::default(), World::default());
        let tenant = Uuid::now_v7().to_string();
        let mut bench = Self { kind, folder: Folder::new(), memory, world, tenant, store: None };
        bench.store = Some(bench.another());
        bench
    }

    pub fn kind(&self) -> Backend {
        self.kind
    }

    pub fn file(&self) -> Option<PathBuf> {
        (self.kind == Backend::Sqlite).then(|| self.folder.file())
    }

    pub fn store(&mut self) -> &mut dyn Store {
        &mut **self.store.as_mut().expect("an open store")
    }

    /// Opens a second store on the same data, as another process would.
    pub fn another(&self) -> Box<dyn Store> {
        match self.kind {
            Backend::Sqlite => Box::new(self.folder.open()),
            Backend::Memory => Box::new(SqliteStore::in_memory(&self.memory).expect("a store")),
            Backend::Model => Box::new(self.world.open()),
            Backend::Postgres => Box::new(self.postgres()),
        }
    }

    /// Opens a store of the bench's tenant.
    pub fn postgres(&self) -> PostgresStore {
        let server = postgres::server().expect("a server");
        Opener::new(server.options(&self.tenant).held_by("ann", "desk-1")).open().expect("a store")
    }

    /// This process, as another store sees it hold a session.
    pub fn holder(&self, since: Time) -> Holder {
        let at = (self.kind == Backend::Postgres).then_some(("ann", "desk-1"));
        let (user, host) = at.map(|(user, host)| (user.to_owned(), host.to_owned())).unzip();
        Holder { pid: std::process::id(), since, user, host }
    }

    /// Drops the store without closing it, as a crash would, and opens it again.
    pub fn reopen(&mut self) {
        self.store = None;
        self.store = Some(self.another());
    }

    pub fn try_write(&mut self, id: &str, writes: &[Write]) -> Result<(), StoreError> {
        let fence = self.store().acquire(&session(id), Time(1))?;
        self.store().commit(&session(id), fence, writes)
    }

    pub fn write(&mut self, id: &str, writes: &[Write]) {
        self.try_write(id, writes).expect("a write");
    }

    pub fn load(&mut self, id: &str) -> Option<Stored> {
        self.store().load(&session(id)).expect("a load")
    }

    pub fn list(&mut self, query: &ListQuery) -> Page {
        self.store().list(query).expect("a list")
    }

    pub fn row(&mut self, id: &str) -> SessionRow {
        let all = self.list(&ListQuery { limit: 1000, ..ListQuery::default() });
        all.sessions.into_iter().find(|row| row.id == session(id)).expect("a row")
    }

    pub fn delete(&mut self, id: &str) -> Option<Deleted> {
        self.store().delete(&session(id)).expect("a deletion")
    }
}

/// Lets a store hear what another one committed: notifications come with answers, and behind those of a transaction.
pub fn heard(from: &mut dyn Store, by: &mut dyn Store) {
    from.workspace(&session("s")).expect("an answer");
    for _ in 0..2 {
        by.workspace(&session("s")).expect("an answer");
    }
}
