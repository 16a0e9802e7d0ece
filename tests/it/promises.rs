//! The promises of the product over real transcripts, lived through by real sessions. What one part does is tested
//! beside it.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail as tests do"
)]

mod enact;
mod sentinel;
