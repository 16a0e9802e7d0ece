//! A placeholder for messages that are not loaded, so that positions stay as they are.

use crate::id::{MessageId, Ordinal, TurnId};
use crate::message::{Body, Message, UNREADABLE};
use std::sync::Arc;

/// Creates the placeholder, which all messages that are not loaded share.
pub(super) fn nothing() -> Arc<Message> {
    Arc::new(Message {
        id: MessageId::new(""),
        external_id: None,
        ord: Ordinal(0),
        rev: 0,
        turn: TurnId::new(""),
        body: Body::Event { kind: UNREADABLE.into(), text: "".into() },
        visible_to_model: false,
        created_at: None,
        shown: None,
        tokens: 0,
        hash: String::new(),
        found: Default::default(),
    })
}
