//! A compaction whose block is to stand elsewhere: the same in the form of the new place, as a record of its own. What it
//! covers and what it says stay.

use super::plan;
use super::record::{Compaction, Placement, Trigger};
use super::template;
use crate::prompt::{self, Source};
use crate::tokens::{PER_MESSAGE, TokenCount};

/// The record in force with its block in another place; nothing where it has no block, or stands there.
pub fn replaced(source: Source<'_>, to: Placement, counter: &dyn TokenCount) -> Option<Compaction> {
    let transcript = source.transcript;
    let record = transcript.in_force().filter(|record| record.placement != to && !record.block.is_empty())?;
    let block = template::moved(&record.block, to, plan::last_active(transcript).as_deref());
    let mut moved = Compaction {
        id: transcript.next_compaction_id(),
        previous: Some(record.id.clone()),
        replaces: Some(record.id.clone()),
        generation: transcript.generation(),
        placement: to,
        block_tokens: counter.count(&block) + PER_MESSAGE,
        block: block.into(),
        tokens_before: prompt::draft(source, Some(record)).tokens,
        target: None,
        trigger: Trigger::Manual,
        fallbacks: Vec::new(),
        asked_again: 0,
        turn: transcript.turns().last().map(|turn| turn.id.clone()),
        created_at: None,
        duration_ms: None,
        ..record.clone()
    };
    moved.tokens_after = prompt::draft(source, Some(&moved)).tokens;
    Some(moved)
}
