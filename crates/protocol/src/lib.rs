//! The protocol, version 1: what goes over the wire between an editor and the sidecar. Wire types with serde and
//! schemars, one file per resource; the reference in `docs/protocol` is made from them. Words that clients and the engine
//! share are the engine's; whole values are turned into the engine's and back by the sidecar.

pub mod check;
pub mod context;
pub mod error;
pub mod event;
pub mod failures;
pub mod message;
pub mod methods;
pub mod model;
pub mod prompt;
pub mod schema;
pub mod server;
pub mod session;
pub mod settings;
pub mod tool;
pub mod turn;
mod unknown;
mod words;

pub use context::{ledger, memory, recall, review};
pub use session::{edit, restore, scope, snapshot, stages, task, transfer};

/// The version of the protocol. It changes only when something breaks.
pub const VERSION: u32 = 1;

/// The versions that this build speaks.
pub const SUPPORTED_VERSIONS: [u32; 1] = [VERSION];

#[cfg(test)]
mod tests;
