//! Costs of the sidecar over real pipes, beside those of the system for the same, each with its goal. Values
//! that may depend on the length of a session are measured at several lengths. Nothing is asserted: times
//! depend on the machine.
//!
//! `cargo bench --bench sidecar -- turns opening` measures these groups of rows; without names all.
//! `THREADHOLD_BENCH_PROGRAM` names another threadhold to measure, `THREADHOLD_BENCH_ROUNDS` the lengths
//! (`50,500,5000,50000`), `PROMPT_TSX` a folder with a peer's bench.

#![allow(clippy::expect_used, clippy::panic, reason = "a measure gives up where its ground is missing")]

mod compaction;
mod edits;
mod folder;
mod neighbours;
mod opening;
mod peer;
mod process;
mod reading;
mod sessions;
mod start;
mod table;
mod throughput;
mod turns;

use sessions::Sessions;

/// Measures a group of rows and prints them.
type Group = fn(&mut Sessions);

/// The groups by name, in the order in which they are measured.
const GROUPS: &[(&str, Group)] = &[
    ("start", |_| start::start()),
    ("trip", |_| start::round_trip()),
    ("memory", |_| start::memory()),
    ("turns", turns::rows),
    ("opening", opening::rows),
    ("compaction", compaction::rows),
    ("reading", reading::rows),
    ("edits", edits::rows),
    ("neighbours", neighbours::rows),
    ("throughput", |_| throughput::rows()),
];

/// Lengths of sessions in rounds, if no others are asked for. The sidecar takes minutes to make one of 50,000.
const ROUNDS: &str = "50,500,5000";

fn main() {
    let rounds = std::env::var("THREADHOLD_BENCH_ROUNDS").unwrap_or_else(|_| ROUNDS.to_owned());
    let sizes = rounds.split(',').map(|size| size.trim().parse().expect("a number of rounds")).collect();
    let mut sessions = Sessions::new(sizes);
    table::run(GROUPS, |rows| rows(&mut sessions));
}
