//! Stress tests of the store: the binary is killed at random moments, the disk is full, the file is locked or
//! damaged. Acknowledged messages must survive. `driver` runs the processes.

#![allow(clippy::print_stdout, reason = "seeds and counts are printed")]

mod disk;
pub mod driver;
pub mod kill;
pub mod windows;
