//! The integration tests, as one binary with a module for each part of the program.
#![allow(clippy::expect_used, clippy::panic, reason = "a test fails if its preconditions do")]

mod bench;
mod binding;
#[cfg(unix)]
mod channels;
#[cfg(unix)]
mod chat;
mod checker;
mod corpus;
mod doctor;
mod facts;
#[cfg(target_os = "linux")]
mod fire;
mod handbook;
mod invariants;
mod mcp;
mod promises;
mod protocol;
mod readme;
#[cfg(target_os = "linux")]
mod team;
#[cfg(unix)]
mod wire;
