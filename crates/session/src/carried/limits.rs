//! Size limits learned from a provider's refusals: which refusals are believed, what is learned from them,
//! and when that is dropped again.
//!
//! A refusal with numbers is believed if they can be about this prompt. One without numbers is believed near
//! the window, and for a prompt that is large by itself and larger than all that were accepted: a host may
//! hold less than the model's maker says. For a small prompt it is not: proxies, upload limits and other
//! failures use the same words. If the room for the answer was too large, that is lowered and the prompt
//! stays. A limit holds for its model and window; a guessed one never falls below a prompt that was just
//! accepted, a stated one may. It is dropped once a larger prompt was accepted, or enough others, or a user
//! wants it: the provider may have changed, and another refusal costs one request.

use crate::values::settings::{ModelFacts, Settings};
use crate::values::snapshot::PromptLimit;
use engine::estimate::Scale;
use engine::prompt::request::{Overflow, Part};
use engine::words::LimitSource;
use serde::{Deserialize, Serialize};

/// Thousandths of the window from which on a refusal without numbers is believed.
const NEAR_WINDOW: u64 = 500;
/// Tokens from which on a prompt may be more than a host holds, though the model's window is larger.
const LARGE: u32 = 32_000;
/// The guess at a limit that a provider did not state, in thousandths of the refused prompt.
const OF_UNKNOWN: u64 = 900;
/// Range, in thousandths of our count, in which a provider's count is taken to be of the same prompt.
const OF_THIS_PROMPT: (u64, u64) = (400, 4000);
/// The smallest window of any model, in tokens: no learned limit falls below what fits there.
const LEAST_WINDOW: u32 = 1000;
/// The smallest room for an answer, in tokens.
const LEAST_ANSWER: u32 = 256;
/// Accepted prompts after which a learned limit is dropped.
pub(crate) const MOST_KEPT: u32 = 32;
/// Times that the room for one answer is lowered.
const MOST_LOWERED: u8 = 3;

/// Limits learned from a provider's refusals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Limits {
    /// The limit of a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LearnedLimit>,
    /// The limit of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<LearnedAnswer>,
    /// The last prompt that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<AcceptedPrompt>,
}

/// A provider refused a prompt as too large: later ones stay below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LearnedLimit {
    /// The model's name.
    pub model: Option<String>,
    /// The model's window, in tokens; the limit does not hold for another window.
    #[serde(default)]
    pub window: u32,
    /// The largest prompt, in raw tokens.
    pub tokens: u32,
    /// Source of the figure. Older versions stored none and believed any refusal: their limits are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LimitOrigin>,
    /// Prompts accepted since.
    #[serde(default)]
    pub kept: u32,
}

/// Source of a learned limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LimitOrigin {
    /// Stated by the provider.
    Stated,
    /// Guessed, a little below the refused prompt: the provider gave no number.
    Guessed,
}

/// A provider refused the room asked for the answer. At least one of `most` and `together` is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LearnedAnswer {
    /// The model's name.
    model: Option<String>,
    /// The model's window, in tokens; the limit does not hold for another window.
    window: u32,
    /// The largest answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most: Option<u32>,
    /// The most for prompt and answer together, in scaled tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    together: Option<u32>,
    /// Prompts accepted since.
    #[serde(default)]
    kept: u32,
}

/// A prompt that its provider accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AcceptedPrompt {
    /// The model's name.
    model: Option<String>,
    /// The model's window, in tokens.
    window: u32,
    /// Size of the prompt, in raw tokens.
    tokens: u32,
}

/// State of this process for these limits, stored nowhere. Points in time are values of [`Terms::heard`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trial {
    /// When a provider last refused a prompt as too large.
    overflowed: Option<usize>,
    /// When the room for an answer was last lowered, and how often at that time.
    lowered: Option<(usize, u8)>,
    /// When a prompt above the learned limits was sent; they are ignored at that time.
    beyond: Option<usize>,
    /// Input tokens of the running turn's newest request, as its provider reported them.
    reported: Option<u32>,
    /// When a prompt was last not sent because of its provider's count.
    counted: Option<usize>,
}

/// The model whose limits are asked for, and what they depend on.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub model: &'a ModelFacts,
    pub settings: &'a Settings,
    pub scale: Scale,
    /// Messages of users and tools so far.
    pub heard: usize,
}

/// A request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SentRequest {
    /// Size of the prompt, in raw tokens.
    pub tokens: u32,
    /// The most asked for the answer, in tokens, if the request stated it.
    pub most: Option<u32>,
}

