//! The pure part: everything that decides, nothing that acts. No IO, no clock, no randomness, no environment, no
//! lock; time and ids come in as arguments, errors are values. Same inputs, same outputs, byte for byte.
//!
//! **Vocabulary.** A *workspace* holds *sessions* (chats). A session is a row of *turns*: one user request and all that
//! follows. A turn is a row of *rounds*: an assistant message with its *tool calls* and their results. A *message* is
//! what goes over the wire to a model. A *compaction* is a record that replaces a span of rounds by a *block* when a
//! prompt is rendered. A *prompt* is rendered from a transcript under a *budget* and follows a *plan* of *sections*.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod approval;
pub mod compact;
pub mod delta;
pub mod endpoint;
pub mod estimate;
pub mod id;
pub mod memory;
pub mod message;
pub mod prompt;
pub mod scope;
pub mod search;
pub mod settings;
pub mod stages;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod tokens;
pub mod transcript;
pub mod words;
