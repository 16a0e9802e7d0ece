//! The input and output of a session, as values.

pub mod acceptance;
pub mod agents;
pub mod claims;
pub mod decision;
pub mod effect;
pub mod event;
pub mod history_turn;
pub mod input;
pub mod ledger;
pub mod progress;
pub mod queue;
pub mod recall;
pub mod refusal;
pub mod renaming;
pub mod report;
pub mod rest;
pub mod settings;
pub mod snapshot;
pub mod stored;
pub mod undo;