/// Interpretation of a refusal that speaks of size.
pub(crate) enum Verdict {
    /// About something else.
    NotOfSize,
    /// Too much room was asked for the answer.
    Answer(LearnedAnswer),
    /// The prompt was too large.
    Prompt,
}

impl Trial {
    /// `true` if the last prompt was refused as too large and nothing was heard since.
    pub(crate) fn was_too_large(&self, heard: usize) -> bool {
        self.overflowed == Some(heard)
    }

    /// Records that a prompt was refused as too large; returns `true` if it is the second one since something
    /// was heard.
    pub(crate) fn overflowed(&mut self, heard: usize) -> bool {
        self.overflowed.replace(heard) == Some(heard)
    }

    /// `true` if a prompt was not sent because of its provider's count, and nothing was heard since.
    pub(crate) fn was_counted(&self, heard: usize) -> bool {
        self.counted == Some(heard)
    }

    pub(crate) fn counted(&mut self, heard: usize) {
        self.counted = Some(heard);
    }

    /// Ignores what was learned for the next prompt.
    pub(crate) fn go_beyond(&mut self, heard: usize) {
        self.beyond = Some(heard);
    }

    /// Input tokens of the newest request, if its provider reported them.
    pub(crate) fn reported(&self) -> Option<u32> {
        self.reported
    }

    pub(crate) fn report(&mut self, reported: Option<u32>) {
        self.reported = reported;
    }

    fn obeys(&self, heard: usize) -> bool {
        self.beyond != Some(heard)
    }
}

impl Limits {
    /// Interprets this refusal of a request.
    pub(crate) fn judge(&self, terms: Terms<'_>, overflow: Overflow, asked: SentRequest) -> Verdict {
        let Overflow { part, limit, needed } = overflow;
        let own = terms.scale.read(asked.tokens);
        let reserve = terms.settings.budget.reserved_output;
        let model = terms.model;
        match (part, limit, needed) {
            (Part::Answer, most, _) => {
                Verdict::answer(model, Some(most.unwrap_or(reserve).max(LEAST_ANSWER)), None)
            }
            (Part::Both, None, _) if !is_near(model, own) => Verdict::answer(model, Some(reserve), None),
            (Part::Both, Some(limit), None) if own < limit => together(terms, limit, own, own),
            // A prompt below the limit was too large only together with its answer.
            (_, Some(limit), Some(needed)) if needed < limit => together(terms, limit, needed, own),
            (_, Some(_), Some(needed)) => Verdict::of_prompt(model, own, is_of_this(needed, own)),
            (_, Some(limit), None) => Verdict::of_prompt(model, own, per_mille(own, limit) >= NEAR_WINDOW),
            (_, None, _) => Verdict::of_prompt(model, own, own >= LARGE && asked.tokens > self.proved(model)),
        }
    }

    /// The largest answer that this model's provider accepts for a prompt of so many tokens, if learned.
    pub(crate) fn most_answer(&self, trial: &Trial, terms: Terms<'_>, tokens: u32) -> Option<u32> {
        let most = self.learned_answer(terms.model)?.most;
        let left = self.together(trial, terms).map(|together| together.saturating_sub(tokens).max(1));
        most.into_iter().chain(left).min()
    }

    fn learned_answer(&self, model: &ModelFacts) -> Option<&LearnedAnswer> {
        let learned = self.answer.as_ref();
        learned.filter(|learned| (&learned.model, learned.window) == (&model.name, model.window))
    }

    /// The learned limit for prompt and answer together, unless it is ignored now.
    fn together(&self, trial: &Trial, terms: Terms<'_>) -> Option<u32> {
        let together = self.learned_answer(terms.model)?.together;
        together.filter(|_| trial.obeys(terms.heard))
    }

    /// The learned limit of a prompt for this model, in raw tokens, unless it is ignored now.
    pub(crate) fn limit(&self, trial: &Trial, terms: Terms<'_>) -> Option<PromptLimit> {
        let model = terms.model;
        let of_prompt = |learned: &LearnedLimit| {
            let is_of_it = (&learned.model, learned.window) == (&model.name, model.window);
            let source = match learned.origin.filter(|_| is_of_it)? {
                LimitOrigin::Stated => LimitSource::Stated,
                LimitOrigin::Guessed => LimitSource::Guessed,
            };
            Some(PromptLimit { tokens: learned.tokens, source, left: left(learned.kept) })
        };
        let limit = self.limit.as_ref().and_then(of_prompt).filter(|_| trial.obeys(terms.heard));
        // A limit for both must leave room for the answer.
        let together = self.together(trial, terms).filter(|together| *together < model.window);
        let beside = together.map(|together| {
            let reserve = terms.settings.beside(together);
            let kept = self.answer.as_ref().map_or(0, |learned| learned.kept);
            let tokens = terms.scale.raw_limit(together - reserve);
            PromptLimit { tokens, source: LimitSource::StatedWithAnswer, left: left(kept) }
        });
        limit.into_iter().chain(beside).min_by_key(|limit| limit.tokens)
    }

