//! The base of all components: the stored conversation, and one step on it.

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
