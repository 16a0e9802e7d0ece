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
        let message = self.message()?;
        let of_message = self.0.iter().filter(|piece| piece.message == *message);
        let mut draft = Draft::default();
        for delta in of_message.flat_map(|piece| &piece.deltas) {
            drop(draft.fold(delta.clone()));
        }
        Some((message.clone(), draft))
    }

    /// Adds new pieces, of an answer in this turn. Returns the events that tell them.
    pub fn add(&mut self, pieces: Vec<Streamed>, turn: &TurnId) -> Vec<EventBody> {
        let events = events(self.message(), &pieces, turn);
        self.0.extend(pieces);
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
        if is_ended {
            return events(None, &new.0, turn);
        }
        if let Some(more) = new.0.strip_prefix(self.0.as_slice()) {
            return events(self.message(), more, turn);
        }
        // Another attempt at the same answer.
        let reset = self.message().map(|message| EventBody::StreamReset { message: message.clone() });
        reset.into_iter().chain(new.0.iter().map(told)).collect()
    }

    /// The message that the newest piece is of.
    fn message(&self) -> Option<&MessageId> {
        self.0.last().map(|piece| &piece.message)
    }

    fn finished(&self) -> Option<EventBody> {
        self.message().map(finished)
    }
}

/// The events that tell pieces of answers in this turn, behind a piece of the message `last`.
fn events<'a>(mut last: Option<&'a MessageId>, pieces: &'a [Streamed], turn: &TurnId) -> Vec<EventBody> {
    let mut events = Vec::new();
    for piece in pieces {
        let message = &piece.message;
        if last != Some(message) {
            events.extend(last.map(finished));
            events.push(EventBody::StreamStarted { message: message.clone(), turn: turn.clone() });
        }
        events.push(told(piece));
        last = Some(message);
    }
    events
}

fn told(piece: &Streamed) -> EventBody {
    EventBody::StreamDelta { message: piece.message.clone(), deltas: piece.deltas.clone() }
}

fn finished(message: &MessageId) -> EventBody {
    // Why it ended is in no piece.
    EventBody::StreamFinished { message: message.clone(), stop: StopReason::End }
}
