//! The command line: arguments, subcommands and exit codes. A command reads files and prints; the library
//! does the work.

mod acp;
mod chat;
mod client;
mod context;
mod doctor;
mod files;
mod import;
mod mcp_server;
mod measure;
mod model;
mod policy;
mod replay;
mod report;
mod running;
mod schema;
mod serve;
mod serving;
#[cfg(test)]
mod tests;
mod tools;
mod visible;

use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Stores the agent chats of a workspace, and keeps every prompt within the model's context window.
#[derive(Debug, Parser)]
#[command(name = "threadhold", version)]
struct Arguments {
    /// `serve` if there is none and a program, not a person, is at standard input
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Render the prompt before each answer of a recorded transcript, and show what was compacted
    Replay(replay::Replay),
    /// Measure what of the facts that later steps of recorded sessions used survives a compaction
    Measure(measure::MeasureCommand),
    /// List the built-in policies, or print one as a file
    Policy(policy::PolicyCommand),
    /// Test a model's address and key, or check a storage folder, and explain what is wrong
    Doctor(doctor::Doctor),
    /// Serve an editor over standard input and output; the default without a command
    Serve(serve::Serve),
    /// Serve an editor that speaks the Agent Client Protocol over standard input and output
    Acp(acp::Acp),
    /// Chat with a model in this terminal, in a session that editors can open too
    Chat(chat::Chat),
    /// Make sessions of transcripts that other programs wrote
    Import(import::ImportCommand),
    /// Serve the past sessions of a folder to other agents as an MCP server, read-only
    Mcp(mcp_server::Mcp),
    /// Print the protocol: types, methods and errors
    Schema(schema::SchemaCommand),
}

/// Everything succeeded.
const SUCCESS: u8 = 0;
/// Finished, but a prompt could not be made to fit, a model did not answer, or a store has faults.
const UNFIT: u8 = 1;
/// Could not run: bad usage, or unreadable input.
const BAD: u8 = 2;

/// Parses the arguments and runs the command.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { BAD } else { SUCCESS });
        }
    };
    let done = match &arguments.command {
        Some(Command::Replay(replay)) => replay.run(),
        Some(Command::Measure(measure)) => measure.run(),
        Some(Command::Policy(policy)) => policy.run(),
        Some(Command::Doctor(doctor)) => doctor.run(),
        Some(Command::Serve(serve)) => serve.run(),
        Some(Command::Acp(acp)) => acp.run(),
        Some(Command::Chat(chat)) => chat.run(),
        Some(Command::Import(import)) => import.run(),
        Some(Command::Mcp(mcp)) => mcp.run(),
        Some(Command::Schema(schema)) => schema.run(),
        None if std::io::stdin().is_terminal() => {
            let _ = write!(std::io::stderr(), "{}", Arguments::command().render_help());
            Ok(BAD)
        }
        None => serve::Serve::default().run(),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.report();
            ExitCode::from(BAD)
        }
    }
}

/// Errors that keep a command from running.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    /// A file is no transcript.
    #[error("{file}: {error}")]
    Import { file: String, error: ::import::ImportError },
    /// A file is no policy.
    #[error("{file}: {error}")]
    Policy { file: String, error: engine::compact::policy::PolicyError },
    /// A setting cannot be used.
    #[error(transparent)]
    Settings(#[from] engine::settings::SettingsError),
    /// The session of a replay refused to render.
    #[error(transparent)]
    Refused(#[from] session::effect::Refusal),
    /// A flag that changes a setting cannot be used.
    #[error(transparent)]
    Flag(#[from] crate::server::outside::FlagError),
    /// A summarizer's script cannot be used.
    #[error("--summarizer {name}: {reason}")]
    Summarizer { name: String, reason: String },
    /// A dump cannot be written.
    #[error("cannot write {file}: {error}")]
    Write { file: String, error: std::io::Error },
    /// A model cannot be asked.
    #[error("--model {name}: {reason}")]
    Model { name: String, reason: String },
    /// The server cannot use standard input and output.
    #[error("cannot serve on standard input and output: {0}")]
    Stdio(std::io::Error),
    /// The runtime cannot be started.
    #[error("cannot run: {0}")]
    Runtime(std::io::Error),
    /// A storage folder cannot be checked or repaired.
    #[error(transparent)]
    Storage(#[from] store::error::StoreError),
    /// A chat cannot begin or continue, or the sidecar in this process refuses a request.
    #[error("{0}")]
    Chat(String),
    /// An MCP client cannot be served.
    #[error("cannot serve the MCP client: {0}")]
    Mcp(String),
    /// A transcript cannot be made a session.
    #[error("{file}: {reason}")]
    NoSession { file: String, reason: String },
}

impl Failure {
    /// Prints the error to standard error.
    fn report(&self) {
        let _ = writeln!(std::io::stderr(), "threadhold: {self}");
    }
}
