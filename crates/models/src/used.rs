//! The usage of a call: some providers report it while they answer, some at the end.

use crate::Progress;
use engine::delta::{Delta, Draft};
use engine::message::Usage;

/// What was reported while an answer came.
#[derive(Debug, Default)]
pub struct UsageSoFar(Draft);

impl UsageSoFar {
    /// Takes in what an event reports, if it reports any.
    pub fn hear(&mut self, progress: &Progress) {
        if let Progress::Delta(delta @ Delta::SetUsage(_)) = progress {
            drop(self.0.fold(delta.clone()));
        }
    }

    /// The usage of the whole call; `last` is what the answer itself states.
    pub fn with(self, last: Option<Usage>) -> Option<Usage> {
        let mut beside = self.0.beside;
        beside.merge_usage(last);
        beside.usage
    }
}
