//! The answer that another process is streaming, from the pieces of it that the store keeps.

use engine::delta::Draft;
use engine::id::{MessageId, TurnId};
use engine::message::Message;
use engine::prompt::request::StopReason;
use session::event::EventBody;
use session::stored::Streamed;
use std::sync::Arc;

/// The pieces of an answer in progress as last read; none while there is no answer.
#[derive(Debug, Default)]
pub(super) struct AnswerPieces(Vec<Streamed>);

impl AnswerPieces {
    pub fn new(pieces: Vec<Streamed>) -> Self {
        Self(pieces)
    }

    /// These pieces with those behind them.
    pub fn with(&self, more: Vec<Streamed>) -> Self {
        Self(self.0.iter().cloned().chain(more).collect())
    }

    /// The answer so far.
    pub fn draft(&self) -> Option<(MessageId, Draft)> {
        let message = self.message()?.clone();
        let mut draft = Draft::default();
        for delta in self.of(&message).flat_map(|piece| &piece.deltas) {
            drop(draft.fold(delta.clone()));
        }
        Some((message, draft))
    }

    /// Adds new pieces, of an answer in this turn. Returns the events that tell them.
    pub fn add(&mut self, pieces: Vec<Streamed>, turn: &TurnId) -> Vec<EventBody> {
        let mut events = Vec::new();
        for piece in pieces {
            if self.message() != Some(&piece.message) {
                events.extend(self.finished());
                let (message, turn) = (piece.message.clone(), turn.clone());
                events.push(EventBody::StreamStarted { message, turn });
            }
            events.push(told(&piece));
            self.0.push(piece);
        }
        events
    }

    /// The event that ends this answer before `new` is read, with these messages: it became one of them, or nothing.
    pub fn end_before(&self, new: &Self, added: &[(u32, Arc<Message>)]) -> Option<EventBody> {
        let message = self.message()?;
        let is_added = added.iter().any(|(_, added)| added.id == *message);
        (is_added || new.message() != Some(message)).then(|| self.finished()).flatten()
    }

    /// The events from these pieces to `new`, of an answer in this turn; `is_ended` if the end of this answer was told.
    pub fn until(&self, new: &Self, turn: &TurnId, is_ended: bool) -> Vec<EventBody> {
        let known = if is_ended { &[] } else { self.0.as_slice() };
        if let Some(more) = new.0.strip_prefix(known) {
            let mut so_far = Self(known.to_vec());
            return so_far.add(more.to_vec(), turn);
        }
        // Another attempt at the same answer.
        let reset = self.message().map(|message| EventBody::StreamReset { message: message.clone() });
        reset.into_iter().chain(new.0.iter().map(told)).collect()
    }

    /// The message that the newest piece is of.
    fn message(&self) -> Option<&MessageId> {
        self.0.last().map(|piece| &piece.message)
    }

    fn of(&self, message: &MessageId) -> impl Iterator<Item = &Streamed> {
        self.0.iter().filter(move |piece| piece.message == *message)
    }

    fn finished(&self) -> Option<EventBody> {
        // Why it ended is in no piece.
        let stop = StopReason::End;
        self.message().map(|message| EventBody::StreamFinished { message: message.clone(), stop })
    }
}

fn told(piece: &Streamed) -> EventBody {
    EventBody::StreamDelta { message: piece.message.clone(), deltas: piece.deltas.clone() }
}
