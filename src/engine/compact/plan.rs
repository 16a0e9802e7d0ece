//! What a compaction may touch: the slice rule of document 003, the user messages that stay, the tail that stays, the
//! target. Reads the transcript, writes nothing, asks nobody.

use super::policy::{Policy, Retention};
use super::record::{Action, Anchor, Compaction, Span};
use crate::engine::id::{Ordinal, RoundId};
use crate::engine::message::Message;
use crate::engine::prompt::Source;
use crate::engine::prompt::limit;
use crate::engine::prompt::segment::segments;
use crate::engine::tokens::TokenCount;
use crate::engine::transcript::{Transcript, Turn};
use std::collections::{BTreeMap, BTreeSet};

/// The furthest that a compaction may cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The last message that may be covered.
    pub through: Ordinal,
    /// Whether it ends with the turn before the running one (source: 003, `isContinuation`).
    pub is_continuation: bool,
    /// Whether the newest rounds in it may stay as far as the space goes. Not where all before a cut goes (source: 000).
    pub leaves_tail: bool,
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

/// How far a compaction may reach under this retention. Where a number of turns leaves nothing to cover, the slice rule
/// of document 003 does: one long turn is the normal case in an editor.
pub fn slice(transcript: &Transcript, retention: Retention) -> Result<Slice, NothingToSummarize> {
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let slice = match retention {
        Retention::Rounds | Retention::Messages(_) | Retention::TokenTail(_) => widest(transcript)?,
        Retention::UserTurns(turns) => user_turns(transcript, turns)
            .filter(|slice| slice.through >= resume)
            .map_or_else(|| widest(transcript), Ok)?,
    };
    if slice.through < resume {
        return Err(NothingToSummarize::AlreadyCovered);
    }
    Ok(slice)
}

/// The slice rule of document 003. More than one round in the running turn: the newest one, which overflowed, is left
/// out and the slice ends with the round before it. Else it ends with the turn before.
pub fn widest(transcript: &Transcript) -> Result<Slice, NothingToSummarize> {
    let running = transcript.turns().len().checked_sub(1).ok_or(NothingToSummarize::LoneRequest)?;
    if let [.., before, _newest] = transcript.rounds_of(running) {
        return Ok(Slice { through: before.last, is_continuation: false, leaves_tail: true });
    }
    let before = running.checked_sub(1).and_then(|turn| transcript.last_of_turn(turn));
    let through = before.ok_or(NothingToSummarize::LoneRequest)?;
    Ok(Slice { through, is_continuation: true, leaves_tail: true })
}

