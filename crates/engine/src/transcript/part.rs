//! A transcript whose front is not here: its places are taken, so that positions and turns are what they are, and nothing
//! is said in them. What may be done with such a one is `session::part`'s.

use super::Transcript;
use crate::id::{MessageId, Ordinal, TurnId};
use crate::message::{Body, Message, UNREADABLE};
use std::sync::Arc;

impl Transcript {
    /// Takes the places before this one that are free. One message stands in all of them.
    pub fn leave_out(&mut self, until: Ordinal) {
        let free = until.index().saturating_sub(self.messages.len());
        let nothing = nothing(MessageId::new(""), Ordinal(0), 0, TurnId::new(""));
        self.messages.extend(std::iter::repeat_n(nothing, free));
    }
}

/// What stands where no message is: one that is not here, or that a store lost.
pub(super) fn nothing(id: MessageId, ord: Ordinal, rev: u32, turn: TurnId) -> Arc<Message> {
    Arc::new(Message {
        id,
        external_id: None,
        ord,
        rev,
        turn,
        body: Body::Event { kind: UNREADABLE.into(), text: "".into() },
        visible_to_model: false,
        created_at: None,
        shown: None,
        tokens: 0,
        hash: String::new(),
        found: Default::default(),
    })
}
