//! Byte-pair encoding: of the pairs of neighbours in a word that together are a token, the one of the lowest rank is
//! merged, again and again. The number of what remains is counted.

use crate::vocabulary::rank;
use std::array;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Counts tokens word by word. Its buffers are kept from one word to the next.
#[derive(Default)]
pub struct Merge {
    /// Where the part ends that starts at an index.
    ends: Vec<u32>,
    /// Where the part starts that ends behind an index.
    starts: Vec<u32>,
    /// The rank of the pair whose first part starts at an index.
    ranks: Vec<Option<u32>>,
    /// Pairs by rank, then by place. A pair that changed since then is still here.
    pairs: BinaryHeap<Reverse<(u32, u32)>>,
}

impl Merge {
    /// The number of tokens of a word, which takes n·log n time.
    pub fn count(&mut self, word: &[u8]) -> usize {
        if rank(word).is_some() {
            1
        } else if word.len() <= SHORT {
            short(word)
        } else {
            self.long(word)
        }
    }

    fn long(&mut self, word: &[u8]) -> usize {
        let length = word.len() as u32;
        self.starts.clear();
        self.starts.extend(0..length);
        self.ends.clear();
        self.ends.extend(1..=length);
        self.ranks.clear();
        self.ranks.resize(word.len(), None);
        self.pairs.clear();
        for start in 0..length {
            self.look_up(word, start);
        }
        let mut parts = word.len();
        while let Some(Reverse((rank, start))) = self.pairs.pop() {
            // A pair only grows, and each token has a rank of its own: an old entry never has the present rank.
            if self.ranks[start as usize] != Some(rank) {
                continue;
            }
            let middle = self.ends[start as usize];
            let end = self.ends[middle as usize];
            self.ends[start as usize] = end;
            self.starts[end as usize - 1] = start;
            self.ranks[middle as usize] = None;
            parts -= 1;
            self.look_up(word, start);
            if start > 0 {
                self.look_up(word, self.starts[start as usize - 1]);
            }
        }
        parts
    }

    /// Looks up the pair that begins at `start`.
    fn look_up(&mut self, word: &[u8], start: u32) {
        let middle = self.ends[start as usize];
        let pair = self.ends.get(middle as usize).and_then(|end| rank(&word[start as usize..*end as usize]));
        self.ranks[start as usize] = pair;
        if let Some(rank) = pair {
            self.pairs.push(Reverse((rank, start)));
        }
    }
}

/// Longest word, in bytes, whose pairs are searched through for each merge: for so few, that is faster than a heap.
const SHORT: usize = 32;

/// The number of tokens of a word of at most [`SHORT`] bytes.
fn short(word: &[u8]) -> usize {
    /// More than any rank.
    const NONE: u32 = u32::MAX;
    // Where each part starts, and the rank of what it and the next part are together.
    let mut starts: [u8; SHORT + 1] = array::from_fn(|at| at as u8);
    let mut ranks = [NONE; SHORT];
    let mut parts = word.len();
    let look_up = |starts: &[u8], at: usize| match starts.get(at + 2) {
        Some(end) => rank(&word[usize::from(starts[at])..usize::from(*end)]).unwrap_or(NONE),
        None => NONE,
    };
    for (at, rank) in ranks[..parts].iter_mut().enumerate() {
        *rank = look_up(&starts[..=parts], at);
    }
    loop {
        let Some((at, rank)) = ranks[..parts].iter().copied().enumerate().min_by_key(|(_, rank)| *rank)
        else {
            return parts;
        };
        if rank == NONE {
            return parts;
        }
        starts.copy_within(at + 2..=parts, at + 1);
        ranks.copy_within(at + 2..parts, at + 1);
        parts -= 1;
        ranks[at] = look_up(&starts[..=parts], at);
        if at > 0 {
            ranks[at - 1] = look_up(&starts[..=parts], at - 1);
        }
    }
}
