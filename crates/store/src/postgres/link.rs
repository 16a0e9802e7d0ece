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
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Mutex, oneshot};

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
        self.handle.block_on(self.shared.write(work)).map_err(|fault| fault.at(self.place()))
    }

    /// See [`crate::Store::pulse`].
    pub fn pulse(&self) -> Result<u64, StoreError> {
        if !self.shared.hears.load(Ordering::Acquire) {
            let counted = self.handle.block_on(self.shared.count_others());
            counted.map_err(|fault| fault.at(self.place()))?;
        }
        Ok(self.shared.pulse.load(Ordering::Acquire))
    }

    /// `false` if the connection was lost.
    pub fn is_connected(&self) -> bool {
        let is_open = |state: &State| state.db.as_ref().is_some_and(|db| !db.client.is_closed());
        self.handle.block_on(async { is_open(&*self.shared.state.lock().await) })
    }

    /// Gives the sign of life that is due after a while.
    #[cfg(test)]
    pub fn sign_of_life(&self) -> Result<(), StoreError> {
        self.handle.block_on(async {
            self.shared.state.lock().await.renewed = Instant::now().checked_sub(Duration::from_secs(3600));
            self.shared.renewed().await.map_err(|fault| fault.at(self.place()))
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
