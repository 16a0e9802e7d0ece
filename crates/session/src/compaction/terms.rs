//! Inputs of a compaction: budget and policy, the summarizing model, and the context of the ladder's stages.

use super::job::{Job, Then};
use crate::core::Core;
use crate::values::input::Render;
use crate::values::settings::ModelFacts;
use engine::compact::compose::Inputs;
use engine::compact::policy::{Consent, Policy};
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::prompt::{self, Source};
use engine::settings::{Budget, SettingsError};

/// The model that a render is for.
pub(crate) fn model_of<'r>(core: &'r Core<'_>, render: &'r Render) -> &'r ModelFacts {
    render.model.as_ref().unwrap_or(&core.settings().model)
}

/// The summarizing model, and the spare one if it fails. If the settings name a model for summaries, the main
/// model is the spare one; otherwise it writes the summary itself.
pub(crate) fn summarizer<'s>(core: &'s Core<'_>, job: &'s Job) -> (&'s ModelFacts, Option<&'s ModelFacts>) {
    let settings = core.settings();
    let of_render = match &job.then {
        Then::Render(rendering) => rendering.render.model.as_ref(),
        Then::Generate | Then::Report(_) | Then::Rest => None,
    };
    let main = job.old_model.as_ref().or(of_render).unwrap_or(&settings.model);
    match &settings.summary_model {
        Some(own) => (own, settings.may_ask(main).then_some(main)),
        None => (main, None),
    }
}

/// `true` if a model may be asked for a summary: at a user's request always, else unless off or failed too often.
pub(crate) fn may_ask(core: &Core<'_>, job: &Job) -> bool {
    let settings = core.settings();
    let by_itself = || {
        settings.policy.consent != Consent::Off
            && on_ladder(core, job, |inputs| {
                core.head().carried.restraint.may_ask(inputs.source, inputs.policy)
            }) == Ok(true)
    };
    settings.may_ask(summarizer(core, job).0) && (job.trigger == Trigger::Manual || by_itself())
}

/// Budget and policy of a job: a render may bring its own model and ceiling.
pub(crate) fn terms(core: &Core<'_>, job: &Job) -> Result<(Budget, Policy), SettingsError> {
    // Reported usage is of the prompt that is replaced; for the new one only what is known of the model holds.
    let (model, ceiling) = match &job.then {
        Then::Render(rendering) => (model_of(core, &rendering.render), rendering.render.ceiling),
        Then::Generate | Then::Report(_) | Then::Rest => (&core.settings().model, None),
    };
    let mut budget = core.budget_in(core.unanchored(model), model, ceiling)?;
    let summarizer = summarizer(core, job).0;
    if summarizer != model {
        budget.summary_request = core.budget_in(core.unanchored(summarizer), summarizer, None)?.limit;
    }
    let mut policy = core.settings().policy.clone();
    policy.enabled |= job.trigger == Trigger::Manual;
    Ok((budget, policy))
}

/// Runs `work` with the context of the ladder's stages.
pub(crate) fn on_ladder<T>(
    core: &Core<'_>,
    job: &Job,
    work: impl FnOnce(Inputs<'_>) -> T,
) -> Result<T, SettingsError> {
    let (budget, policy) = terms(core, job)?;
    let counter = core.counter();
    let staged = job.again.staged(core, counter);
    let (transcript, fixed) =
        staged.as_ref().map_or((core.transcript(), core.fixed()), |(transcript, fixed)| (transcript, fixed));
    let source = Source { transcript, fixed, budget };
    let tokens_before = prompt::draft(source, transcript.in_force()).tokens;
    let aim = job.aim();
    let policy = aim.policy(policy, tokens_before, budget.limit);
    let focus = job.focus.as_deref();
    Ok(work(Inputs { source, policy: &policy, counter, tokens_before, focus, aim }))
}

/// Reason why a compaction that was asked for is not begun at all.
pub(crate) fn beforehand(core: &Core<'_>, job: &Job) -> Option<String> {
    let may_begin = job.trigger != Trigger::Manual || !job.again.is_plain();
    if may_begin || on_ladder(core, job, |inputs| trigger::is_unchanged(inputs.source)) != Ok(true) {
        return None;
    }
    let why = match &job.again.gone {
        Some(gone) => {
            format!("compaction \"{gone}\" is not in force, and nothing was said since the one in force")
        }
        None => "nothing was said since the last compaction".to_owned(),
    };
    let newest = core.transcript().in_force()?;
    Some(format!("{why}; to repeat it with another focus or messages to keep, redo \"{}\"", newest.id))
}
