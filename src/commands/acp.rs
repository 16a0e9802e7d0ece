//! `threadhold acp`: an agent for editors that speak the Agent Client Protocol. Like the chat in a terminal it is a client
//! of the sidecar in the same process, so sessions, prompts and compactions are those of every other client. `lines` and
//! `editor` are the connection with the editor; `agent` holds the states of its requests, `happened` follows the
//! sidecar; `view` says what the editor has been shown, as `row` and `content` put it; `runner` runs tools where the
//! editor offers it, after `permission`; `command` and `option` are what the user can enter and choose.

mod agent;
mod command;
mod content;
mod editor;
mod failure;
mod happened;
mod lines;
mod option;
mod permission;
mod requests;
mod row;
mod runner;
mod servers;
mod session;
mod view;

use super::Failure;
use super::files;
use super::model::ModelFlags;
use super::serving::Serving;
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
    /// Keep sessions in DIR, as `storage.path` of an editor does, instead of the platform's data folder
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    #[command(flatten)]
    serving: Serving,
}

impl Acp {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let model = self.model.named()?;
        let options = self.serving.options(&[])?;
        let storage = self.storage.as_deref().map(files::absolute).transpose()?;
        let served = serve_within(&options, async |stream| {
            let stdio = stdio::open()?;
            let (editor, queue) = connection();
            let agent = Agent::new(stream, editor, storage, model);
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
}
