//! `threadhold serve`: the sidecar on standard input and output. Also the flags of every command that serves sessions:
//! recording, dumps and settings.

use super::Failure;
use crate::server::outside::Flags;
use crate::server::{Options, dump, serve};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    serving: Serving,
}

impl Serve {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        serve(&self.serving.options(&[])?).map_err(Failure::Stdio)
    }
}

#[derive(Debug, Default, Args)]
pub(super) struct Serving {
    /// Record every frame in both directions in FILE as JSON lines, conversations included
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write every model request into DIR as JSON, conversations included
    #[arg(long, value_name = "DIR")]
    dump_prompts: Option<PathBuf>,
    /// The compaction policy of all sessions: a built-in policy, or a policy file
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// Set a setting for all sessions, such as triggers.messages=40; overrides files, environment and client
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Serving {
    /// Converts the flags for the server. `--set` overrides `before`, which other flags of the command imply.
    pub fn options(&self, before: &[String]) -> Result<Options, Failure> {
        let flags = Flags::read(self.policy.as_deref(), &[before, &self.set].concat())?;
        if let Some(dir) = &self.dump_prompts {
            dump::make_folder(dir)
                .map_err(|error| Failure::Write { file: dir.display().to_string(), error })?;
        }
        Ok(Options { record: self.record.clone(), flags, dump_prompts: self.dump_prompts.clone() })
    }
}
