//! What became of attempts to compact: a model that failed too often is not asked for a while, and what came to nothing
//! or was refused is not begun again with each turn. Neither stops what needs no model where a prompt does not fit.

use super::compaction::End;
use super::state::Job;
use super::{Session, Step};
use engine::compact::ladder::NOTHING_GAINED;
use engine::compact::policy::Consent;
use engine::compact::record::{Mode, Trigger};

impl Step<'_> {
    /// Whether a model may be asked to sum up: a user's word always, anything else unless it is off or failed too often.
    pub(super) fn may_ask(&self, job: &Job) -> bool {
        let settings = &self.session.settings;
        let attempts = self.session.head.carried.attempts;
        let by_itself = || {
            settings.policy.consent != Consent::Off
                && self.at_desk(job, |desk| attempts.may_ask(desk.source, desk.policy)) == Ok(true)
        };
        settings.may_ask(self.summarizer(job).0) && (job.trigger == Trigger::Manual || by_itself())
    }

    /// Remembers how the attempt to have a model sum up ended, where one was asked.
    pub(super) fn count_attempt(&mut self, job: &Job, end: &End) {
        let is_summary = matches!(end, End::Made(record) if matches!(record.mode, Mode::Full | Mode::Simple));
        let is_asked = job.was_asked && !job.was_refused;
        if is_asked || is_summary {
            self.attempt_ended(!is_summary);
        }
    }

    /// A model was asked in vain, or a summary came of it.
    pub(super) fn attempt_ended(&mut self, is_failure: bool) {
        let Session { head, transcript, settings, .. } = &mut *self.session;
        let before = head.carried.attempts;
        head.carried.attempts.ended(transcript, is_failure, &settings.policy);
        if before != head.carried.attempts {
            self.write_head_as_it_was_used();
        }
    }

    /// An attempt that nobody asked for and that came to nothing is not made again with each turn, nor one that the user
    /// refused: it waits until as much is new as it would need. Where a model failed, that is counted as an attempt.
    pub(super) fn hold(&mut self, job: &Job, end: &End) {
        let has_failed = job.was_asked && !job.was_refused;
        let held = match end {
            End::Made(_) if !job.was_refused => None,
            End::Made(_) => Some(self.session.next_ord()),
            End::Nothing(_) if job.must_end() => return,
            End::Nothing(why) if has_failed && why != NOTHING_GAINED => return,
            End::Nothing(_) => Some(self.session.next_ord()),
            End::CannotFit(_) => return,
        };
        let carried = &mut self.session.head.carried;
        let undone = carried.undone.filter(|_| !matches!(end, End::Made(_)));
        if (carried.held, carried.undone) != (held, undone) {
            (carried.held, carried.undone) = (held, undone);
            self.write_head_as_it_was_used();
        }
    }
}
