//! What is believed of a provider that refuses a request for its size, what is learned from it, and how that is given up
//! again.
//!
//! A refusal with numbers is believed where they can be of this prompt. One without any is believed near the window, and
//! of a prompt that is large by itself and larger than all that went through: a host may hold less than its model's maker
//! says. Of a small prompt it is not: a proxy, an upload limit or another failure speaks the same words. Where the room for
//! the answer was too much, that is lowered and the prompt stays. What was learned holds for its model and window; a guess
//! never falls under a prompt that just went through, a limit that was stated does. It is given up once a larger prompt
//! went through, or enough others: a provider may have changed, and a refusal that comes again costs one request.

use super::effect::Refusal;
use super::settings::ModelFacts;
use super::stored::{LearnedAnswer, LearnedLimit, LimitOrigin, Taken};
use super::{Session, Step};
use engine::prompt::request::{Cause, Overflow, Part};

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
const MOST_KEPT: u32 = 32;
/// How often the room for one answer is lowered.
const MOST_LOWERED: u8 = 3;

/// A request that was refused.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// Its prompt, in raw tokens.
    pub tokens: u32,
    /// The most that the answer was to have, where the request said so.
    pub most: Option<u32>,
}

/// What a refusal that speaks of size is taken for.
pub(super) enum Verdict {
    /// It is about something else.
    NotOfSize,
    /// The room for the answer was too much.
    Answer(LearnedAnswer),
    /// The prompt was too large.
    Prompt,
}

impl Session {
    /// What this refusal of a request is taken for.
    pub(super) fn judged(&self, overflow: Overflow, asked: Asked) -> Verdict {
        let Overflow { part, limit, needed } = overflow;
        let own = self.scale(&self.settings.model).read(asked.tokens);
        let reserve = self.settings.budget.reserved_output;
        match (part, limit, needed) {
            (Part::Answer, most, _) => self.answer(Some(most.unwrap_or(reserve).max(LEAST_ANSWER)), None),
            (Part::Both, None, _) if !self.is_near(own) => self.answer(Some(reserve), None),
            (Part::Both, Some(limit), None) if own < limit => self.together(limit, own, own),
            // What is less than the limit by itself is too much with its answer alone.
            (_, Some(limit), Some(needed)) if needed < limit => self.together(limit, needed, own),
            (_, Some(_), Some(needed)) => self.of_prompt(own, is_of_this(needed, own)),
            (_, Some(limit), None) => self.of_prompt(own, per_mille(own, limit) >= NEAR_WINDOW),
            (_, None, _) => self.of_prompt(own, own >= LARGE && asked.tokens > self.proved()),
        }
    }

    /// A refusal of a prompt that we count as `own`: its figures can be of it, or it is near the window.
    fn of_prompt(&self, own: u32, can_be: bool) -> Verdict {
        if can_be || self.is_near(own) { Verdict::Prompt } else { Verdict::NotOfSize }
    }

    fn is_near(&self, own: u32) -> bool {
        per_mille(own, self.settings.model.window) >= NEAR_WINDOW
    }

    /// A prompt that a provider counted as `needed` leaves less for the answer than was asked, under a limit for both. Where
    /// it leaves less than is kept back for an answer, the prompt is too large.
    fn together(&self, limit: u32, needed: u32, own: u32) -> Verdict {
        let settings = &self.settings.budget;
        let together = limit.saturating_sub(settings.margin.of(limit));
        if together.saturating_sub(needed) < settings.reserved_output.min(limit / 4) {
            return self.of_prompt(own, is_of_this(needed, own));
        }
        // The same difference between both counts is taken for what the next prompt will have.
        self.answer(None, Some(together.saturating_add(own).saturating_sub(needed)))
    }

    fn answer(&self, most: Option<u32>, together: Option<u32>) -> Verdict {
        let model = &self.settings.model;
        let (model, window) = (model.name.clone(), model.window);
        Verdict::Answer(LearnedAnswer { model, window, most, together, kept: 0 })
    }

