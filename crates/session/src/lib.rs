//! A session as a pure state machine: [`Session::step`] takes an input and returns effects. It decides which model is
//! asked, which tool runs, what is written and which events are emitted; the caller performs all of it.
//!
//! Each component owns its state: only its own module touches the fields. A component is given the core and an input
//! and returns its outcome; the router decides what follows and which component is next. From the bottom up:
//!
//! | folder or file | contents |
//! |---|---|
//! | `values` | inputs, effects, events, settings and stored rows; which command is accepted in which state |
//! | `carried` | state kept from one request to the next: learned limits, the last prompt sent and what breaks its continuity, what holds compactions back, waiting attachments, what was spent |
//! | `core` | the stored conversation with its budget, and one step on it: appending, writing, emitting |
//! | `model` | model calls: deadlines, costs, answers that are not streamed to clients |
//! | `title` | the session's title, and the model call for a better one |
//! | `context` | the prompt before the messages, pins, compaction records and manual changes to them, figures, recall |
//! | `tools` | tool calls of a round: approvals, pauses, execution, results |
//! | `compaction` | compactions: the ladder from stage to stage, the summarizing model, the user's review, summaries prepared ahead of time, idle sessions |
//! | `turn` | requests, the next prompt, the streaming answer and its outcome, prompts that a provider refuses for their size |
//! | `history` | changes to the past: rewinds, branches, an editor's history, conversations from elsewhere, renders |
//! | `commands` | queued commands and renders |
//! | `state` | the state of a session: one of the components above that exclude each other |
//! | `router` | routes inputs to components, and decides what follows |
//! | `session`, `view`, `part`, `long` | the session itself, its snapshots, steps while only its newest part is loaded, and which steps may take long |
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod carried;
mod commands;
mod compaction;
mod context;
mod core;
mod history;
pub mod long;
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

pub use core::StepContext;
pub use history::render::diagnostics;
pub use session::{Opening, Session};
pub use values::{
    acceptance, agents, effect, event, history_turn, input, ledger, queue, recall, renaming, settings,
    snapshot, stored, undo,
};

/// Causes of a prompt that does not extend the one before it.
pub mod breaks {
    pub use engine::words::BreakCause;
}
/// Settings for memories.
pub mod memories {
    pub use crate::values::settings::MemorySettings;
}
/// The cost of a session's requests to models.
pub mod spent {
    pub use crate::carried::spent::Spent;
}
/// The report on a history that an editor brought.
pub mod reconcile {
    pub use crate::values::report::Report;
}
/// Accuracy of token counts.
pub mod usage {
    pub use crate::values::snapshot::Estimate;
}
