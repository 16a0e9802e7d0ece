//! A compaction that waits for the user's review. Compactions that a user asked for are not reviewed.

use super::job::Job;
use super::terms::on_ladder;
use crate::core::Core;
use crate::values::effect::{AskReview, Effect};
use crate::values::input::Timer;
use engine::compact::record::{Compaction, Mode};
use engine::prompt::{self, Cut, CutReason};

/// State while a user reviews a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewing {
    /// The record under review.
    record: Compaction,
    job: Job,
}

impl Reviewing {
    pub(crate) fn new(record: Compaction, job: Job) -> Self {
        Self { record, job }
    }

    pub(crate) fn mode(&self) -> Mode {
        self.record.mode
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    pub(crate) fn into_job(self) -> Job {
        self.job
    }

    /// Ends the wait for the user; returns the record and its job.
    pub(super) fn end(self, core: &mut Core<'_>) -> (Compaction, Job) {
        core.stop(Timer::Review);
        (self.record, self.job)
    }

    /// Asks the user, and starts the deadline for the answer.
    pub(crate) fn ask(&self, core: &mut Core<'_>) {
        let is_out = |cut: &Cut| matches!(cut.reason, CutReason::Dropped | CutReason::UserMessage);
        let dropped = on_ladder(core, &self.job, |inputs| {
            let cuts = prompt::draft(inputs.source, Some(&self.record)).cuts.into_iter();
            cuts.filter(is_out).filter_map(|cut| Some((cut.ord?, cut.original_bytes))).collect::<Vec<_>>()
        });
        let dropped = dropped.unwrap_or_default();
        core.push(Effect::AskReview(Box::new(AskReview { record: self.record.clone(), dropped })));
        core.start(Timer::Review, core.settings().review_deadline_ms);
    }

    /// Ends the wait for the user without applying the record.
    pub(crate) fn cancel(&self, core: &mut Core<'_>) {
        core.push(Effect::CancelReview);
        core.stop(Timer::Review);
    }
}
