//! `threadhold serve`: the sidecar on standard input and output.

use super::Failure;
use super::serving::Serving;
use crate::server::serve;
use clap::Args;

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
