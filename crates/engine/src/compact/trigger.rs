//! When a compaction is due: one decision about a prompt that is about to be sent, the same for a session that runs and
//! for one that is replayed. Pure: what is due is said, nothing is begun. How it is done is `ladder`'s.

use super::policy::{Consent, Policy};
use super::record::{Compaction, Mode, Trigger};
use super::slice;
use crate::id::Ordinal;
use crate::prompt::{self, BudgetExceeded, Prompt, Source};
use crate::transcript::{Transcript, Turn};
use serde::{Deserialize, Serialize};

/// What a prompt needs before it goes out.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Nothing: it goes out.
    Send(Box<Prompt>),
    /// It fits, and a compaction is due all the same. Where that fails, this prompt goes out as it is.
    Try(Trigger, Box<Prompt>),
    /// It does not fit, and room is made.
    Must(Trigger, BudgetExceeded),
    /// It does not fit, and nothing may be compacted.
    Refuse(BudgetExceeded),
}

/// What became of the attempts to have a model sum up. Belongs to a session, and survives with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempts {
    /// Compactions in a row for which a model was asked in vain.
    pub failures: u32,
    /// The first message after the last of them.
    pub since: Ordinal,
}

/// Renders, and says what the prompt needs. `is_smaller`: the model's window is smaller than that of the model before.
pub fn next(source: Source<'_>, policy: &Policy, is_smaller: bool) -> Next {
    match prompt::render(source) {
        Ok(prompt) => match due(source, policy, prompt.tokens) {
            Some(trigger) => Next::Try(trigger, Box::new(prompt)),
            None => Next::Send(Box::new(prompt)),
        },
        Err(exceeded) if !policy.enabled => Next::Refuse(exceeded),
        Err(exceeded) if is_smaller && policy.triggers.model_changed => {
            Next::Must(Trigger::ModelChanged, exceeded)
        }
        Err(exceeded) => Next::Must(Trigger::BudgetExceeded, exceeded),
    }
}

/// The trigger that a prompt of this many tokens sets off, though it fits. They are looked at when a turn begins, before
/// its model is asked.
pub(crate) fn due(source: Source<'_>, policy: &Policy, tokens: u32) -> Option<Trigger> {
    let may = may_try(policy) && begins(source.transcript) && missing(source, policy, tokens) == 0;
    if !may || slice::slice(source, policy).is_err() {
        return None;
    }
    let triggers = &policy.triggers;
    let is_over = |most: Option<u32>, shown: u32| most.is_some_and(|most| shown > most);
    if triggers.pre_turn.is_some_and(|share| tokens >= share.of(source.budget.limit)) {
        return Some(Trigger::PreTurnTokens);
    }
    if is_over(triggers.user_turns, shown_turns(source.transcript)) {
        return Some(Trigger::UserTurns);
    }
    is_over(triggers.messages, shown_messages(source.transcript)).then_some(Trigger::Messages)
}

/// Whether a summary is to be prepared beside the turn that a prompt of this many tokens belongs to.
pub fn prepares(source: Source<'_>, policy: &Policy, tokens: u32) -> bool {
    let share = policy.triggers.background.filter(|_| may_try(policy));
    share.is_some_and(|share| tokens >= share.of(source.budget.limit))
        && missing_to_prepare(source, policy, tokens) == 0
}

/// New tokens that are missing before a summary is prepared: half of what a compaction waits for, so that it is there
/// when room is needed. What is prepared is no compaction yet.
pub fn missing_to_prepare(source: Source<'_>, policy: &Policy, tokens: u32) -> u32 {
    missing_of(min_new_tokens(source, policy) / 2, source, tokens)
}

/// New tokens that are missing since the last compaction before a trigger other than an overflow starts another
/// (hysteresis).
pub fn missing(source: Source<'_>, policy: &Policy, tokens: u32) -> u32 {
    missing_of(min_new_tokens(source, policy), source, tokens)
}

fn missing_of(most: u32, source: Source<'_>, tokens: u32) -> u32 {
    newest(source.transcript)
        .map_or(0, |record| most.saturating_sub(tokens.saturating_sub(record.tokens_after)))
}

/// New tokens that are missing, of those that another compaction would need, in what was said from this message on: an
/// attempt came to nothing there, or the user refused what came of it.
pub fn missing_since(source: Source<'_>, policy: &Policy, since: Ordinal) -> u32 {
    let new = source.transcript.range(since, Ordinal(u32::MAX));
    let tokens = new.iter().filter(|message| !message.is_hidden()).map(|message| message.tokens);
    let tokens = tokens.fold(0, u32::saturating_add);
    min_new_tokens(source, policy).max(1).saturating_sub(tokens)
}

