//! The next request to the model that answers: sent, or preceded by a compaction.

use super::size::goes_beyond;
use super::streaming::Streaming;
use crate::carried::limits::SentRequest;
use crate::compaction::job::{Begin, Then};
use crate::context::figures::{read_next, read_prompt, tell_context};
use crate::context::prefix::settle_placement;
use crate::core::Core;
use crate::values::effect::{AskModel, Effect, Purpose};
use crate::values::event::EventBody;
use crate::values::input::Timer;
use crate::values::refusal::Refusal;
use engine::compact::record::{Compaction, Fallback, Mode};
use engine::compact::trigger::Next;
use engine::estimate::Scale;
use engine::prompt::Prompt;
use engine::prompt::request::{Request, ToolChoice};
use engine::words::StateName;

/// Event before a model is asked to continue.
#[derive(Clone, Copy)]
pub(crate) enum Before {
    /// Nothing that matters.
    Nothing,
    /// A compaction.
    Made,
    /// An attempt at an optional compaction that came to nothing.
    Tried,
}

/// Outcome of the next request.
pub(crate) enum Generated {
    /// Sent; the prompt has so many raw tokens.
    Sent(Box<Streaming>, u32),
    /// A compaction comes first.
    Compact(Box<Begin>),
    /// No request can be made.
    Fail(Refusal),
    /// There is no turn to answer.
    Nothing,
}

/// Asks the model to continue, unless a compaction is due first.
pub(crate) fn ask(core: &mut Core<'_>, before: Before) -> Generated {
    loop {
        let model = core.settings().model.clone();
        let scale = core.scale(&model);
        let budget = match core.budget() {
            Ok(budget) => budget,
            Err(error) => return Generated::Fail(error.into()),
        };
        if !core.settings().may_ask(&model) {
            let why = "no model is available: the setting model.wire is not set, and the client did not announce \
                       model/complete";
            return Generated::Fail(why.to_owned().into());
        }
        if settle_placement(core, budget).is_some() {
            // Usage reported for the last prompt does not hold for this one.
            continue;
        }
        let next = core.next(core.source(budget), &model);
        let compact = |begin| Generated::Compact(Box::new(begin));
        return match (read_next(next, scale), before) {
            (Next::Send(prompt), _) => send(core, *prompt, scale),
            (Next::Try(trigger, _), Before::Nothing) => compact(Begin::new(trigger, Then::Generate)),
            (Next::Try(_, prompt), Before::Made | Before::Tried) => send(core, *prompt, scale),
            (Next::Must(..), Before::Made) | (Next::Refuse(_), _) if goes_beyond(core) => continue,
            (Next::Must(_, exceeded), Before::Made) | (Next::Refuse(exceeded), _) => {
                Generated::Fail(exceeded.into())
            }
            (Next::Must(trigger, exceeded), Before::Nothing | Before::Tried) => {
                compact(Begin { exceeded: Some(exceeded), ..Begin::new(trigger, Then::Generate) })
            }
        };
    }
}

/// Sends a prompt whose figures are raw.
fn send(core: &mut Core<'_>, prompt: Prompt, scale: Scale) -> Generated {
    let (raw, model) = (prompt.tokens, core.settings().model.clone());
    let count_up_to = core.count_up_to(raw);
    let has_failed = summary_failed(core, raw);
    core.goes_out(&prompt, model.name.as_deref());
    let prompt = read_prompt(prompt, scale);
    let call = core.next_call();
    let Some(turn) = core.turn_id() else { return Generated::Nothing };
    let message = core.transcript().next_message_id();
    let room = core.room(&model, prompt.tokens);
    // A provider that was given no maximum and asked too much of itself is given one from then on.
    let learned = core.most_answer(&model, prompt.tokens);
    let most = model.max_output.into_iter().chain(learned).min().map(|most| most.min(room));
    let request = Request {
        items: prompt.items.clone(),
        tools: prompt.tools.clone(),
        tool_choice: ToolChoice::Auto,
        temperature_zero: false,
        max_output: most,
        room: Some(room),
        cache_breakpoints: if has_failed { Vec::new() } else { prompt.plan.breakpoints().collect() },
    };
    let tokens = prompt.tokens;
    let deadline = core.settings().first_word_ms(&model);
    let streaming = Streaming::new(core, call, SentRequest { tokens: raw, most }, message.clone());
    core.emit_state(StateName::Generating, None);
    tell_context(core, &prompt, raw);
    core.emit(EventBody::StreamStarted { message, turn: turn.clone() });
    core.remember_model(&model);
    let turn = Some(turn);
    let ask = AskModel { call, turn, purpose: Purpose::Turn, model, tokens, count_up_to, request };
    core.push(Effect::AskModel(Box::new(ask)));
    core.start(Timer::Model(call), deadline);
    Generated::Sent(Box::new(streaming), raw)
}

/// `true` if a model was asked in vain for a summary of what a prompt of `raw` tokens shows: that prompt carries no cache
/// breakpoints. It is told from what is stored, so that every process marks an equal prompt alike.
pub(crate) fn summary_failed(core: &Core<'_>, raw: u32) -> bool {
    let is_summary = |mode: Mode| matches!(mode, Mode::Full | Mode::Simple);
    let in_vain = |fallback: &Fallback| fallback.asked.is_some_and(|asked| asked > 0);
    let is_stopgap = |record: &Compaction| {
        !is_summary(record.mode) && record.tokens_after == raw && record.fallbacks.iter().any(in_vain)
    };
    core.transcript().in_force().is_some_and(is_stopgap)
        || core.head().carried.restraint.has_failed_at(core.next_ord())
}
