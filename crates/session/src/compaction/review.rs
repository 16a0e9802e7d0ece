//! A compaction that waits for its user. Nobody asks about what a user asked for.

use super::job::Job;
use super::terms::on_ladder;
use crate::core::Core;
use crate::values::effect::{AskReview, Effect};
use crate::values::input::Timer;
use engine::compact::record::{Compaction, Mode};
use engine::prompt::{self, Cut, CutReason};

/// What is waited for while a user looks at a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewing {
    /// What would hold.
    record: Compaction,
    /// What it is about.
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

    /// What would hold, and what it is about: nobody waits for the user any more.
    pub(super) fn end(self, core: &mut Core<'_>) -> (Compaction, Job) {
        core.stop(Timer::Review);
        (self.record, self.job)
    }

    /// Asks the user.
    pub(crate) fn ask(&self, core: &mut Core<'_>) {
        let is_out = |cut: &Cut| matches!(cut.reason, CutReason::Dropped | CutReason::UserMessage);
        let dropped = on_ladder(core, &self.job, |desk| {
            let cuts = prompt::draft(desk.source, Some(&self.record)).cuts.into_iter();
            cuts.filter(is_out).filter_map(|cut| Some((cut.ord?, cut.original_bytes))).collect::<Vec<_>>()
        });
        let dropped = dropped.unwrap_or_default();
        core.push(Effect::AskReview(Box::new(AskReview { record: self.record.clone(), dropped })));
        core.start(Timer::Review, core.settings().review_deadline_ms);
    }

    /// Nobody waits for the user any more, and the record is not applied.
    pub(crate) fn cancel(&self, core: &mut Core<'_>) {
        core.push(Effect::CancelReview);
        core.stop(Timer::Review);
    }
}
