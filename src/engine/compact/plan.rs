//! What a compaction may touch: the slice rule of document 003, the user messages that stay, the tail that stays, the
//! target. Reads the transcript, writes nothing, asks nobody.

use super::policy::Policy;
use super::record::{Action, Anchor, Compaction, Span};
use crate::engine::id::{Ordinal, RoundId};
use crate::engine::message::{Body, Message};
use crate::engine::prompt::Source;
use crate::engine::prompt::coverage::is_hidden;
use crate::engine::prompt::limit;
use crate::engine::tokens::TokenCount;
use crate::engine::transcript::Transcript;
use std::collections::{BTreeMap, BTreeSet};

/// The furthest that a compaction may cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The last message that may be covered.
    pub through: Ordinal,
    /// Whether it ends with the turn before the running one (source: 003, `isContinuation`).
    pub is_continuation: bool,
}

/// Why there is nothing to compact. A value, never a throw (source: 003, open questions).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingToSummarize {
    /// No turn came before, and at most one round ran.
    LoneRequest,
    /// All that could be covered is covered.
    AlreadyCovered,
}

impl NothingToSummarize {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::LoneRequest => "nothing to summarize: this is the first request and at most one round ran",
            Self::AlreadyCovered => "nothing to summarize: all but the newest round is covered already",
        }
    }
}

/// The slice rule of document 003. More than one round in the running turn: the newest one, which overflowed, is left
/// out and the slice ends with the round before it. Else it ends with the turn before.
pub fn slice(transcript: &Transcript) -> Result<Slice, NothingToSummarize> {
    let running = transcript.turns().len().checked_sub(1).ok_or(NothingToSummarize::LoneRequest)?;
    let slice = match transcript.rounds_of(running) {
        [.., before, _newest] => Slice { through: before.last, is_continuation: false },
        _ => {
            let before = running.checked_sub(1).and_then(|turn| transcript.last_of_turn(turn));
            Slice { through: before.ok_or(NothingToSummarize::LoneRequest)?, is_continuation: true }
        }
    };
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    if slice.through < resume {
        return Err(NothingToSummarize::AlreadyCovered);
    }
    Ok(slice)
}

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

/// Whether the session's first request keeps its place whatever it weighs; given up last of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRequest {
    /// It stays.
    Exempt,
    /// It stays if it fits.
    Budgeted,
}

/// Chooses among the user messages up to `through`: requests of the running turn always, the first request as said,
/// then newest first as far as the budget goes.
pub fn user_words(transcript: &Transcript, through: Ordinal, budget: u32, first: FirstRequest) -> UserWords {
    let mut words = UserWords::default();
    let turns = transcript.turns();
    let mut left = budget;
    let keep = |message: &Message, words: &mut UserWords| {
        words.kept.insert(message.ord);
        words.tokens += message.tokens;
    };
    let requests = |turn: usize| {
        let ords = turns.get(turn).map_or(&[][..], |turn| &turn.requests);
        ords.iter().filter(|ord| **ord <= through).filter_map(|ord| transcript.message(*ord))
    };
    let running = turns.len().saturating_sub(1);
    for message in requests(running).filter(|message| !is_hidden(message)) {
        keep(message, &mut words);
    }
    if first == FirstRequest::Exempt && running > 0 {
        for message in requests(0).filter(|message| !is_hidden(message)) {
            keep(message, &mut words);
            left = left.saturating_sub(message.tokens);
        }
    }
    for turn in (0..running).rev() {
        for message in requests(turn).collect::<Vec<_>>().into_iter().rev() {
            if is_hidden(message) || words.kept.contains(&message.ord) {
                continue;
            }
            if message.tokens <= left {
                left -= message.tokens;
                keep(message, &mut words);
            } else {
                words.reported.push(message.ord);
            }
        }
    }
    words.reported.sort_unstable();
    words
}

/// Tokens of the requests of the running turn up to `through`.
pub fn running_requests(transcript: &Transcript, through: Ordinal) -> u32 {
    let requests = transcript.turns().last().map_or(&[][..], |turn| &turn.requests);
    requests
        .iter()
        .filter(|ord| **ord <= through)
        .filter_map(|ord| transcript.message(*ord))
        .filter(|message| !is_hidden(message))
        .map(|message| message.tokens)
        .sum()
}

