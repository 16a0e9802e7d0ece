//! The thread that owns a store: jobs in, results out, in order. Only this thread blocks on the disk.

use super::error::StoreError;
use super::{Commit, Store};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

/// The idle time before maintenance. Commits of a running turn follow one another sooner.
const QUIET: Duration = Duration::from_millis(250);

/// The most commits that wait for the disk together: what one of them waits for the others is bounded.
const MOST_COMMITS: usize = 64;

/// Opens the store, at the first job and again after a panic or a failed attempt.
pub type Open = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

/// A handle of the thread. Clones share it; jobs run in the order of submission. The thread ends on close, or
/// with the last handle.
#[derive(Clone)]
pub struct Handle {
    jobs: Sender<Submitted>,
}

/// What is submitted to the thread.
enum Submitted {
    /// Runs by itself.
    Job(Box<dyn Job>),
    /// Is committed together with the commits behind it.
    Commit(PendingCommit),
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

impl Handle {
    /// Starts the thread. The store is opened at the first job.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub fn start(open: Open) -> std::io::Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        thread::Builder::new().name("store".to_owned()).spawn(move || work_off(&inbox, open))?;
        Ok(Self { jobs })
    }

    /// Submits a job. `answer` is called with its result exactly once, on the store's thread, and should only
    /// pass it on. After a close, or without a thread, it gets [`StoreError::Closed`].
    pub fn submit<T: 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        // A job that is not taken is dropped, which answers it.
        drop(self.jobs.send(Submitted::Job(Box::new(Work { work: Some(work), answer: Some(answer) }))));
    }

    /// Submits changes of a session. Those that wait when the thread is free are committed together, with one wait for
    /// the disk. `answer` is called as for [`Handle::submit`].
    pub fn commit(&self, commit: Commit, answer: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        drop(self.jobs.send(Submitted::Commit(PendingCommit { commit, answer: Some(Box::new(answer)) })));
    }

    /// Closes the store after all earlier jobs, then calls `answer`.
    pub fn close(&self, answer: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        drop(self.jobs.send(Submitted::Job(Box::new(Close { answer: Some(answer) }))));
    }

    /// Submits a job and waits for its result. Not for threads that must not block.
    ///
    /// # Errors
    /// The job's errors, or [`StoreError::Closed`].
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, answer) = mpsc::channel();
        self.submit(work, move |done| drop(sender.send(done)));
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Closes the store after all earlier jobs, and waits for it.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub fn close_and_wait(&self) -> Result<(), StoreError> {
        let (sender, answer) = mpsc::channel();
        self.close(move |done| drop(sender.send(done)));
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// A unit of work for the thread.
trait Job: Send {
    /// Runs the job and answers it. Returns `false` if it is the last one.
    fn run(self: Box<Self>, desk: &mut StoreThread) -> bool;
}

/// State of the thread.
struct StoreThread {
    open: Open,
    store: Option<Box<dyn Store>>,
}

impl StoreThread {
    /// Runs work on the open store. After a panic the store is dropped, and opened again at the next job.
    fn work<T>(
        &mut self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let attempt = || {
            let store = match &mut self.store {
                Some(store) => store,
                none => none.insert((self.open)()?),
            };
            work(&mut **store)
        };
        catch_unwind(AssertUnwindSafe(attempt)).unwrap_or_else(|panic| {
            let broken = self.store.take();
            // Its `drop` may panic, too.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
            Err(StoreError::Crashed { reason: words(&*panic) })
        })
    }
}

impl StoreThread {
    /// Commits these together and answers each.
    fn commit(&mut self, pending: Vec<PendingCommit>) {
        let commits: Vec<Commit> = pending.iter().map(|pending| pending.commit.clone()).collect();
        let done = self.work(|store| Ok(store.commit_all(&commits)));
        let done = done.unwrap_or_else(|error| vec![Err(error); pending.len()]);
        for (mut pending, done) in pending.into_iter().zip(done) {
            if let Some(answer) = pending.answer.take() {
                // A panic in an answer must not end the thread.
                let _ = catch_unwind(AssertUnwindSafe(|| answer(done)));
            }
        }
    }

    /// Does maintenance on an open store. A failure is logged; the next run tries again. Returns `true` if there is
    /// more to do.
    fn tidy(&mut self, is_late: bool) -> bool {
        if self.store.is_none() {
            return false;
        }
        self.work(|store| store.tidy(is_late)).unwrap_or_else(|error| {
            tracing::info!(%error, "the store was not tidied");
            false
        })
    }

    /// Does maintenance until something is submitted, and returns that; `None` if nothing will be any more.
    fn idle(&mut self, inbox: &Receiver<Submitted>) -> Option<Submitted> {
        while self.tidy(false) {
            match inbox.try_recv() {
                Ok(task) => return Some(task),
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return None,
            }
        }
        inbox.recv().ok()
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".to_owned())
}

fn work_off(inbox: &Receiver<Submitted>, open: Open) {
    let mut desk = StoreThread { open, store: None };
    // What came behind the last group of commits.
    let mut next = None;
    let mut goes_on = true;
    while goes_on {
        let task = match next.take().map_or_else(|| inbox.try_recv(), Ok) {
            Ok(task) => task,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => match inbox.recv_timeout(QUIET) {
                Ok(task) => task,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let Some(task) = desk.idle(inbox) else { break };
                    task
                }
            },
        };
        match task {
            Submitted::Commit(first) => {
                let mut group = vec![first];
                while group.len() < MOST_COMMITS && next.is_none() {
                    match inbox.try_recv() {
                        Ok(Submitted::Commit(more)) => group.push(more),
                        Ok(Submitted::Job(job)) => next = Some(Submitted::Job(job)),
                        Err(_) => break,
                    }
                }
                desk.commit(group);
            }
            // A panic in an answer must not end the thread.
            Submitted::Job(job) => {
                goes_on = catch_unwind(AssertUnwindSafe(|| job.run(&mut desk))).unwrap_or(true);
            }
        }
        desk.tidy(true);
    }
    if desk.store.is_some()
        && let Err(error) = desk.work(|store| store.close())
    {
        tracing::warn!(%error, "the store was not closed in good order");
    }
}

/// Gets the outcome of a commit.
type Committed = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Changes with their answer. If they are dropped before they are committed, the answer is `Closed`.
struct PendingCommit {
    commit: Commit,
    answer: Option<Committed>,
}

impl Drop for PendingCommit {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer(Err(StoreError::Closed));
        }
    }
}

