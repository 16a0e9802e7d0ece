//! The deadline for a whole answer: a model that never stops still meets the deadline for each piece.

use engine::delta::Delta;
use engine::id::Time;

/// Deadline for a whole answer, as a multiple of the permitted silence.
const WHOLE_ANSWER: u64 = 5;
/// Bytes of an answer that is not streamed to clients, thinking included, at most.
const MOST_ANSWERED: usize = 256 * 1024;

/// Time and bytes left for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deadline {
    until: Time,
    bytes: usize,
}

impl Deadline {
    /// Starts now, for a model that may be silent for so many milliseconds.
    pub fn new(now: Time, silence: u64) -> Self {
        Self { until: Time(now.0.saturating_add(silence.saturating_mul(WHOLE_ANSWER))), bytes: MOST_ANSWERED }
    }

    /// The same for signs of life between pieces: they are no answer, but a model that works is waited for longer.
    pub fn with_signs(now: Time, silence: u64) -> Self {
        Self::new(now, silence.saturating_mul(WHOLE_ANSWER))
    }

    /// Milliseconds until the next sign of life is due, after one or after the announcement of a retry;
    /// `None` if the time is up.
    pub fn after_sign(&self, now: Time, silence: u64) -> Option<u64> {
        let left = self.until.0.checked_sub(now.0).filter(|left| *left > 0)?;
        Some(left.min(silence))
    }

    /// Milliseconds until the next piece is due, after one; `None` if time or bytes are used up.
    pub fn after_piece(&mut self, delta: &Delta, now: Time, silence: u64) -> Option<u64> {
        self.bytes = self.bytes.checked_sub(delta.bytes())?;
        self.after_sign(now, silence)
    }
}
