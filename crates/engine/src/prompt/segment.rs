//! A transcript split into the pieces that a prompt takes or leaves, with their tokens. The choice is made elsewhere.

use super::history::NO_RESULT_TOKENS;
use crate::compact::record::Action;
use crate::id::Ordinal;
use crate::message::Body;
use crate::transcript::Transcript;
use std::collections::BTreeMap;

/// The smallest unit of a cut: a round, a user message, or a message with attachments alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The position of the first message.
    pub first: Ordinal,
    /// The round's index; `None` for a message outside of rounds.
    pub round: Option<usize>,
    /// `true` for a message with words of the user, which only their budget may remove.
    pub is_user: bool,
}

/// The segments of the inclusive range, in order, without messages that the user left out.
pub(crate) fn segments(transcript: &Transcript, from: Ordinal, to: Ordinal) -> Vec<Segment> {
    let mut segments = Vec::new();
    let mut round = transcript.first_round_from(from);
    for message in transcript.range(from, to) {
        let is_out = transcript.is_excluded(message.ord);
        if transcript.rounds().get(round).is_some_and(|r| r.assistant == message.ord) {
            if !is_out {
                segments.push(Segment { first: message.ord, round: Some(round), is_user: false });
            }
            round += 1;
        } else if matches!(message.body, Body::User(_)) && !message.is_hidden() && !is_out {
            segments.push(Segment {
                first: message.ord,
                round: None,
                is_user: message.body.has_user_words(),
            });
        }
    }
    segments
}

impl Segment {
    /// Counts the tokens of the segment as a prompt shows it under `actions`.
    pub fn tokens(&self, transcript: &Transcript, actions: &BTreeMap<Ordinal, Action>) -> u32 {
        let own = transcript.message(self.first).map_or(0, |message| message.tokens);
        let Some(round) = self.round.and_then(|index| transcript.rounds().get(index)) else { return own };
        let own = actions.get(&self.first).map_or(own, |action| action.tokens());
        let results: u32 = round
            .results
            .iter()
            .map(|answer| match answer {
                None => NO_RESULT_TOKENS,
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
