//! The thread that owns a store: jobs in, results out, in order. Only this thread blocks on the disk.

mod away;

pub use away::{Bounds, Told, Waiting};

use super::error::StoreError;
use super::{Commit, Store};
use away::Away;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

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
        Self::start_telling(open, Bounds::default(), Box::new(drop))
    }

    /// Starts the thread; `told` learns when commits wait because the store cannot be reached, within these bounds.
    ///
    /// # Errors
    /// As [`Handle::start`].
    pub fn start_telling(open: Open, bounds: Bounds, told: Told) -> std::io::Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        let desk = StoreThread { open, store: None, bounds, told, away: None };
        thread::Builder::new().name("store".to_owned()).spawn(move || work_off(&inbox, desk))?;
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
    /// the disk. They wait for a store that cannot be reached, within [`Bounds`]; other jobs fail meanwhile. `answer` is
    /// called as for [`Handle::submit`].
    pub fn commit(&self, commit: Commit, answer: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        drop(self.jobs.send(Submitted::Commit(PendingCommit { commit, answer: Some(Box::new(answer)) })));
    }

    /// From now on nothing waits for a store that cannot be reached: after one more attempt it fails.
    pub fn stop_waiting(&self) {
        drop(self.jobs.send(Submitted::Job(Box::new(StopWaiting))));
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

    /// Answers the job with the store's error, if commits wait for the store that the job must not overtake. Gives it back
    /// if it is to run all the same.
    fn refuse(self: Box<Self>, error: &StoreError) -> Option<Box<dyn Job>>;
}

/// State of the thread.
struct StoreThread {
    open: Open,
    store: Option<Box<dyn Store>>,
    bounds: Bounds,
    told: Told,
    /// Present from a failure to reach the store until it takes commits again.
    away: Option<Away>,
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
    /// Commits these together and answers each, or lets them wait.
    fn commit(&mut self, pending: Vec<PendingCommit>) {
        match &self.away {
            Some(away) if away.next().is_some() => self.hold(pending),
            _ => {
                let left = self.attempt(pending);
                if left.is_empty() && self.away.take().is_some() {
                    (self.told)(Waiting::Ended);
                }
                self.hold(left);
            }
        }
    }

    /// Commits these together. Returns those that the store could not be reached for.
    fn attempt(&mut self, pending: Vec<PendingCommit>) -> Vec<PendingCommit> {
        let commits: Vec<Commit> = pending.iter().map(|pending| pending.commit.clone()).collect();
        let done = self.work(|store| Ok(store.commit_all(&commits)));
        let done = done.unwrap_or_else(|error| vec![Err(error); pending.len()]);
        let (mut left, mut failed) = (Vec::new(), None);
        for (pending, done) in pending.into_iter().zip(done) {
            match done {
                Err(error @ StoreError::Away { .. }) => {
                    failed = Some(error);
                    left.push(pending);
                }
                done => pending.answer(done),
            }
        }
        match (failed, &mut self.away) {
            (Some(error), Some(away)) => away.failed_again(error),
            (Some(error), away) => *away = Some(Away::new(error)),
            (None, _) => {}
        }
        left
    }

    /// Lets commits wait for the store, as far as the bounds allow.
    fn hold(&mut self, pending: Vec<PendingCommit>) {
        let Some(away) = &mut self.away else { return };
        let is_first = away.next().is_none();
        let (is_over, error) = (away.is_over(self.bounds), away.error.clone());
        for pending in pending {
            let refused = if is_over { Some(pending) } else { away.hold(pending, self.bounds) };
            if let Some(refused) = refused {
                refused.answer(Err(error.clone()));
            }
        }
        if is_first && away.next().is_some() {
            tracing::warn!(%error, "commits wait for the store");
            (self.told)(Waiting::Began(error));
        }
    }

    /// Commits what waits, as far as the store takes it.
    fn retry(&mut self) {
        while let Some(away) = self.away.as_mut().filter(|away| away.next().is_some()) {
            let pending = away.take(MOST_COMMITS);
            let left = self.attempt(pending);
            let Some(away) = &mut self.away else { return };
            if left.is_empty() {
                if away.next().is_none() {
                    self.away = None;
                    tracing::info!("what waited for the store is stored");
                    (self.told)(Waiting::Ended);
                }
                continue;
            }
            away.put_back(left);
            if away.is_over(self.bounds) {
                self.give_up();
            }
            return;
        }
    }

