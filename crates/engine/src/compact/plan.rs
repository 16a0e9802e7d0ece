//! Limits of a compaction: the user messages that stay, the tail that stays, the token target. `slice` bounds the
//! covered range. Reads the transcript, writes nothing, asks no model.

use super::policy::{Policy, Retention, Stage};
use super::record::{Action, Anchor, Compaction, Span, Trigger};
use super::slice::Slice;
use crate::id::{Ordinal, RoundId};
use crate::message::Message;
use crate::prompt::Source;
use crate::prompt::limit;
use crate::prompt::segment::segments;
use crate::settings::PerMille;
use crate::tokens::TokenCount;
use crate::transcript::{Transcript, Turn};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the anchor of a summary of everything up to `through`: the last round there, or, if the turn has none, a
/// stand-in made of the turn's id, found again by ordinal and hash.
pub fn anchor(transcript: &Transcript, through: Ordinal) -> Anchor {
    let turn = transcript.turn_at(through).unwrap_or_default();
    let round = transcript.rounds_of(turn).iter().rfind(|round| round.assistant <= through);
    let round_id = match round {
        Some(round) => round.id.clone(),
        None => RoundId::new(transcript.turns().get(turn).map_or("start", |turn| turn.id.as_str())),
    };
    let message = transcript.message(through);
    Anchor { round_id, ord: through, hash: message.map(|m| m.hash.clone()).unwrap_or_default() }
}

/// Time of the newest message that has one, as recorded.
pub(crate) fn last_active(transcript: &Transcript) -> Option<String> {
    transcript.message(transcript.sums().newest_dated()?)?.created_at.clone()
}

/// User messages of a covered range, and results of refused calls with the user's words: those that stay and those that
/// are reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserWords {
    /// Messages that stay, byte for byte.
    pub kept: BTreeSet<Ordinal>,
    /// Messages over the budget, which the block only names.
    pub reported: Vec<Ordinal>,
    /// Tokens of the kept messages.
    pub tokens: u32,
}

/// Selection of the user messages that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Those of the running turn, the session's first request, and as many others as fit.
    Words,
    /// Those of the running turn alone; the last resort.
    CurrentOnly,
}

/// Selects the user messages up to `through` that stay: requests of the running turn always, the first request as
/// `keep` says, then newest first within `budget` tokens.
pub fn user_words(transcript: &Transcript, through: Ordinal, budget: u32, keep: Keep) -> UserWords {
    let turns = transcript.turns();
    let running = turns.len().saturating_sub(1);
    let mut words = UserWords::default();
    let mut left = budget;
    for (at, turn) in turns.iter().enumerate().rev() {
        let asked = requests(transcript, turn, through).map(|message| (message, message.tokens, true));
        let refused = refusals(transcript, at, through).map(|(message, tokens)| (message, tokens, false));
        let mut said: Vec<(&Message, u32, bool)> = asked.chain(refused).collect();
        said.sort_unstable_by_key(|(message, ..)| message.ord);
        for (message, tokens, is_request) in said.into_iter().rev() {
            let is_exempt = match keep {
                Keep::Words => at == running || (at == 0 && is_request),
                Keep::CurrentOnly => at == running && is_request,
            };
            if is_exempt || (tokens <= left && keep == Keep::Words) {
                words.kept.insert(message.ord);
                words.tokens += tokens;
                left = left.saturating_sub(if at == running { 0 } else { tokens });
            } else {
                words.reported.push(message.ord);
            }
        }
    }
    words.reported.sort_unstable();
    words
}

/// Tokens of the requests of the running turn up to `through`.
pub(crate) fn running_requests(transcript: &Transcript, through: Ordinal) -> u32 {
    let running = transcript.turns().last();
    running.map_or(0, |turn| requests(transcript, turn, through).map(|message| message.tokens).sum())
}

/// Tokens of the session's first request; 0 if that is the running one.
fn first_request(transcript: &Transcript, through: Ordinal) -> u32 {
    match transcript.turns() {
        [first, _, ..] => requests(transcript, first, through).map(|message| message.tokens).sum(),
        _ => 0,
    }
}

/// The requests of a turn up to `through`, without hidden and excluded ones.
fn requests<'t>(
    transcript: &'t Transcript,
    turn: &'t Turn,
    through: Ordinal,
) -> impl DoubleEndedIterator<Item = &'t Message> {
    let ords = turn.requests.iter().filter(move |ord| **ord <= through);
    ords.filter_map(|ord| transcript.message(*ord))
        .map(|message| &**message)
        .filter(|message| !message.is_hidden() && !transcript.is_excluded(message.ord))
}

