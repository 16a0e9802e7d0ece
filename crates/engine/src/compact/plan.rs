//! What a compaction may touch: the user messages that stay, the tail that stays, the target. How far it may reach is
//! `slice`'s. Reads the transcript, writes nothing, asks nobody.

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

/// Where a summary of everything up to `through` hangs: the last round there, or, where a turn has none, a stand-in
/// made of the turn's id, found again by ordinal and hash.
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

/// When the newest message was said, in the words of who recorded it.
pub(crate) fn last_active(transcript: &Transcript) -> Option<String> {
    transcript.messages().iter().rev().find_map(|message| message.created_at.clone())
}

/// User messages of a session by what happens to them when everything up to some point is covered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserWords {
    /// They stay, byte for byte.
    pub kept: BTreeSet<Ordinal>,
    /// They do not fit their budget; they are reported.
    pub reported: Vec<Ordinal>,
    /// Tokens of the kept ones.
    pub tokens: u32,
}

/// Which user messages of a covered span stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Those of the running turn, the session's first request, and as many others as fit.
    Words,
    /// Those of the running turn alone; the last resort.
    CurrentOnly,
}

/// Chooses among the user messages up to `through`: requests of the running turn always, the first request as said,
/// then newest first as far as the budget goes.
pub fn user_words(transcript: &Transcript, through: Ordinal, budget: u32, keep: Keep) -> UserWords {
    let turns = transcript.turns();
    let running = turns.len().saturating_sub(1);
    let mut words = UserWords::default();
    let mut left = budget;
    for (at, turn) in turns.iter().enumerate().rev() {
        for message in requests(transcript, turn, through).rev() {
            let is_exempt = at == running || (at == 0 && keep == Keep::Words);
            if is_exempt || (message.tokens <= left && keep == Keep::Words) {
                words.kept.insert(message.ord);
                words.tokens += message.tokens;
                left = left.saturating_sub(if at == running { 0 } else { message.tokens });
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

/// Tokens of the session's first request, where that is not the running one.
fn first_request(transcript: &Transcript, through: Ordinal) -> u32 {
    match transcript.turns() {
        [first, _, ..] => requests(transcript, first, through).map(|message| message.tokens).sum(),
        _ => 0,
    }
}

/// The requests of a turn up to `through`, without hidden ones and those that the user left out.
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

/// How much room a compaction has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// The last message that may be covered.
    pub through: Ordinal,
    /// User messages that stay.
    pub words: UserWords,
    /// Tokens of what cannot be given up: tools, system, memories, kept user words, current message, newest round.
    pub fixed: u32,
    /// Tokens that the prompt must not exceed afterwards.
    pub target: u32,
    /// `target` less `fixed`, in tokens.
    pub space: u32,
}

/// What a compaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aim {
    /// Room for what comes, below the limit.
    Room,
    /// A summary in the place of what is shown now, however much room there is: somebody asked for it, or counts what is
    /// shown, or nobody speaks any more.
    Summary,
}

impl Aim {
    /// What a compaction is for that this starts.
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

    /// The policy that serves it, for a prompt of so many tokens under this limit. Shortened results are no summary, and
    /// a tail by weight is a share of what there is.
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

impl Room {
    /// The same where a prompt of so many tokens is to become this share smaller; any smaller, where none is named. The
    /// target is never above the usual one.
    pub fn below(self, tokens: u32, share: Option<PerMille>) -> Self {
        let free = tokens.saturating_sub(self.fixed);
        let space = share.map_or(free.saturating_sub(1), |share| share.of(free)).min(self.space);
        Self { target: self.fixed + space, space, ..self }
    }
}

/// The room above what cannot be given up; nothing where that is over the limit by itself.
pub fn room(source: Source<'_>, policy: &Policy, through: Ordinal, after: u32, keep: Keep) -> Option<Room> {
    let limit = source.budget.limit;
    // Older user words never take more than half of what tools, the request and the newest round leave.
    let request = running_requests(source.transcript, through);
    let before = source.fixed.tokens_through(through);
    let half = limit.checked_sub(before + after + request)? / 2;
    let budget = policy.user_messages.of(limit).min(half);
    let first: u32 = match keep {
        Keep::Words => first_request(source.transcript, through),
        Keep::CurrentOnly => 0,
    };
    let mut words = user_words(source.transcript, through, budget.saturating_sub(first), keep);
    // A pin shows what its message says, so that is not out of sight.
    words.reported.retain(|ord| !source.fixed.pins.holds(*ord));
    let fixed = before + words.tokens + after;
    let free = limit.checked_sub(fixed)?;
    let space = policy.target_ratio.of(free);
    Some(Room { through, words, fixed, target: fixed + space, space })
}

/// Tokens of what follows the slice as a prompt shows it: the current user message if it stands there, and the newest
/// round.
pub fn tokens_after(transcript: &Transcript, through: Ordinal, actions: &BTreeMap<Ordinal, Action>) -> u32 {
    segments(transcript, through.next(), Ordinal(u32::MAX))
        .iter()
        .map(|segment| segment.tokens(transcript, actions))
        .sum()
}

/// What stays after the block: where it starts, and what is shown shortened in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tail {
    /// The first message that stays; everything before it is covered.
    pub start: Ordinal,
    /// Shortened results in it.
    pub actions: BTreeMap<Ordinal, Action>,
    /// Its tokens, user messages left out: those are counted with the kept ones.
    pub tokens: u32,
}

/// The newest rounds of the slice that fit: unchanged within `raw` tokens, with shortened results where that is too
/// much, within `raw + short` tokens. Stops at the first that fits neither way, and at a user message that does not
/// stay. What was said after `told` stays unchanged in any case: no block stands for it.
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
    // The oldest round goes in any case: a block that stands for nothing is no compaction.
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

/// The parts of a record that follow from where it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cutting {
    /// The inclusive range from the session's start that is out of sight.
    pub span: Option<Span>,
    /// User messages of it that stand before the block.
    pub kept_users: Vec<Ordinal>,
    /// User messages of it that are reported.
    pub reported_users: Vec<Ordinal>,
    /// User messages of it that stand after the block, because their turn goes on there.
    pub open_requests: Vec<Ordinal>,
}
pub(crate) fn cut_before(transcript: &Transcript, start: Ordinal, words: &UserWords) -> Cutting {
    let Some(last) = start.0.checked_sub(1).map(Ordinal) else {
        return Cutting { span: None, kept_users: vec![], reported_users: vec![], open_requests: vec![] };
    };
    let turn = transcript.turn_at(start).and_then(|turn| transcript.turns().get(turn));
    let goes_on = turn.filter(|turn| turn.first <= last).map_or(&[][..], |turn| &turn.requests);
    let open: Vec<Ordinal> =
        goes_on.iter().copied().filter(|ord| *ord <= last && words.kept.contains(ord)).collect();
    let kept_users = words.kept.iter().copied().filter(|ord| *ord <= last && !open.contains(ord)).collect();
    let reported_users = words.reported.iter().copied().filter(|ord| *ord <= last).collect();
    Cutting {
        span: Some(Span { from: Ordinal(0), to: last }),
        kept_users,
        reported_users,
        open_requests: open,
    }
}
