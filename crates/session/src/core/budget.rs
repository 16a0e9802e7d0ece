//! Budget of the next prompt, by settings, reported usage and refusals. Inside, everything is compared in raw
//! tokens, limits included; figures that leave the session are scaled.

use super::conversation::Conversation;
use crate::carried::limits::{SentRequest, Terms, Verdict};
use crate::values::settings::ModelFacts;
use crate::values::snapshot::{Estimate, PromptLimit};
use engine::compact::trigger::{self, Next};
use engine::estimate::{Report, Scale};
use engine::id::Ordinal;
use engine::prompt::Source;
use engine::prompt::request::Overflow;
use engine::settings::{Budget, BudgetSettings, SettingsError};

/// Upper bound of a provider's count of a prompt, as a multiple of our scaled count.
const MOST_UNDERCOUNTED: u64 = 2;

impl Conversation {
    /// Scale for this model's next prompt.
    pub fn scale(&self, model: &ModelFacts) -> Scale {
        self.head.carried.usage.scale_from(model.key(), model.per_thousand)
    }

    /// Scale for any prompt of this model, without the last report as a baseline.
    pub fn unanchored(&self, model: &ModelFacts) -> Scale {
        self.head.carried.usage.unanchored_from(model.key(), model.per_thousand)
    }

    /// Scale for the next prompt of the model in force.
    pub fn scale_now(&self) -> Scale {
        self.scale(&self.settings.model)
    }

    /// The budget of the next prompt in raw tokens.
    pub fn budget(&self) -> Result<Budget, SettingsError> {
        self.budget_in(self.scale_now(), &self.settings.model, None)
    }

    /// The budget of a prompt for this model in raw tokens, under a ceiling in scaled tokens.
    pub fn budget_in(
        &self,
        scale: Scale,
        model: &ModelFacts,
        ceiling: Option<u32>,
    ) -> Result<Budget, SettingsError> {
        let settings = &self.settings.budget;
        let margin = self.head.carried.usage.margin(model.key(), settings.margin);
        let budget = BudgetSettings { margin, ..settings.clone() }.budget(model.window)?;
        let learned = self.learned_limit(model).map_or(u32::MAX, |learned| learned.tokens);
        // Some models accept smaller prompts than their window.
        let input =
            model.input.map_or(u32::MAX, |input| input.saturating_sub(margin.of(model.window)).max(1));
        let taken = scale.raw_limit(budget.limit.min(input)).min(learned);
        // The ceiling is for this prompt; a summary's source may be as large as the window allows.
        let limit = ceiling.map_or(taken, |ceiling| scale.raw_limit(ceiling).min(taken));
        Ok(Budget { limit, summary_request: taken, bound_thinking: self.bound_thinking(model), ..budget })
    }

    /// The first message whose thinking this model may be shown, if it takes thinking only behind the prompt
    /// that it followed.
    fn bound_thinking(&self, model: &ModelFacts) -> Option<Ordinal> {
        let refused = self.head.carried.continuity.refused_before(model);
        refused.or(model.binds_thinking.then_some(Ordinal(0)))
    }

    /// The parts of a prompt under this budget.
    pub fn source(&self, budget: Budget) -> Source<'_> {
        Source { transcript: &self.transcript, fixed: &self.fixed, budget }
    }

    /// Accuracy of token counts for the model in force.
    pub fn estimate(&self) -> Estimate {
        let (usage, model) = (&self.head.carried.usage, &self.settings.model);
        let key = model.key();
        let is_of_it = |report: &&Report| report.model == key;
        Estimate {
            factor: self.scale(model).factor(),
            margin: usage.margin(key, self.settings.budget.margin).thousandths(),
            last: usage.baseline().filter(is_of_it).cloned(),
        }
    }

    /// Messages of users and tools so far; a second overflow is compared with it.
    pub fn heard(&self) -> usize {
        self.transcript.sums().heard()
    }

    /// `true` if the last prompt was refused as too large and nothing was heard since.
    pub fn was_too_large(&self) -> bool {
        self.trial.was_too_large(self.heard())
    }

    pub(super) fn terms<'a>(&'a self, model: &'a ModelFacts) -> Terms<'a> {
        Terms { model, settings: &self.settings, scale: self.scale(model), heard: self.heard() }
    }

    /// Interprets a provider's refusal of a request for the model in force.
    pub fn judge(&self, overflow: Overflow, asked: SentRequest) -> Verdict {
        self.head.carried.limits.judge(self.terms(&self.settings.model), overflow, asked)
    }

    /// The largest answer that this model's provider accepts for a prompt of so many tokens, if learned.
    pub fn most_answer(&self, model: &ModelFacts, tokens: u32) -> Option<u32> {
        self.head.carried.limits.most_answer(&self.trial, self.terms(model), tokens)
    }

    /// The room for this model's answer to so many tokens, by its window and by what was learned of its provider.
    pub fn room(&self, model: &ModelFacts, tokens: u32) -> u32 {
        let room = self.settings.room(model, tokens);
        self.most_answer(model, tokens).map_or(room, |most| most.min(room))
    }

    /// The learned limit of a prompt for this model, in raw tokens, unless it is ignored now.
    pub fn learned_limit(&self, model: &ModelFacts) -> Option<PromptLimit> {
        self.head.carried.limits.limit(&self.trial, self.terms(model))
    }

    /// New tokens missing before an optional compaction, after the user undid or refused one or an attempt
    /// came to nothing.
    pub fn held_back(&self, source: Source<'_>) -> u32 {
        let missing = |since| trigger::missing_since(source, &self.settings.policy, since);
        self.head.carried.restraint.since().map_or(0, missing)
    }

    /// New tokens that fit into a prompt of this many raw tokens before its size sets off a compaction.
    pub fn tokens_until(&self, source: Source<'_>, tokens: u32) -> u32 {
        trigger::tokens_until(source, &self.settings.policy, tokens, self.held_back(source))
    }

    /// The tokens up to which a prompt of this many raw tokens is sent after its provider counted it: those that set off no
    /// compaction. `None` if it is sent without a count: the setting is off, the provider's counts are known from its
    /// reports, it counted this prompt before, or the prompt is far smaller.
    pub fn count_up_to(&self, raw: u32) -> Option<u32> {
        let model = &self.settings.model;
        let is_asked = model.counts_tokens && model.endpoint.is_some();
        if !is_asked || self.head.carried.usage.is_known(model.key()) || self.trial.was_counted(self.heard())
        {
            return None;
        }
        let budget = self.budget().ok()?;
        let scale = self.scale_now();
        let most = scale.read(raw.saturating_add(self.tokens_until(self.source(budget), raw)));
        (u64::from(scale.read(raw)) * MOST_UNDERCOUNTED >= u64::from(most)).then_some(most)
    }

    /// Decides what this model's next prompt needs before it is sent. An optional compaction that was undone,
    /// refused or fruitless is not repeated before enough is new; room that is needed is made all the same.
    pub fn next(&self, source: Source<'_>, model: &ModelFacts) -> Next {
        match trigger::next(source, &self.settings.policy, self.is_smaller(model)) {
            Next::Try(_, prompt) if self.held_back(source) > 0 => Next::Send(prompt),
            next => next,
        }
    }

    /// `true` if this model has a smaller window than the one of the last prompt.
    fn is_smaller(&self, model: &ModelFacts) -> bool {
        self.head.carried.continuity.model().is_some_and(|last| last.window > model.window)
    }
}