    /// The most that an answer to so many tokens may have, as this model's provider said.
    pub(super) fn most_answer(&self, model: &ModelFacts, tokens: u32) -> Option<u32> {
        let most = self.learned_answer(model)?.most;
        let left = self.together_with(model).map(|together| together.saturating_sub(tokens).max(1));
        most.into_iter().chain(left).min()
    }

    fn learned_answer(&self, model: &ModelFacts) -> Option<&LearnedAnswer> {
        let learned = self.head.carried.answer.as_ref();
        learned.filter(|learned| (&learned.model, learned.window) == (&model.name, model.window))
    }

    /// What this model's provider takes of prompt and answer together, where that was learned and is obeyed.
    fn together_with(&self, model: &ModelFacts) -> Option<u32> {
        let together = self.learned_answer(model)?.together;
        together.filter(|_| self.beyond != Some(self.heard()))
    }

    /// What an answer of this model to so many tokens may have at most, by its window and by what its provider said.
    pub(super) fn room(&self, model: &ModelFacts, tokens: u32) -> u32 {
        let room = self.settings.room(model, tokens);
        self.most_answer(model, tokens).map_or(room, |most| most.min(room))
    }

    /// What the provider of this model turned out to take, in raw tokens, where it found a prompt too large and is obeyed.
    pub(super) fn learned_limit(&self, model: &ModelFacts) -> Option<u32> {
        let is_of_it = |learned: &&LearnedLimit| {
            (&learned.model, learned.window) == (&model.name, model.window) && learned.origin.is_some()
        };
        let limit = self.head.carried.limit.as_ref().filter(is_of_it).map(|learned| learned.tokens);
        let limit = limit.filter(|_| self.beyond != Some(self.heard()));
        // What both may have together leaves its room to the answer.
        let together = self.together_with(model).filter(|together| *together < model.window);
        let beside = together.map(|together| {
            let reserve = self.settings.budget.reserved_output.min(together / 4);
            self.scale(model).raw_limit(together - reserve)
        });
        limit.into_iter().chain(beside).min()
    }

    /// What a prompt just proved that the model in force takes, in raw tokens.
    fn proved(&self) -> u32 {
        let model = &self.settings.model;
        let taken = self.head.carried.taken.as_ref();
        let taken = taken.filter(|taken| (&taken.model, taken.window) == (&model.name, model.window));
        taken.map_or(0, |taken| taken.tokens)
    }
}

