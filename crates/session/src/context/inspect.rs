//! Token figures of the context.

use super::figures::read_prompt;
use crate::core::Conversation;
use crate::values::refusal::Refusal;
use crate::values::snapshot::{Inspection, PromptLimit, TriggerDistance};
use engine::compact::record::Trigger;
use engine::compact::trigger;
use engine::id::Time;
use engine::message::{Body, Usage};
use engine::prompt::coverage::coverage;
use engine::prompt::{self, Source};
use engine::settings::PerMille;
use engine::transcript::Transcript;
use engine::words::Measure;

/// The context in figures, even if it is over its limit, with so many of the newest compactions or all of them.
pub(crate) fn inspect(
    conversation: &Conversation,
    newest: Option<u32>,
    counter: &str,
    now: Time,
) -> Result<Inspection, Refusal> {
    let scale = conversation.scale_now();
    let budget = conversation.budget()?;
    let model = &conversation.settings().model;
    let source = conversation.source(budget);
    let in_force = conversation.transcript().in_force();
    let drafted = prompt::draft(source, in_force);
    let coverage = coverage(conversation.transcript(), in_force, &drafted);
    let raw = drafted.tokens;
    let until_compaction = conversation.tokens_until(source, raw);
    let drafted = read_prompt(drafted, scale);
    let sections = drafted.plan.sections.iter();
    let records = conversation.transcript().compactions();
    let earlier = newest.map_or(0, |newest| records.len().saturating_sub(newest as usize));
    Ok(Inspection {
        tokens: drafted.tokens,
        limit: drafted.limit,
        until_compaction: scale.read_part(until_compaction),
        window: budget.window,
        estimator: scale.named(counter, model.key()),
        estimate: conversation.estimate(),
        sections: sections.map(|s| (s.channel, s.name.clone(), s.tokens)).collect(),
        coverage,
        compactions: records.get(earlier..).unwrap_or_default().to_vec(),
        earlier_compactions: earlier,
        triggers: nearness(conversation, source, raw, &drafted, now),
        learned_limit: conversation
            .learned_limit(model)
            .map(|limit| PromptLimit { tokens: scale.read(limit.tokens), ..limit }),
        learned_answer: conversation.most_answer(model, drafted.tokens),
        cuts: drafted.cuts,
        usage: newest_usage(conversation.transcript()),
        spent: conversation.head().carried.spent.filter(|spent| spent.total().known().is_some()),
    })
}

/// The usage that was reported with the newest answer that has any.
fn newest_usage(transcript: &Transcript) -> Option<Usage> {
    match &transcript.message(transcript.sums().newest_with_usage()?)?.body {
        Body::Assistant { beside, .. } => beside.usage,
        _ => None,
    }
}

/// Distance of this prompt from each trigger.
fn nearness(
    conversation: &Conversation,
    source: Source<'_>,
    raw: u32,
    prompt: &prompt::Prompt,
    now: Time,
) -> Vec<TriggerDistance> {
    let triggers = conversation.settings().policy.triggers;
    let (turns, messages) =
        (trigger::shown_turns(conversation.transcript()), trigger::shown_messages(conversation.transcript()));
    let idle = now.0.saturating_sub(conversation.head().updated_at.0) / 1000;
    let share = |of: Option<PerMille>| of.map(|share| u64::from(share.of(prompt.limit)));
    let tokens = u64::from(prompt.tokens);
    let policy = &conversation.settings().policy;
    let scale = conversation.scale_now();
    let held = conversation.held_back(source);
    let since_last = trigger::missing(source, policy, raw).max(held);
    let to_prepare = trigger::missing_to_prepare(source, policy, raw).max(held);
    let near = |trigger, measure, now, at, missing| {
        let held_back = scale.read_part(missing).max(u32::from(missing > 0));
        TriggerDistance { trigger, measure, now, at, held_back }
    };
    let of_turns = trigger::most_turns(conversation.transcript(), policy).map(u64::from);
    let of_messages = trigger::most_messages(conversation.transcript(), policy).map(u64::from);
    let by_count = if policy.min_new_tokens.is_some() { since_last } else { held };
    let of_silence = triggers.idle_secs.map(u64::from);
    vec![
        near(Trigger::BudgetExceeded, Measure::Tokens, tokens, Some(u64::from(prompt.limit)), 0),
        near(Trigger::PreTurnTokens, Measure::Tokens, tokens, share(triggers.pre_turn), since_last),
        near(Trigger::Background, Measure::Tokens, tokens, share(triggers.background), to_prepare),
        near(Trigger::UserTurns, Measure::Turns, turns.into(), of_turns, by_count),
        near(Trigger::Messages, Measure::Messages, messages.into(), of_messages, by_count),
        near(Trigger::Idle, Measure::Seconds, idle, of_silence, held),
    ]
}
