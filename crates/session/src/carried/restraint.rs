//! What keeps compactions from being tried again and again: models that failed, attempts that came to nothing, summaries
//! that the user refused or undid. None of it stops a compaction where the prompt does not fit.

use engine::compact::policy::Policy;
use engine::compact::trigger::Attempts;
use engine::id::Ordinal;
use engine::prompt::Source;
use engine::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// When compactions that need not be are not begun.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Restraint {
    /// How attempts to have a model sum up went.
    attempts: Attempts,
    /// The message from which on new tokens count before a trigger other than an overflow starts a compaction: an attempt
    /// at one came to nothing there, or the user refused what came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Ordinal>,
    /// The same, where the user took a compaction out of force. Other settings do not end it.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<Ordinal>,
}

impl Restraint {
    /// Whether a model may be asked to sum up: it did not fail too often.
    pub(crate) fn may_ask(&self, source: Source<'_>, policy: &Policy) -> bool {
        self.attempts.may_ask(source, policy)
    }

    /// A model was asked in vain, or a summary came of it. Whether that changes something.
    pub(crate) fn attempt_ended(
        &mut self,
        transcript: &Transcript,
        is_failure: bool,
        policy: &Policy,
    ) -> bool {
        let before = self.attempts;
        self.attempts.ended(transcript, is_failure, policy);
        before != self.attempts
    }

    /// Nothing is begun by itself before as much is new behind this message as it would need; a compaction that was made
    /// ends what an undo held back. Whether that changes something.
    pub(crate) fn hold(&mut self, held: Option<Ordinal>, is_made: bool) -> bool {
        let undone = self.undone.filter(|_| !is_made);
        let changes = (self.held, self.undone) != (held, undone);
        (self.held, self.undone) = (held, undone);
        changes
    }

    /// The user took a compaction out of force.
    pub(crate) fn undone(&mut self, at: Ordinal) {
        self.undone = Some(at);
    }

    /// The message from which on new tokens count, where something is held back.
    pub(crate) fn since(&self) -> Option<Ordinal> {
        self.held.max(self.undone)
    }

    /// Another policy: what came to nothing may come to something. Whether something was held back.
    pub(crate) fn release(&mut self) -> bool {
        self.held.take().is_some()
    }

    #[cfg(test)]
    pub(crate) fn failures(&self) -> u32 {
        self.attempts.failures
    }

    /// The session ends here from now on. What is taken away is nothing new, and what is said in its place is.
    pub(crate) fn truncate(&mut self, from: Ordinal) {
        self.held.take_if(|held| *held > from);
        self.undone = self.undone.map(|at| at.min(from));
    }
}
