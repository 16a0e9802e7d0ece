//! What became of each message of a session in one prompt, found from the prompt and the record, never as what is
//! left over: a message that none of them accounts for is counted as unaccounted.

use super::Prompt;
use super::item::Shown;
use crate::engine::compact::record::Compaction;
use crate::engine::id::Ordinal;
use crate::engine::transcript::Transcript;
use std::collections::BTreeMap;

/// Numbers of messages by what became of them. They add up to `messages`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Coverage {
    /// Messages of the session.
    pub messages: u32,
    /// Shown whole; kept user messages are among them.
    pub raw: u32,
    /// Shown by head and tail, or folded into a newer copy.
    pub shortened: u32,
    /// Stood for by the compaction block.
    pub covered: u32,
    /// Left out and reported.
    pub dropped: u32,
    /// Not for the model.
    pub hidden: u32,
    /// Lost. Zero, or there is a defect.
    pub unaccounted: u32,
}

/// Counts what became of each message.
pub fn coverage(transcript: &Transcript, record: Option<&Compaction>, prompt: &Prompt) -> Coverage {
    let mut shown: BTreeMap<Ordinal, Shown> = BTreeMap::new();
    for source in prompt.items.iter().flat_map(|item| &item.sources) {
        shown.insert(source.ord, source.shown);
    }
    let cut: std::collections::BTreeSet<Ordinal> = prompt.cuts.iter().filter_map(|cut| cut.ord).collect();
    let mut counts = Coverage::default();
    for message in transcript.messages() {
        counts.messages += 1;
        let slot = match shown.get(&message.ord) {
            Some(Shown::Raw | Shown::Kept) => &mut counts.raw,
            Some(Shown::Shortened) => &mut counts.shortened,
            None if message.is_hidden() => &mut counts.hidden,
            None if record.is_some_and(|r| r.covers(message.ord)) => &mut counts.covered,
            None if cut.contains(&message.ord) => &mut counts.dropped,
            None => &mut counts.unaccounted,
        };
        *slot += 1;
    }
    counts
}
