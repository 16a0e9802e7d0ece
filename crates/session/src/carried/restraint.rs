//! Holds optional compactions back after failed models, fruitless attempts, and summaries that the user
//! refused or undid. None of it stops a compaction if the prompt does not fit.

use engine::compact::policy::Policy;
use engine::compact::trigger::Attempts;
use engine::id::Ordinal;
use engine::prompt::Source;
use engine::transcript::Transcript;
use serde::{Deserialize, Serialize};

/// Reasons not to begin an optional compaction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Restraint {
    /// Outcomes of summary requests to models.
    attempts: Attempts,
    /// The message from which on new tokens count before a trigger other than an overflow starts a
    /// compaction: an attempt came to nothing there, or the user refused its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<Ordinal>,
    /// The same after the user undid a compaction. Other settings do not end it.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<Ordinal>,
}

impl Restraint {
    /// `true` if a model may be asked for a summary: it did not fail too often.
    pub(crate) fn may_ask(&self, source: Source<'_>, policy: &Policy) -> bool {
        self.attempts.may_ask(source, policy)
    }

    /// `true` if the newest summary request failed, and no message was added since; `next` is the next message's ordinal.
    pub(crate) fn has_failed_at(&self, next: Ordinal) -> bool {
        self.attempts.failures > 0 && self.attempts.since == next
    }

    /// Records the outcome of a summary request; returns `true` if that changes anything.
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

    /// Holds optional compactions back until enough is new after `held`; one that was made also ends the hold
    /// of an undo. Returns `true` if that changes anything.
    pub(crate) fn hold(&mut self, held: Option<Ordinal>, is_made: bool) -> bool {
        let undone = self.undone.filter(|_| !is_made);
        let changes = (self.held, self.undone) != (held, undone);
        (self.held, self.undone) = (held, undone);
        changes
    }

    /// Records that the user took a compaction out of force.
    pub(crate) fn undone(&mut self, at: Ordinal) {
        self.undone = Some(at);
    }

    /// The message from which on new tokens count, if compactions are held back.
    pub(crate) fn since(&self) -> Option<Ordinal> {
        self.held.max(self.undone)
    }

    /// Ends the hold under a new policy, with which an attempt may succeed. Returns `true` if there was one.
    pub(crate) fn release(&mut self) -> bool {
        self.held.take().is_some()
    }

    #[cfg(test)]
    pub(crate) fn failures(&self) -> u32 {
        self.attempts.failures
    }

    /// Adjusts to a session that now ends before `from`. Removed messages are not new; those in their place are.
    pub(crate) fn truncate(&mut self, from: Ordinal) {
        self.held.take_if(|held| *held > from);
        self.undone = self.undone.map(|at| at.min(from));
    }
}