    /// Raw tokens of the last prompt that this model's provider accepted; 0 if there is none.
    fn proved(&self, model: &ModelFacts) -> u32 {
        let taken = self.taken.as_ref();
        let taken = taken.filter(|taken| (&taken.model, taken.window) == (&model.name, model.window));
        taken.map_or(0, |taken| taken.tokens)
    }

    /// Lowers the room for the answer and returns it, in tokens. Returns `None` if that is not less than what
    /// was asked, or was lowered often enough: the same is not asked again.
    pub(crate) fn lower(
        &mut self,
        trial: &mut Trial,
        terms: Terms<'_>,
        learned: LearnedAnswer,
        asked: SentRequest,
    ) -> Option<u32> {
        let own = terms.scale.read(asked.tokens);
        let times = trial.lowered.filter(|(at, _)| *at == terms.heard).map_or(0, |(_, times)| times);
        let before = self.answer.clone();
        self.answer = Some(merged(learned, before.as_ref()));
        let most = self.most_answer(trial, terms, own);
        let is_less = most.zip(asked.most).is_none_or(|(now, before)| now < before);
        if !is_less || times >= MOST_LOWERED {
            self.answer = before;
            return None;
        }
        trial.lowered = Some((terms.heard, times + 1));
        Some(most.unwrap_or_default())
    }

    /// Keeps later prompts for this model below this one; a stated limit is scaled by how the provider's count
    /// differs from ours. Returns the new limit in raw tokens and its source, or `None` if it is the same.
    pub(crate) fn learn(
        &mut self,
        trial: &mut Trial,
        terms: Terms<'_>,
        overflow: Overflow,
        tokens: u32,
    ) -> Option<(u32, LimitOrigin)> {
        let Terms { settings, scale, model, .. } = terms;
        let own = u64::from(tokens);
        let fits_in =
            |window: u32| settings.budget.budget(window).map(|budget| scale.raw_limit(budget.limit)).ok();
        let stated = overflow.limit.map(|limit| {
            let budget = u64::from(fits_in(limit).unwrap_or(limit));
            let of_this =
                overflow.needed.filter(|needed| is_of_this(*needed, scale.read(tokens)) && *needed > limit);
            let scaled = of_this.map(|needed| own * u64::from(limit) / u64::from(needed));
            scaled.map_or(budget, |scaled| scaled.min(budget))
        });
        let origin = if stated.is_some() { LimitOrigin::Stated } else { LimitOrigin::Guessed };
        // A guess stays above a size that was just accepted, unless that size is refused now.
        let proved = Some(self.proved(model)).filter(|proved| stated.is_none() && *proved < tokens);
        let least = fits_in(LEAST_WINDOW).unwrap_or_default().max(proved.unwrap_or_default());
        let most = stated.unwrap_or(own * OF_UNKNOWN / 1000).min(own.saturating_sub(1)).max(u64::from(least));
        let tokens = u32::try_from(most).unwrap_or(u32::MAX);
        trial.beyond = None;
        self.taken.take_if(|taken| taken.tokens > tokens);
        let (model, window) = (model.name.clone(), model.window);
        let learned = Some(LearnedLimit { model, window, tokens, origin: Some(origin), kept: 0 });
        if self.limit == learned {
            return None;
        }
        self.limit = learned;
        Some((tokens, origin))
    }

    /// Records that the prompt of a request was read whole and answered. Returns the limit that is dropped because of
    /// it: in raw tokens, or in scaled ones if it was for prompt and answer together.
    pub(crate) fn went_through(
        &mut self,
        trial: &mut Trial,
        terms: Terms<'_>,
        asked: SentRequest,
    ) -> Option<u32> {
        let Terms { model, settings, scale, .. } = terms;
        let tokens = asked.tokens;
        trial.beyond = None;
        self.taken = Some(AcceptedPrompt { model: model.name.clone(), window: model.window, tokens });
        if let Some(limit) = &mut self.limit {
            limit.kept += 1;
        }
        let given_up = self.limit.take_if(|limit| tokens > limit.tokens || limit.kept >= MOST_KEPT);
        let mut beside = None;
        if let Some(answer) = &mut self.answer {
            answer.kept += 1;
            // A request that did not state its answer's limit asked for the usual room at least.
            let room = |together| asked.most.unwrap_or_else(|| settings.beside(together));
            let both = |together| scale.read(tokens).saturating_add(room(together));
            beside = answer.together.take_if(|together| both(*together) > *together);
        }
        let is_over = |answer: &mut LearnedAnswer| answer.kept >= MOST_KEPT || answer.is_empty();
        self.answer.take_if(is_over);
        given_up.map(|limit| limit.tokens).or(beside)
    }

