//! Records that drop whole rounds from the oldest on, without a summary. `ladder` decides when.

use super::{Ingredients, Inputs};
use crate::compact::record::{Compaction, Mode, Strength};
use crate::compact::slice::Slice;
use crate::compact::template::{BlockParts, block, ledger_text};
use crate::id::Ordinal;
use crate::prompt::segment::segments;
use crate::prompt::{self, Source};
use crate::tokens::PER_MESSAGE;
use std::collections::BTreeMap;

impl Inputs<'_> {
    /// Rung 4's first step: drops whole rounds from the oldest on until the prompt reaches the target, or all of the
    /// slice. The block says so, names the dropped user messages and holds the ledger as far as the target allows; if
    /// not even the first two fit, there is no block. `None` if the limit is exceeded even so.
    pub fn dropped(&self, mode: Mode, slice: Slice, with: &Ingredients) -> Option<Compaction> {
        let transcript = self.source.transcript;
        let limit = self.source.budget.limit;
        let room = self.room(slice, with)?;
        let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
        let starts: Vec<Ordinal> = segments(transcript, resume, slice.through)
            .iter()
            .skip(1)
            .filter(|segment| segment.round.is_some() || starts_turn(self.source, segment.first))
            .map(|segment| segment.first)
            .chain([slice.through.next()])
            .collect();
        let without_block = |start: Ordinal| {
            let mut record = self.cut(mode, start, &room.words);
            record.actions.extend(&with.newest);
            record.strength = Strength::High;
            record
        };
        let parts_of =
            |record: &Compaction| BlockParts { dropped: true, ..self.bare_parts(record, room.space) };
        let with_parts = |record: Compaction, parts: &BlockParts| Compaction {
            block: block(parts).into(),
            block_tokens: self.weigh(parts),
            ..record
        };
        let bare = |start: Ordinal| {
            let record = without_block(start);
            let parts = parts_of(&record);
            with_parts(record, &parts)
        };
        let (ledger, most) = (self.ledger_so_far(), self.ledger_tokens(room.space));
        let with_ledger = |start: Ordinal| {
            let record = without_block(start);
            let mut parts = parts_of(&record);
            let space = room.target.checked_sub(prompt::draft(self.source, Some(&record)).tokens)?;
            self.ledger_within(&mut parts, space, most, &ledger.clone().of(&record));
            self.sized(with_parts(record, &parts), room.target)
        };
        let of_all = ledger.clone().of(&without_block(slice.through.next()));
        let lists = of_all.shown(most, |line| self.counter.count(line));
        let for_ledger = self.counter.count(&ledger_text(&lists, &BTreeMap::new())) + PER_MESSAGE;
        // Each dropped round makes the prompt smaller, so binary search finds the first start that fits.
        let first_with = |free: u32| {
            let most = room.target.saturating_sub(free);
            let at = starts.partition_point(|start| self.sized(bare(*start), most).is_none());
            starts.get(at).copied()
        };
        let start = first_with(for_ledger).or_else(|| first_with(0)).or(starts.last().copied())?;
        with_ledger(start)
            .or_else(|| self.sized(bare(start), room.target))
            .or_else(|| self.sized(bare(start), limit))
            .or_else(|| self.sized(without_block(start), limit))
    }
}

fn starts_turn(source: Source<'_>, ord: Ordinal) -> bool {
    let turns = source.transcript.turns();
    source.transcript.turn_at(ord).and_then(|turn| turns.get(turn)).is_some_and(|turn| turn.first == ord)
}
