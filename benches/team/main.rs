//! Costs of a team's sessions in one PostgreSQL server: of a turn by the length of its session, of many sidecars that
//! commit as fast as they can, and of many at the pace of people. The server is made for this, with the settings of
//! `initdb`, durable, reached over a socket. In all groups but `processes` a sidecar is its store: the connection and the
//! thread that it has, without the process around it. Nothing is asserted: times depend on the machine.
//!
//! `cargo bench --bench team -- turns` measures this group; without names all. `THREADHOLD_BENCH_SIDECARS` (200) and
//! `THREADHOLD_BENCH_SECONDS` (20; 180 for the pace of people) bound the groups.

#![allow(clippy::expect_used, clippy::panic, reason = "a measure gives up where its ground is missing")]

mod fleet;
#[allow(dead_code, reason = "the other bench uses more of it")]
#[path = "../sidecar/folder.rs"]
mod folder;
mod machine;
#[allow(dead_code, reason = "the other bench uses more of it")]
#[path = "../sidecar/process.rs"]
mod process;
mod processes;
mod rush;
#[allow(dead_code, reason = "the other bench uses more of it")]
#[path = "../sidecar/table.rs"]
mod table;
mod turn;
mod turns;

use store::testing::postgres::Server;

/// Measures a group of rows and prints them.
type Group = fn(&Server);

/// The groups by name, in the order in which they are measured.
const GROUPS: &[(&str, Group)] =
    &[("turns", turns::rows), ("rush", rush::rows), ("processes", processes::rows), ("fleet", fleet::rows)];

/// A number in the environment.
fn given(name: &str, usual: usize) -> usize {
    std::env::var(name).map_or(usual, |given| given.parse().expect("a number"))
}

/// Sidecars of a group.
fn sidecars() -> usize {
    given("THREADHOLD_BENCH_SIDECARS", 200)
}

fn main() {
    let Some(server) = Server::durable() else { return };
    table::run(GROUPS, |rows| rows(&server));
}