    /// Answers all that waits with the store's error.
    fn give_up(&mut self) {
        let Some(away) = self.away.as_mut().filter(|away| away.next().is_some()) else { return };
        let (pending, error) = (away.take(usize::MAX), away.error.clone());
        pending.into_iter().for_each(|pending| pending.answer(Err(error.clone())));
        (self.told)(Waiting::GaveUp(error));
    }

    /// Runs a job. While commits wait that it must not overtake, it gets the store's error. Returns `false` if it is the
    /// last one.
    fn run(&mut self, job: Box<dyn Job>) -> bool {
        let job = match self.away.as_ref().filter(|away| away.next().is_some()) {
            Some(away) => job.refuse(&away.error),
            None => Some(job),
        };
        job.is_none_or(|job| job.run(self))
    }

    /// The next task; `None` if what waits for the store is to be tried again first.
    fn next(&mut self, inbox: &Receiver<Submitted>) -> Result<Option<Submitted>, TryRecvError> {
        if let Some(at) = self.away.as_ref().and_then(Away::next) {
            return match inbox.recv_timeout(at.saturating_duration_since(Instant::now())) {
                Ok(task) => Ok(Some(task)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(TryRecvError::Disconnected),
            };
        }
        match inbox.recv_timeout(QUIET) {
            Ok(task) => Ok(Some(task)),
            Err(RecvTimeoutError::Disconnected) => Err(TryRecvError::Disconnected),
            Err(RecvTimeoutError::Timeout) => self.idle(inbox).map(Some).ok_or(TryRecvError::Disconnected),
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

fn work_off(inbox: &Receiver<Submitted>, mut desk: StoreThread) {
    // What came behind the last group of commits.
    let mut next = None;
    let mut goes_on = true;
    while goes_on {
        if desk.away.as_ref().is_some_and(Away::is_due) {
            desk.retry();
        }
        let task = match next.take().map_or_else(|| inbox.try_recv(), Ok) {
            Ok(task) => Ok(Some(task)),
            Err(TryRecvError::Empty) => desk.next(inbox),
            Err(ended) => Err(ended),
        };
        let task = match task {
            Ok(Some(task)) => task,
            Ok(None) => continue,
            Err(_) => break,
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
                goes_on = catch_unwind(AssertUnwindSafe(|| desk.run(job))).unwrap_or(true);
            }
        }
        desk.tidy(true);
    }
    desk.retry();
    desk.give_up();
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

impl PendingCommit {
    fn answer(mut self, done: Result<(), StoreError>) {
        if let Some(answer) = self.answer.take() {
            // A panic in an answer must not end the thread.
            let _ = catch_unwind(AssertUnwindSafe(|| answer(done)));
        }
    }
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

    fn refuse(mut self: Box<Self>, error: &StoreError) -> Option<Box<dyn Job>> {
        if let Some(answer) = self.answer.take() {
            answer(Err(error.clone()));
        }
        None
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

/// The job that ends all waiting for a store that cannot be reached.
struct StopWaiting;

impl Job for StopWaiting {
    fn run(self: Box<Self>, desk: &mut StoreThread) -> bool {
        desk.bounds.time = Duration::ZERO;
        desk.retry();
        true
    }

    fn refuse(self: Box<Self>, _error: &StoreError) -> Option<Box<dyn Job>> {
        Some(self)
    }
}

/// The job that closes the store.
struct Close<A: FnOnce(Result<(), StoreError>)> {
    answer: Option<A>,
}

impl<A: FnOnce(Result<(), StoreError>) + Send + 'static> Job for Close<A> {
    fn run(mut self: Box<Self>, desk: &mut StoreThread) -> bool {
        desk.retry();
        desk.give_up();
        let done = if desk.store.is_some() { desk.work(|store| store.close()) } else { Ok(()) };
        desk.store = None;
        // Drops what the opener holds of the store.
        desk.open = Box::new(|| Err(StoreError::Closed));
        if let Some(answer) = self.answer.take() {
            answer(done);
        }
        false
    }

    fn refuse(self: Box<Self>, _error: &StoreError) -> Option<Box<dyn Job>> {
        Some(self)
    }
}

impl<A: FnOnce(Result<(), StoreError>)> Drop for Close<A> {
    fn drop(&mut self) {
        if let Some(answer) = self.answer.take() {
            answer(Err(StoreError::Closed));
        }
    }
}
