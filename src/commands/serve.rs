//! `threadhold serve`: the sidecar on standard input and output.

use super::Failure;
use crate::server::outside::Flags;
use crate::server::{Options, serve};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub(super) struct Serve {
    /// Write each frame of both directions into FILE, as JSON lines. It will hold everything that is said
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The policy of all sessions: a name
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Set a setting for all sessions, such as triggers.messages=40; it wins over files, environment and client
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Serve {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let flags = Flags::read(self.policy.as_deref(), &self.set)?;
        serve(&Options { record: self.record.clone(), flags }).map_err(Failure::Stdio)
    }
}