/// The results of a turn's refused calls up to `through` that state words of the user, each with the tokens of those.
fn refusals(transcript: &Transcript, turn: usize, through: Ordinal) -> impl Iterator<Item = (&Message, u32)> {
    let first = transcript.turns().get(turn).map_or(Ordinal(u32::MAX), |turn| turn.first);
    let last = transcript.last_of_turn(turn).unwrap_or(first).min(through);
    let messages = transcript.sums().refusals(first, last).iter().filter_map(|ord| transcript.message(*ord));
    let shown = messages.filter(|message| !transcript.is_excluded(message.ord));
    shown.filter_map(|message| Some((&**message, message.said_of_refusal()?.1)))
}

/// Token budget of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The last message that may be covered.
    pub through: Ordinal,
    /// User messages, kept and reported.
    pub words: UserWords,
    /// Tokens of what cannot be dropped: tools, system, memories, kept user messages, current message, newest round.
    pub fixed: u32,
    /// Tokens that the prompt must not exceed afterwards.
    pub target: u32,
    /// `target` less `fixed`, in tokens.
    pub space: u32,
    /// The space if the newest round did not count against the target.
    pub widest: u32,
}

/// Purpose of a compaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Free tokens below the limit.
    Room,
    /// A summary in place of the shown history, however many tokens are free: on request, by the number of turns or
    /// messages, or after idle time.
    Summary,
}

impl Aim {
    /// Returns the purpose of a compaction with this trigger.
    pub fn of(trigger: Trigger) -> Self {
        match trigger {
            Trigger::Manual | Trigger::Idle | Trigger::UserTurns | Trigger::Messages => Self::Summary,
            Trigger::BudgetExceeded
            | Trigger::ProviderOverflow
            | Trigger::PreTurnTokens
            | Trigger::Background
            | Trigger::ModelChanged
            | Trigger::Restored
            | Trigger::Recorded => Self::Room,
        }
    }

    /// Adapts a policy to the purpose, for a prompt of `tokens` under `limit`. For a summary rung 0 is off, and a
    /// tail by tokens is a share of the prompt, not of the limit.
    pub fn policy(self, mut policy: Policy, tokens: u32, limit: u32) -> Policy {
        if self == Self::Summary {
            policy.limit_history = Stage::Off;
            if let Retention::TokenTail(share) = policy.retention {
                let of_limit = u64::from(share.of(tokens.min(limit))) * 1000 / u64::from(limit.max(1));
                let share = PerMille::new(u32::try_from(of_limit).unwrap_or(u32::MAX));
                policy.retention = Retention::TokenTail(share);
            }
        }
        policy
    }
}

/// Share of the space that block and tail keep however large the newest round is.
const LEAST_LEFT: PerMille = PerMille::new(750);

impl Room {
    /// Returns the budget with the free part of a prompt of `tokens` reduced to `share`, or by one token if that is
    /// `None`. The target never rises.
    pub fn below(self, tokens: u32, share: Option<PerMille>) -> Self {
        let free = tokens.saturating_sub(self.fixed);
        let space = share.map_or(free.saturating_sub(1), |share| share.of(free)).min(self.space);
        Self { target: self.fixed + space, space, ..self }
    }

    /// Returns the budget in which the newest round does not count against the target.
    pub fn widened(self) -> Self {
        Self { target: self.fixed + self.widest, space: self.widest, ..self }
    }
}

/// Returns the budget above the parts that cannot be dropped; `None` if those alone exceed the limit.
pub fn room(source: Source<'_>, policy: &Policy, through: Ordinal, after: u32, keep: Keep) -> Option<Room> {
    let limit = source.budget.limit;
    // Older user messages never take more than half of what tools, the request and the newest round leave.
    let request = running_requests(source.transcript, through);
    let before = source.fixed.tokens_through(through);
    let half = limit.checked_sub(before + after + request)? / 2;
    let budget = policy.user_messages.of(limit).min(half);
    let first: u32 = match keep {
        Keep::Words => first_request(source.transcript, through),
        Keep::CurrentOnly => 0,
    };
    let mut words = user_words(source.transcript, through, budget.saturating_sub(first), keep);
    // A pinned message is still shown, so it need not be reported.
    words.reported.retain(|ord| !source.fixed.pins.holds(*ord));
    let fixed = before + words.tokens + after;
    let free = limit.checked_sub(fixed)?;
    // The newest round counts against the target, so that a large one does not bring the next compaction close; block
    // and tail keep most of what they would have if it did not count.
    let target = policy.target_ratio.of(free + after);
    let widest = policy.target_ratio.of(free);
    let space = target.saturating_sub(after).max(LEAST_LEFT.of(widest));
    Some(Room { through, words, fixed, target: fixed + space, space, widest })
}

