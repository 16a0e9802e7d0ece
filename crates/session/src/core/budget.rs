//! How a conversation reads its counts: the budget of the next prompt, by its settings and by what providers reported and
//! refused. Inside, everything is weighed raw against a limit that is turned into raw tokens; what leaves is turned back.

use super::conversation::Conversation;
use crate::carried::limits::{Asked, Terms, Verdict};
use crate::values::settings::ModelFacts;
use crate::values::snapshot::Estimate;
use engine::compact::trigger::{self, Next};
use engine::estimate::{Report, Scale};
use engine::id::Ordinal;
use engine::message::Body;
use engine::prompt::Source;
use engine::prompt::request::Overflow;
use engine::settings::{Budget, BudgetSettings, SettingsError};

impl Conversation {
    /// How counts of the next prompt for this model are read.
    pub fn scale(&self, model: &ModelFacts) -> Scale {
        self.head.carried.usage.scale_from(model.key(), model.per_thousand)
    }

    /// How counts of any prompt for this model are read.
    pub fn unanchored(&self, model: &ModelFacts) -> Scale {
        self.head.carried.usage.unanchored_from(model.key(), model.per_thousand)
    }

    /// How counts of the next prompt for the model in force are read.
    pub fn scale_now(&self) -> Scale {
        self.scale(&self.settings.model)
    }

    /// The budget of the next prompt in raw tokens.
    pub fn budget(&self) -> Result<Budget, SettingsError> {
        self.budget_in(self.scale_now(), &self.settings.model, None)
    }

    /// The budget of a prompt for this model in raw tokens, under a ceiling in tokens as they are read.
    pub fn budget_in(
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
        let refused = self.head.carried.continuity.refused_before(model);
        refused.or(model.binds_thinking.then_some(Ordinal(0)))
    }

    /// What a prompt under this budget is made of.
    pub fn source(&self, budget: Budget) -> Source<'_> {
        Source { transcript: &self.transcript, fixed: &self.fixed, budget }
    }

    /// How well counts for the model in force are known.
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

    /// What users and tools said so far, in messages: what a second overflow is compared with.
    pub fn heard(&self) -> usize {
        let said = self.transcript.messages().iter();
        said.filter(|message| !message.is_hidden() && !matches!(message.body, Body::Assistant { .. })).count()
    }

    /// Whether a provider found the last prompt too large, and nothing was said since.
    pub fn was_too_large(&self) -> bool {
        self.trial.was_too_large(self.heard())
    }

    pub(super) fn terms<'a>(&'a self, model: &'a ModelFacts) -> Terms<'a> {
        Terms { model, settings: &self.settings, scale: self.scale(model), heard: self.heard() }
    }

    /// What a refusal of a request for the model in force is taken for.
    pub fn judge(&self, overflow: Overflow, asked: Asked) -> Verdict {
        self.head.carried.limits.judge(self.terms(&self.settings.model), overflow, asked)
    }

    /// The most that an answer to so many tokens may have, as this model's provider said.
    pub fn most_answer(&self, model: &ModelFacts, tokens: u32) -> Option<u32> {
        self.head.carried.limits.most_answer(&self.trial, self.terms(model), tokens)
    }

    /// What an answer of this model to so many tokens may have at most, by its window and by what its provider said.
    pub fn room(&self, model: &ModelFacts, tokens: u32) -> u32 {
        let room = self.settings.room(model, tokens);
        self.most_answer(model, tokens).map_or(room, |most| most.min(room))
    }

    /// What the provider of this model turned out to take, in raw tokens, where it found a prompt too large and is obeyed.
    pub fn learned_limit(&self, model: &ModelFacts) -> Option<u32> {
        self.head.carried.limits.limit(&self.trial, self.terms(model))
    }

    /// New tokens that are missing before a compaction is made that need not be: the user undid one or refused one, or an
    /// attempt at one came to nothing.
    pub fn held_back(&self, source: Source<'_>) -> u32 {
        let missing = |since| trigger::missing_since(source, &self.settings.policy, since);
        self.head.carried.restraint.since().map_or(0, missing)
    }

    /// New tokens that fit before a compaction that sizes set off, in a prompt of this many raw tokens.
    pub fn tokens_until(&self, source: Source<'_>, tokens: u32) -> u32 {
        trigger::tokens_until(source, &self.settings.policy, tokens, self.held_back(source))
    }

    /// What the next prompt, for this model, needs before it goes out. What the user took out of force is not made again
    /// by itself where nothing was said since, nor what came to nothing or was refused before as much is new as another
    /// compaction waits for; room that is needed is made all the same.
    pub fn next(&self, source: Source<'_>, model: &ModelFacts) -> Next {
        match trigger::next(source, &self.settings.policy, self.is_smaller(model)) {
            Next::Try(_, prompt) if self.held_back(source) > 0 => Next::Send(prompt),
            next => next,
        }
    }

    /// Whether the model that answers next has a smaller window than the one that answered last.
    fn is_smaller(&self, model: &ModelFacts) -> bool {
        self.head.carried.continuity.model().is_some_and(|last| last.window > model.window)
    }
}
