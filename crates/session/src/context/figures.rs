//! Token figures as they leave the session: raw inside, scaled to the model's own count outside.

use crate::core::Core;
use crate::values::event::EventBody;
use crate::values::settings::ModelFacts;
use engine::compact::ladder::CannotFit;
use engine::compact::trigger::Next;
use engine::estimate::Scale;
use engine::prompt::item::SectionSize;
use engine::prompt::{self, BudgetExceeded, Prompt};
use engine::settings::Budget;

/// Scales the figures of a prompt; its items stay raw.
pub(crate) fn read_prompt(mut prompt: Prompt, scale: Scale) -> Prompt {
    read_each(prompt.plan.sections.iter_mut().map(|section| &mut section.tokens), scale);
    prompt.tokens = scale.read(prompt.tokens);
    prompt.limit = scale.read(prompt.limit);
    prompt
}

/// Scales the sections of one prompt so that they add up to its scaled size.
fn read_each<'a>(sections: impl Iterator<Item = &'a mut u32>, scale: Scale) {
    let sections: Vec<&mut u32> = sections.collect();
    let raw: Vec<u32> = sections.iter().map(|tokens| **tokens).collect();
    for (section, tokens) in sections.into_iter().zip(scale.read_parts(&raw)) {
        *section = tokens;
    }
}

/// Scales the figures of an overflow.
pub(crate) fn read_exceeded(mut exceeded: BudgetExceeded, scale: Scale) -> BudgetExceeded {
    read_each(exceeded.sections.iter_mut().map(|section| &mut section.tokens), scale);
    exceeded.needed = scale.read(exceeded.needed);
    exceeded.limit = scale.read(exceeded.limit);
    exceeded
}

/// Scales the overflow in `next`; a prompt in it stays raw.
pub(crate) fn read_next(next: Next, scale: Scale) -> Next {
    match next {
        Next::Must(trigger, exceeded) => Next::Must(trigger, read_exceeded(exceeded, scale)),
        Next::Refuse(exceeded) => Next::Refuse(read_exceeded(exceeded, scale)),
        other => other,
    }
}

/// Scales the sizes of what cannot be given up.
pub(crate) fn read_sizes(sizes: CannotFit, scale: Scale) -> CannotFit {
    CannotFit {
        window: sizes.window,
        limit: scale.read(sizes.limit),
        needed: scale.read(sizes.needed),
        tools: scale.read_part(sizes.tools),
        system: scale.read_part(sizes.system),
        pins: scale.read_part(sizes.pins),
        current_message: scale.read_part(sizes.current_message),
        newest_round: scale.read_part(sizes.newest_round),
    }
}

/// Emits the scaled size of a prompt, and the tokens that fit before a compaction. `raw` is its unscaled size.
pub(crate) fn tell_context(core: &mut Core<'_>, prompt: &Prompt, raw: u32) {
    let scale = core.scale_now();
    let until_compaction = core.budget().map_or(0, |budget| {
        let budget = Budget { limit: scale.raw_limit(prompt.limit), ..budget };
        scale.read_part(core.tokens_until(core.source(budget), raw))
    });
    let sections =
        prompt.plan.sections.iter().map(|section| {
            (section.channel, SectionSize { name: section.name.clone(), tokens: section.tokens })
        });
    let sections = sections.collect();
    let estimator = estimator(core, &core.settings().model);
    core.emit(EventBody::ContextUpdated {
        tokens: prompt.tokens,
        limit: prompt.limit,
        until_compaction,
        sections,
        estimator,
    });
}

/// Name of the estimator for this model's next prompt.
pub(crate) fn estimator(core: &Core<'_>, model: &ModelFacts) -> String {
    core.scale(model).named(core.counter().name(), model.key())
}

/// Emits the size of the next prompt, if the context changed and no prompt is sent now.
pub(crate) fn tell_next_context(core: &mut Core<'_>) {
    let Ok(budget) = core.budget() else { return };
    let drafted = prompt::draft(core.source(budget), core.transcript().in_force());
    let raw = drafted.tokens;
    let prompt = read_prompt(drafted, core.scale_now());
    tell_context(core, &prompt, raw);
}
