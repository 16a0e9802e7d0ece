//! The protocol between an editor and the sidecar, version 1: wire types with serde and schemars, one file per resource.
//! Schema, TypeScript types and the reference in `docs/protocol` are generated from them. Enumerations that clients and
//! the engine share are re-exported from the engine; the sidecar converts all other values.

pub mod check;
pub mod command;
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
pub use session::{agent, asking_agent, edit, restore, scope, snapshot, stages, task, transfer};

/// The protocol version. Only a breaking change raises it.
pub const VERSION: u32 = 1;

/// The protocol versions that `initialize` accepts.
pub const SUPPORTED_VERSIONS: [u32; 1] = [VERSION];

#[cfg(test)]
mod tests;
