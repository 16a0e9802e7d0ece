//! The connection of a store: opened when it is needed, and again when it was lost. It runs on a thread of its own, which
//! also renews the store's row in `holders` and hears what other stores commit, so both go on while the store is idle.

mod connect;
mod transactions;

use super::fault::Done;
use super::holder::Identity;
use super::options::Options;
use super::tx::{Db, Traffic, Tx};
use crate::error::StoreError;
use connect::channel_of;
pub(super) use connect::tls;
use engine::id::SessionId;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Mutex, oneshot};
pub(super) use transactions::Unknown;

/// The longest wait for the last sign of a store that is dropped.
const FAREWELL: Duration = Duration::from_secs(1);

/// The connection of a store, and who the store is. Kept while a store is opened again after a panic.
#[derive(Debug)]
pub(super) struct Link {
    shared: Arc<Shared>,
    handle: Handle,
    /// Dropped to end the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

/// State of the store's calls and the thread's tasks.
#[derive(Debug)]
struct Shared {
    options: Options,
    me: Identity,
    channel: String,
    state: Mutex<State>,
    /// See [`crate::Store::pulse`].
    pulse: Arc<AtomicU64>,
    /// `false` if this store is not told of other stores' commits.
    hears: AtomicBool,
    /// `true` if the pulse was asked for since others' commits were counted.
    is_asked: AtomicBool,
    /// The sessions that this store holds.
    held: std::sync::Mutex<BTreeSet<SessionId>>,
}

#[derive(Debug, Default)]
struct State {
    db: Option<Db>,
    traffic: Traffic,
    /// Failed attempts to connect since the last that succeeded, and when the next may be made.
    failures: u32,
    not_before: Option<Instant>,
    /// When the row in `holders` was renewed last.
    renewed: Option<Instant>,
    /// The commits of other stores, as they were counted last.
    others: Option<i64>,
    schema: u32,
    is_closed: bool,
}

impl Link {
    /// Starts the thread. Nothing is connected yet.
    pub fn start(options: Options) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::Io {
            path: options.place.clone(),
            reason: format!("the connection's thread cannot be started: {error}"),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let work = move || {
            let _ = runtime.block_on(stopped);
            // A name that is being looked up is not waited for.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("postgres".to_owned()).spawn(work).map_err(failed)?;
        let shared = Arc::new(Shared {
            channel: channel_of(&options.tenant),
            options,
            me: Identity::register(),
            state: Mutex::default(),
            pulse: Arc::default(),
            hears: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            held: Default::default(),
        });
        handle.spawn(transactions::renew(Arc::downgrade(&shared)));
        Ok(Self { shared, handle, stop: Some(stop), thread: Some(thread) })
    }

    pub fn me(&self) -> &Identity {
        &self.shared.me
    }

    pub fn place(&self) -> &Path {
        &self.shared.options.place
    }

    pub fn traffic(&self) -> Traffic {
        self.handle.block_on(async { self.shared.state.lock().await.traffic })
    }

    /// The schema's version.
    pub fn schema(&self) -> u32 {
        self.handle.block_on(async { self.shared.state.lock().await.schema })
    }

    /// Connects, if that was not done.
    pub fn connect(&self) -> Result<(), StoreError> {
        self.handle.block_on(async {
            let mut state = self.shared.state.lock().await;
            state.is_closed = false;
            self.shared.connected(&mut state).await.map_err(|fault| fault.at(self.place()))
        })
    }

    /// Reads on one snapshot; a second time if the connection was lost.
    pub fn read<T>(&self, work: impl AsyncFn(&mut Tx<'_>) -> Done<T>) -> Result<T, StoreError> {
        self.handle.block_on(self.shared.read(work)).map_err(|fault| fault.at(self.place()))
    }

    /// Changes all of it or nothing. A second time if the connection was lost and it is known that nothing was committed.
    pub fn write<T>(&self, work: impl AsyncFn(&mut Tx<'_>) -> Done<T>) -> Result<T, StoreError> {
        self.write_or_mark(work).map_err(|(error, _)| error)
    }

    /// As [`Link::write`]. If it is not known whether the change was committed, the error comes with what
    /// [`Link::is_committed`] needs to tell, and with the value.
    pub fn write_or_mark<T>(
        &self,
        work: impl AsyncFn(&mut Tx<'_>) -> Done<T>,
    ) -> Result<T, (StoreError, Option<Unknown<T>>)> {
        let done = self.handle.block_on(self.shared.write(work));
        done.map_err(|(fault, unknown)| (fault.at(self.place()), unknown))
    }

    /// `true` if the commit with this mark was made, which was the last one that this store began.
    pub fn is_committed(&self, mark: &str) -> Result<bool, StoreError> {
        self.handle.block_on(self.shared.look(mark)).map_err(|fault| fault.at(self.place()))
    }

    /// See [`crate::Store::pulse`].
    pub fn pulse(&self) -> Result<u64, StoreError> {
        self.shared.is_asked.store(true, Ordering::Release);
        if !self.shared.hears.load(Ordering::Acquire) {
            let counted = self.handle.block_on(self.shared.count_others());
            counted.map_err(|fault| fault.at(self.place()))?;
        }
        Ok(self.shared.pulse.load(Ordering::Acquire))
    }

    /// Notes that a session is held from now on.
    pub fn hold(&self, session: &SessionId) {
        self.shared.held().insert(session.clone());
    }

    /// Notes that a session is not held any more.
    pub fn let_go(&self, session: &SessionId) {
        self.shared.held().remove(session);
    }

    /// Does what is due after a while without commits.
    #[cfg(test)]
    pub fn idle(&self) -> Result<(), StoreError> {
        self.handle.block_on(async {
            self.shared.state.lock().await.renewed = Instant::now().checked_sub(Duration::from_secs(3600));
            self.shared.idle().await.map_err(|fault| fault.at(self.place()))
        })
    }

    /// Later calls fail until it is connected again.
    pub fn close(&self) {
        self.handle.block_on(async {
            let mut state = self.shared.state.lock().await;
            (state.db, state.is_closed) = (None, true);
        });
    }
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, BTreeSet<SessionId>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.shared.me.unregister();
        // Others need not wait then until the row has expired.
        let (shared, (done, left)) = (Arc::clone(&self.shared), mpsc::channel());
        self.handle.spawn(async move { drop(done.send(shared.leave().await)) });
        if !matches!(left.recv_timeout(FAREWELL), Ok(Ok(()))) {
            tracing::debug!("the database was not told that a store was dropped");
        }
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
