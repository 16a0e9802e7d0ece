//! Decides whether a compaction is due for a prompt that is about to be sent, in the same way for live sessions and
//! replays. Pure: it starts nothing; `ladder` makes the compaction.

use super::policy::{Consent, Policy};
use super::record::{Compaction, Mode, Trigger};
use super::slice;
use crate::id::Ordinal;
use crate::prompt::{self, BudgetExceeded, Prompt, Source};
use crate::transcript::{Transcript, Turn};
use serde::{Deserialize, Serialize};

/// Next step for a prompt that is about to be sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Send the prompt.
    Send(Box<Prompt>),
    /// The prompt fits, but a compaction is due. If that fails, send this prompt.
    Try(Trigger, Box<Prompt>),
    /// The prompt does not fit: compact.
    Must(Trigger, BudgetExceeded),
    /// The prompt does not fit, and compaction is disabled.
    Refuse(BudgetExceeded),
}

/// Failed attempts to get a summary from a model. Owned by a session and stored with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempts {
    /// Compactions in a row for which a model was asked and gave no summary.
    pub failures: u32,
    /// The first message after the last of them.
    pub since: Ordinal,
}

/// Renders the prompt and returns its next step. `is_smaller`: the window is smaller than that of the model before.
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

/// Returns the trigger that fires for a prompt of this many tokens that fits. Checked only when a turn begins, before
/// its model is asked.
pub(crate) fn due(source: Source<'_>, policy: &Policy, tokens: u32) -> Option<Trigger> {
    let may = may_try(policy) && is_turn_start(source.transcript);
    if !may || slice::slice(source, policy).is_err() {
        return None;
    }
    let triggers = &policy.triggers;
    let has_new = missing(source, policy, tokens) == 0;
    if has_new && triggers.pre_turn.is_some_and(|share| tokens >= share.of(source.budget.limit)) {
        return Some(Trigger::PreTurnTokens);
    }
    if !has_new && policy.min_new_tokens.is_some() {
        return None;
    }
    let is_over = |most: Option<u32>, shown: u32| most.is_some_and(|most| shown > most);
    if is_over(most_turns(source.transcript, policy), shown_turns(source.transcript)) {
        return Some(Trigger::UserTurns);
    }
    let most = most_messages(source.transcript, policy);
    is_over(most, shown_messages(source.transcript)).then_some(Trigger::Messages)
}

/// Returns the shown user turns above which a compaction starts. After a compaction as many as that must be new, unless
/// the policy counts new tokens; these would hold the trigger back for long in a large window.
pub fn most_turns(transcript: &Transcript, policy: &Policy) -> Option<u32> {
    let new = |since: Ordinal| count_turns(transcript, since);
    most_by_count(transcript, policy, policy.triggers.user_turns, shown_turns(transcript), new)
}

/// Returns the shown messages above which a compaction starts, as [`most_turns`] does.
pub fn most_messages(transcript: &Transcript, policy: &Policy) -> Option<u32> {
    let new = |since: Ordinal| messages_from(transcript, since);
    most_by_count(transcript, policy, policy.triggers.messages, shown_messages(transcript), new)
}

fn most_by_count(
    transcript: &Transcript,
    policy: &Policy,
    most: Option<u32>,
    shown: u32,
    new: impl Fn(Ordinal) -> u32,
) -> Option<u32> {
    let most = most?;
    let Some(record) = newest(transcript).filter(|_| policy.min_new_tokens.is_none()) else {
        return Some(most);
    };
    let turn = record.turn.as_ref().and_then(|id| transcript.turns().iter().find(|turn| turn.id == *id));
    let since = turn.map_or(record.resume_at(), |turn| turn.first.next());
    let kept = shown.saturating_sub(new(since));
    Some(most.max(kept.saturating_add(most).saturating_sub(1)))
}

/// `true` if a summary should be prepared beside the turn of a prompt of this many tokens.
pub fn prepares(source: Source<'_>, policy: &Policy, tokens: u32) -> bool {
    let share = policy.triggers.background.filter(|_| may_try(policy));
    share.is_some_and(|share| tokens >= share.of(source.budget.limit))
        && missing_to_prepare(source, policy, tokens) == 0
}

/// Returns the new tokens still missing before a summary is prepared: half of those that a compaction needs, so that
/// the summary is ready in time. A prepared summary is no compaction yet.
pub fn missing_to_prepare(source: Source<'_>, policy: &Policy, tokens: u32) -> u32 {
    missing_of(min_new_tokens(source, policy) / 2, source, tokens)
}

/// Returns the new tokens still missing since the last compaction before a trigger other than an overflow starts
/// another (hysteresis).
pub fn missing(source: Source<'_>, policy: &Policy, tokens: u32) -> u32 {
    missing_of(min_new_tokens(source, policy), source, tokens)
}

fn missing_of(needed: u32, source: Source<'_>, tokens: u32) -> u32 {
    newest(source.transcript)
        .map_or(0, |record| needed.saturating_sub(tokens.saturating_sub(record.tokens_after)))
}

/// Returns the new tokens still missing in the messages from `since` on before another compaction: there an attempt
/// failed, or the user refused its result.
pub fn missing_since(source: Source<'_>, policy: &Policy, since: Ordinal) -> u32 {
    min_new_tokens(source, policy).max(1).saturating_sub(source.transcript.sums().tokens_from(since))
}

