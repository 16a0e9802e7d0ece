//! The binary: arguments in, a command out, an exit code back. What a command does stands in `commands`.

use std::process::ExitCode;

fn main() -> ExitCode {
    threadhold::commands::run(std::env::args_os())
}
