//! Counts of texts that were made ahead, on another thread than the one that needs them. A count is a function of its
//! text, so nothing depends on whether it was made ahead.

use engine::tokens::TokenCount;
use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The shortest text whose count is kept, in bytes: below it, counting costs little more than looking it up.
const KEPT_FROM: usize = 1024;
/// The most counts that are kept; the oldest go first.
const MOST: usize = 1 << 16;

/// A text by its size and its hash, which is keyed anew in each process.
type Key = (usize, u64);

/// A counter that knows the counts made ahead.
pub struct Counted {
    counter: Box<dyn TokenCount + Send + Sync>,
    known: Mutex<Known>,
    keys: RandomState,
}

#[derive(Default)]
struct Known {
    counts: BTreeMap<Key, u32>,
    /// Oldest first.
    order: VecDeque<Key>,
}

/// Counts ahead, and keeps what it counts.
pub struct Ahead<'a>(&'a Counted);

impl Counted {
    /// A counter that knows no counts yet.
    pub fn new(counter: Box<dyn TokenCount + Send + Sync>) -> Self {
        Self { counter, known: Mutex::default(), keys: RandomState::new() }
    }

    /// A counter for other threads, whose counts are known here from then on.
    pub fn ahead(&self) -> Ahead<'_> {
        Ahead(self)
    }

    fn key(&self, text: &str) -> Key {
        (text.len(), self.keys.hash_one(text))
    }

    /// A poisoned lock is harmless: each change is a single insertion.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenCount for Counted {
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn count(&self, text: &str) -> u32 {
        if text.len() < KEPT_FROM {
            return self.counter.count(text);
        }
        let known = self.known().counts.get(&self.key(text)).copied();
        known.unwrap_or_else(|| self.counter.count(text))
    }
}

impl TokenCount for Ahead<'_> {
    fn name(&self) -> &str {
        self.0.counter.name()
    }

    fn count(&self, text: &str) -> u32 {
        let tokens = self.0.counter.count(text);
        if text.len() < KEPT_FROM {
            return tokens;
        }
        let key = self.0.key(text);
        let mut known = self.0.known();
        if known.counts.insert(key, tokens).is_none() {
            known.order.push_back(key);
        }
        if known.order.len() > MOST
            && let Some(oldest) = known.order.pop_front()
        {
            known.counts.remove(&oldest);
        }
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts bytes, and how many it counted.
    struct Bytes(Arc<AtomicUsize>);

    impl TokenCount for Bytes {
        fn name(&self) -> &str {
            "bytes"
        }

        fn count(&self, text: &str) -> u32 {
            self.0.fetch_add(text.len(), Ordering::Relaxed);
            u32::try_from(text.len()).unwrap()
        }
    }

    #[test]
    fn text_counted_ahead_is_not_counted_again() {
        let bytes = Arc::new(AtomicUsize::new(0));
        let counted = Counted::new(Box::new(Bytes(bytes.clone())));
        let (large, small) = ("word ".repeat(1000), "a few words");
        for text in [&*large, small] {
            assert_eq!(counted.ahead().count(text) as usize, text.len());
        }
        bytes.store(0, Ordering::Relaxed);
        assert_eq!(counted.count(&large) as usize, large.len());
        assert_eq!(bytes.load(Ordering::Relaxed), 0);
        for text in [small, &*"other ".repeat(1000)] {
            assert_eq!(counted.count(text) as usize, text.len());
        }
        assert_eq!(bytes.load(Ordering::Relaxed), small.len() + 6000);
    }

    #[test]
    fn oldest_counts_are_forgotten_first() {
        let bytes = Arc::new(AtomicUsize::new(0));
        let counted = Counted::new(Box::new(Bytes(bytes.clone())));
        let text = |n: usize| format!("{n:02000}");
        for n in 0..=MOST {
            counted.ahead().count(&text(n));
        }
        bytes.store(0, Ordering::Relaxed);
        counted.count(&text(MOST));
        assert_eq!(bytes.load(Ordering::Relaxed), 0);
        counted.count(&text(0));
        assert_eq!(bytes.load(Ordering::Relaxed), 2000);
    }
}
