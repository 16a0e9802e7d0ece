//! End-to-end guarantees over real transcripts, lived through by real sessions, and known failures of such
//! systems, each with a test. Single parts are tested beside them.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail as tests do"
)]

mod chat;
mod enact;
mod failures;
mod failures_in_flight;
mod failures_kept;
mod failures_long;
mod named;
mod sentinel;
