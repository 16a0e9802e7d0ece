//! `threadhold serve`: the sidecar on standard input and output.

use super::Failure;
use crate::server::{Options, serve};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Default, Args)]
pub(super) struct Serve {
    /// Write each frame of both directions into FILE, as JSON lines. It will hold everything that is said
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        serve(&Options { record: self.record.clone() }).map_err(Failure::Stdio)
    }
}
