//! The integration tests, one binary: a file for each part of the program, and nothing but their names here.
#![allow(clippy::expect_used, clippy::panic, reason = "a test gives up where its ground is missing")]

mod bench;
mod binding;
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
mod promises;
mod protocol;
mod readme;
#[cfg(unix)]
mod wire;