/// Ends before the Nth-from-last user turn (source: 000); nothing where there are no more turns than that.
fn user_turns(transcript: &Transcript, keep: usize) -> Option<Slice> {
    let cut = transcript.turns().len().checked_sub(keep.max(1)).filter(|cut| *cut > 0)?;
    Some(Slice { through: transcript.last_of_turn(cut - 1)?, is_continuation: true, leaves_tail: false })
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
pub fn running_requests(transcript: &Transcript, through: Ordinal) -> u32 {
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

/// The requests of a turn up to `through`, hidden ones left out.
fn requests<'t>(
    transcript: &'t Transcript,
    turn: &'t Turn,
    through: Ordinal,
) -> impl DoubleEndedIterator<Item = &'t Message> {
    let ords = turn.requests.iter().filter(move |ord| **ord <= through);
    ords.filter_map(|ord| transcript.message(*ord))
        .map(|message| &**message)
        .filter(|message| !message.is_hidden())
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

/// The room above what cannot be given up; nothing where that is over the limit by itself.
pub fn room(source: Source<'_>, policy: &Policy, through: Ordinal, after: u32, keep: Keep) -> Option<Room> {
    let limit = source.budget.limit;
    // Older user words never take more than half of what tools, the request and the newest round leave.
    let request = running_requests(source.transcript, through);
    let half = limit.checked_sub(source.fixed.tokens() + after + request)? / 2;
    let budget = policy.user_messages.of(limit).min(half);
    let first: u32 = match keep {
        Keep::Words => first_request(source.transcript, through),
        Keep::CurrentOnly => 0,
    };
    let words = user_words(source.transcript, through, budget.saturating_sub(first), keep);
    let fixed = source.fixed.tokens() + words.tokens + after;
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
/// stay.
pub fn tail(
    source: Source<'_>,
    policy: &Policy,
    slice: Slice,
    words: &UserWords,
    (raw, short): (u32, u32),
    counter: &dyn TokenCount,
) -> Tail {
    let transcript = source.transcript;
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let mut tail = Tail { start: slice.through.next(), ..Tail::default() };
    if !slice.leaves_tail {
        return tail;
    }
    let segments = segments(transcript, resume, slice.through);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::id::SessionId;
    use crate::engine::message::{Body, NewMessage, ToolCall};
    use crate::engine::tokens::QuarterOfChars;

    /// `u` a user message, `r` a round of a call and its result, `a` an answer without calls.
    fn session(plan: &str) -> Transcript {
        let mut transcript = Transcript::new(SessionId::new("s"));
        for (n, step) in plan.chars().enumerate() {
            let id = format!("c{n}");
            match step {
                'u' => drop(transcript.append(NewMessage::user("request"), &QuarterOfChars)),
                'a' => {
                    transcript.append(NewMessage::new(Body::assistant("answer", vec![])), &QuarterOfChars);
                }
                _ => {
                    let call = ToolCall::new(&id, "read", "{}");
                    transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
                    transcript.append(NewMessage::new(Body::result(&id, "text")), &QuarterOfChars);
                }
            }
        }
        transcript
    }

    fn rounds_slice(plan: &str) -> Result<Slice, NothingToSummarize> {
        slice(&session(plan), Retention::Rounds)
    }

    /// rows: V14
    #[test]
    fn of_several_rounds_the_newest_is_left_and_the_one_before_is_the_anchor() {
        let transcript = session("urrr");
        let slice = slice(&transcript, Retention::Rounds).expect("a slice");
        assert_eq!(slice, Slice { through: Ordinal(4), is_continuation: false, leaves_tail: true });
        assert_eq!(anchor(&transcript, slice.through).round_id, transcript.rounds()[1].id);
    }

    /// rows: V15
    #[test]
    fn with_one_round_or_none_the_last_round_of_the_turn_before_is_the_anchor() {
        for plan in ["urau", "uraur"] {
            let transcript = session(plan);
            let slice = slice(&transcript, Retention::Rounds).expect("a slice");
            assert_eq!(
                slice,
                Slice { through: Ordinal(3), is_continuation: true, leaves_tail: true },
                "{plan}"
            );
            assert_eq!(anchor(&transcript, slice.through).round_id, transcript.rounds()[1].id);
        }
    }

    /// rows: V16
    #[test]
    fn nothing_to_summarize_is_a_value_with_a_reason() {
        for plan in ["", "u", "ur", "uu"] {
            assert_eq!(rounds_slice(plan), Err(NothingToSummarize::LoneRequest), "{plan}");
        }
        assert!(NothingToSummarize::LoneRequest.reason().starts_with("nothing to summarize"));
    }

    #[test]
    fn a_turn_without_rounds_has_an_anchor_of_its_own() {
        let transcript = session("uau");
        let anchored = anchor(&transcript, Ordinal(0));
        assert_eq!(anchored.round_id.as_str(), transcript.turns()[0].id.as_str());
        assert_eq!(anchored.hash, transcript.messages()[0].hash);
    }

    #[test]
    fn user_turns_fall_back_to_rounds_where_there_are_too_few() {
        let transcript = session("urr");
        let by_turns = slice(&transcript, Retention::UserTurns(3));
        assert_eq!(by_turns, slice(&transcript, Retention::Rounds));
    }
}
