//! Maps folders to the stores of their sessions. A store is opened by its own thread, at its first job, so
//! nothing waits for a disk here.

mod keys;
mod storage;

pub use storage::database;
pub(in crate::server) use storage::{Database, Storage, StorageOutside};

use super::mailbox::Mailbox;
use super::outside;
use engine::id::SessionId;
use protocol::error::{ErrorData, ProtocolError, StorageCause};
use protocol::server::{StorageBackend, StorageState, StorageUpdatedParams};
use protocol::settings::Synchronous as Asked;
use secrecy::SecretString;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use store::error::StoreError;
use store::keyed::Keyed;
use store::place::{InMemory, Options, Synchronous, data_folder, is_store};
use store::worker::{Bounds, Handle, Open, Waiting};
use store::{Workspaces, postgres, sqlite};

/// The stores that are in use.
pub(in crate::server) struct Stores {
    /// Learns when changes wait for a store.
    mailbox: Mailbox<StorageUpdatedParams>,
    storage: Storage,
    /// The password of the database, as of now.
    password: Arc<Mutex<Option<SecretString>>>,
    synchronous: Synchronous,
    /// By folder; one entry if the client gave a folder for all of them.
    handles: BTreeMap<String, Handle>,
    /// The folder for requests that name none.
    home: String,
    /// The folder of the first session that was opened.
    opened: Option<String>,
    /// Stores of the sessions that were opened here, kept after their end.
    had: BTreeMap<SessionId, String>,
    /// The folders that the client named.
    known: BTreeSet<String>,
}

impl Stores {
    /// No stores, in files until they are configured.
    pub fn new(mailbox: Mailbox<StorageUpdatedParams>) -> Self {
        Self {
            mailbox,
            storage: Storage::default(),
            password: Arc::default(),
            synchronous: Synchronous::default(),
            handles: BTreeMap::new(),
            home: String::new(),
            opened: None,
            had: BTreeMap::new(),
            known: BTreeSet::new(),
        }
    }

    /// Applies where sessions are stored; opens nothing. `home` is the folder for requests that name none.
    pub fn configure(&mut self, storage: Storage, synchronous: Option<Asked>, home: String) {
        self.storage = storage;
        self.synchronous = match synchronous {
            Some(Asked::Normal) => Synchronous::Normal,
            Some(Asked::Full) | None => Synchronous::Full,
        };
        self.home = home;
    }

    /// Takes a key that the client gave or forgot: it may be the password of the database.
    pub fn key_given(&self, name: &str, key: Option<SecretString>) {
        if let Storage::Postgres(Database { password, .. }) = &self.storage
            && password == name
        {
            *self.password.lock().unwrap_or_else(PoisonError::into_inner) = key;
        }
    }

    /// Sets a test's own store for all folders that are not named.
    #[cfg(test)]
    pub fn put(&mut self, handle: Handle) {
        self.handles.insert(self.home.clone(), handle);
    }

    /// The folder for requests that name none.
    pub fn home(&self) -> &str {
        &self.home
    }

    /// Notes that a session of this folder is opened.
    pub fn enter(&mut self, folder: &str) {
        if self.opened.is_none() && !folder.is_empty() {
            self.opened = Some(folder.to_owned());
        }
    }

    /// Notes that the client named a folder: from now on, requests may mean its sessions without naming it.
    pub fn know(&mut self, folder: &str) {
        if !folder.is_empty() {
            self.known.insert(folder.to_owned());
        }
    }

    /// The folders whose sessions a request may mean that names this one, or none.
    pub fn meant(&self, named: Option<&str>) -> Workspaces {
        match named {
            Some(named) => Workspaces::Named(named.to_owned()),
            None => Workspaces::Known(self.known.clone()),
        }
    }

    /// The first open folder: the client's, or else that of the first session.
    pub fn first_folder(&self) -> &str {
        match &self.opened {
            Some(opened) if self.home.is_empty() => opened,
            _ => &self.home,
        }
    }

    /// The key of a folder's store, which is itself a folder of that store.
    pub fn name(&self, folder: &str) -> String {
        match self.storage {
            // One file or one database holds everything.
            Storage::Sqlite(Some(_)) | Storage::Postgres(_) => String::new(),
            Storage::Sqlite(None) | Storage::Memory => folder.to_owned(),
        }
    }

    /// Notes which store has a session.
    pub fn remember(&mut self, session: &SessionId, name: String) {
        self.had.insert(session.clone(), name);
    }

    /// The store of a session that was opened here.
    pub fn had(&self, session: &SessionId) -> Option<&str> {
        self.had.get(session).map(String::as_str)
    }

