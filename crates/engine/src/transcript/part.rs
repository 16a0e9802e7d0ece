//! A placeholder for a message that is not available, so that positions and turns stay as they are.

use crate::id::{MessageId, Ordinal, TurnId};
use crate::message::{Body, Message, UNREADABLE};
use std::sync::Arc;

/// Creates the placeholder for a message that is not loaded, or that the store lost.
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
