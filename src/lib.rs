//! threadhold: holds the thread of every agent chat in a workspace and keeps every prompt under the model's window.
//!
//! WIP code map follows.

pub mod commands;
pub mod engine;
pub mod model;
pub mod replay;
pub mod tokenizer;
pub mod transcript_io;
