//! What changes a transcript's past: a cut, other words for a message, its removal, a new beginning. The transcript is
//! built again from the messages that stay; what was said is the store's to keep.

use super::{REMOVED_ROUND, Transcript};
use crate::engine::compact::record::{Compaction, Status};
use crate::engine::id::{CompactionId, Generation, Ordinal};
use crate::engine::message::cut;
use crate::engine::message::{Body, Message, REMOVED};
use crate::engine::tokens::TokenCount;
use std::sync::Arc;

impl Transcript {
    /// Takes everything from `from` on out of the session. Records that speak of what goes are void from now on; their
    /// ids are returned.
    pub fn truncate(&mut self, from: Ordinal) -> Vec<CompactionId> {
        let kept: Vec<(usize, Arc<Message>)> = self
            .range(Ordinal(0), from)
            .iter()
            .filter(|message| message.ord < from)
            .map(|message| (self.turn_at(message.ord).unwrap_or_default(), message.clone()))
            .collect();
        self.rebuild(kept);
        self.make_void(|record| record.newest_named() >= Some(from))
    }

    /// Puts other words in the place of a message's, or takes it out where there are none: its place stays. Records that
    /// speak of it are void from now on; their ids are returned.
    pub fn revise(
        &mut self,
        ord: Ordinal,
        body: Option<Body>,
        counter: &dyn TokenCount,
    ) -> Vec<CompactionId> {
        let Some(old) = self.message(ord).cloned() else { return Vec::new() };
        let is_removed = body.is_none();
        let body = body.unwrap_or_else(|| {
            let is_round = self.rounds.iter().any(|round| round.assistant == ord);
            let what = if is_round { REMOVED_ROUND } else { "" };
            Body::Event { kind: REMOVED.to_owned(), text: what.into() }
        });
        let (tokens, shown) = match (&body, self.most_result) {
            (Body::Tool(result), Some(most)) => cut::weigh(result, most, &result.call, counter),
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
        let with_new =
            |message: &Arc<Message>| if message.ord == ord { new.clone() } else { message.clone() };
        let messages: Vec<_> = self
            .messages
            .iter()
            .map(|message| (self.turn_at(message.ord).unwrap_or_default(), with_new(message)))
            .collect();
        self.rebuild(messages);
        self.make_void(|record| record.speaks_of(ord))
    }

    /// Takes everything out: what comes now is of the next generation. No record is in force any more; the ids of those
    /// that were are returned.
    pub fn reset(&mut self) -> Vec<CompactionId> {
        self.generation = Generation(self.generation.0 + 1);
        self.rebuild(Vec::new());
        self.make_void(|_| true)
    }

    /// Builds everything again from these messages.
    fn rebuild(&mut self, messages: Vec<(usize, Arc<Message>)>) {
        let mut new = Self {
            compactions: std::mem::take(&mut self.compactions),
            // The id of a call that is gone is never another call's: its result may still come.
            call_ids: std::mem::take(&mut self.call_ids),
            most_result: self.most_result,
            thinking: self.thinking,
            ..Self::resumed(self.session.clone(), self.generation, self.cuts + 1)
        };
        messages.into_iter().for_each(|(turn, message)| new.put_back(turn, message));
        *self = new;
    }

    /// Takes records out of force for ever, those with them that a user took out of it and could bring back; their ids.
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