/// Whether there is something to compact, and nothing of it was compacted already.
pub fn may_shrink(source: Source<'_>, policy: &Policy) -> bool {
    !is_unchanged(source) && slice::slice(source, policy).is_ok()
}

/// Whether silence of this many seconds sets a compaction off. The last of them counts.
pub fn idles(policy: &Policy, silent_ms: u64) -> bool {
    let idle = policy.triggers.idle_secs.filter(|_| may_try(policy));
    idle.is_some_and(|secs| silent_ms >= u64::from(secs) * 1000)
}

/// New tokens that fit before a compaction: up to the limit, or to the share at which a turn that begins sets one off,
/// but not before those are new that are missing (`held`).
pub fn tokens_until(source: Source<'_>, policy: &Policy, tokens: u32, held: u32) -> u32 {
    let limit = source.budget.limit;
    let share = policy.triggers.pre_turn.filter(|_| may_try(policy)).map(|share| share.of(limit));
    let earliest = newest(source.transcript)
        .map_or(0, |record| record.tokens_after.saturating_add(min_new_tokens(source, policy)))
        .max(if held > 0 { tokens.saturating_add(held) } else { 0 });
    share.map_or(limit, |share| share.max(earliest).min(limit)).saturating_sub(tokens)
}

/// Whether nothing was said since the newest compaction: to compact again would change nothing.
pub fn is_unchanged(source: Source<'_>) -> bool {
    newest(source.transcript)
        .is_some_and(|record| record.tokens_after == prompt::draft(source, Some(record)).tokens)
}

/// The newest compaction that is obeyed. Messages that the user left out are none: what is left was not compacted by it.
fn newest(transcript: &Transcript) -> Option<&Compaction> {
    let records = transcript.compactions();
    let before = |of: &&Compaction| records.iter().find(|record| Some(&record.id) == of.previous.as_ref());
    let mut chain = std::iter::successors(transcript.in_force(), before).take(records.len());
    chain.find(|record| record.mode != Mode::Excluded)
}

/// Tokens that must be new since the last compaction before a trigger other than an overflow starts another: as many as
/// lie between limit and target, so that the number of compactions is bounded by what is new.
pub fn min_new_tokens(source: Source<'_>, policy: &Policy) -> u32 {
    policy.min_new_tokens.unwrap_or_else(|| {
        // What cannot be given up beside tools and system text only makes the distance smaller.
        let free = source.budget.limit.saturating_sub(source.fixed.tokens());
        free - policy.target_ratio.of(free)
    })
}

impl Attempts {
    /// Whether a model may be asked. Failures in a row end that, until as much is new as another compaction would need.
    pub fn may_ask(&self, source: Source<'_>, policy: &Policy) -> bool {
        self.failures < policy.most_failures || missing_since(source, policy, self.since) == 0
    }

    /// A model was asked in vain, or a summary came of it. New content had armed it again.
    pub fn ended(&mut self, transcript: &Transcript, is_failure: bool, policy: &Policy) {
        let messages = u32::try_from(transcript.messages().len()).unwrap_or(u32::MAX);
        *self = match is_failure {
            false => Self::default(),
            true if self.failures >= policy.most_failures => Self { failures: 1, since: Ordinal(messages) },
            true => Self { failures: self.failures + 1, since: Ordinal(messages) },
        };
    }
}

/// Whether anything may be compacted that need not be.
fn may_try(policy: &Policy) -> bool {
    policy.enabled && policy.consent != Consent::Off
}

/// Whether the running turn has its request and nothing else.
fn begins(transcript: &Transcript) -> bool {
    let running = transcript.turns().len().checked_sub(1);
    running.is_some_and(|turn| transcript.rounds_of(turn).is_empty())
}

/// User turns that a prompt shows as they were said.
pub fn shown_turns(transcript: &Transcript) -> u32 {
    let resume = resume_at(transcript);
    let is_shown =
        |turn: &&Turn| turn.first >= resume && turn.requests.iter().any(|ord| !transcript.is_excluded(*ord));
    u32::try_from(transcript.turns().iter().filter(is_shown).count()).unwrap_or(u32::MAX)
}

/// Messages that a prompt shows as they were said.
pub fn shown_messages(transcript: &Transcript) -> u32 {
    let messages = transcript.range(resume_at(transcript), Ordinal(u32::MAX)).iter();
    let shown = messages.filter(|message| !message.is_hidden() && !transcript.is_excluded(message.ord));
    u32::try_from(shown.count()).unwrap_or(u32::MAX)
}

fn resume_at(transcript: &Transcript) -> Ordinal {
    transcript.in_force().map_or(Ordinal(0), Compaction::resume_at)
}
