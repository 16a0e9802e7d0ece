//! A prompt that fitted by our own count and that its provider found too large: told in an error, in the stream, or not
//! at all. What is believed of it and what is learned stands in `learned`. And the turn that comes near its window's end.

use super::compaction::Begin;
use super::effect::Refusal;
use super::learned::{Asked, Verdict};
use super::state::{Rest, Then};
use super::stored::TurnStatus;
use super::usage::read_exceeded;
use super::{Session, Step};
use engine::compact::record::Trigger;
use engine::endpoint::Wire;
use engine::message::{BUDGET_EXIT, Body, NewMessage, Usage, WRAP_UP};
use engine::prompt::request::{Overflow, StopReason};
use engine::prompt::{self, Source};
use engine::settings::{Budget, SettingsError};

/// A reported use over so many thousandths of our own count is no use of this request.
const PLAUSIBLE: u64 = 2500;
/// A request of so many thousandths of the limit is near it.
const NEAR: u64 = 900;
/// Rounds that a turn has left once it was asked to wrap up (source: 000).
const GRACE_ROUNDS: usize = 2;
/// What it is told then.
const WRAP_UP_NOTICE: &str = "[The context window is nearly full. Bring this work to a good stopping point: finish \
what you are doing, begin nothing new, and say within two more rounds what is done and what is left.]";

impl Session {
    /// The budget of the next prompt in raw tokens.
    pub(super) fn budget(&self) -> Result<Budget, SettingsError> {
        let model = &self.settings.model;
        self.budget_in(self.scale(model), model, None)
    }

    /// Whether a provider found the last prompt too large, and nothing was said since.
    pub(super) fn was_too_large(&self) -> bool {
        self.overflowed == Some(self.heard())
    }

    /// What users and tools said so far, in messages: what a second overflow is compared with.
    pub(super) fn heard(&self) -> usize {
        let said = self.transcript.messages().iter();
        said.filter(|message| !message.is_hidden() && !matches!(message.body, Body::Assistant { .. })).count()
    }
}

/// What an answer that says nothing came to.
pub(super) struct Nothing {
    /// Why it ended.
    pub stop: StopReason,
    /// What its provider says that it used.
    pub usage: Option<Usage>,
    /// The request, in raw tokens of our own count.
    pub tokens: u32,
    /// The most that a request may have, in the same measure.
    pub limit: u32,
    /// The model's window, in tokens.
    pub window: u32,
    /// Whether the request before it was too large as well.
    pub again: bool,
}

/// The overflow in an answer that says nothing and does not speak of one: more was read than the window holds, or the
/// length limit was reached at once by a request of at least half the window, or by the one that was made smaller because
/// of that, or a request near the limit was answered with nothing by a provider that does not say what it read.
pub(super) fn silent(said: Nothing) -> Option<Overflow> {
    let Nothing { stop, usage, tokens, limit, window, again } = said;
    let read = usage.and_then(|usage| usage.input_tokens);
    let is_over = read.is_some_and(|read| read > window);
    let is_cut_at_once = stop == StopReason::Length && (again || tokens >= window / 2);
    let is_near = u64::from(tokens) * 1000 >= u64::from(limit) * NEAR;
    let is_unread = stop == StopReason::End && read.is_none() && is_near;
    (is_over || is_cut_at_once || is_unread).then_some(Overflow {
        limit: Some(window).filter(|_| is_over),
        needed: read.filter(|_| is_over),
        ..Overflow::default()
    })
}

/// Whether a provider that keeps the newer half of what it cannot hold did so: about half a window was read, and a quarter of
/// the prompt was not, by our count. Less is the use of a provider that does not count what its cache held.
fn is_cut_to_half(read: u32, own: u32, window: u32) -> bool {
    let (read, own, window) = (u64::from(read), u64::from(own), u64::from(window));
    (window * 2 / 5..=window * 3 / 5).contains(&read) && read * 4 <= own * 3
}

