//! Commits that wait for a store that cannot be reached. They are tried again in their order, after pauses that grow, until
//! the store takes them or a bound is reached.

use super::PendingCommit;
use crate::error::StoreError;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The pause before the next attempt, after the first failure and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How much may wait for a store that cannot be reached, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of all that waits, about. A commit that exceeds them fails.
    pub bytes: usize,
    /// Time since the store was reached last. Then all that waits fails, and what follows fails at once.
    pub time: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { bytes: 64 << 20, time: Duration::from_secs(120) }
    }
}

/// A change of what waits for a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// The store cannot be reached, and commits wait for it.
    Began(StoreError),
    /// All that waited is decided, and the store takes commits again.
    Ended,
    /// The bounds are reached: what waited failed with this error.
    GaveUp(StoreError),
}

/// Learns of changes of what waits, on the store's thread.
pub type Told = Box<dyn FnMut(Waiting) + Send>;

/// A store that cannot be reached, and the commits that wait for it.
pub(super) struct Away {
    /// Oldest first.
    commits: VecDeque<(PendingCommit, usize)>,
    bytes: usize,
    /// When the store failed first.
    since: Instant,
    /// Attempts since then, and when the next is made.
    attempts: u32,
    next: Instant,
    /// The newest error.
    pub error: StoreError,
}

impl Away {
    pub fn new(error: StoreError) -> Self {
        let now = Instant::now();
        let (commits, next) = (VecDeque::new(), now + FIRST_PAUSE);
        Self { commits, bytes: 0, since: now, attempts: 0, next, error }
    }

    /// When the next attempt is to be made; `None` if nothing waits.
    pub fn next(&self) -> Option<Instant> {
        (!self.commits.is_empty()).then_some(self.next)
    }

    pub fn is_due(&self) -> bool {
        self.next().is_some_and(|next| next <= Instant::now())
    }

    /// `true` if nothing may wait any longer.
    pub fn is_over(&self, bounds: Bounds) -> bool {
        self.since.elapsed() >= bounds.time
    }

    /// Lets a commit wait behind the others. Gives it back if it is too much.
    pub fn hold(&mut self, pending: PendingCommit, bounds: Bounds) -> Option<PendingCommit> {
        let size = pending.commit.size();
        if self.bytes.saturating_add(size) > bounds.bytes {
            return Some(pending);
        }
        self.bytes += size;
        self.commits.push_back((pending, size));
        None
    }

    /// Takes the oldest commits, for an attempt.
    pub fn take(&mut self, at_most: usize) -> Vec<PendingCommit> {
        let taken = self.commits.drain(..at_most.min(self.commits.len()));
        let (pending, sizes): (Vec<_>, Vec<_>) = taken.unzip();
        self.bytes -= sizes.iter().sum::<usize>();
        pending
    }

    /// Puts back what an attempt left, in front of all others.
    pub fn put_back(&mut self, left: Vec<PendingCommit>) {
        for pending in left.into_iter().rev() {
            let size = pending.commit.size();
            self.bytes += size;
            self.commits.push_front((pending, size));
        }
    }

    /// Notes that an attempt failed.
    pub fn failed_again(&mut self, error: StoreError) {
        self.attempts += 1;
        let pause = FIRST_PAUSE.saturating_mul(1 << self.attempts.min(8)).min(LONGEST_PAUSE);
        (self.next, self.error) = (Instant::now() + pause, error);
    }
}