/// A job with its answer. If it is dropped before it runs, it answers `Closed`.
struct Work<T, W, A>
where
    W: FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    A: FnOnce(Result<T, StoreError>),
{
    work: Option<W>,
    answer: Option<A>,
}

impl<T, W, A> Job for Work<T, W, A>
where
    W: FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send,
    A: FnOnce(Result<T, StoreError>) + Send,
{
    fn run(mut self: Box<Self>, desk: &mut StoreThread) -> bool {
        if let (Some(work), Some(answer)) = (self.work.take(), self.answer.take()) {
            answer(desk.work(work));
        }
        true
    }
}

impl<T, W, A> Drop for Work<T, W, A>
where
    W: FnOnce(&mut dyn Store) -> Result<T, StoreError>,
    A: FnOnce(Result<T, StoreError>),
{
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer(Err(StoreError::Closed));
        }
    }
}

/// The job that closes the store.
struct Close<A: FnOnce(Result<(), StoreError>)> {
    answer: Option<A>,
}

impl<A: FnOnce(Result<(), StoreError>) + Send> Job for Close<A> {
    fn run(mut self: Box<Self>, desk: &mut StoreThread) -> bool {
        let done = if desk.store.is_some() { desk.work(|store| store.close()) } else { Ok(()) };
        desk.store = None;
        // Drops what the opener holds of the store.
        desk.open = Box::new(|| Err(StoreError::Closed));
        if let Some(answer) = self.answer.take() {
            answer(done);
        }
        false
    }
}

impl<A: FnOnce(Result<(), StoreError>)> Drop for Close<A> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer(Err(StoreError::Closed));
        }
    }
}
