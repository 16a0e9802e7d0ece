//! What is believed of a provider that refuses a request for its size, what is learned from it, and how that is given up
//! again.
//!
//! A refusal with numbers is believed where they can be of this prompt. One without any is believed near the window, and
//! of a prompt that is large by itself and larger than all that went through: a host may hold less than its model's maker
//! says. Of a small prompt it is not: a proxy, an upload limit or another failure speaks the same words. Where the room for
//! the answer was too much, that is lowered and the prompt stays. What was learned holds for its model and window; a guess
//! never falls under a prompt that just went through, a limit that was stated does. It is given up once a larger prompt
//! went through, or enough others: a provider may have changed, and a refusal that comes again costs one request.

use crate::values::settings::{ModelFacts, Settings};
use engine::estimate::Scale;
use engine::prompt::request::{Overflow, Part};
use serde::{Deserialize, Serialize};

/// From so many thousandths of the window on a request is near it, and a refusal without numbers is believed.
const NEAR_WINDOW: u64 = 500;
/// A prompt of so many tokens may be more than a host of a model with a larger window holds.
const LARGE: u32 = 32_000;
/// Of a provider's limit for which it gives no number, this many thousandths of what it found too large are tried.
const OF_UNKNOWN: u64 = 900;
/// What a provider says that a prompt had is taken for that of this prompt between a part and a multiple of our count.
const OF_THIS_PROMPT: (u64, u64) = (400, 4000);
/// The window that any model is taken to have, in tokens: no learned limit falls under what fits there.
const LEAST_WINDOW: u32 = 1000;
/// The room that every answer is taken to have, in tokens.
const LEAST_ANSWER: u32 = 256;
/// Prompts that went through before what was learned is given up.
pub(crate) const MOST_KEPT: u32 = 32;
/// How often the room for one answer is lowered.
const MOST_LOWERED: u8 = 3;

/// What a provider turned out to take and to answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Limits {
    /// The most that a prompt may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LearnedLimit>,
    /// The most that an answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<LearnedAnswer>,
    /// The last prompt that was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    taken: Option<Taken>,
}

/// A provider said that a prompt was too large: no later one is as large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LearnedLimit {
    /// The model, by its name.
    pub model: Option<String>,
    /// Its window, in tokens; with another one it is another model.
    #[serde(default)]
    pub window: u32,
    /// The most that a prompt may weigh, in raw tokens.
    pub tokens: u32,
    /// Where the figure is from. Older versions wrote none, and believed any refusal: theirs is not obeyed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<LimitOrigin>,
    /// Prompts that went through since.
    #[serde(default)]
    pub kept: u32,
}

/// Where a learned limit is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum LimitOrigin {
    /// The provider stated it.
    Stated,
    /// The provider gave no number; it is a little less than what was refused.
    Guessed,
}

/// A provider said that too much was asked for the answer. One of both figures at least is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LearnedAnswer {
    /// The model, by its name.
    model: Option<String>,
    /// Its window, in tokens; with another one it is another model.
    window: u32,
    /// The most that it answers, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most: Option<u32>,
    /// What prompt and answer may have together, in tokens as we read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    together: Option<u32>,
    /// Prompts that went through since.
    #[serde(default)]
    kept: u32,
}

/// A prompt that went through: its provider takes as much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Taken {
    /// The model, by its name.
    model: Option<String>,
    /// Its window, in tokens.
    window: u32,
    /// The prompt, in raw tokens.
    tokens: u32,
}

/// What this process tries with these limits; nothing of it is stored. Points in time are messages heard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trial {
    /// When a provider last found a prompt too large.
    overflowed: Option<usize>,
    /// When less was last asked for the answer of a prompt, and how often.
    lowered: Option<(usize, u8)>,
    /// When a prompt was sent that is larger than what was learned; that is not obeyed meanwhile.
    beyond: Option<usize>,
    /// What the newest request of the running turn used, as its provider reported it, in tokens.
    reported: Option<u32>,
}