/// Returns the tokens of the messages after the slice, as a prompt shows them: the newest round, and the current user
/// message if it is there.
pub fn tokens_after(transcript: &Transcript, through: Ordinal, actions: &BTreeMap<Ordinal, Action>) -> u32 {
    segments(transcript, through.next(), Ordinal(u32::MAX))
        .iter()
        .map(|segment| segment.tokens(transcript, actions))
        .sum()
}

/// The messages that stay after the block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    /// The first message that stays; everything before it is covered.
    pub start: Ordinal,
    /// Shortened results in the tail.
    pub actions: BTreeMap<Ordinal, Action>,
    /// Tokens of the tail without user messages, which are counted with the kept ones.
    pub tokens: u32,
}

/// Selects the newest rounds of the slice that fit: unchanged within `raw` tokens, with shortened results within
/// `raw + short` tokens. Stops at the first round that fits neither way, and at a user message that does not stay.
/// Messages after `told` stay unchanged in any case: no narrative covers them.
pub fn tail(
    source: Source<'_>,
    policy: &Policy,
    slice: Slice,
    told: Ordinal,
    words: &UserWords,
    (raw, short): (u32, u32),
    counter: &dyn TokenCount,
) -> Tail {
    let transcript = source.transcript;
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let mut tail = Tail { start: slice.through.next(), ..Tail::default() };
    for segment in segments(transcript, resume.max(told.next()), slice.through).iter().rev() {
        tail.tokens += if segment.is_user { 0 } else { segment.tokens(transcript, &BTreeMap::new()) };
        tail.start = segment.first;
    }
    if !slice.leaves_tail {
        return tail;
    }
    let segments = segments(transcript, resume, slice.through.min(told));
    // The oldest round is covered in any case: a block that covers nothing is no compaction.
    let oldest = segments.iter().position(|segment| segment.round.is_some()).map_or(0, |at| at + 1);
    for segment in segments.get(oldest..).unwrap_or_default().iter().rev() {
        if segment.is_user {
            if !words.kept.contains(&segment.first) {
                break;
            }
            tail.start = segment.first;
            continue;
        }
        let whole = segment.tokens(transcript, &BTreeMap::new());
        if tail.tokens + whole <= raw {
            tail.tokens += whole;
            tail.start = segment.first;
            continue;
        }
        let actions = limit::shorten_round(transcript, segment, policy.shorten_to, counter);
        let tokens = segment.tokens(transcript, &actions);
        if tail.tokens + tokens > raw + short {
            break;
        }
        tail.tokens += tokens;
        tail.actions.extend(actions);
        tail.start = segment.first;
    }
    tail
}

/// Parts of a record that follow from the end of its range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cutting {
    /// The hidden inclusive range, from the session's start.
    pub span: Option<Span>,
    /// User messages of it that are shown before the block.
    pub kept_users: Vec<Ordinal>,
    /// User messages of it that the block only names.
    pub reported_users: Vec<Ordinal>,
    /// User messages of it that are shown after the block, because their turn continues there.
    pub open_requests: Vec<Ordinal>,
}
pub(crate) fn cut_before(transcript: &Transcript, start: Ordinal, words: &UserWords) -> Cutting {
    let Some(last) = start.0.checked_sub(1).map(Ordinal) else {
        return Cutting { span: None, kept_users: vec![], reported_users: vec![], open_requests: vec![] };
    };
    let turn = transcript.turn_at(start).and_then(|turn| transcript.turns().get(turn));
    let goes_on = turn.map(|turn| turn.first).filter(|first| *first <= last);
    let open: Vec<Ordinal> =
        goes_on.map(|first| words.kept.range(first..=last).copied().collect()).unwrap_or_default();
    let kept_users = words.kept.iter().copied().filter(|ord| *ord <= last && !open.contains(ord)).collect();
    let reported_users = words.reported.iter().copied().filter(|ord| *ord <= last).collect();
    Cutting {
        span: Some(Span { from: Ordinal(0), to: last }),
        kept_users,
        reported_users,
        open_requests: open,
    }
}
