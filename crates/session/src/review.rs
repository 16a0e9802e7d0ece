//! A compaction that waits for its user (source: 003, the editor may refuse a summary): accepted, with other words,
//! refused, or not looked at in time. Nobody asks about what a user asked for.

use super::Step;
use super::compaction::End;
use super::effect::{AskReview, Effect};
use super::event::{EventBody, Phase};
use super::input::{Review, Timer};
use super::state::{Job, Rest, Reviewing, State};
use engine::compact::ladder;
use engine::compact::record::Compaction;
use engine::prompt::{self, Cut, CutReason};

impl Step<'_> {
    /// Asks the user about a record before it holds.
    pub(super) fn ask_review(&mut self, record: Compaction, job: Job) {
        self.tell(Phase::Reviewing, &job, Some(record.mode), None);
        let is_out = |cut: &Cut| matches!(cut.reason, CutReason::Dropped | CutReason::UserMessage);
        let dropped = self.at_desk(&job, |desk| {
            let cuts = prompt::draft(desk.source, Some(&record)).cuts.into_iter();
            cuts.filter(is_out).filter_map(|cut| Some((cut.ord?, cut.original_bytes))).collect::<Vec<_>>()
        });
        let was = self.session.state.name();
        self.session.state = State::Reviewing(Box::new(Reviewing { record: record.clone(), job }));
        let state = self.session.state.name();
        if was != state {
            let turn = self.turn_id();
            self.emit(EventBody::RuntimeUpdated { state, turn, ended: None });
        }
        let dropped = dropped.unwrap_or_default();
        self.effects.push(Effect::AskReview(Box::new(AskReview { record, dropped })));
        let deadline = self.session.settings.review_deadline_ms;
        self.effects.push(Effect::Start(Timer::Review, deadline));
    }

    /// The user answered; nothing where nobody can.
    pub(super) fn reviewed(&mut self, review: Option<Review>) {
        let Some(Reviewing { record, mut job }) = self.end_review() else {
            return self.trace("an answer about a compaction came late and was dropped");
        };
        match review {
            None => self.apply(Compaction { unreviewed: true, ..record }, job),
            Some(Review::Accept) => self.apply(record, job),
            Some(Review::Unusable(why)) => self.apply_as_shown(record, job, why),
            Some(Review::Edit(text)) => {
                match self.at_desk(&job, |desk| ladder::edited(desk, &record, &text)) {
                    Ok(Ok(edited)) => self.apply(Compaction { trigger: record.trigger, ..edited }, job),
                    Ok(Err(why)) => {
                        let why = format!("the edited text cannot be used: {why}");
                        self.apply_as_shown(record, job, why);
                    }
                    Err(error) => self.finish(job, End::Nothing(error.to_string())),
                }
            }
            Some(Review::Refuse) => {
                job.was_refused = true;
                let why = "the user refused it";
                if job.exceeded.is_none() {
                    return self.finish(job, End::Nothing(why.into()));
                }
                self.tell(Phase::FellBack, &job, Some(record.mode), Some(why.into()));
                let step = self.at_desk(&job, |desk| ladder::below(desk, &record));
                self.descend(step, job);
            }
        }
    }

    /// The user answered something that cannot be used, and hears of it.
    fn apply_as_shown(&mut self, record: Compaction, mut job: Job, why: String) {
        self.warn_of_review(&mut job, &why);
        self.tell(Phase::FellBack, &job, Some(record.mode), Some(why));
        self.apply(Compaction { unreviewed: true, ..record }, job);
    }

    /// The user said nothing in time.
    pub(super) fn review_expired(&mut self) {
        let Some(Reviewing { record, job }) = self.end_review() else { return };
        self.effects.push(Effect::CancelReview);
        self.apply(Compaction { unreviewed: true, ..record }, job);
    }

    /// Nobody waits for the user any more.
    fn end_review(&mut self) -> Option<Reviewing> {
        match std::mem::replace(&mut self.session.state, State::Resting(Rest::Idle)) {
            State::Reviewing(reviewing) => {
                self.effects.push(Effect::Stop(Timer::Review));
                Some(*reviewing)
            }
            other => {
                self.session.state = other;
                None
            }
        }
    }

    /// A review is stopped: the record is not applied.
    pub(super) fn stop_reviewing(&mut self, reviewing: Reviewing) {
        self.effects.push(Effect::CancelReview);
        self.effects.push(Effect::Stop(Timer::Review));
        self.stopped(reviewing.job, reviewing.record.mode);
    }
}
