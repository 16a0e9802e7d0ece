//! Changes to a transcript's past: truncation, revision or removal of a message, and reset. What follows the change is
//! taken off and put back as it is now; what precedes it is not visited. The store keeps the old messages.

use super::Transcript;
use super::turn::{REMOVED_ROUND, is_removed_round, says_that_it_ran};
use crate::compact::record::{Compaction, Status};
use crate::id::{CallId, CompactionId, Generation, Ordinal};
use crate::message::cut;
use crate::message::meta::AnswerMeta;
use crate::message::{AssistantPart, Beside, Body, Message, NOT_KEPT, REMOVED, joins_answers};
use crate::tokens::TokenCount;
use std::sync::Arc;

/// The outcome of a finished turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome<'a> {
    /// The turn was cancelled or failed.
    Nothing,
    /// The turn's last assistant message is its answer.
    Answer,
    /// This call ended the turn.
    Call(&'a CallId),
}

impl Transcript {
    /// Removes everything from `from` on. Records that refer to removed messages become void; their ids are returned.
    pub fn truncate(&mut self, from: Ordinal) -> Vec<CompactionId> {
        drop(self.take_off(from));
        self.make_void(|record| record.newest_named() >= Some(from))
    }

    /// Replaces the body of a message, or removes it if `body` is `None`; its position remains. Records that
    /// refer to it become void; their ids are returned.
    pub fn revise(
        &mut self,
        ord: Ordinal,
        body: Option<Body>,
        counter: &dyn TokenCount,
    ) -> Vec<CompactionId> {
        let Some(old) = self.message(ord).cloned() else { return Vec::new() };
        let is_removed = body.is_none();
        let mut body = body.unwrap_or_else(|| {
            let is_round = self.rounds.iter().any(|round| round.assistant == ord);
            let what = if is_round { REMOVED_ROUND } else { "" };
            Body::Event { kind: REMOVED.to_owned(), text: what.into() }
        });
        body.weigh_thinking(counter);
        let (tokens, shown) = match (&body, self.most_result) {
            (Body::Tool(result), Some(most)) => {
                cut::weigh(result, most, self.names_results.then_some(&*result.call), counter)
            }
            _ => (body.tokens(counter), None),
        };
        let new = Arc::new(Message {
            external_id: old.external_id.clone().filter(|_| !is_removed),
            rev: self.cuts + 1,
            visible_to_model: old.visible_to_model && !is_removed,
            tokens,
            shown,
            hash: body.hash(),
            body,
            found: Default::default(),
            ..(*old).clone()
        });
        let mut later = self.take_off(ord).into_iter();
        let turn = later.next().map(|(turn, _)| turn).unwrap_or_default();
        self.put_back(turn, new);
        later.for_each(|(turn, message)| self.put_back(turn, message));
        self.make_void(|record| record.speaks_of(ord))
    }

    /// Reduces a finished turn to its user messages, its notices and the text of its last answer, with the pieces that it continues, unless the
    /// turn was cancelled or failed. A call that ended the turn belongs to that answer and stays with its
    /// result, because it asks the user or states what was done. All other messages are replaced and keep
    /// position and hash, so that compactions stay valid. Returns the changed messages.
    pub fn let_go(
        &mut self,
        turn: usize,
        came_to: TurnOutcome<'_>,
        counter: &dyn TokenCount,
    ) -> Vec<Arc<Message>> {
        let Some(first) = self.turns.get(turn).map(|turn| turn.first) else { return Vec::new() };
        let last = self.last_of_turn(turn).unwrap_or(first);
        let is_answer = |message: &&Arc<Message>| matches!(message.body, Body::Assistant { .. });
        let answer = self.range(first, last).iter().rfind(is_answer).map(|message| message.ord);
        let answer = answer.filter(|_| came_to != TurnOutcome::Nothing);
        let pieces = answer.map(|answer| self.pieces_of(first, answer)).unwrap_or_default();
        let ended_by = match came_to {
            TurnOutcome::Call(call) => Some(call),
            TurnOutcome::Nothing | TurnOutcome::Answer => None,
        };
        let result = ended_by.and_then(|call| self.result_of(answer?, call));
        let mut changed: Vec<Arc<Message>> = Vec::new();
        for message in self.range(first, last) {
            if result == Some(message.ord) {
                continue;
            }
            let Some(body) = self.what_stays(message, pieces.contains(&message.ord), ended_by) else {
                continue;
            };
            let is_gone = matches!(body, Body::Event { .. });
            changed.push(Arc::new(Message {
                rev: self.cuts + 1,
                visible_to_model: message.visible_to_model && !is_gone,
                tokens: body.tokens(counter),
                shown: None,
                body,
                found: Default::default(),
                ..(**message).clone()
            }));
        }
        let Some(from) = changed.first().map(|message| message.ord) else { return changed };
        let now = |message: Arc<Message>| {
            let at = changed.binary_search_by_key(&message.ord, |changed| changed.ord);
            at.ok().and_then(|at| changed.get(at)).cloned().unwrap_or(message)
        };
        for (turn, message) in self.take_off(from) {
            self.put_back(turn, now(message));
        }
        changed
    }

