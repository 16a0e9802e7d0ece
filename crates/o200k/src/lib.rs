//! Counts the tokens of `o200k_base`, the vocabulary of OpenAI's models since GPT-4o.
//!
//! A text is cut into words ([`words`]), and each word that is no token is merged from its bytes ([`merge`]). The tables
//! that both need are made when the crate is built, and are read where they lie in the program: a process that counts has
//! nothing to unpack, and processes share the memory.

#[cfg(test)]
mod tests;

mod format;
mod known;
mod merge;
mod vocabulary;
mod words;

use known::Known;
use merge::Merge;
use std::cell::RefCell;

thread_local! {
    static COUNTER: RefCell<(Known, Merge)> = RefCell::default();
}

/// The number of tokens in `text`. Text that looks like a special token is text like any other.
///
/// A word of n bytes takes n·log n time: whoever counts hostile text cuts it first.
pub fn count(text: &str) -> usize {
    COUNTER.with_borrow_mut(|(known, merge)| {
        words::words(text).map(|word| known.count(word.as_bytes(), || merge.count(word.as_bytes()))).sum()
    })
}
