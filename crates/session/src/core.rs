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
pub(crate) use step::Core;
pub use step::StepContext;