/// How much room a compaction has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// User messages that stay.
    pub words: UserWords,
    /// Tokens of what cannot be given up: tools, system, memories, kept user words, current message, newest round.
    pub fixed: u32,
    /// Tokens that the prompt must not exceed afterwards.
    pub target: u32,
    /// `target` less `fixed`, in tokens.
    pub space: u32,
}

/// The room above what cannot be given up; nothing where that is over the limit by itself.
pub fn room(
    source: Source<'_>,
    policy: &Policy,
    through: Ordinal,
    after: u32,
    first: FirstRequest,
) -> Option<Room> {
    let limit = source.budget.limit;
    // Older user words never take more than half of what tools, the request and the newest round leave.
    let request = running_requests(source.transcript, through);
    let half = limit.checked_sub(source.fixed.tokens() + after + request)? / 2;
    let budget = policy.user_messages.of(limit).min(half);
    let words = user_words(source.transcript, through, budget, first);
    let fixed = source.fixed.tokens() + words.tokens + after;
    let free = limit.checked_sub(fixed)?;
    let space = policy.target_ratio.of(free);
    Some(Room { words, fixed, target: fixed + space, space })
}

/// Tokens of what follows the slice as a prompt shows it: the current user message if it stands there, and the newest
/// round.
pub fn tokens_after(transcript: &Transcript, through: Ordinal, actions: &BTreeMap<Ordinal, Action>) -> u32 {
    segments(transcript, through.next(), Ordinal(u32::MAX))
        .iter()
        .map(|segment| segment.tokens(transcript, actions))
        .sum()
}

/// What stands or falls together at a cut: a round, or a message that belongs to none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The first message.
    pub first: Ordinal,
    /// Its round, by index; nothing for a user message or a message that is not rendered.
    pub round: Option<usize>,
    /// Whether a user said it.
    pub is_user: bool,
}

/// The segments of the inclusive range, in order.
pub fn segments(transcript: &Transcript, from: Ordinal, to: Ordinal) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut round = transcript.first_round_from(from);
    for message in transcript.range(from, to) {
        let (is_user, starts) = match message.body {
            Body::User(_) => (true, !is_hidden(message)),
            _ => (false, false),
        };
        if transcript.rounds().get(round).is_some_and(|r| r.assistant == message.ord) {
            segments.push(Segment { first: message.ord, round: Some(round), is_user: false });
            round += 1;
        } else if starts {
            segments.push(Segment { first: message.ord, round: None, is_user });
        }
    }
    segments
}

impl Segment {
    /// Tokens of the segment as a prompt shows it under `actions`.
    pub fn tokens(&self, transcript: &Transcript, actions: &BTreeMap<Ordinal, Action>) -> u32 {
        let own = transcript.message(self.first).map_or(0, |message| message.tokens);
        let Some(round) = self.round.and_then(|index| transcript.rounds().get(index)) else { return own };
        let results: u32 = round
            .results
            .iter()
            .map(|answer| match answer {
                None => crate::engine::prompt::history::NO_RESULT_TOKENS,
                Some(ord) => actions
                    .get(ord)
                    .map(|action| action.tokens())
                    .or_else(|| transcript.message(*ord).map(|message| message.tokens))
                    .unwrap_or_default(),
            })
            .sum();
        own + results
    }
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

/// The newest rounds up to `through` that fit: unchanged within `raw` tokens, with shortened results where that is too
/// much, within `raw + short` tokens. Stops at the first that fits neither way, and at a user message that does not
/// stay.
pub fn tail(
    source: Source<'_>,
    policy: &Policy,
    through: Ordinal,
    words: &UserWords,
    (raw, short): (u32, u32),
    counter: &dyn TokenCount,
) -> Tail {
    let transcript = source.transcript;
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let mut tail = Tail { start: through.next(), ..Tail::default() };
    for segment in segments(transcript, resume, through).iter().rev() {
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
pub struct Cutting {
    /// The inclusive range from the session's start that is out of sight.
    pub span: Option<Span>,
    /// User messages of it that stand before the block.
    pub kept_users: Vec<Ordinal>,
    /// User messages of it that are reported.
    pub reported_users: Vec<Ordinal>,
    /// User messages of it that stand after the block, because their turn goes on there.
    pub open_requests: Vec<Ordinal>,
}

/// Cuts before `start`.
pub fn cut_before(transcript: &Transcript, start: Ordinal, words: &UserWords) -> Cutting {
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
