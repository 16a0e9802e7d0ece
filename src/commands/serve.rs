//! `threadhold serve`: the sidecar on standard input and output.

use super::Failure;
use crate::server::dump;
use crate::server::outside::Flags;
use crate::server::{Options, serve};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub(super) struct Serve {
    /// Write each frame of both directions into FILE, as JSON lines. It will hold everything that is said
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write each request that goes to a model into DIR, as JSON. They will hold everything that is said
    #[arg(long, value_name = "DIR")]
    dump_prompts: Option<PathBuf>,
    /// The policy of all sessions: a built-in one by its name, or that of a file
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// Set a setting for all sessions, such as triggers.messages=40; it wins over files, environment and client
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Serve {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let flags = Flags::read(self.policy.as_deref(), &self.set)?;
        if let Some(dir) = &self.dump_prompts {
            dump::make_folder(dir)
                .map_err(|error| Failure::Write { file: dir.display().to_string(), error })?;
        }
        let options = Options { record: self.record.clone(), flags, dump_prompts: self.dump_prompts.clone() };
        serve(&options).map_err(Failure::Stdio)
    }
}
