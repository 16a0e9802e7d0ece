//! A compaction on the ladder: from stage to stage, until it waits for a model or a user, or ends. The stages
//! themselves are in `engine::compact::ladder`.

use super::job::{End, Job};
use super::restraint;
use super::review::Reviewing;
use super::summarizing::{Ended, Resumed, Summarizing};
use super::terms::{may_ask, on_ladder, terms};
use super::warning::warn_of;
use crate::context::figures::{read_sizes, tell_next_context};
use crate::context::memories::remember_compaction;
use crate::context::pins::{set_pins, with_pins};
use crate::context::prefix::renew_within;
use crate::context::records::commit;
use crate::core::Core;
use crate::values::event::{CompactionUpdate, EventBody, Phase};
use engine::compact::ladder::{self, NOTHING_GAINED};
use engine::compact::policy::Consent;
use engine::compact::record::{Compaction, Fallback, Mode, Trigger};
use engine::settings::SettingsError;
use engine::words::BreakCause;

/// Progress of a compaction.
pub(crate) enum Stage {
    /// A model is writing a summary. `goes_on` if one was asked just before: the session's state was emitted then.
    Summarizing { running: Box<Summarizing>, goes_on: bool },
    /// The user reviews the record.
    Reviewing(Box<Reviewing>),
    /// The compaction is over.
    Ended(Box<Job>, End),
}

impl Stage {
    pub fn nothing(job: Job, why: impl Into<String>) -> Self {
        Self::ended(job, End::Nothing(why.into()))
    }

    fn ended(job: Job, end: End) -> Self {
        Self::Ended(Box::new(job), end)
    }
}

/// Begins at the top of the ladder.
pub(crate) fn begin(core: &mut Core<'_>, job: Job) -> Stage {
    let model = may_ask(core, &job);
    let step = on_ladder(core, &job, |inputs| match job.must_end() {
        true => ladder::start(inputs, model),
        false => ladder::offer(inputs, model),
    });
    descend(core, step, job)
}

/// Continues from this step of the ladder.
pub(crate) fn descend(core: &mut Core<'_>, step: Result<ladder::Step, SettingsError>, job: Job) -> Stage {
    match step {
        Err(error) => Stage::nothing(job, error.to_string()),
        Ok(ladder::Step::Ask(ask)) => {
            let mut job = job;
            tell(core, Phase::Summarizing, &job, Some(ask.mode), None);
            // Another piece or another mode: the state was emitted with the first request.
            let goes_on = std::mem::replace(&mut job.was_asked, true) && !job.was_refused;
            Stage::Summarizing { running: Box::new(Summarizing::ask(core, *ask, job)), goes_on }
        }
        Ok(ladder::Step::Accepted(record)) => accept(core, *record, job),
        Ok(ladder::Step::Off) => Stage::nothing(job, "compaction is off"),
        Ok(ladder::Step::Refused(fallbacks)) => Stage::nothing(job, reasons(fallbacks)),
        Ok(ladder::Step::CannotFit(sizes)) => {
            let scale = core.unanchored(&core.settings().model);
            let sizes = read_sizes(sizes, scale);
            tell(core, Phase::CannotFit, &job, Some(Mode::Dropped), Some(sizes.to_string()));
            Stage::ended(job, End::CannotFit(sizes))
        }
        // Summaries prepared ahead of time are kept by `background`.
        Ok(ladder::Step::Stale | ladder::Step::Prepared(_)) => {
            core.trace("a summary's source changed while it was made; it was dropped");
            begin(core, job)
        }
    }
}

/// Continues with the outcome of a summary call.
pub(crate) fn resume(core: &mut Core<'_>, running: Summarizing, ended: Ended) -> Stage {
    let (step, job, mode, before) = match running.resume(core, ended) {
        Resumed::AskedSpare(running) => return Stage::Summarizing { running, goes_on: true },
        Resumed::Goes { step, job, mode, before } => (step, *job, mode, before),
    };
    if let Ok(ladder::Step::Ask(ask)) = &step
        && ask.mode != mode
    {
        let reason = ask.waiting.fallbacks().get(before).map(|fallback| fallback.reason.clone());
        tell(core, Phase::FellBack, &job, Some(mode), reason);
    }
    if let Ok(ladder::Step::Accepted(record)) = &step
        && let Some(last) = record.fallbacks.get(before)
    {
        tell(core, Phase::FellBack, &job, Some(last.mode), Some(last.reason.clone()));
    }
    descend(core, step, job)
}

/// Applies a record, or asks the user to review it first.
pub(crate) fn accept(core: &mut Core<'_>, mut record: Compaction, job: Job) -> Stage {
    if !job.gains(&record) {
        return Stage::nothing(job, NOTHING_GAINED);
    }
    record.trigger = job.trigger;
    let asks = core.settings().policy.consent == Consent::Ask;
    if asks && job.trigger != Trigger::Manual && !job.was_refused {
        if core.settings().client.reviews {
            tell(core, Phase::Reviewing, &job, Some(record.mode), None);
            return Stage::Reviewing(Box::new(Reviewing::new(record, job)));
        }
        record.unreviewed = true;
    }
    apply(core, record, job)
}

/// Puts a record into force, with the changes beside it.
pub(crate) fn apply(core: &mut Core<'_>, mut record: Compaction, mut job: Job) -> Stage {
    record.duration_ms = Some(core.now().0.saturating_sub(job.since.0));
    record.replaces.clone_from(&job.again.replaces);
    record.cost = job.spent.known();
    let pins = with_pins(core, &job.again.keep);
    if pins.len() > core.pins().len() {
        core.announce(BreakCause::Pin);
        set_pins(core, pins);
    }
    let cause = if record.replaces.is_some() { BreakCause::Redo } else { BreakCause::Compaction };
    core.announce(cause);
    for message in core.unreadable(&record) {
        core.trace(message);
    }
    let record = commit(core, record, None);
    if let Ok((budget, _)) = terms(core, &job) {
        renew_within(core, budget);
    }
    remember_compaction(core, &record);
    warn_of(core, &record, &mut job);
    Stage::ended(job, End::Made(Box::new(record)))
}

/// Records and emits the outcome of a job. The caller decides what follows.
pub(crate) fn close(core: &mut Core<'_>, job: &Job, end: &End) {
    restraint::count_attempt(core, job, end);
    restraint::hold(core, job, end);
    if let End::Nothing(why) = end {
        tell(core, Phase::Refused, job, None, Some(why.clone()));
    }
    if matches!((&job.then, end), (super::job::Then::Report(_) | super::job::Then::Rest, End::Made(_))) {
        tell_next_context(core);
    }
}

/// Emits the progress of a compaction.
pub(crate) fn tell(core: &mut Core<'_>, phase: Phase, job: &Job, mode: Option<Mode>, reason: Option<String>) {
    let trigger = job.trigger;
    let id = core.transcript().next_compaction_id();
    let tokens_before = job.exceeded.as_ref().map(|exceeded| exceeded.needed);
    let update =
        CompactionUpdate { id, phase, mode, trigger, reason, tokens_before, record: None, left: None };
    core.emit(EventBody::CompactionUpdated(Box::new(update)));
}

/// Joins the reasons why each stage failed.
pub(crate) fn reasons(fallbacks: Vec<Fallback>) -> String {
    let reasons: Vec<String> = fallbacks.into_iter().map(|fallback| fallback.reason).collect();
    reasons.join("; ")
}
