//! The binary: passes its arguments to [`threadhold::commands`].

use std::process::ExitCode;

fn main() -> ExitCode {
    threadhold::commands::run(std::env::args_os())
}