/// `true` if there is something to compact and something new since the newest compaction.
pub fn may_shrink(source: Source<'_>, policy: &Policy) -> bool {
    !is_unchanged(source) && slice::slice(source, policy).is_ok()
}

/// `true` if idle time of `silent_ms` milliseconds triggers a compaction; the bound itself counts.
pub fn idles(policy: &Policy, silent_ms: u64) -> bool {
    let idle = policy.triggers.idle_secs.filter(|_| may_try(policy));
    idle.is_some_and(|secs| silent_ms >= u64::from(secs) * 1000)
}

/// Returns the new tokens that fit before a compaction: up to the limit, or to the share that triggers one when a turn
/// begins, but not before `held` more tokens are new.
pub fn tokens_until(source: Source<'_>, policy: &Policy, tokens: u32, held: u32) -> u32 {
    let limit = source.budget.limit;
    let share = policy.triggers.pre_turn.filter(|_| may_try(policy)).map(|share| share.of(limit));
    let earliest = newest(source.transcript)
        .map_or(0, |record| record.tokens_after.saturating_add(min_new_tokens(source, policy)))
        .max(if held > 0 { tokens.saturating_add(held) } else { 0 });
    share.map_or(limit, |share| share.max(earliest).min(limit)).saturating_sub(tokens)
}

/// `true` if nothing is new since the newest compaction, so that another would change nothing.
pub fn is_unchanged(source: Source<'_>) -> bool {
    newest(source.transcript)
        .is_some_and(|record| record.tokens_after == prompt::draft(source, Some(record)).tokens)
}

/// The newest compaction in force. A record that only excludes messages is none: it compacts nothing.
fn newest(transcript: &Transcript) -> Option<&Compaction> {
    let records = transcript.compactions();
    let previous_of =
        |of: &&Compaction| records.iter().find(|record| Some(&record.id) == of.previous.as_ref());
    let mut chain = std::iter::successors(transcript.in_force(), previous_of).take(records.len());
    chain.find(|record| record.mode != Mode::Excluded)
}

/// Returns the tokens that must be new since the last compaction before a trigger other than an overflow starts
/// another. By default as many as lie between limit and target, so that new tokens bound the number of compactions.
pub fn min_new_tokens(source: Source<'_>, policy: &Policy) -> u32 {
    policy.min_new_tokens.unwrap_or_else(|| {
        // Other parts that cannot be dropped would only make the distance smaller.
        let free = source.budget.limit.saturating_sub(source.fixed.tokens());
        free - policy.target_ratio.of(free)
    })
}

impl Attempts {
    /// `true` if a model may be asked: not after too many failures in a row, until enough is new for another
    /// compaction.
    pub fn may_ask(&self, source: Source<'_>, policy: &Policy) -> bool {
        self.failures < policy.most_failures || missing_since(source, policy, self.since) == 0
    }

    /// Records the end of an attempt. A failure that new content allowed after too many counts as the first.
    pub fn ended(&mut self, transcript: &Transcript, is_failure: bool, policy: &Policy) {
        let messages = u32::try_from(transcript.messages().len()).unwrap_or(u32::MAX);
        *self = match is_failure {
            false => Self::default(),
            true if self.failures >= policy.most_failures => Self { failures: 1, since: Ordinal(messages) },
            true => Self { failures: self.failures + 1, since: Ordinal(messages) },
        };
    }
}

/// `true` if the policy allows compactions that an overflow does not require.
fn may_try(policy: &Policy) -> bool {
    policy.enabled && policy.consent != Consent::Off
}

/// `true` if the running turn has no rounds yet.
fn is_turn_start(transcript: &Transcript) -> bool {
    let running = transcript.turns().len().checked_sub(1);
    running.is_some_and(|turn| transcript.rounds_of(turn).is_empty())
}

/// Returns the number of user turns after the hidden ranges, without excluded ones.
pub fn shown_turns(transcript: &Transcript) -> u32 {
    count_turns(transcript, resume_at(transcript))
}

/// Counts the shown turns that begin at or after `from`.
fn count_turns(transcript: &Transcript, from: Ordinal) -> u32 {
    let first = transcript.turns().partition_point(|turn| turn.first < from);
    let turns = transcript.turns().iter().skip(first);
    u32::try_from(turns.filter(|turn| is_shown(transcript, turn)).count()).unwrap_or(u32::MAX)
}

fn is_shown(transcript: &Transcript, turn: &Turn) -> bool {
    turn.first >= resume_at(transcript) && turn.requests.iter().any(|ord| !transcript.is_excluded(*ord))
}

/// Returns the number of messages after the hidden ranges, without excluded ones and those no model sees.
pub fn shown_messages(transcript: &Transcript) -> u32 {
    messages_from(transcript, resume_at(transcript))
}

fn messages_from(transcript: &Transcript, from: Ordinal) -> u32 {
    let excluded = transcript.in_force().into_iter().flat_map(|record| record.excluded.iter());
    let excluded = excluded.filter(|ord| **ord >= from).filter_map(|ord| transcript.message(*ord));
    let left_out = excluded.filter(|message| !message.is_hidden()).count();
    transcript.sums().shown_from(from).saturating_sub(u32::try_from(left_out).unwrap_or(u32::MAX))
}

fn resume_at(transcript: &Transcript) -> Ordinal {
    transcript.in_force().map_or(Ordinal(0), Compaction::resume_at)
}
