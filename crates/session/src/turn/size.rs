//! A prompt that fitted by our own count and that its provider found too large: told in an error, in the stream, or not
//! at all. What is believed of it and what is learned stands in `carried::limits`.

use crate::carried::limits::{Asked, LimitOrigin, MOST_KEPT, Verdict};
use crate::compaction::job::{Begin, Then};
use crate::context::figures::read_exceeded;
use crate::core::Core;
use crate::values::refusal::Refusal;
use engine::compact::record::Trigger;
use engine::endpoint::Wire;
use engine::message::Usage;
use engine::prompt;
use engine::prompt::request::{Overflow, StopReason};

/// A reported use over so many thousandths of our own count is no use of this request.
const PLAUSIBLE: u64 = 2500;
/// A request of so many thousandths of the limit is near it.
const NEAR: u64 = 900;

/// What an answer that says nothing came to.
pub(crate) struct Nothing {
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

/// What is done about a prompt that its provider found too large.
pub(crate) enum Remedy {
    /// The same is asked again, with less room for the answer.
    Again,
    /// Room is made.
    Compact(Box<Begin>),
    /// The turn fails.
    Fail(Refusal),
}

/// The overflow in an answer that says nothing and does not speak of one: more was read than the window holds, or the
/// length limit was reached at once by a request of at least half the window, or by the one that was made smaller because
/// of that, or a request near the limit was answered with nothing by a provider that does not say what it read.
pub(crate) fn silent(said: Nothing) -> Option<Overflow> {
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

/// A provider refused a prompt of this many raw tokens for its size. Where it is believed, room is made once: in the
/// answer, or by a compaction. Where nothing was said since, or it is not believed, the turn fails.
pub(crate) fn refused(core: &mut Core<'_>, overflow: Overflow, asked: Asked, why: Refusal) -> Remedy {
    match core.judge(overflow, asked) {
        // Behind room that was made it is told as what it came from.
        Verdict::NotOfSize if core.was_too_large() => Remedy::Fail(why.named("contextOverflow")),
        Verdict::NotOfSize => {
            core.trace("the provider's refusal is not of the prompt's size: nothing is learned from it");
            Remedy::Fail(why.not_of_size())
        }
        Verdict::Answer(learned) => match core.lower_answer(learned, asked) {
            Some(most) => {
                core.trace(format!(
                    "the provider said that an answer of this length is too much: {most} tokens are asked for"
                ));
                core.write_head_as_it_was_used();
                Remedy::Again
            }
            None => Remedy::Fail(why.not_of_size()),
        },
        Verdict::Prompt => too_large(core, overflow, asked.tokens, why.named("contextOverflow")),
    }
}

fn too_large(core: &mut Core<'_>, overflow: Overflow, tokens: u32, why: Refusal) -> Remedy {
    let policy = &core.settings().policy;
    let may_compact = policy.enabled && policy.triggers.provider_overflow;
    let heard = core.heard();
    let is_second = core.limits_mut().1.overflowed(heard);
    learn(core, overflow, tokens);
    if !may_compact || is_second {
        return Remedy::Fail(why);
    }
    let budget = match core.budget() {
        Ok(budget) => budget,
        Err(error) => return Remedy::Fail(error.into()),
    };
    match prompt::render(core.source(budget)) {
        // What was learned is obeyed by every prompt, so this one is over it.
        Err(exceeded) => Remedy::Compact(Box::new(Begin {
            exceeded: Some(read_exceeded(exceeded, core.scale_now())),
            ..Begin::new(Trigger::ProviderOverflow, Then::Generate)
        })),
        Ok(_) => Remedy::Fail(why),
    }
}

/// No later prompt for the model in force is as large as this one of so many raw tokens.
fn learn(core: &mut Core<'_>, overflow: Overflow, tokens: u32) {
    let Some((tokens, origin)) = core.learn_limit(overflow, tokens) else { return };
    let from = match origin {
        LimitOrigin::Stated => "as it stated",
        LimitOrigin::Guessed => "a guess, for it stated no limit",
    };
    core.trace(format!(
        "the provider took less than was sent: prompts have at most {tokens} tokens ({from}) until a larger one or \
         {MOST_KEPT} others went through, or the model, its window or the chat is another one"
    ));
    core.write_head_as_it_was_used();
}

/// A prompt of so many raw tokens was read whole and answered: its provider takes as much.
pub(crate) fn went_through(core: &mut Core<'_>, tokens: u32) {
    let model = core.settings().model.clone();
    let (limits, trial) = core.limits_mut();
    if let Some(limit) = limits.went_through(trial, &model, tokens) {
        core.trace(format!(
            "the learned limit of {limit} tokens is given up: a prompt of {tokens} went through"
        ));
    }
    core.write_head_as_it_was_used();
}

/// Nothing brings the prompt under its limit. Where that is a learned one that is not of this very prompt, it is put to
/// the proof: whether the prompt goes out all the same.
pub(crate) fn goes_beyond(core: &mut Core<'_>) -> bool {
    let is_learned = core.learned_limit(&core.settings().model).is_some();
    if !is_learned || core.was_too_large() {
        return false;
    }
    core.trace(
        "the prompt does not fit under the learned limit, and is sent to see whether that still holds",
    );
    let heard = core.heard();
    core.limits_mut().1.go_beyond(heard);
    true
}

/// The model in force is another one: what was learned holds for its own model and window alone.
pub(crate) fn forget_others(core: &mut Core<'_>) {
    let model = core.settings().model.clone();
    if core.limits_mut().0.forget_others(&model) {
        core.write_head_as_it_was_used();
    }
}

/// Notes what an answer's request used by the provider's own count, of which `tokens` is ours. Whether all of it was
/// read, as far as one can tell.
pub(crate) fn note_usage(core: &mut Core<'_>, usage: Option<Usage>, tokens: u32) -> bool {
    let read = usage.and_then(|usage| usage.input_tokens);
    let is_plausible = |read: &u32| u64::from(*read) * 1000 <= u64::from(tokens) * PLAUSIBLE;
    if read.is_some_and(|read| !is_plausible(&read)) {
        core.trace("the reported use is far over our own count of the request, and is ignored");
    }
    let reported = read.filter(is_plausible);
    core.limits_mut().1.report(reported);
    let window = core.settings().model.window;
    if let Some(needed) = reported.filter(|read| *read > window) {
        // It was taken, but cut somewhere: the next one is to fit.
        let (limit, needed) = (Some(window), Some(needed));
        learn(core, Overflow { limit, needed, ..Overflow::default() }, tokens);
        return false;
    }
    let own = core.scale_now().read(tokens);
    let wire = core.settings().model.endpoint.as_ref().map(|endpoint| endpoint.wire);
    if wire == Some(Wire::Ollama) && read.is_some_and(|read| is_cut_to_half(read, own, window)) {
        // It was answered without its beginning, and nobody said so: the next one is to fit.
        learn(core, Overflow::default(), tokens);
        return false;
    }
    true
}
