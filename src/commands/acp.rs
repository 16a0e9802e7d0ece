//! `threadhold acp`: an agent for editors that speak the Agent Client Protocol. Like the chat in a terminal it is a client
//! of the sidecar in the same process, so sessions, prompts and compactions are those of every other client. `lines` and
//! `editor` are the connection with the editor, which `version2` translates for version 2; `agent` holds the states of its
//! requests, `happened` follows the sidecar, `outcome` has what editors are told of both; `view` says what the editor has
//! been shown, as `row`, `agents` and `content` put it; `runner` runs tools where the editor offers it, after
//! `permission`; `plan` asks about plans; `command` and `option` are what the user can enter and choose.

mod agent;
mod agents;
mod command;
mod content;
mod editor;
mod failure;
mod happened;
mod lines;
mod option;
mod outcome;
mod permission;
mod plan;
mod requests;
mod row;
mod runner;
mod servers;
mod session;
mod version2;
mod view;

use super::Failure;
use super::files;
use super::model::{ModelFlags, Named};
use super::serve::Serving;
use crate::server::serve_within;
use agent::Agent;
use clap::Args;
use editor::connection;
use lines::Lines;
use rpc::stdio;
use rpc::transport::BODY_LIMIT;
use std::path::PathBuf;
use std::time::Duration;

/// Time for writing what is left to an editor that does not read, at the end.
const LAST_WRITE: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(super) struct Acp {
    #[command(flatten)]
    model: ModelFlags,
    /// Another model that the user can choose in the editor; may be given more than once
    #[arg(long, value_name = "WIRE:NAME", requires = "model")]
    also_model: Vec<String>,
    /// Keep sessions in DIR, as `storage.path` of an editor does, instead of the platform's data folder
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    #[command(flatten)]
    serving: Serving,
}

impl Acp {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let models = self.models()?;
        let options = self.serving.options(&[])?;
        let storage = self.storage.as_deref().map(files::absolute).transpose()?;
        let served = serve_within(&options, async |stream| {
            let stdio = stdio::open()?;
            let (editor, queue) = connection();
            let agent = Agent::new(stream, editor, storage, models);
            let writing = queue.write(stdio.output);
            tokio::pin!(writing);
            tokio::select! {
                () = agent.run(Lines::new(stdio.input, BODY_LIMIT)) => {
                    // The editor may be gone, or not read.
                    let _ = tokio::time::timeout(LAST_WRITE, writing).await;
                }
                () = &mut writing => {}
            }
            drop(stdio.undo);
            Ok::<_, std::io::Error>(())
        });
        served.map_err(Failure::Runtime)?.map_err(Failure::Stdio)?;
        Ok(super::SUCCESS)
    }
    /// The models of the command line, the first of which answers at the beginning.
    fn models(&self) -> Result<Vec<Named>, Failure> {
        let first = self.model.named()?;
        let others = self.also_model.iter().map(|model| Named::read(model, None, None));
        let others =
            others.map(|other| Ok(other?.beside(first.as_ref()))).collect::<Result<Vec<_>, Failure>>()?;
        Ok(first.clone().into_iter().chain(others).collect())
    }
}
