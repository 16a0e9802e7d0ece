//! What a model's answer is worth: the next piece, the one request to shorten, a record, the next rung. And a summary
//! that was made ahead of time, until it is needed.

use super::asking::{after_full, ask_model, ask_piece, ask_shorter};
use super::last::without_model;
use super::{Outcome, Prepared, Reach, Rung, Step, Waiting, Way};
use crate::compact::accept::{Refusal, accept};
use crate::compact::compose::{Desk, Ingredients};
use crate::compact::record::{Compaction, Fallback, Mode};
use crate::compact::slice::{self, Slice};
use crate::id::{CompactionId, Generation, Ordinal};
use crate::prompt::segment::segments;
use std::collections::BTreeMap;

/// Generation, compaction in force and content of a slice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fingerprint {
    generation: Generation,
    in_force: Option<CompactionId>,
    hash: String,
}

impl Fingerprint {
    pub(super) fn of(desk: Desk<'_>, slice: Slice) -> Self {
        let transcript = desk.source.transcript;
        Self {
            generation: transcript.generation(),
            in_force: transcript.in_force().map(|record| record.id.clone()),
            hash: transcript.source_hash(Ordinal(0), slice.through),
        }
    }
}

impl Waiting {
    /// Why earlier rungs did not serve.
    pub fn fallbacks(&self) -> &[Fallback] {
        &self.way.fallbacks
    }

    /// The same was asked once more, of another model.
    pub fn asked_again(&mut self) {
        self.way.asked += 1;
    }

    /// Whether the model is asked to shorten what it wrote.
    pub fn is_shortening(&self) -> bool {
        self.is_shortening
    }

    /// What was prepared beside a running turn is needed now, for room or for a trigger that need not be obeyed. Where no
    /// summary comes of it, the ladder goes on with what the session holds by then.
    pub fn needed(mut self, must_fit: bool) -> Self {
        self.way.reach = if must_fit { Reach::Whole } else { Reach::Model };
        self
    }

    /// Whether what it stands for is as it was.
    pub fn is_fresh(&self, desk: Desk<'_>) -> bool {
        Fingerprint::of(desk, self.way.slice) == self.source
    }

    /// Goes on with what the model did. An answer for a source that changed meanwhile is discarded.
    pub fn answer(self, desk: Desk<'_>, model: &str, outcome: Outcome) -> Step {
        if !self.is_fresh(desk) {
            return Step::Stale;
        }
        let Waiting { mut way, source, rung, input_truncated, .. } = self;
        let most = desk.source.budget.max_summary_tokens;
        let narrative = match outcome {
            Outcome::Answered(answer) => {
                let judged = accept(&answer, most, covered_tokens(desk, way.slice), desk.counter);
                if let Err((Refusal::TooLarge { .. }, Some(long))) = &judged
                    && let Some(step) = ask_shorter(desk, &way, &rung, long, input_truncated)
                {
                    return step;
                }
                judged.map_err(|(refusal, _)| refusal.to_string())
            }
            Outcome::Failed(reason) => Err(reason),
            Outcome::Deadline => Err("the model did not answer before its deadline".into()),
        };
        match (narrative, rung) {
            (Ok(narrative), Rung::Simple(pieces)) if !pieces.is_empty() => {
                ask_piece(desk, way, pieces, Some(&narrative), input_truncated)
            }
            (Ok(narrative), rung) => {
                let (mode, model) = (rung.mode(), model.to_owned());
                Prepared { way, source, mode, narrative, model, input_truncated }.arrived(desk)
            }
            (Err(reason), Rung::Full) => {
                way.fell(Mode::Full, reason);
                after_full(desk, way.caught_up(desk))
            }
            (Err(reason), Rung::Simple(_)) => {
                way.fell(Mode::Simple, reason);
                without_model(desk, way.caught_up(desk))
            }
        }
    }
}

/// Tokens of what a summary of this slice stands for, an earlier one with it.
fn covered_tokens(desk: Desk<'_>, slice: Slice) -> u32 {
    let transcript = desk.source.transcript;
    let previous = transcript.in_force();
    let from = previous.map_or(Ordinal(0), Compaction::resume_at);
    let none = BTreeMap::new();
    let raw = segments(transcript, from, slice.through);
    let raw: u32 = raw.iter().map(|segment| segment.tokens(transcript, &none)).sum();
    raw + previous.map_or(0, |record| record.block_tokens)
}

impl Way {
    /// Whether it was begun ahead of time, and is needed now.
    fn is_behind(&self) -> bool {
        self.is_ahead && self.reach != Reach::Beside
    }

    /// The same for what the session holds now, where it was begun ahead of time and is needed now.
    fn caught_up(mut self, desk: Desk<'_>) -> Self {
        if self.is_behind() {
            self.slice = slice::slice(desk.source, desk.policy).unwrap_or(self.slice);
            self.is_ahead = false;
            self.was_shortened = false;
        }
        self
    }
}

impl Prepared {
    /// It is here: kept where it was made ahead of time, else applied, else the next rung. A summary of what was there
    /// earlier that leaves too much raw is no reason to do without one: then a model sums up what there is now.
    fn arrived(self, desk: Desk<'_>) -> Step {
        if self.way.reach == Reach::Beside {
            return Step::Prepared(Box::new(self));
        }
        match self.record(desk) {
            Some(record) => Step::Accepted(Box::new(record)),
            None => {
                let mut way = self.way;
                way.fell(self.mode, "the summary does not reach the target");
                match way.is_behind() {
                    true => ask_model(desk, way.caught_up(desk)),
                    false => without_model(desk, way),
                }
            }
        }
    }

    /// The record of it under what the session holds now. Nothing where its source changed, or where it would not bring
    /// the prompt to its target.
    pub fn applied(&self, desk: Desk<'_>) -> Option<Compaction> {
        self.is_fresh(desk).then(|| self.record(desk)).flatten()
    }

    /// Whether what it stands for is as it was.
    pub fn is_fresh(&self, desk: Desk<'_>) -> bool {
        Fingerprint::of(desk, self.way.slice) == self.source
    }

    fn record(&self, desk: Desk<'_>) -> Option<Compaction> {
        let with = Ingredients { narrative: Some(self.narrative.clone()), ..Ingredients::default() };
        // What came since counts, too: else the next compaction would be near. It takes the tail's place.
        let told = self.way.slice.through;
        let now = slice::slice(desk.source, desk.policy).ok().filter(|now| now.through >= told);
        let mut record = desk.with_block_until(self.mode, now.unwrap_or(self.way.slice), told, &with)?;
        record.model = Some(self.model.clone());
        record.asked_again = self.way.asked.saturating_sub(1);
        record.input_truncated = self.input_truncated;
        record.fallbacks.clone_from(&self.way.fallbacks);
        Some(record)
    }
}
