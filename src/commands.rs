//! The command line: what can be asked for, and what each command's exit code means. A command reads files, prints,
//! and leaves the thinking to the library.

mod files;
mod measure;
mod replay;
mod schema;

use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Holds the thread of every agent chat in a workspace, and keeps every prompt under the model's window.
#[derive(Debug, Parser)]
#[command(name = "threadhold", version, subcommand_required = true, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what a model would have been sent before each answer of a recorded transcript
    Replay(replay::Replay),
    /// Measure how many of the names that later tool calls needed a compaction keeps
    Measure(measure::MeasureCommand),
    /// Print the protocol: its types, its methods, its errors
    Schema(schema::SchemaCommand),
}

/// All went well.
const SUCCESS: u8 = 0;
/// It ran, and a prompt could not be made to fit.
const UNFIT: u8 = 1;
/// It could not run: bad usage, or input that cannot be read.
const BAD: u8 = 2;

/// Runs the command line.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { BAD } else { SUCCESS });
        }
    };
    let done = match &arguments.command {
        Command::Replay(replay) => replay.run(),
        Command::Measure(measure) => measure.run(),
        Command::Schema(schema) => schema.run(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.report();
            ExitCode::from(BAD)
        }
    }
}

/// Why a command could not run.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    /// A file is no transcript.
    #[error("{file}: {error}")]
    Import { file: String, error: crate::transcript_io::ImportError },
    /// A setting cannot be used.
    #[error(transparent)]
    Settings(#[from] crate::engine::settings::SettingsError),
    /// A summarizer's script cannot be used.
    #[error("--summarizer {name}: {reason}")]
    Summarizer { name: String, reason: String },
    /// A dump cannot be written.
    #[error("cannot write {file}: {error}")]
    Write { file: String, error: std::io::Error },
}

impl Failure {
    /// Says on standard error why.
    fn report(&self) {
        let _ = writeln!(std::io::stderr(), "threadhold: {self}");
    }
}
