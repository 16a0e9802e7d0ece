//! Compaction: `trigger` decides that one is due → `slice` bounds what it may cover, `plan` what stays → `ladder`
//! tries rung after rung, asking a model where allowed → `accept` validates the answer → `compose` builds the record
//! within the token budget → the transcript takes the record, its round the summary → rendering applies the record →
//! `metadata` goes to the editor. Clock, model calls and storage are left to the caller of the ladder.

pub mod accept;
pub mod by_hand;
pub mod compose;
mod excerpts;
pub mod identifiers;
pub mod known_tools;
pub mod ladder;
pub mod ledger;
pub mod metadata;
pub(crate) mod narrative;
pub mod placing;
pub mod plan;
pub mod policy;
pub mod record;
pub mod restore;
pub mod secrets;
pub mod slice;
pub mod template;
pub mod trigger;

#[cfg(test)]
mod tests;
