//! Renders for the editor's loop: a history comes in, a prompt goes out, with metadata if it had to be compacted. One
//! render at a time; tools never run here, and results that came in stay even if the render fails.

use super::reconcile::Reach;
use super::take::{repaired_call, take};
use crate::compaction::job::{Begin, Rendering, Then};
use crate::compaction::terms::model_of;
use crate::context::attach::{attach_rest, attach_to_render};
use crate::context::figures::{read_exceeded, read_next, read_prompt, tell_context};
use crate::context::prefix::{settle_placement, take_prefix};
use crate::core::Core;
use crate::turn::generate::summary_failed;
use crate::values::effect::{Answer, Rendered};
use crate::values::input::{Render, ReplyTo, Summarize};
use crate::values::refusal::{Diagnostic, Refusal};
use crate::values::report::Report;
use crate::values::settings::most_result;
use engine::compact::record::{Compaction, Trigger};
use engine::compact::restore::Verdict;
use engine::compact::trigger::Next;
use engine::prompt;
use engine::settings::{Budget, SettingsError};

/// Begins a render with its history. Returns the compaction to make before its answer, if one is due.
pub(crate) fn begin(core: &mut Core<'_>, reply: ReplyTo, render: Render, is_idle: bool) -> Option<Begin> {
    match prompt_or_compact(core, reply, render, is_idle) {
        Ok(begin) => begin,
        Err(refusal) => {
            core.reply(reply, Err(refusal));
            None
        }
    }
}

fn prompt_or_compact(
    core: &mut Core<'_>,
    reply: ReplyTo,
    mut render: Render,
    is_idle: bool,
) -> Result<Option<Begin>, Refusal> {
    take_prefix(core, std::mem::take(&mut render.prefix));
    limit_results(core, &render);
    attach_to_render(core, &mut render);
    let report = match (render.history.take(), render.current.take()) {
        (None, None) => Report::default(),
        (Some(mut history), current) => {
            let names_current = current.is_some();
            history.extend(current);
            take(core, history, Reach::Whole, names_current, is_idle)
        }
        (None, Some(current)) => take(core, vec![current], Reach::Running, true, is_idle),
    };
    attach_rest(core, std::mem::take(&mut render.attachments));
    if core.transcript().turns().is_empty() {
        let why = "nothing to render: neither the session nor the request has a message";
        return Err(Refusal::Empty(why));
    }
    let mut diagnostics = diagnostics(&report);
    diagnostics.append(&mut render.left_out);
    let rendering = Rendering { reply, render, revision: report.revision.clone(), diagnostics };
    let budget = budget_of(core, &rendering.render)?;
    let moved = settle_placement(core, budget);
    let model = model_of(core, &rendering.render);
    let scale = core.scale(model);
    let next = core.next(core.source(budget), model);
    let (trigger, exceeded) = match (read_next(next, scale), rendering.render.summarize) {
        (Next::Send(_), Summarize::Auto) | (Next::Send(_) | Next::Try(..), Summarize::Never) => {
            rendered(core, rendering, moved, None);
            return Ok(None);
        }
        (Next::Must(_, exceeded) | Next::Refuse(exceeded), Summarize::Never)
        | (Next::Refuse(exceeded), Summarize::Auto) => {
            return Err(exceeded.into());
        }
        (Next::Try(trigger, _), Summarize::Auto) => (trigger, None),
        (Next::Must(trigger, exceeded), Summarize::Auto) => (trigger, Some(exceeded)),
        // A forced summary is made whatever the policy says.
        (Next::Send(_) | Next::Try(..), Summarize::Force) => (Trigger::Manual, None),
        (Next::Must(_, exceeded) | Next::Refuse(exceeded), Summarize::Force) => {
            (Trigger::BudgetExceeded, Some(exceeded))
        }
    };
    let then = Then::Render(Box::new(rendering));
    Ok(Some(Begin { exceeded, ..Begin::new(trigger, then) }))
}

/// Limits the results that a render brings by its own setting and its own model's window.
fn limit_results(core: &mut Core<'_>, render: &Render) {
    let settings = core.settings();
    let window = render.model.as_ref().unwrap_or(&settings.model).window;
    let most = most_result(render.max_result.unwrap_or(settings.max_tool_result_tokens), window);
    core.transcript_mut().limit_results(Some(most));
}

