//! The stand-in for a message that the store holds but cannot read, so that positions, turns and rounds stay as they are.

use super::{Body, Content, Message, UNREADABLE};
use crate::id::{MessageId, Ordinal, TurnId};

/// The text of the stand-in.
pub const UNREADABLE_TEXT: &str = "This message could not be read from the store.";

/// Tokens of the text with the message overhead, by a generous estimate: the store has no token counter.
const UNREADABLE_TOKENS: u32 = 16;

/// Creates the stand-in for a message with this id. A user's or a model's is shown to the model in its place; any other is
/// shown to people only: a call whose result is lost counts as unanswered.
pub fn unreadable(role: &str, id: MessageId, ord: Ordinal, rev: u32, turn: TurnId) -> Message {
    let body = match role {
        "user" => Body::User(vec![Content::Text(UNREADABLE_TEXT.into())]),
        "assistant" => Body::assistant(UNREADABLE_TEXT, Vec::new()),
        _ => Body::Event { kind: UNREADABLE.into(), text: UNREADABLE_TEXT.into() },
    };
    Message {
        id,
        external_id: None,
        ord,
        rev,
        turn,
        visible_to_model: !matches!(body, Body::Event { .. }),
        body,
        created_at: None,
        shown: None,
        tokens: UNREADABLE_TOKENS,
        // No content has this hash: what a summary or an editor's copy was made of is never taken for the stand-in.
        hash: String::new(),
        found: Default::default(),
    }
}

/// `true` if the message is such a stand-in.
pub fn is_unreadable(message: &Message) -> bool {
    message.hash.is_empty() && !message.id.as_str().is_empty()
}
