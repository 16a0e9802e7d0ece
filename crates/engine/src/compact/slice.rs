//! The range that a compaction may cover: each retention proposes where the tail starts, and `valid_cut` moves that to
//! the border of a round. Calls stay with their results; the current request and the newest round stay.

use super::plan::tokens_after;
use super::policy::{Policy, Retention};
use super::record::{Action, Compaction};
use crate::id::Ordinal;
use crate::prompt::Source;
use crate::prompt::segment::{Segment, segments};
use crate::settings::PerMille;
use crate::transcript::Transcript;
use std::collections::BTreeMap;

/// The largest range that a compaction may cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// The last message that may be covered.
    pub through: Ordinal,
    /// `true` if it ends before the running turn, so that the turn continues whole after the block.
    pub is_continuation: bool,
    /// `true` if its newest rounds may stay as far as tokens allow; `false` if everything before a cut is covered.
    pub leaves_tail: bool,
}

/// Reason why there is nothing to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingToSummarize {
    /// There is no earlier turn, and at most one round ran.
    LoneRequest,
    /// Everything that may be covered is covered already.
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

/// Returns the range that a compaction may cover under this policy. If its retention leaves nothing to cover or too few
/// tokens for the next messages, that is the widest range: one long turn is the normal case in an editor.
pub fn slice(source: Source<'_>, policy: &Policy) -> Result<Slice, NothingToSummarize> {
    let transcript = source.transcript;
    let resume = transcript.in_force().map_or(Ordinal(0), Compaction::resume_at);
    let widest = widest(transcript, policy)?;
    let start = match policy.retention {
        Retention::Rounds => None,
        Retention::UserTurns(turns) => user_turns(transcript, turns),
        Retention::Messages(messages) => newest_messages(source, resume, messages),
        Retention::TokenTail(share) => token_tail(source, resume, share),
    };
    let retained = start.and_then(|start| valid_cut(transcript, start, widest.through));
    let slice = retained
        .filter(|slice| slice.through >= resume && leaves_room(source, slice.through))
        .unwrap_or(widest);
    if slice.through < resume {
        return Err(NothingToSummarize::AlreadyCovered);
    }
    Ok(slice)
}

/// Returns the widest range. With several rounds in the running turn it ends before the newest one, which overflowed;
/// else it ends with the turn before.
pub(crate) fn widest(transcript: &Transcript, policy: &Policy) -> Result<Slice, NothingToSummarize> {
    let running = transcript.turns().len().checked_sub(1).ok_or(NothingToSummarize::LoneRequest)?;
    let leaves_tail = policy.raw_tail.max(policy.short_tail) > PerMille::new(0);
    if let [.., before, _newest] = transcript.rounds_of(running) {
        return Ok(Slice { through: before.last, is_continuation: false, leaves_tail });
    }
    let before = running.checked_sub(1).and_then(|turn| transcript.last_of_turn(turn));
    let through = before.ok_or(NothingToSummarize::LoneRequest)?;
    Ok(Slice { through, is_continuation: true, leaves_tail })
}

/// Returns a cut before `start`, at most at `last`, that splits no round; `None` if it covers nothing.
fn valid_cut(transcript: &Transcript, start: Ordinal, last: Ordinal) -> Option<Slice> {
    let round = transcript.first_round_from(start).checked_sub(1).and_then(|at| transcript.rounds().get(at));
    // A round that `start` would split stays as a whole.
    let start = round.filter(|round| start <= round.last).map_or(start, |round| round.assistant);
    let through = Ordinal(start.0.checked_sub(1)?).min(last);
    let running = transcript.turns().last().map_or(Ordinal(0), |turn| turn.first);
    Some(Slice { through, is_continuation: through < running, leaves_tail: false })
}

/// `true` if the messages that stay leave an eighth of the tokens above tools and system text. With less, each of the
/// next messages would start another compaction.
fn leaves_room(source: Source<'_>, through: Ordinal) -> bool {
    let room = source.budget.limit.saturating_sub(source.fixed.tokens());
    tokens_after(source.transcript, through, in_force(source.transcript)) <= room - room / 8
}

/// The first message of the newest `keep` user turns; `None` if there are no more turns than that.
fn user_turns(transcript: &Transcript, keep: usize) -> Option<Ordinal> {
    let cut = transcript.turns().len().checked_sub(keep.max(1)).filter(|cut| *cut > 0)?;
    transcript.turns().get(cut).map(|turn| turn.first)
}

