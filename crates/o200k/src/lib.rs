//! Counts the tokens of `o200k_base`, the vocabulary of OpenAI's models since GPT-4o.
//!
//! A text is cut into words ([`words`]), and each word that is no token is merged from its bytes ([`merge`]). The tables
//! that both need are made when the crate is built, embedded in the binary and read in place: a process that counts has
//! nothing to unpack, and processes share the memory.

#[cfg(test)]
mod tests;

mod cache;
#[allow(dead_code, reason = "the build script writes what is read here")]
mod format;
mod merge;
mod vocabulary;
mod words;

use cache::Cache;
use merge::Merge;
use std::cell::RefCell;

thread_local! {
    static COUNTER: RefCell<(Cache, Merge)> = RefCell::default();
}

/// The number of tokens in `text`. Text that looks like a special token is text like any other.
///
/// A word of n bytes takes n·log n time: whoever counts hostile text cuts it first.
pub fn count(text: &str) -> usize {
    COUNTER.with_borrow_mut(|(cache, merge)| {
        words::words(text).map(|word| cache.count(word.as_bytes(), || merge.count(word.as_bytes()))).sum()
    })
}
