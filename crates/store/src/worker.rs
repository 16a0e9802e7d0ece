//! The thread that owns a store, and how the others speak to it: jobs in, answers out, in order. Nothing here knows
//! what a job does. A job waits for the disk; who hands it in does not.

use super::Store;
use super::error::StoreError;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread;
use std::time::Duration;

/// Without a job for so long, nobody waits for the store: a turn's next commit comes sooner.
const QUIET: Duration = Duration::from_millis(250);

/// Opens the store: at the first job, and again after a breakdown or an error in opening.
pub type Open = Box<dyn FnMut() -> Result<Box<dyn Store>, StoreError> + Send>;

/// A way to the thread. Copies of it reach the same one; jobs are done in the order in which they were handed in. The
/// thread ends when it is told to close, or with the last handle.
#[derive(Clone)]
pub struct Handle {
    jobs: Sender<Box<dyn Job>>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handle")
    }
}

impl Handle {
    /// Starts the thread. Nothing is opened before the first job.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(open: Open) -> std::io::Result<Self> {
        let (jobs, inbox) = mpsc::channel();
        thread::Builder::new().name("store".to_owned()).spawn(move || work_off(&inbox, open))?;
        Ok(Self { jobs })
    }

    /// Hands in a job. `answer` is called with what came of it, exactly once, on the store's thread: it should only
    /// pass it on. After a close, or where the thread is gone, it is called with [`StoreError::Closed`].
    pub fn submit<T: 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        // Where nobody takes the job it is dropped, and answers so.
        drop(self.jobs.send(Box::new(Work { work: Some(work), answer: Some(answer) })));
    }

    /// Closes the store after all that was handed in before. `answer` is called when it is closed.
    pub fn close(&self, answer: impl FnOnce(Result<(), StoreError>) + Send + 'static) {
        drop(self.jobs.send(Box::new(Close { answer: Some(answer) })));
    }

    /// Hands in a job and waits for what comes of it. Not for a thread that must not wait.
    ///
    /// # Errors
    /// The job's own, or [`StoreError::Closed`].
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, answer) = mpsc::channel();
        self.submit(work, move |done| drop(sender.send(done)));
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Closes the store after all that was handed in before, and waits until that is done.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub fn close_and_wait(&self) -> Result<(), StoreError> {
        let (sender, answer) = mpsc::channel();
        self.close(move |done| drop(sender.send(done)));
        answer.recv().unwrap_or(Err(StoreError::Closed))
    }
}

/// What can be handed in.
trait Job: Send {
    /// Does it and answers; false when nothing shall be done after it.
    fn run(self: Box<Self>, desk: &mut Desk) -> bool;
}

/// What the thread owns.
struct Desk {
    open: Open,
    store: Option<Box<dyn Store>>,
}

impl Desk {
    /// Does the work on the open store. Where it breaks down the store is given up and opened again at the next job.
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
            // It may break down once more on its way out.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
            Err(StoreError::Crashed { reason: words(&*panic) })
        })
    }
}

impl Desk {
    /// Has an open store do what can wait. It is done the next time where it cannot be done now.
    fn tidy(&mut self, is_late: bool) {
        if self.store.is_some()
            && let Err(error) = self.work(|store| store.tidy(is_late))
        {
            tracing::info!(%error, "the store was not tidied");
        }
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it gave no reason".to_owned())
}

fn work_off(inbox: &Receiver<Box<dyn Job>>, open: Open) {
    let mut desk = Desk { open, store: None };
    let mut goes_on = true;
    while goes_on {
        let job = match inbox.try_recv() {
            Ok(job) => job,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => match inbox.recv_timeout(QUIET) {
                Ok(job) => job,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    desk.tidy(false);
                    let Ok(job) = inbox.recv() else { break };
                    job
                }
            },
        };
        // An answer that panics must not take the thread with it.
        goes_on = catch_unwind(AssertUnwindSafe(|| job.run(&mut desk))).unwrap_or(true);
        desk.tidy(true);
    }
    if desk.store.is_some()
        && let Err(error) = desk.work(|store| store.close())
    {
        tracing::warn!(%error, "the store was not closed in good order");
    }
}

/// A job with its answer. Dropped undone, it answers that the store is closed.
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
    fn run(mut self: Box<Self>, desk: &mut Desk) -> bool {
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

/// The last job.
struct Close<A: FnOnce(Result<(), StoreError>)> {
    answer: Option<A>,
}

impl<A: FnOnce(Result<(), StoreError>) + Send> Job for Close<A> {
    fn run(mut self: Box<Self>, desk: &mut Desk) -> bool {
        let done = if desk.store.is_some() { desk.work(|store| store.close()) } else { Ok(()) };
        desk.store = None;
        // What the opener keeps of the store goes with it.
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