    /// Drops what was learned from refusals, at the user's request; returns `true` if there was something. The last
    /// accepted prompt is still one.
    pub(crate) fn forget(&mut self, trial: &mut Trial) -> bool {
        trial.beyond = None;
        let (limit, answer) = (self.limit.take(), self.answer.take());
        limit.is_some() || answer.is_some()
    }

    /// Drops what was learned of other models and windows; returns `true` if there was something.
    pub(crate) fn forget_others(&mut self, model: &ModelFacts) -> bool {
        let (name, window) = (&model.name, model.window);
        let before = (self.limit.is_some(), self.answer.is_some(), self.taken.is_some());
        self.limit.take_if(|limit| (&limit.model, limit.window) != (name, window) || limit.origin.is_none());
        self.answer.take_if(|answer| (&answer.model, answer.window) != (name, window));
        self.taken.take_if(|taken| (&taken.model, taken.window) != (name, window));
        before != (self.limit.is_some(), self.answer.is_some(), self.taken.is_some())
    }

    pub(super) fn branched(&self) -> Self {
        Self { limit: self.limit.clone(), answer: self.answer.clone(), taken: None }
    }

    #[cfg(test)]
    pub(crate) fn learned(&self) -> Option<&LearnedLimit> {
        self.limit.as_ref()
    }

    /// Window and raw tokens of the last prompt that was answered.
    #[cfg(test)]
    pub(crate) fn proof(&self) -> Option<(u32, u32)> {
        self.taken.as_ref().map(|taken| (taken.window, taken.tokens))
    }
}

impl LearnedAnswer {
    fn is_empty(&self) -> bool {
        self.most.is_none() && self.together.is_none()
    }
}

impl Verdict {
    /// [`Verdict::Prompt`] if the figures can be of a prompt that we count as `own`, or it is near the window.
    fn of_prompt(model: &ModelFacts, own: u32, can_be: bool) -> Self {
        if can_be || is_near(model, own) { Self::Prompt } else { Self::NotOfSize }
    }

    fn answer(model: &ModelFacts, most: Option<u32>, together: Option<u32>) -> Self {
        let (model, window) = (model.name.clone(), model.window);
        Self::Answer(LearnedAnswer { model, window, most, together, kept: 0 })
    }
}

/// Prompts to be accepted before a limit is dropped under which so many were.
fn left(kept: u32) -> u32 {
    MOST_KEPT.saturating_sub(kept)
}

fn is_near(model: &ModelFacts, own: u32) -> bool {
    per_mille(own, model.window) >= NEAR_WINDOW
}

/// Interprets a limit for prompt and answer together, of which a prompt counted as `needed` leaves less for
/// the answer than was asked. If it leaves less than the reserve for an answer, the prompt is too large.
fn together(terms: Terms<'_>, limit: u32, needed: u32, own: u32) -> Verdict {
    let settings = &terms.settings.budget;
    let together = limit.saturating_sub(settings.margin.of(limit));
    if together.saturating_sub(needed) < settings.reserved_output.min(limit / 4) {
        return Verdict::of_prompt(terms.model, own, is_of_this(needed, own));
    }
    // The provider's count is assumed to differ as much from ours for the next prompt.
    Verdict::answer(terms.model, None, Some(together.saturating_add(own).saturating_sub(needed)))
}

/// Adds what was known before of the same model and window; new figures win.
fn merged(learned: LearnedAnswer, before: Option<&LearnedAnswer>) -> LearnedAnswer {
    let before = before.filter(|before| (&before.model, before.window) == (&learned.model, learned.window));
    let most = learned.most.or(before.and_then(|before| before.most));
    let together = learned.together.or(before.and_then(|before| before.together));
    LearnedAnswer { most, together, ..learned }
}

/// `true` if a provider's count can be of a prompt that we count as `own`.
fn is_of_this(needed: u32, own: u32) -> bool {
    let (least, most) = OF_THIS_PROMPT;
    (least..=most).contains(&per_mille(needed, own))
}

fn per_mille(number: u32, of: u32) -> u64 {
    u64::from(number) * 1000 / u64::from(of.max(1))
}
