//! Handling of a model's outcome: the next piece, the one request to shorten, a record, the next rung. Also summaries
//! that were made ahead of time, until they are needed.

use super::asking::{after_full, ask_model, ask_piece, ask_shorter};
use super::last::without_model;
use super::{Descent, Outcome, Prepared, Reach, Rung, Step, Waiting};
use crate::compact::accept::{Refusal, accept};
use crate::compact::compose::{Ingredients, Inputs};
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
    pub(super) fn of(inputs: Inputs<'_>, slice: Slice) -> Self {
        let transcript = inputs.source.transcript;
        Self {
            generation: transcript.generation(),
            in_force: transcript.in_force().map(|record| record.id.clone()),
            hash: transcript.source_hash(Ordinal(0), slice.through),
        }
    }
}

impl Waiting {
    /// Rungs that failed so far, with reasons.
    pub fn fallbacks(&self) -> &[Fallback] {
        &self.descent.fallbacks
    }

    /// Counts that the request was repeated to another model.
    pub fn asked_again(&mut self) {
        self.descent.asked += 1;
    }

    /// `true` if the request is to shorten a summary.
    pub fn is_shortening(&self) -> bool {
        self.is_shortening
    }

    /// Continues a request that was made ahead of time as one that is needed now, for an overflow (`must_fit`) or
    /// another trigger. If it yields no summary, the ladder goes on with the session as it is then.
    pub fn needed(mut self, must_fit: bool) -> Self {
        self.descent.reach = if must_fit { Reach::Whole } else { Reach::Model };
        self
    }

    /// `true` if its slice and the compaction in force are unchanged.
    pub fn is_fresh(&self, inputs: Inputs<'_>) -> bool {
        Fingerprint::of(inputs, self.descent.slice) == self.source
    }

    /// Continues with the model's outcome, which is discarded if the source changed meanwhile.
    pub fn answer(self, inputs: Inputs<'_>, model: &str, outcome: Outcome) -> Step {
        if !self.is_fresh(inputs) {
            return Step::Stale;
        }
        let Waiting { mut descent, source, rung, input_truncated, .. } = self;
        let most = inputs.source.budget.max_summary_tokens;
        let narrative = match outcome {
            Outcome::Answered(answer) => {
                let judged = accept(&answer, most, covered_tokens(inputs, descent.slice), inputs.counter);
                if let Err((Refusal::TooLarge { .. }, Some(long))) = &judged
                    && let Some(step) = ask_shorter(inputs, &descent, &rung, long, input_truncated)
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
                ask_piece(inputs, descent, pieces, Some(&narrative), input_truncated)
            }
            (Ok(narrative), rung) => {
                let (mode, model) = (rung.mode(), model.to_owned());
                Prepared { descent, source, mode, narrative, model, input_truncated }.arrived(inputs)
            }
            (Err(reason), Rung::Full) => {
                descent.fell(Mode::Full, reason);
                after_full(inputs, descent.caught_up(inputs))
            }
            (Err(reason), Rung::Simple(_)) => {
                descent.fell(Mode::Simple, reason);
                without_model(inputs, descent.caught_up(inputs))
            }
        }
    }
}

/// Tokens that a summary of this slice replaces, the block in force included.
fn covered_tokens(inputs: Inputs<'_>, slice: Slice) -> u32 {
    let transcript = inputs.source.transcript;
    let previous = transcript.in_force();
    let from = previous.map_or(Ordinal(0), Compaction::resume_at);
    let none = BTreeMap::new();
    let raw = segments(transcript, from, slice.through);
    let raw: u32 = raw.iter().map(|segment| segment.tokens(transcript, &none)).sum();
    raw + previous.map_or(0, |record| record.block_tokens)
}

impl Descent {
    /// `true` if begun ahead of time and needed now.
    fn is_behind(&self) -> bool {
        self.is_ahead && self.reach != Reach::Beside
    }

    /// Takes a new slice of the session as it is now, if `is_behind`.
    fn caught_up(mut self, inputs: Inputs<'_>) -> Self {
        if self.is_behind() {
            self.slice = slice::slice(inputs.source, inputs.policy).unwrap_or(self.slice);
            self.is_ahead = false;
            self.was_shortened = false;
        }
        self
    }
}

impl Prepared {
    /// Keeps the summary if it was made ahead of time, else applies it, else goes to the next rung. If one made ahead
    /// of time leaves too much raw, a model is asked again, for the session as it is now.
    fn arrived(self, inputs: Inputs<'_>) -> Step {
        if self.descent.reach == Reach::Beside {
            return Step::Prepared(Box::new(self));
        }
        match self.record(inputs) {
            Some(record) => Step::Accepted(Box::new(record)),
            None => {
                let mut descent = self.descent;
                descent.fell(self.mode, "the summary does not reach the target");
                match descent.is_behind() {
                    true => ask_model(inputs, descent.caught_up(inputs)),
                    false => without_model(inputs, descent),
                }
            }
        }
    }

    /// Returns its record for the session as it is now; `None` if its source changed or the prompt would not reach its
    /// target.
    pub fn applied(&self, inputs: Inputs<'_>) -> Option<Compaction> {
        self.is_fresh(inputs).then(|| self.record(inputs)).flatten()
    }

    /// `true` if its slice and the compaction in force are unchanged.
    pub fn is_fresh(&self, inputs: Inputs<'_>) -> bool {
        Fingerprint::of(inputs, self.descent.slice) == self.source
    }

    fn record(&self, inputs: Inputs<'_>) -> Option<Compaction> {
        let with =
            Ingredients { narrative: Some(self.narrative.clone()), is_told: true, ..Ingredients::default() };
        // Later messages count as the tail: ignored, they would soon start the next compaction.
        let told = self.descent.slice.through;
        let now = slice::slice(inputs.source, inputs.policy).ok().filter(|now| now.through >= told);
        let mut record =
            inputs.with_block_until(self.mode, now.unwrap_or(self.descent.slice), told, &with)?;
        record.model = Some(self.model.clone());
        record.asked_again = self.descent.asked.saturating_sub(1);
        record.input_truncated = self.input_truncated;
        record.fallbacks.clone_from(&self.descent.fallbacks);
        Some(record)
    }
}
