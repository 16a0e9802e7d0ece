//! What all parts of a session need: the conversation as it is kept, and one step on it.

mod append;
mod budget;
mod conversation;
mod frozen;
mod lookup;
mod open;
mod prefix;
mod ring;
mod step;

pub(crate) use conversation::Conversation;
pub(crate) use open::{Opening, open};
pub use step::Around;
pub(crate) use step::Core;