    /// The messages of an answer: itself, and those that it continues.
    fn pieces_of(&self, first: Ordinal, answer: Ordinal) -> Vec<Ordinal> {
        let mut pieces = vec![answer];
        let mut is_joined = false;
        for message in self.range(first, answer).iter().rev().skip(1) {
            match &message.body {
                Body::Event { kind, .. } => is_joined = is_joined || joins_answers(kind),
                Body::Assistant { .. } if is_joined => {
                    pieces.push(message.ord);
                    is_joined = false;
                }
                Body::Assistant { .. } | Body::User(_) | Body::Tool(_) => break,
            }
        }
        pieces
    }

    /// The position of the result of a call of this answer.
    fn result_of(&self, answer: Ordinal, call: &CallId) -> Option<Ordinal> {
        let round = self.rounds.iter().rfind(|round| round.assistant == answer)?;
        let Body::Assistant { calls, .. } = &self.message(answer)?.body else { return None };
        let at = calls.iter().position(|known| known.id == *call)?;
        round.results.get(at).copied().flatten()
    }

    /// The replacement of a message when its turn is over; `None` if it stays unchanged. The replacement of a
    /// result states its call's id, and that of an assistant message whether it began a round.
    fn what_stays(&self, message: &Message, is_answer: bool, ended_by: Option<&CallId>) -> Option<Body> {
        let gone = |text: &str| Body::Event { kind: NOT_KEPT.to_owned(), text: text.into() };
        match &message.body {
            Body::User(_) | Body::Event { .. } => None,
            Body::Tool(result) => Some(gone(&result.call)),
            Body::Assistant { parts, calls, beside } => {
                let ending: Vec<_> =
                    calls.iter().filter(|call| ended_by == Some(&call.id)).cloned().collect();
                if is_answer && ending.len() == calls.len() {
                    return None;
                }
                if is_answer && !ending.is_empty() {
                    let (parts, mut beside) = (parts.clone(), beside.clone());
                    let end = u32::try_from(parts.len()).unwrap_or(u32::MAX);
                    beside.meta = AnswerMeta::before(&beside.meta, end);
                    return Some(Body::Assistant { parts, calls: ending, beside });
                }
                let is_text = |part: &&AssistantPart| matches!(part, AssistantPart::Text(_));
                let words: Vec<_> = parts.iter().filter(is_text).cloned().collect();
                let meta = AnswerMeta::before(&beside.meta, 0);
                let beside = Beside { thought: None, meta, ..beside.clone() };
                let words = Body::Assistant { parts: words, calls: Vec::new(), beside };
                if is_answer && !words.is_empty() {
                    return Some(words);
                }
                let is_round = self.rounds.iter().any(|round| round.assistant == message.ord);
                Some(gone(if is_round { REMOVED_ROUND } else { "" }))
            }
        }
    }

    /// Removes everything; further messages belong to the next generation. Every record in force or undone
    /// becomes void; their ids are returned.
    pub fn reset(&mut self) -> Vec<CompactionId> {
        self.generation = Generation(self.generation.0 + 1);
        drop(self.take_off(Ordinal(0)));
        self.make_void(|_| true)
    }

    /// Takes off the messages from `from` on, and returns them with the index of their turn. Ids of removed calls
    /// stay reserved: their results may still arrive.
    fn take_off(&mut self, from: Ordinal) -> Vec<(usize, Arc<Message>)> {
        let later = self.messages.get(from.index()..).unwrap_or_default().iter();
        let off: Vec<_> =
            later.map(|message| (self.turn_at(message.ord).unwrap_or_default(), message.clone())).collect();
        self.removed_rounds -= off.iter().filter(|(_, message)| is_removed_round(&message.body)).count();
        self.messages.truncate(from.index());
        self.sums.truncate(&self.messages);
        drop(self.strays.split_off(&from));
        self.rounds.truncate(self.first_round_from(from));
        if let Some(round) = self.rounds.last_mut() {
            for result in &mut round.results {
                *result = result.filter(|result| *result < from);
            }
            round.last = round.results.iter().flatten().max().copied().unwrap_or(round.assistant);
        }
        self.turns.truncate(self.turns.partition_point(|turn| turn.first < from));
        if let Some(turn) = self.turns.last_mut() {
            turn.requests.retain(|request| *request < from);
            let rest = self.messages.get(turn.first.index()..).unwrap_or_default();
            turn.ran = rest.iter().any(|message| says_that_it_ran(&message.body));
        }
        self.cuts += 1;
        // The newest round may get other results.
        self.slot.truncate(self.rounds.last().map_or(from, |round| round.assistant));
        off
    }

    /// Voids matching records, including undone ones that a user could restore; returns their ids.
    fn make_void(&mut self, is_meant: impl Fn(&Compaction) -> bool) -> Vec<CompactionId> {
        let is_alive = |status| matches!(status, Status::InForce | Status::Undone);
        let alive = self.compactions.iter_mut().filter(|record| is_alive(record.status));
        let void = alive.filter(|record| is_meant(record)).map(|record| {
            record.status = Status::Void;
            record.id.clone()
        });
        void.collect()
    }
}
