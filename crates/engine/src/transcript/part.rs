//! A message for places whose own is not here, so that positions and turns are what they are.

use crate::id::{MessageId, Ordinal, TurnId};
use crate::message::{Body, Message, UNREADABLE};
use std::sync::Arc;

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