impl Step<'_> {
    /// Less is asked for the answer from now on. Whether it is less than what was asked: the same is not asked again.
    pub(super) fn lowers(&mut self, learned: LearnedAnswer, asked: Asked) -> bool {
        let model = self.session.settings.model.clone();
        let own = self.session.scale(&model).read(asked.tokens);
        let heard = self.session.heard();
        let times = self.session.lowered.filter(|(at, _)| *at == heard).map_or(0, |(_, times)| times);
        let before = self.session.head.carried.answer.clone();
        self.session.head.carried.answer = Some(merged(learned, before.as_ref()));
        let most = self.session.most_answer(&model, own);
        let is_less = most.zip(asked.most).is_none_or(|(now, before)| now < before);
        if !is_less || times >= MOST_LOWERED {
            self.session.head.carried.answer = before;
            return false;
        }
        self.session.lowered = Some((heard, times + 1));
        let most = most.unwrap_or_default();
        self.trace(format!(
            "the provider said that an answer of this length is too much: {most} tokens are asked for"
        ));
        self.write_head_as_it_was_used();
        true
    }

    /// No later prompt for this model is as large: as large as the provider said, in the measure in which its count and
    /// ours differ.
    pub(super) fn learn_limit(&mut self, overflow: Overflow, tokens: u32) {
        let settings = &self.session.settings;
        let own = u64::from(tokens);
        let scale = self.session.scale(&settings.model);
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
        let proved = Some(self.session.proved()).filter(|proved| stated.is_none() && *proved < tokens);
        let least = fits_in(LEAST_WINDOW).unwrap_or_default().max(proved.unwrap_or_default());
        let most = stated.unwrap_or(own * OF_UNKNOWN / 1000).min(own.saturating_sub(1)).max(u64::from(least));
        let tokens = u32::try_from(most).unwrap_or(u32::MAX);
        let (model, window) = (settings.model.name.clone(), settings.model.window);
        self.session.beyond = None;
        self.session.head.carried.taken.take_if(|taken| taken.tokens > tokens);
        let learned = Some(LearnedLimit { model, window, tokens, origin: Some(origin), kept: 0 });
        if self.session.head.carried.limit != learned {
            let from = match origin {
                LimitOrigin::Stated => "as it stated",
                LimitOrigin::Guessed => "a guess, for it stated no limit",
            };
            self.trace(format!(
                "the provider took less than was sent: prompts have at most {tokens} tokens ({from}) until a larger one or \
                 {MOST_KEPT} others went through, or the model, its window or the chat is another one"
            ));
            self.session.head.carried.limit = learned;
            self.write_head_as_it_was_used();
        }
    }

    /// A prompt of so many raw tokens was read whole and answered: its provider takes as much.
    pub(super) fn went_through(&mut self, tokens: u32) {
        let model = &self.session.settings.model;
        let (model, window) = (model.name.clone(), model.window);
        self.session.beyond = None;
        let carried = &mut self.session.head.carried;
        carried.taken = Some(Taken { model, window, tokens });
        let mut given_up = None;
        if let Some(limit) = &mut carried.limit {
            limit.kept += 1;
            if tokens > limit.tokens || limit.kept >= MOST_KEPT {
                given_up = Some(limit.tokens);
                carried.limit = None;
            }
        }
        if let Some(answer) = &mut carried.answer {
            answer.kept += 1;
            if answer.kept >= MOST_KEPT {
                carried.answer = None;
            }
        }
        if let Some(limit) = given_up {
            self.trace(format!(
                "the learned limit of {limit} tokens is given up: a prompt of {tokens} went through"
            ));
        }
        self.write_head_as_it_was_used();
    }

    /// Nothing brings the prompt under its limit. Where that is a learned one that is not of this very prompt, it is put to
    /// the proof: whether the prompt goes out all the same.
    pub(super) fn goes_beyond(&mut self) -> bool {
        let is_learned = self.session.learned_limit(&self.session.settings.model).is_some();
        if !is_learned || self.session.was_too_large() {
            return false;
        }
        self.trace(
            "the prompt does not fit under the learned limit, and is sent to see whether that still holds",
        );
        self.session.beyond = Some(self.session.heard());
        true
    }

    /// What was learned of a model holds for it and its window: with another one it is forgotten.
    pub(super) fn forget_other_limit(&mut self) {
        let model = &self.session.settings.model;
        let (name, window) = (&model.name, model.window);
        let carried = &mut self.session.head.carried;
        let before = (carried.limit.is_some(), carried.answer.is_some(), carried.taken.is_some());
        carried
            .limit
            .take_if(|limit| (&limit.model, limit.window) != (name, window) || limit.origin.is_none());
        carried.answer.take_if(|answer| (&answer.model, answer.window) != (name, window));
        carried.taken.take_if(|taken| (&taken.model, taken.window) != (name, window));
        if before != (carried.limit.is_some(), carried.answer.is_some(), carried.taken.is_some()) {
            self.write_head_as_it_was_used();
        }
    }
}

impl Refusal {
    /// The same under another word for programs.
    pub(super) fn named(self, word: &'static str) -> Self {
        match self {
            Self::Provider { cause, why } => {
                Self::Provider { cause: Box::new(Cause { word, ..*cause }), why }
            }
            other => other,
        }
    }

    /// The same where a refusal that sounds like an overflow is none: in the provider's own words.
    pub(super) fn not_of_size(self) -> Self {
        match self {
            Self::Provider { cause, why } if cause.word == "contextOverflow" => {
                let said = cause
                    .said
                    .as_ref()
                    .map(|said| format!("the model's provider did not accept the request: {said}"));
                let why = said.unwrap_or(why);
                Self::Provider { cause: Box::new(Cause { word: "badRequest", ..*cause }), why }
            }
            other => other,
        }
    }
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
