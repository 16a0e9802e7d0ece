//! A cache of the counts of short words: texts repeat their words, and the tables are larger than the processor's
//! nearest caches.

use crate::format::hash;

/// Longest word that is cached, in bytes.
const LONGEST: usize = 30;
/// Most words that are cached, in 64 KiB.
const MOST: usize = 2048;

/// The last counted words, each at a place that its hash says. It takes no memory before the first.
#[derive(Default)]
pub struct Cache(Vec<Entry>);

/// A word, its length and its count. A length of zero is no word: words are never empty.
#[derive(Clone, Copy)]
struct Entry {
    bytes: [u8; LONGEST],
    length: u8,
    count: u8,
}

impl Cache {
    /// The count of a word, by `count` if it is not cached.
    pub fn count(&mut self, word: &[u8], count: impl FnOnce() -> usize) -> usize {
        if word.len() > LONGEST {
            return count();
        }
        if self.0.is_empty() {
            self.0 = vec![Entry { bytes: [0; LONGEST], length: 0, count: 0 }; MOST];
        }
        let entry = &mut self.0[hash(word) as usize % MOST];
        if entry.bytes.get(..usize::from(entry.length)) == Some(word) {
            return usize::from(entry.count);
        }
        let counted = count();
        entry.bytes[..word.len()].copy_from_slice(word);
        // Neither is more than `LONGEST`.
        entry.length = word.len() as u8;
        entry.count = counted as u8;
        counted
    }
}