/// The budget of a render: its own model, under its own ceiling.
pub(crate) fn budget_of(core: &Core<'_>, render: &Render) -> Result<Budget, SettingsError> {
    let model = model_of(core, render);
    core.budget_in(core.scale(model), model, render.ceiling)
}

/// Answers a render. `made` is the compaction made for it, `nothing` the reason why there was none to make.
pub(crate) fn rendered(
    core: &mut Core<'_>,
    rendering: Rendering,
    made: Option<Compaction>,
    nothing: Option<String>,
) {
    let Rendering { reply, render, revision, mut diagnostics } = rendering;
    let budget = match budget_of(core, &render) {
        Ok(budget) => budget,
        Err(error) => return core.reply(reply, Err(error.into())),
    };
    let source = core.source(budget);
    let model = model_of(core, &render).clone();
    let scale = core.scale(&model);
    let prompt = match prompt::render(source).map_err(|exceeded| read_exceeded(exceeded, scale)) {
        Ok(prompt) => prompt,
        Err(exceeded) => return core.reply(reply, Err(exceeded.into())),
    };
    core.goes_out(&prompt, model.name.as_deref());
    let raw = prompt.tokens;
    let prompt = read_prompt(prompt, scale);
    diagnostics.extend(nothing.map(|why| Diagnostic { kind: "nothingToSummarize", message: why }));
    let breakpoints = render.breakpoints && !summary_failed(core, raw);
    let unreadable = made.iter().flat_map(|record| core.unreadable(record));
    diagnostics.extend(unreadable.map(|message| Diagnostic { kind: "unreadableArguments", message }));
    let made = made.map(|record| {
        let metadata = core.persisted(&record);
        (record, metadata)
    });
    tell_context(core, &prompt, raw);
    core.remember_model(&model);
    let rendered = Rendered {
        prompt,
        window: budget.window,
        estimator: scale.named(core.counter().name(), model.key()),
        model,
        breakpoints,
        made,
        revision,
        diagnostics,
    };
    core.reply(reply, Ok(Answer::Rendered(Box::new(rendered))));
}

/// Diagnostics for a caller about a history that was taken in.
pub fn diagnostics(report: &Report) -> Vec<Diagnostic> {
    let mut all = report.left_out.clone();
    all.extend(report.repaired.iter().map(repaired_call));
    let mut say = |kind: &'static str, message: String| all.push(Diagnostic { kind, message });
    for message in &report.lost {
        say(
            "unreadableMessage",
            format!(
                "message {:?} could not be read from the store; a note stands in its place",
                message.as_str()
            ),
        );
    }
    if let Some(revision) = &report.revision {
        let gone = report.truncated;
        say(
            "revised",
            format!(
                "{gone} messages are no longer in the editor's history; revision \"{revision}\" keeps them"
            ),
        );
    }
    for id in &report.void {
        say("voidSummary", format!("summary \"{id}\" replaced messages that are gone; it is not applied"));
    }
    for call in &report.strays {
        say(
            "strayResult",
            format!("the result for tool call {call:?} matches no call of its round; it is not shown"),
        );
    }
    if let [first, more @ ..] = &*report.changed {
        let more = match more.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        say(
            "changedResult",
            format!(
                "the editor's result for tool call {first:?}{more} differs from the one that the summary was made of; \
                 the summary and the stored result stay"
            ),
        );
    }
    for restored in &report.summaries {
        let round = &restored.round_id;
        match &restored.verdict {
            Verdict::Restored(_) | Verdict::Already(_) => {}
            Verdict::FromText(_, why) => say(
                "damagedSummary",
                format!(
                    "the summary at round {round:?} is restored from its text; the rest cannot be read: {why}"
                ),
            ),
            Verdict::Stale(why) => {
                say("staleSummary", format!("the summary at round {round:?} is not applied: {why}"))
            }
            Verdict::Orphan => {
                say("orphanSummary", format!("a summary is not applied: unknown round {round:?}"))
            }
            Verdict::Duplicate => {
                say("duplicateSummary", format!("the summary at round {round:?} exists already"))
            }
            Verdict::Failure(why) => {
                say("failedSummary", format!("the summary at round {round:?} is not applied: it {why}"))
            }
        }
    }
    all
}