/// The first of the newest `keep` messages that are shown; `None` if no more are shown than that.
fn newest_messages(source: Source<'_>, resume: Ordinal, keep: usize) -> Option<Ordinal> {
    let transcript = source.transcript;
    let shown = segments(transcript, resume, Ordinal(u32::MAX));
    let mut ords: Vec<Ordinal> = shown.iter().flat_map(|segment| messages(transcript, segment)).collect();
    ords.sort_unstable();
    let first = ords.len().checked_sub(keep.max(1)).filter(|first| *first > 0)?;
    ords.get(first).copied()
}

/// The messages of a segment that a prompt shows in their place.
fn messages(transcript: &Transcript, segment: &Segment) -> impl Iterator<Item = Ordinal> {
    let round = segment.round.and_then(|at| transcript.rounds().get(at));
    let results = round.into_iter().flat_map(|round| round.results.iter().flatten().copied());
    std::iter::once(segment.first).chain(results)
}

/// The first message of the newest rounds and requests within this share of the limit; `None` if all are.
fn token_tail(source: Source<'_>, resume: Ordinal, share: PerMille) -> Option<Ordinal> {
    let transcript = source.transcript;
    let mut left = share.of(source.budget.limit);
    let mut start = None;
    for segment in segments(transcript, resume, Ordinal(u32::MAX)).iter().rev() {
        // The newest one stays even if it alone exceeds the share.
        let Some(rest) = left.checked_sub(segment.tokens(transcript, in_force(transcript))) else {
            return Some(start.unwrap_or(segment.first));
        };
        left = rest;
        start = Some(segment.first);
    }
    None
}

/// Actions of the record in force.
fn in_force(transcript: &Transcript) -> &BTreeMap<Ordinal, Action> {
    static NONE: BTreeMap<Ordinal, Action> = BTreeMap::new();
    transcript.in_force().map_or(&NONE, |record| &record.actions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compact::plan::anchor;
    use crate::compact::policy::DEFAULT;
    use crate::id::SessionId;
    use crate::message::{Body, NewMessage, ToolCall};
    use crate::prompt::system::Fixed;
    use crate::settings::BudgetSettings;
    use crate::tokens::QuarterOfChars;

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

    fn under(transcript: &Transcript, retention: Retention) -> Result<Slice, NothingToSummarize> {
        let fixed = Fixed::default();
        let budget = BudgetSettings::default().budget(8000).expect("a window that leaves room");
        slice(Source { transcript, fixed: &fixed, budget }, &Policy { retention, ..DEFAULT })
    }

    fn rounds_slice(plan: &str) -> Result<Slice, NothingToSummarize> {
        under(&session(plan), Retention::Rounds)
    }

    #[test]
    fn slice_ends_before_the_newest_of_several_rounds() {
        let transcript = session("urrr");
        let slice = under(&transcript, Retention::Rounds).expect("a slice");
        assert_eq!(slice, Slice { through: Ordinal(4), is_continuation: false, leaves_tail: true });
        assert_eq!(anchor(&transcript, slice.through).round_id, transcript.rounds()[1].id);
    }

    #[test]
    fn at_most_one_round_ends_slice_with_previous_turn() {
        for plan in ["urau", "uraur"] {
            let transcript = session(plan);
            let slice = under(&transcript, Retention::Rounds).expect("a slice");
            assert_eq!(
                slice,
                Slice { through: Ordinal(3), is_continuation: true, leaves_tail: true },
                "{plan}"
            );
            assert_eq!(anchor(&transcript, slice.through).round_id, transcript.rounds()[1].id);
        }
    }

    #[test]
    fn lone_request_has_nothing_to_summarize() {
        for plan in ["", "u", "ur", "uu"] {
            assert_eq!(rounds_slice(plan), Err(NothingToSummarize::LoneRequest), "{plan}");
        }
        assert!(NothingToSummarize::LoneRequest.reason().starts_with("nothing to summarize"));
    }

    #[test]
    fn turn_without_rounds_anchors_at_its_own_id() {
        let transcript = session("uau");
        let anchored = anchor(&transcript, Ordinal(0));
        assert_eq!(anchored.round_id.as_str(), transcript.turns()[0].id.as_str());
        assert_eq!(anchored.hash, transcript.messages()[0].hash);
    }

    #[test]
    fn too_few_user_turns_fall_back_to_rounds() {
        let transcript = session("urr");
        let by_turns = under(&transcript, Retention::UserTurns(3));
        assert_eq!(by_turns, under(&transcript, Retention::Rounds));
    }
}