impl Step<'_> {
    /// A provider refused a prompt of this many raw tokens for its size. Where it is believed, room is made once: in the
    /// answer, or by a compaction. Where nothing was said since, or it is not believed, the turn fails.
    pub(super) fn overflowed(&mut self, overflow: Overflow, asked: Asked, why: Refusal) {
        match self.session.judged(overflow, asked) {
            // Behind room that was made it is told as what it came from.
            Verdict::NotOfSize if self.session.was_too_large() => self.fail(why.named("contextOverflow")),
            Verdict::NotOfSize => {
                self.trace("the provider's refusal is not of the prompt's size: nothing is learned from it");
                self.fail(why.not_of_size());
            }
            Verdict::Answer(learned) => match self.lowers(learned, asked) {
                true => self.generate(None),
                false => self.fail(why.not_of_size()),
            },
            Verdict::Prompt => self.too_large(overflow, asked.tokens, why.named("contextOverflow")),
        }
    }

    fn too_large(&mut self, overflow: Overflow, tokens: u32, why: Refusal) {
        let policy = &self.session.settings.policy;
        let may_compact = policy.enabled && policy.triggers.provider_overflow;
        let heard = self.session.heard();
        let is_second = self.session.overflowed.replace(heard) == Some(heard);
        self.learn_limit(overflow, tokens);
        if !may_compact || is_second {
            return self.fail(why);
        }
        let budget = match self.session.budget() {
            Ok(budget) => budget,
            Err(error) => return self.fail(error),
        };
        let scale = self.session.scale(&self.session.settings.model);
        let source = Source { transcript: &self.session.transcript, fixed: &self.session.fixed, budget };
        match prompt::render(source) {
            // What was learned is obeyed by every prompt, so this one is over it.
            Err(exceeded) => self.begin_compaction(Begin {
                exceeded: Some(read_exceeded(exceeded, scale)),
                ..Begin::new(Trigger::ProviderOverflow, Then::Generate)
            }),
            Ok(_) => self.fail(why),
        }
    }

    /// Notes what an answer's request used by the provider's own count, of which `tokens` is ours. Whether all of it was
    /// read, as far as one can tell.
    pub(super) fn note_usage(&mut self, usage: Option<Usage>, tokens: u32) -> bool {
        let read = usage.and_then(|usage| usage.input_tokens);
        let is_plausible = |read: &u32| u64::from(*read) * 1000 <= u64::from(tokens) * PLAUSIBLE;
        if read.is_some_and(|read| !is_plausible(&read)) {
            self.trace("the reported use is far over our own count of the request, and is ignored");
        }
        self.session.reported = read.filter(is_plausible);
        let window = self.session.settings.model.window;
        if let Some(needed) = self.session.reported.filter(|read| *read > window) {
            // It was taken, but cut somewhere: the next one is to fit.
            let (limit, needed) = (Some(window), Some(needed));
            self.learn_limit(Overflow { limit, needed, ..Overflow::default() }, tokens);
            return false;
        }
        let own = self.session.scale(&self.session.settings.model).read(tokens);
        let wire = self.session.settings.model.endpoint.as_ref().map(|endpoint| endpoint.wire);
        if wire == Some(Wire::Ollama) && read.is_some_and(|read| is_cut_to_half(read, own, window)) {
            // It was answered without its beginning, and nobody said so: the next one is to fit.
            self.learn_limit(Overflow::default(), tokens);
            return false;
        }
        true
    }

    /// Between two rounds (source: 000, budget exit): asks the model to wrap up where its window is nearly full, by what
    /// was used last and not by a sum. Whether the turn ends here, because it was asked long enough ago.
    pub(super) fn exits_for_budget(&mut self) -> bool {
        let turn = self.session.transcript.turns().len().saturating_sub(1);
        let first = self.session.transcript.turns().get(turn).map(|turn| turn.first).unwrap_or_default();
        let said = self.session.transcript.messages().iter().skip(first.index());
        let asked =
            said.filter(|message| matches!(&message.body, Body::Event { kind, .. } if kind == WRAP_UP));
        if let Some(asked) = asked.map(|message| message.ord).next_back() {
            let rounds = self.session.transcript.rounds_of(turn).iter();
            if rounds.filter(|round| round.assistant > asked).count() < GRACE_ROUNDS {
                return false;
            }
            let text = "The context window is nearly full, so the turn ends here. Say how to go on, or that it is enough.";
            self.notice(BUDGET_EXIT, text.to_owned());
            self.end_turn(TurnStatus::Completed, Rest::WaitingUserInput);
            return true;
        }
        let scale = self.session.scale(&self.session.settings.model);
        let limit = self.session.budget().map_or(0, |budget| scale.read(budget.limit));
        let share = self.session.settings.policy.budget_exit.map(|share| share.of(limit));
        if share.zip(self.session.reported).is_some_and(|(share, read)| read >= share) {
            let body = Body::Event { kind: WRAP_UP.to_owned(), text: WRAP_UP_NOTICE.into() };
            let new: NewMessage = self.stamped(body);
            self.append(new);
        }
        false
    }
}
