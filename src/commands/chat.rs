//! `threadhold chat`: a session in a terminal. It is one more client of the sidecar, in the same process and
//! over the same protocol, so a model is sent the same whoever the client is. `talk` holds the states of a
//! chat; `opening` begins one; `input` reads what the user enters, of which `command` and
//! `question` know the meaning; `form` asks what tool servers want to know; `display` shows events on the `screen`, as `markdown`, `report` and `call_text` put them.

mod call_text;
mod calls;
mod command;
mod contents;
mod display;
mod form;
mod highlight;
mod input;
mod markdown;
mod opening;
mod paint;
mod question;
mod screen;
mod talk;
mod tty;
mod wrap;

use super::Failure;
use super::files;
use super::model::{ModelFlags, Named};
use super::serve::Serving;
use crate::server::serve_within;
use clap::Args;
use opening::{Begin, Which};
use screen::Form;
use std::path::PathBuf;
use talk::Ended;

#[derive(Debug, Args)]
pub(super) struct Chat {
    #[command(flatten)]
    model: ModelFlags,
    /// Resume this session, or start a new one with this id
    #[arg(long, value_name = "ID", conflicts_with = "continue")]
    session: Option<String>,
    /// Resume the newest session of the folder
    #[arg(long)]
    r#continue: bool,
    /// The workspace folder of the session; tools read and change files of it only, commands can do more
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Keep sessions in DIR, as `storage.path` of an editor does, instead of the platform's data folder
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    /// Write each event of the session to standard output as a line of JSON, for scripts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    serving: Serving,
}

impl Chat {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let mut model = self.model.named()?;
        let folder = files::workspace(&self.folder)?;
        let mut which = match &self.session {
            Some(id) => Which::Named(id.clone()),
            None if self.r#continue => Which::Newest,
            None => Which::New,
        };
        let storage = self.storage.as_deref().map(files::absolute).transpose()?;
        let mut input = None;
        loop {
            let options = self.serving.options(&model.as_ref().map(Named::flags).unwrap_or_default())?;
            let form = Form::fitting(self.json);
            let (folder, storage) = (folder.clone(), storage.clone());
            let begin = Begin { folder, which, storage, form, model: model.clone() };
            let kept = input.take();
            let talked = serve_within(&options, async |stream| talk::talk(stream, begin, kept).await);
            match talked.map_err(Failure::Runtime)?.map_err(|refused| Failure::Chat(refused.to_string()))? {
                Ended::Left(code) => return Ok(code),
                Ended::Again { model: other, session, input: kept } => {
                    (model, which, input) = (Some(*other), Which::Named(session), Some(kept));
                }
            }
        }
    }
}
