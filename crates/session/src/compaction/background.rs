//! Summaries prepared beside a running turn: begun when the prompt comes near its limit, applied when room is
//! needed, dropped when their source has changed. The session's state does not show them. One at a time, and
//! never during another compaction.

use super::descent::{Stage, accept, tell};
use super::job::Job;
use super::restraint::attempt_ended;
use super::summarizing::{Ended, Resumed, Summarizing};
use super::terms::on_ladder;
use crate::core::Core;
use crate::model::quiet::Folded;
use crate::values::event::Phase;
use crate::values::input::ModelCallId;
use engine::compact::ladder::{self, Prepared};
use engine::compact::plan::Aim;
use engine::compact::policy::Consent;
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::cost::Cost;
use engine::delta::Delta;

/// A summary that is being prepared, or ready until it is needed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Background(Option<Summary>);

#[derive(Debug, Clone, PartialEq)]
enum Summary {
    /// A model is writing it.
    Asking(Box<Summarizing>),
    /// Ready to be applied, with what its requests cost.
    Ready(Box<Prepared>, Cost),
}

impl Background {
    /// `true` if this is the call of the model that prepares a summary.
    pub fn is_call(&self, call: ModelCallId) -> bool {
        matches!(&self.0, Some(Summary::Asking(running)) if running.call() == call)
    }

    /// The call of the model that prepares a summary, if one does.
    #[cfg(test)]
    pub fn call(&self) -> Option<ModelCallId> {
        match &self.0 {
            Some(Summary::Asking(running)) => Some(running.call()),
            Some(Summary::Ready(..)) | None => None,
        }
    }

    fn asking_mut(&mut self) -> Option<&mut Summarizing> {
        match &mut self.0 {
            Some(Summary::Asking(running)) => Some(running),
            Some(Summary::Ready(..)) | None => None,
        }
    }

    /// Starts to prepare a summary beside the turn whose prompt has this many raw tokens, if that is worthwhile.
    pub fn prepare(&mut self, core: &mut Core<'_>, tokens: u32) {
        let settings = core.settings();
        let may_begin = settings.policy.consent == Consent::Auto && settings.may_ask(&settings.model);
        if !may_begin {
            return;
        }
        let job = Job::ahead(core);
        self.drop_stale(core, &job);
        if self.0.is_some() {
            return;
        }
        let step = on_ladder(core, &job, |inputs| {
            let may_ask = core.head().carried.restraint.may_ask(inputs.source, inputs.policy)
                && core.held_back(inputs.source) == 0;
            (may_ask && trigger::prepares(inputs.source, inputs.policy, tokens))
                .then(|| ladder::prepare(inputs))
        });
        if let Ok(Some(ladder::Step::Ask(ask))) = step {
            self.0 = Some(Summary::Asking(Box::new(Summarizing::ask(core, *ask, job))));
        }
    }

    /// Drops a summary whose source has changed.
    fn drop_stale(&mut self, core: &mut Core<'_>, job: &Job) {
        let is_fresh = on_ladder(core, job, |inputs| match &self.0 {
            Some(Summary::Asking(running)) => running.waiting().is_fresh(inputs),
            Some(Summary::Ready(prepared, _)) => prepared.is_fresh(inputs),
            None => true,
        });
        if is_fresh != Ok(true) {
            self.cancel(core);
            core.trace("a summary that was made ahead of time stands for what has changed; it was dropped");
        }
    }

    /// Uses the prepared summary for a compaction that is needed now. Returns the stage reached, or the job
    /// if nothing prepared serves it.
    pub fn use_for(&mut self, core: &mut Core<'_>, mut job: Job) -> Result<Stage, Box<Job>> {
        if job.aim() == Aim::Summary {
            // A prepared summary is made for an overflow: it keeps more messages, and no focus.
            self.cancel(core);
            return Err(Box::new(job));
        }
        self.drop_stale(core, &job);
        match self.0.take() {
            None => Err(Box::new(job)),
            Some(Summary::Ready(prepared, cost)) => {
                let record = on_ladder(core, &job, |inputs| prepared.applied(inputs));
                let Ok(Some(record)) = record else {
                    core.trace("a summary that was made ahead of time makes too little room; it was dropped");
                    return Err(Box::new(job));
                };
                job.trigger = Trigger::Background;
                job.spent.add(cost);
                tell(core, Phase::Started, &job, None, Some(job.reason()));
                Ok(accept(core, record, job))
            }
            // Nobody waits for a model if the ladder can do without one.
            Some(Summary::Asking(mut running)) if on_ladder(core, &job, ladder::asks_nobody) == Ok(true) => {
                running.cancel(core);
                Err(Box::new(job))
            }
            Some(Summary::Asking(running)) => {
                tell(core, Phase::Started, &job, None, Some(job.reason()));
                tell(core, Phase::Summarizing, &job, Some(running.mode()), None);
                job.was_asked = true;
                Ok(Stage::Summarizing { running: Box::new(running.needed_for(job)), goes_on: false })
            }
        }
    }

    pub fn hear(&mut self, core: &Core<'_>, delta: Delta) -> Option<Folded> {
        Some(self.asking_mut()?.hear(core, delta))
    }

    /// See [`Summarizing::after_sign`].
    pub fn after_sign(&mut self, core: &Core<'_>, more_ms: u64) -> Option<u64> {
        self.asking_mut()?.after_sign(core, more_ms)
    }

    pub fn begin_again(&mut self, core: &mut Core<'_>) {
        if let Some(running) = self.asking_mut() {
            running.begin_again(core);
        }
    }

    /// Continues with the outcome of the model call.
    pub fn resume(&mut self, core: &mut Core<'_>, ended: Ended) {
        let Some(Summary::Asking(running)) = self.0.take() else { return };
        let (step, job) = match running.resume(core, ended) {
            Resumed::AskedSpare(running) => return self.0 = Some(Summary::Asking(running)),
            Resumed::Goes { step, job, .. } => (step, *job),
        };
        match step {
            Ok(ladder::Step::Ask(ask)) => {
                self.0 = Some(Summary::Asking(Box::new(Summarizing::ask(core, *ask, job))));
            }
            Ok(ladder::Step::Prepared(prepared)) => {
                attempt_ended(core, false);
                core.trace("a summary was made ahead of time");
                self.0 = Some(Summary::Ready(prepared, job.spent));
            }
            Ok(ladder::Step::Stale) => {
                core.trace("a summary's source changed while it was made ahead of time; it was dropped");
            }
            Ok(_) | Err(_) => {
                attempt_ended(core, true);
                core.trace("no summary came of the attempt to make one ahead of time");
            }
        }
    }

    /// Stops the model call, and drops what was prepared.
    pub fn cancel(&mut self, core: &mut Core<'_>) {
        if let Some(Summary::Asking(mut running)) = self.0.take() {
            running.cancel(core);
        }
    }
}
