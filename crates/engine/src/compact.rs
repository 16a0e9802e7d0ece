//! Compaction, the whole story: `trigger` says that one is due → `slice` says how far it may reach and `plan` what stays →
//! `ladder` goes from rung to rung, asking a model where it may → `accept` judges its answer → `compose` fills the room →
//! the record is written to the transcript, its round has a summary → rendering obeys it → `metadata` goes to the editor.
//! No clock, no call, no storage: whoever runs the ladder does that.

pub mod accept;
pub mod by_hand;
pub mod compose;
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
