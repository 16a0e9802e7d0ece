//! An overflow as a state: the ladder is begun, a model is waited for where it asks one, and what follows the
//! compaction goes on from there. The rungs themselves are in `compact::ladder`.

use super::breaks::BreakCause;
use super::effect::{Answer, Effect, Preview, Refusal};
use super::event::{CompactionUpdate, EventBody, Phase};
use super::input::{Compact, ReplyTo, Timer};
use super::settings::ModelFacts;
use super::state::{Compacting, Job, Rest, State, Then};
use super::undo::Again;
use super::usage::read_sizes;
use super::{Session, Step};
use engine::compact::compose::Desk;
use engine::compact::known_tools::Kinds;
use engine::compact::ladder::{self, Ask, CannotFit, NOTHING_GAINED, Outcome, Waiting};
use engine::compact::ledger;
use engine::compact::metadata::{Persisted, metadata};
use engine::compact::policy::{Consent, Policy};
use engine::compact::record::{Compaction, Fallback, Mode, Trigger};
use engine::compact::trigger;
use engine::delta::Draft;
use engine::prompt::request::{self, Failure};
use engine::prompt::{self, BudgetExceeded, Source};
use engine::settings::{Budget, SettingsError};

/// A compaction about to begin.
pub(super) struct Begin {
    /// What starts it.
    pub trigger: Trigger,
    /// What the summary is to keep in view.
    pub focus: Option<String>,
    /// What changes with it.
    pub again: Again,
    /// The prompt that is too large, where one is.
    pub exceeded: Option<BudgetExceeded>,
    /// What follows.
    pub then: Then,
}

impl Begin {
    /// One that nobody asked for in words, and that no prompt is too large for.
    pub fn new(trigger: Trigger, then: Then) -> Self {
        Self { trigger, focus: None, again: Again::default(), exceeded: None, then }
    }
}

/// Why an answer that was cut off is no summary.
pub(super) const ENDLESS: &str = "the model did not come to an end";

/// How a compaction came out.
pub(super) enum End {
    /// There is a record.
    Made(Box<Compaction>),
    /// There was nothing to gain; why.
    Nothing(String),
    /// Nothing brings the prompt under its limit.
    CannotFit(CannotFit),
}

impl Session {
    /// What to say of calls under a new record that the ledger could not read.
    pub(super) fn unreadable(&self, record: &Compaction) -> Vec<String> {
        let kinds = Kinds { named: &self.settings.policy.tool_kinds, declared: &self.fixed.tools };
        ledger::unreadable(&self.transcript, record, kinds)
    }
}

