//! The pure part: decisions without side effects. No IO, clock, randomness, environment or lock; time and ids
//! are arguments, errors are values. Same inputs, same outputs, byte for byte.
//!
//! **Vocabulary.** A *workspace* holds *sessions* (chats). A session is a sequence of *turns*: a user request and
//! everything up to the next one. A turn is a sequence of *rounds*: an assistant message with its *tool calls*
//! and their results. A *message* is an entry of the transcript: a request, an answer, a tool result or an event;
//! those that are visible to the model go into prompts. A *compaction* is a record that replaces a span of rounds
//! by a *block* when a prompt is rendered. A *prompt* is rendered from a transcript under a *budget* and follows a
//! *plan* of *sections*.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod approval;
pub mod compact;
pub mod cost;
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
