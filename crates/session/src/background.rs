//! A summary that is made beside a running turn (source: 003's successor): begun when the prompt comes near its limit,
//! applied when room is needed, dropped when what it stands for is no longer what it was. The session's state does not
//! know of it. One at a time, and never while another compaction goes on.

use super::compaction::{ENDLESS, summary_outcome};
use super::effect::Effect;
use super::event::Phase;
use super::input::{ModelCallId, Timer};
use super::state::{Background, Compacting, Job, Rest, Then};
use super::undo::Again;
use super::{Session, Step};
use engine::compact::ladder::{self, Outcome, Waiting};
use engine::compact::plan::Aim;
use engine::compact::policy::Consent;
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::prompt::request::{self, Failure};

impl Session {
    /// The call of a model that sums up beside the turn, while one does.
    pub fn preparing(&self) -> Option<ModelCallId> {
        match &self.background {
            Some(Background::Asking(running)) => Some(running.call),
            Some(Background::Ready(_)) | None => None,
        }
    }
}

impl Step<'_> {
    /// Has a summary made beside the turn whose prompt has this many tokens, where that is worth it.
    pub(super) fn prepare(&mut self, tokens: u32) {
        let settings = &self.session.settings;
        let may_begin = settings.policy.consent == Consent::Auto && settings.may_ask(&settings.model);
        if !may_begin {
            return;
        }
        let job = self.background_job();
        self.drop_stale(&job);
        if self.session.background.is_some() {
            return;
        }
        let attempts = self.session.head.carried.attempts;
        let step = self.at_desk(&job, |desk| {
            let may_ask =
                attempts.may_ask(desk.source, desk.policy) && self.session.held_back(desk.source) == 0;
            (may_ask && trigger::prepares(desk.source, desk.policy, tokens)).then(|| ladder::prepare(desk))
        });
        if let Ok(Some(ladder::Step::Ask(ask))) = step {
            let running = self.call_for_summary(*ask, job);
            self.session.background = Some(Background::Asking(Box::new(running)));
        }
    }

    fn background_job(&self) -> Job {
        Job {
            again: Again::default(),
            trigger: Trigger::Background,
            focus: None,
            since: self.around.now,
            exceeded: None,
            then: Then::Rest,
            rest: Rest::Idle,
            old_model: None,
            was_asked: true,
            was_refused: false,
        }
    }

    /// What stands for something that is no longer what it was is of no use.
    fn drop_stale(&mut self, job: &Job) {
        let is_fresh = self.at_desk(job, |desk| match &self.session.background {
            Some(Background::Asking(running)) => running.waiting.is_fresh(desk),
            Some(Background::Ready(prepared)) => prepared.is_fresh(desk),
            None => true,
        });
        if is_fresh != Ok(true) {
            self.cancel_background();
            self.trace("a summary that was made ahead of time stands for what has changed; it was dropped");
        }
    }

    /// Takes what was prepared for a compaction that is needed now: a record of it, or the model that is still at work on
    /// it. The job comes back where there is nothing that serves.
    pub(super) fn use_prepared(&mut self, mut job: Job) -> Option<Job> {
        if job.aim() == Aim::Summary {
            // What was prepared is for an overflow: it keeps more, and nothing in view above all.
            self.cancel_background();
            return Some(job);
        }
        self.drop_stale(&job);
        match self.session.background.take() {
            None => return Some(job),
            Some(Background::Ready(prepared)) => {
                let record = self.at_desk(&job, |desk| prepared.applied(desk));
                let Ok(Some(record)) = record else {
                    self.trace("a summary that was made ahead of time makes too little room; it was dropped");
                    return Some(job);
                };
                job.trigger = Trigger::Background;
                self.tell(Phase::Started, &job, None, Some(job.reason()));
                self.accept(record, job);
            }
            // Nobody waits for a model where nobody needs one.
            Some(running @ Background::Asking(_)) if self.at_desk(&job, ladder::asks_nobody) == Ok(true) => {
                self.session.background = Some(running);
                self.cancel_background();
                return Some(job);
            }
            Some(Background::Asking(running)) => {
                let running = *running;
                self.tell(Phase::Started, &job, None, Some(job.reason()));
                self.tell(Phase::Summarizing, &job, Some(running.mode), None);
                job.was_asked = true;
                let waiting = running.waiting.needed(job.must_end());
                self.wait_for_summary(Compacting { waiting, job, ..running });
            }
        }
        None
    }

    pub(super) fn prepared(&mut self, outcome: Result<request::Answer, Failure>) {
        self.go_on_preparing(|running| summary_outcome(running.draft.clone(), outcome));
    }

    pub(super) fn preparing_expired(&mut self) {
        self.go_on_preparing(|_| Outcome::Deadline);
    }

    pub(super) fn preparing_endless(&mut self) {
        self.go_on_preparing(|_| Outcome::Failed(ENDLESS.to_owned()));
    }

    fn go_on_preparing(&mut self, outcome: impl FnOnce(&Compacting) -> Outcome) {
        let Some(Background::Asking(mut running)) = self.session.background.take() else { return };
        let outcome = outcome(&running);
        if self.ask_spare(&mut running, &outcome) {
            self.session.background = Some(Background::Asking(running));
            return;
        }
        let Compacting { model, waiting, job, .. } = *running;
        let model = model.name.unwrap_or_else(|| "editor".to_owned());
        match self.at_desk(&job, |desk| Waiting::answer(waiting, desk, &model, outcome)) {
            Ok(ladder::Step::Ask(ask)) => {
                let running = self.call_for_summary(*ask, job);
                self.session.background = Some(Background::Asking(Box::new(running)));
            }
            Ok(ladder::Step::Prepared(prepared)) => {
                self.attempt_ended(false);
                self.trace("a summary was made ahead of time");
                self.session.background = Some(Background::Ready(prepared));
            }
            Ok(ladder::Step::Stale) => {
                self.trace("a summary's source changed while it was made ahead of time; it was dropped");
            }
            Ok(_) | Err(_) => {
                self.attempt_ended(true);
                self.trace("no summary came of the attempt to make one ahead of time");
            }
        }
    }

    /// What was prepared is not wanted any more.
    pub(super) fn cancel_background(&mut self) {
        if let Some(Background::Asking(running)) = self.session.background.take() {
            self.effects.push(Effect::CancelModel(running.call));
            self.effects.push(Effect::Stop(Timer::Model(running.call)));
        }
    }
}
