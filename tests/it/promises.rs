//! The promises of the product over real transcripts, lived through by real sessions, and every failure that others are
//! known by, held by a test. What one part does is tested beside it.
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
