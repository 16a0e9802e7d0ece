//! Moves the block of a compaction to another placement, in a new record with the same coverage and content.

use super::plan;
use super::record::{Compaction, Placement, Trigger};
use super::template;
use crate::prompt::{self, Source};
use crate::tokens::{PER_MESSAGE, TokenCount};

/// Returns the record in force with its block at `to`; `None` if it has no block or is placed there already.
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
        cost: None,
        turn: transcript.turns().last().map(|turn| turn.id.clone()),
        created_at: None,
        duration_ms: None,
        ..record.clone()
    };
    moved.tokens_after = prompt::draft(source, Some(&moved)).tokens;
    Some(moved)
}
