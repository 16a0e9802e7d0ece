//! `threadhold chat`: a session in a terminal. It is one more client of the sidecar, in the same process and over the same
//! protocol, so what a model is sent does not depend on who asked. What a chat does when is in `talk`; the protocol's side
//! is `client` with `opening`, the terminal's `terminal` with `question`, and `tools` are what a model may look at here.

mod client;
mod command;
mod opening;
mod question;
mod talk;
mod terminal;
mod tools;

use super::Failure;
use super::model::Named;
use crate::protocol::settings::GivenSettings;
use crate::server::dump;
use crate::server::outside::Flags;
use crate::server::{Options, serve_within};
use clap::Args;
use opening::{Begin, Which};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct Chat {
    /// Who answers: anthropic:NAME, openai-chat:NAME, openai-responses:NAME, ollama:NAME or scripted[:FILE]. Without it
    /// the model of the settings, or a scripted one where they have none
    #[arg(long, value_name = "WIRE:NAME")]
    model: Option<String>,
    /// Where the model is asked, if not at its provider's own address
    #[arg(long, value_name = "URL", requires = "model")]
    base_url: Option<String>,
    /// The environment variable that holds the model's key, if not the usual one
    #[arg(long, value_name = "NAME", requires = "model")]
    key_env: Option<String>,
    /// Go on with this session, or begin one of this id
    #[arg(long, value_name = "ID", conflicts_with = "continue")]
    session: Option<String>,
    /// Go on with the newest session of the folder
    #[arg(long)]
    r#continue: bool,
    /// The workspace folder: sessions are kept for it, and tools look into it alone
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Keep sessions in DIR, as an editor's `storage.path`, and not in the platform's folder for data
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    /// Write each frame between chat and engine into FILE, as JSON lines. It will hold everything that is said
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write each request that goes to a model into DIR, as JSON. They will hold everything that is said
    #[arg(long, value_name = "DIR")]
    dump_prompts: Option<PathBuf>,
    /// The policy: a built-in one by its name, or that of a file
    #[arg(long, value_name = "NAME|FILE")]
    policy: Option<String>,
    /// Set a setting, such as model.window=32000; it wins over files and environment
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

impl Chat {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        let model = match &self.model {
            Some(model) => Named::read(model, self.base_url.as_deref(), self.key_env.as_deref())?.setting(),
            None => Map::new(),
        };
        let said = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut set: Vec<String> =
            model.iter().map(|(part, value)| format!("model.{part}={}", said(value))).collect();
        // What is set by name wins over what follows from the other flags.
        set.extend(self.set.iter().cloned());
        let flags = Flags::read(self.policy.as_deref(), &set)?;
        let folder = absolute(&self.folder)?;
        if !folder.is_dir() {
            let error = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            return Err(Failure::Read { file: folder.display().to_string(), error });
        }
        if let Some(dir) = &self.dump_prompts {
            dump::make_folder(dir)
                .map_err(|error| Failure::Write { file: dir.display().to_string(), error })?;
        }
        let which = match &self.session {
            Some(id) => Which::Named(id.clone()),
            None if self.r#continue => Which::Newest,
            None => Which::New,
        };
        let storage = self.storage.as_deref().map(absolute).transpose()?;
        // Who runs a task has other flags.
        let task = (!model.is_empty())
            .then(|| GivenSettings(Map::from_iter([("model".to_owned(), Value::Object(model))])));
        let begin = Begin { folder, which, storage, task };
        let options = Options { record: self.record.clone(), flags, dump_prompts: self.dump_prompts.clone() };
        let talked = serve_within(&options, async |stream| talk::talk(stream, begin).await);
        talked.map_err(Failure::Runtime)?.map_err(|refused| Failure::Chat(refused.to_string()))
    }
}

/// The folder as it is called: an editor names it so too, and its sessions are kept under that name.
fn absolute(folder: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(folder).map_err(|error| Failure::Read { file: folder.display().to_string(), error })
}
