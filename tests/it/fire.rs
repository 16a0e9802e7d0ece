//! The store under fire: the built binary is killed at random moments, its disk is full, its file is locked or damaged.
//! What must hold is always the same: what was acknowledged is there. How a process is driven stands in `driver`.

#![allow(clippy::print_stdout, reason = "a seed, and what a run did, is told")]

mod disk;
mod driver;
mod kill;
mod windows;
