//! The protocol, version 1: what goes over the wire between an editor and the sidecar. Wire types with serde and
//! schemars, one file per resource; `README.md` beside them is made from them. Words and
//! failures of the engine have their partners here; whole values are turned into the engine's and back by the sidecar.

pub mod check;
pub mod context;
pub mod edit;
pub mod error;
pub mod event;
pub mod failures;
pub mod ledger;
pub mod memory;
pub mod message;
pub mod methods;
pub mod model;
pub mod prompt;
pub mod recall;
pub mod restore;
pub mod review;
pub mod schema;
pub mod scope;
pub mod server;
pub mod session;
pub mod settings;
pub mod snapshot;
pub mod stages;
pub mod task;
pub mod tool;
pub mod transfer;
pub mod turn;
mod unknown;
mod words;

/// The version of the protocol. It changes only when something breaks.
pub const VERSION: u32 = 1;

/// The versions that this build speaks.
pub const SUPPORTED_VERSIONS: [u32; 1] = [VERSION];