    /// The stores that may have a session, the likeliest first.
    pub fn candidates(&self, session: &SessionId) -> Vec<String> {
        let mut names: Vec<String> = self.had.get(session).cloned().into_iter().collect();
        for name in std::iter::once(self.name(&self.home)).chain(self.handles.keys().cloned()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The store of a folder's sessions; by default that of the client's folder.
    pub fn of(&mut self, folder: Option<&str>) -> Result<Handle, ProtocolError> {
        let folder = folder.unwrap_or(&self.home).to_owned();
        let key = self.name(&folder);
        if let Some(handle) = self.handles.get(&key) {
            return Ok(handle.clone());
        }
        let (mailbox, of) = (self.mailbox.clone(), key.clone());
        let told = move |waiting| mailbox.send(updated(&of, waiting));
        let started = Handle::start_telling(self.opener(folder), Bounds::default(), Box::new(told));
        let handle = started.map_err(|error| {
            let data = ErrorData::StorageError { cause: StorageCause::Unavailable, path: None };
            ProtocolError::new(
                data,
                format!("the store's thread cannot be started: {error}; nothing was done"),
            )
        })?;
        self.handles.insert(key, handle.clone());
        Ok(handle)
    }

    /// `true` if a folder's store is open, or exists.
    pub fn is_there(&self, folder: &str) -> bool {
        match &self.storage {
            _ if self.handles.contains_key(&self.name(folder)) => true,
            Storage::Postgres(_) => true,
            Storage::Sqlite(_) | Storage::Memory => self.place(folder).is_some_and(|at| is_store(&at)),
        }
    }

    /// The kind of the stores.
    pub fn backend(&self) -> StorageBackend {
        match self.storage {
            Storage::Sqlite(_) => StorageBackend::Sqlite,
            Storage::Memory => StorageBackend::Memory,
            Storage::Postgres(_) => StorageBackend::Postgres,
        }
    }

    /// Where files beside the store of a folder lie on this machine; `None` if nothing is kept on its disk.
    pub fn place(&self, folder: &str) -> Option<PathBuf> {
        match &self.storage {
            Storage::Sqlite(Some(path)) => Some(path.clone()),
            Storage::Sqlite(None) | Storage::Postgres(_) => data_folder(folder).ok(),
            Storage::Memory => None,
        }
    }

    fn opener(&self, folder: String) -> Open {
        match &self.storage {
            Storage::Memory => {
                let mut opener = sqlite::Opener::in_memory(InMemory::default());
                Box::new(move || Ok(Box::new(opener.open()?)))
            }
            Storage::Postgres(database) => self.opener_of(database.clone()),
            Storage::Sqlite(given) => {
                let given = given.clone();
                let synchronous = self.synchronous;
                let mut opener: Option<sqlite::Opener> = None;
                Box::new(move || {
                    let opener = match &mut opener {
                        Some(opener) => opener,
                        none => {
                            let place = given.clone().map_or_else(|| data_folder(&folder), Ok)?;
                            let options = Options { synchronous, ..Options::in_folder(place) };
                            none.insert(sqlite::Opener::new(options))
                        }
                    };
                    Ok(Box::new(opener.open()?))
                })
            }
        }
    }

    /// Opens a database. The password is read anew until it was opened once: the client may give it later.
    fn opener_of(&self, database: Database) -> Open {
        let (given, home) = (Arc::clone(&self.password), self.home.clone());
        let mut opened: Option<postgres::Opener> = None;
        Box::new(move || {
            let mut opener = match opened.take() {
                Some(opener) => opener,
                None => {
                    let given = given.lock().unwrap_or_else(PoisonError::into_inner).clone();
                    let password = given.or_else(|| outside::key(&database.password));
                    let options = database.options(password.as_ref());
                    // Checked at `initialize`: only the password is new.
                    postgres::Opener::new(options.map_err(|error| unusable(&database, &error))?)
                }
            };
            let store = opener.open()?;
            opened = Some(opener);
            Ok(match database.naming.names(&home) {
                Some(names) => Box::new(Keyed::new(store, names)),
                None => Box::new(store),
            })
        })
    }

    /// All stores in use, each with its folder.
    pub fn all(&self) -> impl Iterator<Item = (&String, &Handle)> {
        self.handles.iter()
    }

    /// Ends all waiting for stores that cannot be reached.
    pub fn stop_waiting(&self) {
        self.handles.values().for_each(Handle::stop_waiting);
    }

    /// Closes every store, and calls `done` once the last one is closed.
    pub fn close_all(&mut self, done: impl FnOnce() + Send + 'static) {
        let handles = std::mem::take(&mut self.handles);
        if handles.is_empty() {
            return done();
        }
        let left = Arc::new(AtomicUsize::new(handles.len()));
        let done = Arc::new(Mutex::new(Some(done)));
        for handle in handles.into_values() {
            let (left, done) = (left.clone(), done.clone());
            handle.close(move |closed| {
                if let Err(error) = closed {
                    tracing::warn!(%error, "a store was not closed in good order");
                }
                if left.fetch_sub(1, Ordering::AcqRel) == 1
                    && let Some(done) = done.lock().ok().and_then(|mut done| done.take())
                {
                    done();
                }
            });
        }
    }
}

/// The notification of a change of what waits for a folder's store.
fn updated(folder: &str, waiting: Waiting) -> StorageUpdatedParams {
    let (state, fault) = match waiting {
        Waiting::Began(error) => (StorageState::Waiting, Some(error)),
        Waiting::Ended => (StorageState::Ready, None),
        Waiting::GaveUp(error) => (StorageState::Failed, Some(error)),
    };
    let fault = fault.map(|error| error.to_string());
    StorageUpdatedParams { workspace_folder: folder.to_owned(), state, fault }
}

fn unusable(database: &Database, error: &postgres::OptionsError) -> StoreError {
    StoreError::Io { path: database.place(), reason: error.to_string() }
}

/// Causes of storage errors, by their words on the wire.
const CAUSES: [(&str, StorageCause); 6] = [
    ("full", StorageCause::Full),
    ("locked", StorageCause::Locked),
    ("corrupt", StorageCause::Corrupt),
    ("newerSchema", StorageCause::NewerSchema),
    ("readOnly", StorageCause::ReadOnly),
    ("unavailable", StorageCause::Unavailable),
];

/// The word for the cause of a storage error.
pub(in crate::server) fn word(error: &ProtocolError) -> &'static str {
    let of_storage = |cause| CAUSES.iter().find(|(_, known)| *known == cause).map(|(word, _)| *word);
    match &error.data {
        ErrorData::StorageError { cause, .. } => of_storage(*cause).unwrap_or("unavailable"),
        _ => "unavailable",
    }
}

/// The error data of a session's refusal for want of storage.
pub(in crate::server) fn refused(word: &str) -> ErrorData {
    let known = CAUSES.iter().find(|(known, _)| *known == word);
    ErrorData::StorageError {
        cause: known.map_or(StorageCause::Unavailable, |(_, cause)| *cause),
        path: None,
    }
}

/// Converts a store's error for the client.
pub(in crate::server) fn error(error: &StoreError) -> ProtocolError {
    let storage = |cause, path: Option<&PathBuf>| ErrorData::StorageError {
        cause,
        path: path.map(|path| path.display().to_string()),
    };
    let data = match error {
        StoreError::IsRevision { session, .. } => {
            ErrorData::UnknownSession { session_id: session.as_str().to_owned() }
        }
        StoreError::Held { session, holder } | StoreError::FenceLost { session, holder: Some(holder) } => {
            ErrorData::SessionHeldElsewhere {
                session_id: session.as_str().to_owned(),
                pid: holder.pid,
                since: crate::convert::iso(holder.since),
                user: holder.user.as_deref().map(Box::from),
                host: holder.host.as_deref().map(Box::from),
            }
        }
        StoreError::FenceLost { session, holder: None } => {
            ErrorData::StaleReference { field: "sessionId".into(), id: session.as_str().to_owned() }
        }
        StoreError::OtherWorkspace { .. } => {
            ErrorData::InvalidParams { field: "sessionId".into(), reason: "belongs to another folder".into() }
        }
        StoreError::StaleScope { expected, .. } => {
            ErrorData::StaleReference { field: "ifRevision".into(), id: expected.to_string() }
        }
        StoreError::NewerSchema { path, .. } => storage(StorageCause::NewerSchema, Some(path)),
        StoreError::Corrupt { path, .. } => storage(StorageCause::Corrupt, Some(path)),
        StoreError::ReadOnly { path, .. } => storage(StorageCause::ReadOnly, Some(path)),
        StoreError::Full { path } => storage(StorageCause::Full, Some(path)),
        StoreError::Locked { path } => storage(StorageCause::Locked, Some(path)),
        StoreError::Away { path, .. } | StoreError::Io { path, .. } | StoreError::Moved { path } => {
            storage(StorageCause::Unavailable, Some(path))
        }
        StoreError::Refused { .. }
        | StoreError::NoFolder { .. }
        | StoreError::Crashed { .. }
        | StoreError::Closed => storage(StorageCause::Unavailable, None),
    };
    ProtocolError::new(data, error.to_string())
}
