//! The integration tests, one binary: a file for each part of the program, and nothing but their names here.

mod import;
mod invariants;
