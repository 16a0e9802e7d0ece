//! How the session reads its counts: what reports of usage taught, the budget that follows, and the figures that are
//! shown. Inside, everything is weighed raw against a limit that is turned into raw tokens; what leaves is turned back.

use super::settings::ModelFacts;
use super::{Session, Step};
use engine::compact::ladder::CannotFit;
use engine::estimate::{Report, Scale};
use engine::id::Ordinal;
use engine::message::Body;
use engine::prompt::{BudgetExceeded, Prompt};
use engine::settings::{Budget, BudgetSettings, SettingsError};

/// How well the session's counts are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Thousandths that raw counts are taken times.
    pub factor: u32,
    /// Thousandths of the window that are kept back for the error.
    pub margin: u32,
    /// The last report that still holds.
    pub last: Option<Report>,
}

impl ModelFacts {
    /// The name under which is kept what was learned of it.
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or("unnamed")
    }
}

impl Session {
    /// How counts of the next prompt for this model are read.
    pub(super) fn scale(&self, model: &ModelFacts) -> Scale {
        self.head.carried.usage.scale_from(model.key(), model.per_thousand)
    }

    /// How counts of any prompt for this model are read.
    pub(super) fn unanchored(&self, model: &ModelFacts) -> Scale {
        self.head.carried.usage.unanchored_from(model.key(), model.per_thousand)
    }

    /// The budget of a prompt for this model in raw tokens, under a ceiling in tokens as they are read.
    pub(super) fn budget_in(
        &self,
        scale: Scale,
        model: &ModelFacts,
        ceiling: Option<u32>,
    ) -> Result<Budget, SettingsError> {
        let settings = &self.settings.budget;
        let margin = self.head.carried.usage.margin(model.key(), settings.margin);
        let budget = BudgetSettings { margin, ..settings.clone() }.budget(model.window)?;
        let learned = self.learned_limit(model).unwrap_or(u32::MAX);
        // Some take less as a prompt than their window holds.
        let input =
            model.input.map_or(u32::MAX, |input| input.saturating_sub(margin.of(model.window)).max(1));
        let taken = scale.raw_limit(budget.limit.min(input)).min(learned);
        // A ceiling is of the prompt that is made: what a model may read of a summary's source is its window's.
        let limit = ceiling.map_or(taken, |ceiling| scale.raw_limit(ceiling).min(taken));
        Ok(Budget { limit, summary_request: taken, bound_thinking: self.bound_thinking(model), ..budget })
    }

    /// The first message whose thinking this model may be shown, where it takes none but behind the prompt that it followed.
    fn bound_thinking(&self, model: &ModelFacts) -> Option<Ordinal> {
        let refused = self.head.carried.refused_thinking.as_ref();
        let refused = refused.filter(|refused| refused.model == model.name).map(|refused| refused.before);
        refused.or(model.binds_thinking.then_some(Ordinal(0)))
    }

    /// How well counts for the model in force are known.
    pub(super) fn estimate(&self) -> Estimate {
        let (usage, model) = (&self.head.carried.usage, &self.settings.model);
        let key = model.key();
        let is_of_it = |report: &&Report| report.model == key;
        Estimate {
            factor: self.scale(model).factor(),
            margin: usage.margin(key, self.settings.budget.margin).thousandths(),
            last: usage.baseline().filter(is_of_it).cloned(),
        }
    }
}

impl Step<'_> {
    /// An answer was taken in. What its provider reported is about the prompt that went out last, where it follows that.
    pub(super) fn learn_usage(&mut self, ord: Ordinal) {
        let Some(sent) = &self.session.head.carried.sent else { return };
        let answer = self.session.transcript.message(ord).map(|message| &message.body);
        let Some(Body::Assistant { beside, .. }) = answer else { return };
        let Some(reported) = beside.usage.and_then(|usage| usage.input_tokens) else { return };
        if sent.messages != ord.0 {
            return;
        }
        let model = sent.model.clone().unwrap_or_else(|| "unnamed".to_owned());
        let report = Report { model, reported, raw: sent.tokens };
        match self.session.head.carried.usage.take(report, true) {
            Ok(_) => self.write_head_as_it_was_used(),
            Err(implausible) => self.trace(implausible.to_string()),
        }
    }
}

/// A prompt with its figures as they are read. Its items stay raw.
pub(super) fn read_prompt(mut prompt: Prompt, scale: Scale) -> Prompt {
    read_each(prompt.plan.sections.iter_mut().map(|section| &mut section.tokens), scale);
    prompt.tokens = scale.read(prompt.tokens);
    prompt.limit = scale.read(prompt.limit);
    prompt
}

/// Sections of one prompt: they add up to it as it is read.
fn read_each<'a>(sections: impl Iterator<Item = &'a mut u32>, scale: Scale) {
    let sections: Vec<&mut u32> = sections.collect();
    let raw: Vec<u32> = sections.iter().map(|tokens| **tokens).collect();
    for (section, tokens) in sections.into_iter().zip(scale.read_parts(&raw)) {
        *section = tokens;
    }
}

/// An overflow with its figures as they are read.
pub(super) fn read_exceeded(mut exceeded: BudgetExceeded, scale: Scale) -> BudgetExceeded {
    read_each(exceeded.sections.iter_mut().map(|section| &mut section.tokens), scale);
    exceeded.needed = scale.read(exceeded.needed);
    exceeded.limit = scale.read(exceeded.limit);
    exceeded
}

/// The sizes of what cannot be given up, as they are read.
pub(super) fn read_sizes(sizes: CannotFit, scale: Scale) -> CannotFit {
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
