//! Messages of the chat wires that take turns: neighbouring items of one role become one message.

use super::content;
use engine::prompt::item::{Item, Role};

/// A message being built from neighbouring items of one role; `P` is a piece of its content.
pub(super) struct Joined<'a, P> {
    pub role: Role,
    pub pieces: Vec<P>,
    pub items: Vec<&'a Item>,
}

impl<P> Joined<'_, P> {
    /// The role's name on the wire.
    pub fn role_name(&self) -> &'static str {
        match self.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// Adds an item with its pieces: to the last message if both can be one, else as a new message.
pub(super) fn join<'a, P>(messages: &mut Vec<Joined<'a, P>>, item: &'a Item, pieces: Vec<P>) {
    match messages.last_mut().filter(|last| content::are_one(last.role, item.role)) {
        Some(last) => {
            last.pieces.extend(pieces);
            last.items.push(item);
        }
        None => messages.push(Joined { role: item.role, pieces, items: vec![item] }),
    }
}
