//! `threadhold chat`: a session in a terminal. It is one more client of the sidecar, in the same process and
//! over the same protocol, so a model is sent the same whoever the client is. `talk` holds the states of a
//! chat; `client` and `opening` speak the protocol, `terminal` and `question` face the user, and `tools` are
//! the tools that a model can call here.

mod client;
mod command;
mod opening;
mod question;
mod talk;
mod terminal;
mod tools;
mod visible;

use super::Failure;
use super::model::Named;
use super::serving::Serving;
use crate::server::serve_within;
use clap::Args;
use opening::{Begin, Which};
use protocol::settings::GivenSettings;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct Chat {
    /// The model: anthropic:NAME, openai-chat:NAME, openai-responses:NAME, gemini:NAME, ollama:NAME or scripted[:FILE]; without it
    /// the model of the settings, or a scripted one if none is set
    #[arg(long, value_name = "WIRE:NAME")]
    model: Option<String>,
    /// The model's base URL, instead of its provider's
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,
    /// The environment variable that holds the API key, instead of the provider's usual one
    #[arg(long, value_name = "NAME", requires = "model")]
    key_env: Option<String>,
    /// Resume this session, or start a new one with this id
    #[arg(long, value_name = "ID", conflicts_with = "continue")]
    session: Option<String>,
    /// Resume the newest session of the folder
    #[arg(long)]
    r#continue: bool,
    /// The workspace folder of the session; tools cannot read outside of it
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Keep sessions in DIR, as `storage.path` of an editor does, instead of the platform's data folder
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    #[command(flatten)]
    serving: Serving,
}

impl Chat {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let model = match &self.model {
            Some(model) => Named::read(model, self.base_url.as_deref(), self.key_env.as_deref())?.setting(),
            None => Map::new(),
        };
        let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let set: Vec<String> =
            model.iter().map(|(part, value)| format!("model.{part}={}", said(value))).collect();
        let folder = absolute(&self.folder)?;
        if !folder.is_dir() {
            let error = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            return Err(Failure::Read { file: folder.display().to_string(), error });
        }
        let options = self.serving.options(&set)?;
        let which = match &self.session {
            Some(id) => Which::Named(id.clone()),
            None if self.r#continue => Which::Newest,
            None => Which::New,
        };
        let storage = self.storage.as_deref().map(absolute).transpose()?;
        // The process that runs a task may have other flags.
        let task = (!model.is_empty())
            .then(|| GivenSettings(Map::from_iter([("model".to_owned(), Value::Object(model))])));
        let begin = Begin { folder, which, storage, task };
        let talked = serve_within(&options, async |stream| talk::talk(stream, begin).await);
        talked.map_err(Failure::Runtime)?.map_err(|refused| Failure::Chat(refused.to_string()))
    }
}

/// The absolute path, with links kept: editors name the folder so too, and sessions are stored under that
/// name.
fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(folder).map_err(|error| Failure::Read { file: folder.display().to_string(), error })
}