/// A model whose limits are asked about, under these settings and with this much heard so far.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub model: &'a ModelFacts,
    pub settings: &'a Settings,
    pub scale: Scale,
    /// What users and tools said so far, in messages.
    pub heard: usize,
}

/// A request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its prompt, in raw tokens.
    pub tokens: u32,
    /// The most that the answer was to have, where the request said so.
    pub most: Option<u32>,
}

/// What a refusal that speaks of size is taken for.
pub(crate) enum Verdict {
    /// It is about something else.
    NotOfSize,
    /// The room for the answer was too much.
    Answer(LearnedAnswer),
    /// The prompt was too large.
    Prompt,
}

impl Trial {
    /// Whether a provider found the last prompt too large, and nothing was said since.
    pub(crate) fn was_too_large(&self, heard: usize) -> bool {
        self.overflowed == Some(heard)
    }

    /// A provider found a prompt too large; whether it is the second time since something was said.
    pub(crate) fn overflowed(&mut self, heard: usize) -> bool {
        self.overflowed.replace(heard) == Some(heard)
    }

    /// The next prompt is sent whatever was learned.
    pub(crate) fn go_beyond(&mut self, heard: usize) {
        self.beyond = Some(heard);
    }

    /// What the newest request used, in tokens, where its provider said so.
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
    /// What this refusal of a request is taken for.
    pub(crate) fn judge(&self, terms: Terms<'_>, overflow: Overflow, asked: Asked) -> Verdict {
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
            // What is less than the limit by itself is too much with its answer alone.
            (_, Some(limit), Some(needed)) if needed < limit => together(terms, limit, needed, own),
            (_, Some(_), Some(needed)) => Verdict::of_prompt(model, own, is_of_this(needed, own)),
            (_, Some(limit), None) => Verdict::of_prompt(model, own, per_mille(own, limit) >= NEAR_WINDOW),
            (_, None, _) => Verdict::of_prompt(model, own, own >= LARGE && asked.tokens > self.proved(model)),
        }
    }

    /// The most that an answer to so many tokens may have, as this model's provider said.
    pub(crate) fn most_answer(&self, trial: &Trial, terms: Terms<'_>, tokens: u32) -> Option<u32> {
        let most = self.learned_answer(terms.model)?.most;
        let left = self.together(trial, terms).map(|together| together.saturating_sub(tokens).max(1));
        most.into_iter().chain(left).min()
    }

    fn learned_answer(&self, model: &ModelFacts) -> Option<&LearnedAnswer> {
        let learned = self.answer.as_ref();
        learned.filter(|learned| (&learned.model, learned.window) == (&model.name, model.window))
    }

    /// What this model's provider takes of prompt and answer together, where that was learned and is obeyed.
    fn together(&self, trial: &Trial, terms: Terms<'_>) -> Option<u32> {
        let together = self.learned_answer(terms.model)?.together;
        together.filter(|_| trial.obeys(terms.heard))
    }

    /// What the provider of this model turned out to take, in raw tokens, where it found a prompt too large and is obeyed.
    pub(crate) fn limit(&self, trial: &Trial, terms: Terms<'_>) -> Option<u32> {
        let model = terms.model;
        let is_of_it = |learned: &&LearnedLimit| {
            (&learned.model, learned.window) == (&model.name, model.window) && learned.origin.is_some()
        };
        let limit = self.limit.as_ref().filter(is_of_it).map(|learned| learned.tokens);
        let limit = limit.filter(|_| trial.obeys(terms.heard));
        // What both may have together leaves its room to the answer.
        let together = self.together(trial, terms).filter(|together| *together < model.window);
        let beside = together.map(|together| {
            let reserve = terms.settings.budget.reserved_output.min(together / 4);
            terms.scale.raw_limit(together - reserve)
        });
        limit.into_iter().chain(beside).min()
    }

    /// What a prompt just proved that this model takes, in raw tokens.
    fn proved(&self, model: &ModelFacts) -> u32 {
        let taken = self.taken.as_ref();
        let taken = taken.filter(|taken| (&taken.model, taken.window) == (&model.name, model.window));
        taken.map_or(0, |taken| taken.tokens)
    }

    /// Less is asked for the answer from now on: so many tokens. Nothing where it is not less than what was asked, or was
    /// lowered often enough: the same is not asked again.
    pub(crate) fn lower(
        &mut self,
        trial: &mut Trial,
        terms: Terms<'_>,
        learned: LearnedAnswer,
        asked: Asked,
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

    /// No later prompt for this model is as large: as large as the provider said, in the measure in which its count and
    /// ours differ. What the limit is now, in raw tokens, where it is another one, and where it is from.
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
        // A guess stays over what was just proved; where that is refused now, it proves nothing any more.
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

    /// A prompt of so many raw tokens was read whole and answered: its provider takes as much. The limit that is given up
    /// by that, in raw tokens.
    pub(crate) fn went_through(&mut self, trial: &mut Trial, model: &ModelFacts, tokens: u32) -> Option<u32> {
        trial.beyond = None;
        self.taken = Some(Taken { model: model.name.clone(), window: model.window, tokens });
        if let Some(limit) = &mut self.limit {
            limit.kept += 1;
        }
        let given_up = self.limit.take_if(|limit| tokens > limit.tokens || limit.kept >= MOST_KEPT);
        if let Some(answer) = &mut self.answer {
            answer.kept += 1;
        }
        self.answer.take_if(|answer| answer.kept >= MOST_KEPT);
        given_up.map(|limit| limit.tokens)
    }

    /// What was learned of a model holds for it and its window: with another one it is forgotten. Whether something was.
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

impl Verdict {
    /// A refusal of a prompt that we count as `own`: its figures can be of it, or it is near the window.
    fn of_prompt(model: &ModelFacts, own: u32, can_be: bool) -> Self {
        if can_be || is_near(model, own) { Self::Prompt } else { Self::NotOfSize }
    }

    fn answer(model: &ModelFacts, most: Option<u32>, together: Option<u32>) -> Self {
        let (model, window) = (model.name.clone(), model.window);
        Self::Answer(LearnedAnswer { model, window, most, together, kept: 0 })
    }
}

fn is_near(model: &ModelFacts, own: u32) -> bool {
    per_mille(own, model.window) >= NEAR_WINDOW
}

/// A prompt that a provider counted as `needed` leaves less for the answer than was asked, under a limit for both. Where
/// it leaves less than is kept back for an answer, the prompt is too large.
fn together(terms: Terms<'_>, limit: u32, needed: u32, own: u32) -> Verdict {
    let settings = &terms.settings.budget;
    let together = limit.saturating_sub(settings.margin.of(limit));
    if together.saturating_sub(needed) < settings.reserved_output.min(limit / 4) {
        return Verdict::of_prompt(terms.model, own, is_of_this(needed, own));
    }
    // The same difference between both counts is taken for what the next prompt will have.
    Verdict::answer(terms.model, None, Some(together.saturating_add(own).saturating_sub(needed)))
}

/// What is known of a model's answers, with what was known before. Of what was learned anew the new holds.
fn merged(learned: LearnedAnswer, before: Option<&LearnedAnswer>) -> LearnedAnswer {
    let before = before.filter(|before| (&before.model, before.window) == (&learned.model, learned.window));
    let most = learned.most.or(before.and_then(|before| before.most));
    let together = learned.together.or(before.and_then(|before| before.together));
    LearnedAnswer { most, together, ..learned }
}

/// Whether what a provider counted can be a prompt of which this is our count.
fn is_of_this(needed: u32, own: u32) -> bool {
    let (least, most) = OF_THIS_PROMPT;
    (least..=most).contains(&per_mille(needed, own))
}

/// A number as thousandths of another.
fn per_mille(number: u32, of: u32) -> u64 {
    u64::from(number) * 1000 / u64::from(of.max(1))
}
