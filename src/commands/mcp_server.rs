//! `threadhold mcp`: the past sessions of a folder as tools for other agents, over the Model Context Protocol on
//! standard input and output. It is one more client of the sidecar in the same process, and sends only requests that
//! the store answers alone: no session is opened and no lease is taken, so other processes are not disturbed.
//! `server` speaks the protocol, `tools` has the tools with their parameters and results, and `reader` reads them from
//! the sidecar, which `relay` reaches.

mod past_sessions;
mod relay;
mod server;
mod tools;

use super::client::{Client, Greeting};
use super::{Failure, SUCCESS, files};
use crate::server::{Options, serve_within};
use clap::Args;
use past_sessions::PastSessions;
use relay::relay;
use std::path::{Path, PathBuf};
use tokio::io::DuplexStream;

#[derive(Debug, Args)]
pub(super) struct Mcp {
    /// The workspace folder whose sessions and memories are served; those of no other folder are
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Read sessions from DIR, as `storage.path` of an editor names it, instead of the platform's data folder
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
}

impl Mcp {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let folder = files::workspace(&self.folder)?.to_string_lossy().into_owned();
        let storage = self.storage.as_deref().map(files::absolute).transpose()?;
        let served =
            serve_within(&Options::default(), async |stream| run(stream, folder, storage.as_deref()).await);
        served.map_err(Failure::Runtime)?
    }
}

/// Serves until the end of input, or until the sidecar stops.
async fn run(stream: DuplexStream, folder: String, storage: Option<&Path>) -> Result<u8, Failure> {
    let (reader, requests) = PastSessions::of(folder);
    let relaying = async {
        let mut client = Client::new(stream);
        let greeted = client.greet(Greeting { name: "threadhold mcp", storage, ..Greeting::default() }).await;
        greeted.map_err(|error| Failure::Chat(error.to_string()))?;
        relay(client, requests).await;
        Ok(SUCCESS)
    };
    tokio::select! {
        ended = server::serve(reader) => ended.map(|()| SUCCESS),
        ended = relaying => ended,
    }
}
