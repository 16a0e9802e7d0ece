//! A session as a pure machine: [`Session::step`] takes an input and yields effects. It decides what is asked of a
//! model, which tool runs, what is written and what is told; it does none of it.
//!
//! Each component owns its state: nothing outside of its module touches a field of it. A component is given the
//! core and what happened, and returns what it came to; what follows from that, and who is next, is the
//! router's. From the bottom up:
//!
//! | folder or file | what |
//! |---|---|
//! | `values` | what goes in and comes out: inputs, effects, events, settings, rows; which command is taken in which state |
//! | `carried` | what a session carries from one request to the next: learned limits, the prompt that was sent last and what breaks it, what holds compactions back, attachments that wait |
//! | `core` | the conversation as it is kept, with its budget, and one step on it: appending, writing, telling |
//! | `model` | calls of a model: deadlines, answers that nobody reads while they are given |
//! | `title` | the session's name, and the model that is asked for a better one |
//! | `context` | what stands before the messages, pins, compaction records and the user's hand on them, figures, recall |
//! | `tools` | calls of a round: approvals, a pause, what runs, results |
//! | `compaction` | a compaction: the ladder from stage to stage, the model that sums up, the user's review, a summary made ahead of time, idle sessions |
//! | `turn` | a request, the next prompt, the answer that is being given and what it came to, sizes that a provider refuses |
//! | `history` | what changes the past: rewinds, branches, an editor's history, a conversation from elsewhere, renders |
//! | `commands` | commands and renders that wait |
//! | `state` | where a session stands: one of the components above that exclude each other |
//! | `router` | who gets what happens, and what follows |
//! | `session`, `view`, `part` | the session itself, snapshots of it, and what it does while only its newest part is here |
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod carried;
mod commands;
mod compaction;
mod context;
mod core;
mod history;
mod model;
pub mod part;
mod router;
mod session;
pub mod state;
#[cfg(test)]
mod tests;
mod title;
mod tools;
mod turn;
mod values;
mod view;

pub use core::Around;
pub use history::render::diagnostics;
pub use session::{Opening, Session};
pub use values::{
    acceptance, effect, event, history_turn, input, ledger, queue, recall, settings, snapshot, stored, undo,
};

/// Why a prompt does not begin with the one before it.
pub mod breaks {
    pub use engine::words::BreakCause;
}
/// What memories may do.
pub mod memories {
    pub use crate::values::settings::MemorySettings;
}
/// What became of an editor's history.
pub mod reconcile {
    pub use crate::values::report::Report;
}
/// How well counts are known.
pub mod usage {
    pub use crate::values::snapshot::Estimate;
}