impl Step<'_> {
    /// Somebody asks for a compaction, or what it would do.
    pub(super) fn compact(&mut self, reply: ReplyTo, compact: Compact) {
        let Compact { focus, redo, keep, preview } = compact;
        let budget = self.session.budget().map_err(Refusal::from);
        let again = budget.and_then(|_| self.session.again(redo, keep, self.around.counter));
        let again = match again {
            Ok(again) => again,
            Err(refusal) => return self.reply(reply, Err(refusal)),
        };
        let begin = Begin { focus, again, ..Begin::new(Trigger::Manual, Then::Report(reply)) };
        if preview {
            return self.preview(reply, begin);
        }
        self.begin_compaction(begin);
    }

    /// Says what would be done; nothing is.
    fn preview(&mut self, reply: ReplyTo, begin: Begin) {
        let job = self.job(begin);
        if let Some(why) = self.beforehand(&job) {
            return self.reply(reply, Ok(Answer::Compacted(Err(why))));
        }
        let completes = self.may_ask(&job);
        let asks = |desk: Desk<'_>| {
            let asks_model = matches!(ladder::start(desk, completes), ladder::Step::Ask(_));
            let record = match ladder::start(desk, false) {
                ladder::Step::Accepted(record) => *record,
                other => return Err(other),
            };
            let cuts = prompt::draft(desk.source, Some(&record)).cuts;
            Ok(Preview { record, cuts, asks_model })
        };
        let answer = match self.at_desk(&job, asks) {
            Err(error) => Err(error.into()),
            Ok(Err(ladder::Step::CannotFit(sizes))) => Err(sizes.into()),
            Ok(Ok(preview)) if job.gains(&preview.record) => Ok(Answer::Previewed(Box::new(preview))),
            Ok(Err(ladder::Step::Refused(fallbacks))) => Ok(Answer::Compacted(Err(reasons(fallbacks)))),
            Ok(_) => Ok(Answer::Compacted(Err(NOTHING_GAINED.into()))),
        };
        self.reply(reply, answer);
    }

    pub(super) fn begin_compaction(&mut self, begin: Begin) {
        let job = self.job(begin);
        let Some(job) = self.use_prepared(job) else { return };
        self.tell(Phase::Started, &job, None, Some(job.reason()));
        if let Some(why) = self.beforehand(&job) {
            return self.finish(job, End::Nothing(why));
        }
        self.begin_ladder(job);
    }

    /// Why what somebody asks for is not even begun.
    fn beforehand(&self, job: &Job) -> Option<String> {
        let may_begin = job.trigger != Trigger::Manual || !job.again.is_plain();
        if may_begin || self.at_desk(job, |desk| trigger::is_unchanged(desk.source)) != Ok(true) {
            return None;
        }
        let why = match &job.again.gone {
            Some(gone) => {
                format!("{gone} is out of force, and nothing was said since the one that is in force")
            }
            None => "nothing was said since the last compaction".to_owned(),
        };
        let newest = self.session.transcript.in_force()?;
        Some(format!(
            "{why}; to make that one again, with another focus or messages to keep, redo {}",
            newest.id
        ))
    }

    fn job(&self, begin: Begin) -> Job {
        let Begin { trigger, focus, again, exceeded, then } = begin;
        let rest = match &self.session.state {
            State::Resting(rest) => rest.clone(),
            State::Streaming(_)
            | State::Compacting(_)
            | State::Reviewing(_)
            | State::Paused(_)
            | State::Calling(_) => Rest::Idle,
        };
        let old_model = self.session.head.carried.model.clone().filter(|_| trigger == Trigger::ModelChanged);
        Job {
            trigger,
            focus,
            again,
            since: self.around.now,
            exceeded,
            then,
            rest,
            old_model,
            was_asked: false,
            was_refused: false,
        }
    }

    fn begin_ladder(&mut self, job: Job) {
        let model = self.may_ask(&job);
        let step = self.at_desk(&job, |desk| match job.must_end() {
            true => ladder::start(desk, model),
            false => ladder::offer(desk, model),
        });
        self.descend(step, job);
    }

    /// Budget and policy of a job: a render may bring its own.
    fn terms(&self, job: &Job) -> Result<(Budget, Policy), SettingsError> {
        // What was reported is of the prompt that goes: only what is known of the model holds for the one that comes.
        let (model, ceiling) = match &job.then {
            Then::Render(rendering) => (self.model_of(&rendering.render), rendering.render.ceiling),
            Then::Generate | Then::Report(_) | Then::Rest => (&self.session.settings.model, None),
        };
        let unanchored = |model: &ModelFacts| self.session.unanchored(model);
        let mut budget = self.session.budget_in(unanchored(model), model, ceiling)?;
        let summarizer = self.summarizer(job).0;
        if summarizer != model {
            budget.summary_request = self.session.budget_in(unanchored(summarizer), summarizer, None)?.limit;
        }
        let mut policy = self.session.settings.policy.clone();
        policy.enabled |= job.trigger == Trigger::Manual;
        Ok((budget, policy))
    }

    /// Does something with what every rung works on.
    pub(super) fn at_desk<T>(&self, job: &Job, work: impl FnOnce(Desk<'_>) -> T) -> Result<T, SettingsError> {
        let (budget, policy) = self.terms(job)?;
        let staged = job.again.staged(self.session, self.around.counter);
        let (transcript, fixed) =
            staged.as_ref().map_or((&self.session.transcript, &self.session.fixed), |(transcript, fixed)| {
                (transcript, fixed)
            });
        let source = Source { transcript, fixed, budget };
        let tokens_before = prompt::draft(source, transcript.in_force()).tokens;
        let aim = job.aim();
        let policy = aim.policy(policy, tokens_before, budget.limit);
        let desk = Desk {
            source,
            policy: &policy,
            counter: self.around.counter,
            tokens_before,
            focus: job.focus.as_deref(),
            aim,
        };
        Ok(work(desk))
    }

    /// From rung to rung, until a model must be waited for or there is an end.
    pub(super) fn descend(&mut self, step: Result<ladder::Step, SettingsError>, job: Job) {
        match step {
            Err(error) => self.finish(job, End::Nothing(error.to_string())),
            Ok(ladder::Step::Ask(ask)) => self.ask_for_summary(*ask, job),
            Ok(ladder::Step::Accepted(record)) => self.accept(*record, job),
            Ok(ladder::Step::Off) => self.finish(job, End::Nothing("compaction is off".into())),
            Ok(ladder::Step::Refused(fallbacks)) => {
                self.finish(job, End::Nothing(reasons(fallbacks)));
            }
            Ok(ladder::Step::CannotFit(sizes)) => {
                let scale = self.session.unanchored(&self.session.settings.model);
                let sizes = read_sizes(sizes, scale);
                self.tell(Phase::CannotFit, &job, Some(Mode::Dropped), Some(sizes.to_string()));
                self.finish(job, End::CannotFit(sizes));
            }
            // What is made ahead of time is kept by `background`.
            Ok(ladder::Step::Stale | ladder::Step::Prepared(_)) => {
                self.trace("a summary's source changed while it was made; it was dropped");
                self.begin_ladder(job);
            }
        }
    }

    fn ask_for_summary(&mut self, ask: Ask, mut job: Job) {
        self.tell(Phase::Summarizing, &job, Some(ask.mode), None);
        // Another piece, or another way: it stood still before.
        let goes_on = std::mem::replace(&mut job.was_asked, true) && !job.was_refused;
        let compacting = self.call_for_summary(ask, job);
        if goes_on {
            self.session.state = State::Compacting(Box::new(compacting));
        } else {
            self.wait_for_summary(compacting);
        }
    }

    /// The session stands still until a model has summed up.
    pub(super) fn wait_for_summary(&mut self, compacting: Compacting) {
        let was = self.session.state.name();
        self.session.state = State::Compacting(Box::new(compacting));
        let state = self.session.state.name();
        if was != state {
            let turn = self.turn_id();
            self.emit(EventBody::RuntimeUpdated { state, turn, ended: None });
        }
    }

    pub(super) fn summarized(&mut self, outcome: Result<request::Answer, Failure>) {
        self.resume(|draft| summary_outcome(draft, outcome));
    }

    pub(super) fn summary_expired(&mut self) {
        self.resume(|_| Outcome::Deadline);
    }

    /// The model says more than anybody reads, or does not come to an end.
    pub(super) fn summary_endless(&mut self) {
        self.resume(|_| Outcome::Failed(ENDLESS.to_owned()));
    }

    /// Goes on with what the model did.
    fn resume(&mut self, outcome: impl FnOnce(Draft) -> Outcome) {
        let State::Compacting(running) =
            std::mem::replace(&mut self.session.state, State::Resting(Rest::Idle))
        else {
            return;
        };
        let mut running = running;
        let outcome = outcome(std::mem::take(&mut running.draft));
        if self.ask_spare(&mut running, &outcome) {
            self.session.state = State::Compacting(running);
            return;
        }
        let Compacting { waiting, job, mode, model, .. } = *running;
        let model = model.name.unwrap_or_else(|| "editor".to_owned());
        let before = waiting.fallbacks().len();
        let step = self.at_desk(&job, |desk| Waiting::answer(waiting, desk, &model, outcome));
        if let Ok(ladder::Step::Ask(ask)) = &step
            && ask.mode != mode
        {
            let reason = ask.waiting.fallbacks().get(before).map(|fallback| fallback.reason.clone());
            self.tell(Phase::FellBack, &job, Some(mode), reason);
        }
        if let Ok(ladder::Step::Accepted(record)) = &step
            && let Some(last) = record.fallbacks.get(before)
        {
            self.tell(Phase::FellBack, &job, Some(last.mode), Some(last.reason.clone()));
        }
        self.descend(step, job);
    }

    /// Takes a record in, or asks the user about it first.
    pub(super) fn accept(&mut self, mut record: Compaction, job: Job) {
        if !job.gains(&record) {
            return self.finish(job, End::Nothing(NOTHING_GAINED.into()));
        }
        record.trigger = job.trigger;
        let asks = self.session.settings.policy.consent == Consent::Ask;
        if asks && job.trigger != Trigger::Manual && !job.was_refused {
            if self.session.settings.client.reviews {
                return self.ask_review(record, job);
            }
            record.unreviewed = true;
        }
        self.apply(record, job);
    }

    /// A record holds from now on, with what changes beside it.
    pub(super) fn apply(&mut self, mut record: Compaction, mut job: Job) {
        record.duration_ms = Some(self.around.now.0.saturating_sub(job.since.0));
        record.replaces.clone_from(&job.again.replaces);
        let pins = self.session.with_pins(&job.again.keep);
        if pins.len() > self.session.pins().len() {
            self.announce(BreakCause::Pin);
            self.set_pins(pins);
        }
        let cause = if record.replaces.is_some() { BreakCause::Redo } else { BreakCause::Compaction };
        self.announce(cause);
        for message in self.session.unreadable(&record) {
            self.trace(message);
        }
        let record = self.commit(record, None);
        if let Ok((budget, _)) = self.terms(&job) {
            self.renew_within(budget);
        }
        self.remember_compaction(&record);
        self.warn_of(&record, &mut job);
        self.finish(job, End::Made(Box::new(record)));
    }

    /// What follows. Whoever waits next gets its turn.
    pub(super) fn finish(&mut self, job: Job, end: End) {
        self.count_attempt(&job, &end);
        self.hold(&job, &end);
        if let End::Nothing(why) = &end {
            self.tell(Phase::Refused, &job, None, Some(why.clone()));
        }
        if matches!((&job.then, &end), (Then::Report(_) | Then::Rest, End::Made(_))) {
            self.tell_next_context();
        }
        let was_generating = matches!(job.then, Then::Generate);
        if !was_generating {
            self.session.state = State::Resting(job.rest);
        }
        match (job.then, end) {
            // A word that came meanwhile goes in before the model is asked.
            (Then::Generate, End::Made(_)) if self.inject_urgent() => self.generate(None),
            (Then::Generate, End::Made(record)) => self.generate(Some(&record)),
            (Then::Generate, End::Nothing(why)) => match job.exceeded {
                Some(exceeded) => {
                    self.trace(why);
                    self.fail(exceeded);
                }
                // The prompt goes out as it is (source: 002).
                None => self.generate_as_it_is(job.was_asked),
            },
            (Then::Generate, End::CannotFit(_)) if self.goes_beyond() => self.generate(None),
            (Then::Generate, End::CannotFit(sizes)) => self.fail(sizes),
            (Then::Report(reply), End::Made(record)) => {
                let metadata: Persisted = metadata(&self.session.transcript, &record);
                self.reply(reply, Ok(Answer::Compacted(Ok(Box::new((*record, metadata))))));
            }
            (Then::Report(reply), End::Nothing(why)) => self.reply(reply, Ok(Answer::Compacted(Err(why)))),
            (Then::Report(reply), End::CannotFit(sizes)) => self.reply(reply, Err(sizes.into())),
            (Then::Render(rendering), End::Made(record)) => self.rendered(*rendering, Some(*record), None),
            (Then::Render(rendering), End::Nothing(why)) => match job.exceeded {
                Some(exceeded) => self.reply(rendering.reply, Err(exceeded.into())),
                None => self.rendered(*rendering, None, Some(why)),
            },
            (Then::Render(rendering), End::CannotFit(sizes)) => match job.exceeded {
                Some(_) => self.reply(rendering.reply, Err(sizes.into())),
                None => self.rendered(*rendering, None, Some(sizes.to_string())),
            },
            (Then::Rest, _) => {}
        }
        if !was_generating {
            self.rest_again();
        }
    }

    /// A compaction is stopped: nothing of it stays, and who waited is told.
    pub(super) fn stop_compacting(&mut self, running: Compacting) {
        self.effects.push(Effect::CancelModel(running.call));
        self.effects.push(Effect::Stop(Timer::Model(running.call)));
        self.stopped(running.job, running.mode);
    }

    /// A job is given up; who waited for it is told.
    pub(super) fn stopped(&mut self, job: Job, mode: Mode) {
        self.session.state = State::Resting(job.rest.clone());
        self.tell(Phase::Cancelled, &job, Some(mode), None);
        match job.then {
            Then::Generate => {}
            Then::Rest => self.rest_again(),
            Then::Report(reply) => {
                self.reply(reply, Err(Refusal::Cancelled));
                self.rest_again();
            }
            Then::Render(rendering) => {
                self.reply(rendering.reply, Err(Refusal::Cancelled));
                self.rest_again();
            }
        }
    }

    /// Nobody waits for this answer any more: what is done for it alone is stopped.
    pub(super) fn abandoned(&mut self, reply: ReplyTo) {
        self.session.renders.retain(|(waiting, _)| *waiting != reply);
        if self.session.state.job().and_then(|job| job.then.reply()) == Some(reply) {
            self.stop_running();
        }
    }

    pub(super) fn tell(&mut self, phase: Phase, job: &Job, mode: Option<Mode>, reason: Option<String>) {
        let trigger = job.trigger;
        let id = self.session.transcript.next_compaction_id();
        let tokens_before = job.exceeded.as_ref().map(|exceeded| exceeded.needed);
        let update =
            CompactionUpdate { id, phase, mode, trigger, reason, tokens_before, record: None, left: None };
        self.emit(EventBody::CompactionUpdated(Box::new(update)));
    }
}

/// Why nothing came of it, rung by rung.
fn reasons(fallbacks: Vec<Fallback>) -> String {
    let reasons: Vec<String> = fallbacks.into_iter().map(|fallback| fallback.reason).collect();
    reasons.join("; ")
}

/// What a model did with a request for a summary.
pub(super) fn summary_outcome(draft: Draft, outcome: Result<request::Answer, Failure>) -> Outcome {
    match outcome {
        Ok(answer) => Outcome::Answered(answer.completion(&draft)),
        Err(failure) => Outcome::Failed(failure.why),
    }
}
