//! How long an answer may take as a whole. A model that goes on for ever says something before each deadline for a word.

use engine::delta::Delta;
use engine::id::Time;

/// Times the deadline for a word, which an answer may take as a whole.
const WHOLE_ANSWER: u64 = 5;
/// Bytes of an answer that nobody reads while it is given, with what the model thinks before it.
const MOST_ANSWERED: usize = 256 * 1024;

/// How much more of an answer is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deadline {
    until: Time,
    bytes: usize,
}

impl Deadline {
    /// From now on, with a model that may say nothing for so many milliseconds.
    pub fn new(now: Time, silence: u64) -> Self {
        Self { until: Time(now.0.saturating_add(silence.saturating_mul(WHOLE_ANSWER))), bytes: MOST_ANSWERED }
    }

    /// The same with signs of life that come without a word: they are no answer, but a model that works is waited for
    /// longer.
    pub fn with_signs(now: Time, silence: u64) -> Self {
        Self::new(now, silence.saturating_mul(WHOLE_ANSWER))
    }

    /// A sign of life came, or the promise of one after a wait: how long the next one may take, in milliseconds; nothing
    /// where it was enough.
    pub fn after_sign(&self, now: Time, silence: u64) -> Option<u64> {
        let left = self.until.0.checked_sub(now.0).filter(|left| *left > 0)?;
        Some(left.min(silence))
    }

    /// A piece of the answer came: how long the next one may take, in milliseconds; nothing where it was enough.
    pub fn after_piece(&mut self, delta: &Delta, now: Time, silence: u64) -> Option<u64> {
        self.bytes = self.bytes.checked_sub(delta.bytes())?;
        self.after_sign(now, silence)
    }
}
