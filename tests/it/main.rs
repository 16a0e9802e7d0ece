//! The integration tests, one binary: a file for each part of the program, and nothing but their names here.
#![allow(clippy::expect_used, clippy::panic, reason = "a test gives up where its ground is missing")]

mod bounded;
#[cfg(unix)]
mod chat;
mod checker;
mod compaction;
mod corpus;
mod delta;
mod desk;
#[cfg(target_os = "linux")]
mod fire;
mod import;
mod invariants;
mod ledger;
mod models;
mod policies;
mod promises;
mod protocol;
mod readme;
mod session;
mod store;
#[cfg(unix)]
mod wire;
