//! Prompts that fit by our own count and that their provider finds too large: reported in an error, in the
//! stream, or not at all. `carried::limits` decides what is believed and learned.

use crate::carried::limits::{LimitOrigin, MOST_KEPT, SentRequest, Verdict};
use crate::compaction::job::{Begin, Then};
use crate::context::figures::read_exceeded;
use crate::core::Core;
use crate::values::refusal::Refusal;
use engine::compact::record::Trigger;
use engine::endpoint::Wire;
use engine::message::Usage;
use engine::prompt;
use engine::prompt::request::{Overflow, StopReason};

/// Thousandths of our own count above which reported usage cannot be of this request.
const PLAUSIBLE: u64 = 2500;
/// Thousandths of the limit from which on a request is near it.
const NEAR: u64 = 900;

/// An answer without content.
pub(crate) struct Nothing {
    pub stop: StopReason,
    /// Usage reported by the provider.
    pub usage: Option<Usage>,
    /// Our own count of the request, in raw tokens.
    pub tokens: u32,
    /// The limit of a request, in raw tokens.
    pub limit: u32,
    /// The model's window, in tokens.
    pub window: u32,
    /// `true` if the request before was too large as well.
    pub again: bool,
}

/// Reaction to a prompt that its provider found too large.
pub(crate) enum Remedy {
    /// Ask again, with less room for the answer.
    Again,
    /// Make room.
    Compact(Box<Begin>),
    /// Fail the turn.
    Fail(Refusal),
}

/// The overflow behind an answer without content that reports none: more was read than the window holds; or
/// the length limit was reached at once, by a request of at least half the window or by one made smaller
/// because of that; or a request near the limit got nothing from a provider that does not report usage.
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

/// `true` if a provider that keeps the newer half of a prompt it cannot hold did so: about half a window was
/// read, and a quarter of the prompt was not, by our count. A smaller figure is that of a provider that does
/// not count cached tokens.
fn is_cut_to_half(read: u32, own: u32, window: u32) -> bool {
    let (read, own, window) = (u64::from(read), u64::from(own), u64::from(window));
    (window * 2 / 5..=window * 3 / 5).contains(&read) && read * 4 <= own * 3
}

/// Handles a provider's refusal of this size. If it is believed, room is made once: in the answer, or by a
/// compaction. The turn fails if it is not believed, or if nothing was heard since the last one.
pub(crate) fn refused(core: &mut Core<'_>, overflow: Overflow, asked: SentRequest, why: Refusal) -> Remedy {
    match core.judge(overflow, asked) {
        // After a compaction for its size, a failure is reported as that overflow.
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
        // The learned limit holds for every prompt, so this one is over it.
        Err(exceeded) => Remedy::Compact(Box::new(Begin {
            exceeded: Some(read_exceeded(exceeded, core.scale_now())),
            ..Begin::new(Trigger::ProviderOverflow, Then::Generate)
        })),
        Ok(_) => Remedy::Fail(why),
    }
}

/// Keeps later prompts for the model in force below this one of so many raw tokens.
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

/// Records that the prompt of this request was read whole and answered.
pub(crate) fn went_through(core: &mut Core<'_>, asked: SentRequest) {
    if let Some(limit) = core.went_through(asked) {
        core.trace(format!(
            "the learned limit of {limit} tokens is given up: a prompt of {} went through",
            asked.tokens
        ));
    }
    core.write_head_as_it_was_used();
}

/// Learns from a provider's count of a prompt of so many raw tokens, which was not sent because of it. The next prompt is
/// sent without a count: only a report can tell more.
pub(crate) fn counted(core: &mut Core<'_>, counted: u32, tokens: u32) {
    core.trace(format!("the provider counts {counted} tokens, more than may be sent without a compaction"));
    let heard = core.heard();
    core.limits_mut().1.counted(heard);
    core.learn_count(counted, tokens);
}

/// Drops the learned limits of this session if the user wants that. Its row is written by the caller.
pub(crate) fn forget(core: &mut Core<'_>, is_wanted: bool) {
    if !is_wanted {
        return;
    }
    let (limits, trial) = core.limits_mut();
    if limits.forget(trial) {
        core.trace("the learned limits are given up: the user dropped them");
    }
}

/// Puts a learned limit to the test if nothing brings the prompt under it. Returns `true` if the prompt is
/// sent all the same; `false` if no limit was learned, or just from this prompt.
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

/// Drops what was learned of other models and windows than the one in force.
pub(crate) fn forget_others(core: &mut Core<'_>) {
    let model = core.settings().model.clone();
    if core.limits_mut().0.forget_others(&model) {
        core.write_head_as_it_was_used();
    }
}

/// Notes the usage reported for a request that we count as `tokens`. Returns `false` if not all of it was
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
        // The prompt was accepted but cut somewhere: the next one must fit.
        let (limit, needed) = (Some(window), Some(needed));
        learn(core, Overflow { limit, needed, ..Overflow::default() }, tokens);
        return false;
    }
    let own = core.scale_now().read(tokens);
    let wire = core.settings().model.endpoint.as_ref().map(|endpoint| endpoint.wire);
    if wire == Some(Wire::Ollama) && read.is_some_and(|read| is_cut_to_half(read, own, window)) {
        // The prompt was answered without its beginning, silently: the next one must fit.
        learn(core, Overflow::default(), tokens);
        return false;
    }
    true
}
