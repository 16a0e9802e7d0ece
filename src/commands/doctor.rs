//! `threadhold doctor`: asks a model one small question and says what came of it: the class of what is wrong, the provider's
//! own words, and what to do about it. Nothing is stored; a key is read and never shown. Or looks at a storage folder,
//! which is `storage`'s.

mod storage;

use super::files::print;
use super::model::Named;
use super::{Failure, SUCCESS, UNFIT};
use clap::Args;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::{Answer, Request};
use models::remote::{Clients, Remote};
use models::scripted::Scripted;
use models::wire::Terms;
use models::{Model, ModelError, address, known};
use secrecy::SecretString;
use std::path::PathBuf;
use std::time::Duration;

/// How long the model may say nothing.
const IDLE: Duration = Duration::from_secs(60);
/// The most that it is to answer, in tokens; the least that every provider takes.
const MOST_ANSWER: u32 = 16;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// How the model is asked, and its name: openai-chat, openai-responses, anthropic, ollama or scripted
    #[arg(long, value_name = "WIRE:NAME", required_unless_present = "storage", conflicts_with = "storage")]
    model: Option<String>,
    /// The address; the provider's own where it is missing
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The environment variable that holds the key; the provider's usual one where it is missing
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// A storage folder that is looked at instead; nothing in it is changed
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    /// Put right what can be, after a copy of the file was made; nobody may use it meanwhile
    #[arg(long, requires = "storage")]
    repair: bool,
}

impl Doctor {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        if let Some(folder) = &self.storage {
            return storage::run(folder, self.repair);
        }
        let model = self.model.as_deref().unwrap_or_default();
        let named = Named::read(model, self.base_url.as_deref(), self.key_env.as_deref())?;
        let Named { name, endpoint } = named;
        let (name, wire) = (name.as_deref().unwrap_or_default(), endpoint.wire);
        let key_name = endpoint.key_name().map(str::to_owned);
        let key = key_name.as_deref().and_then(|name| std::env::var(name).ok()).filter(|key| !key.is_empty());
        let known = known::served(Some(wire), name).map(|known| known.window);
        let mut report = format!("model    {name} over {}\n", wire.name());
        if wire != Wire::Scripted {
            report += &format!("address  {}\n", endpoint.url());
            report += &match (&key_name, &key) {
                (None, _) => "key      none is needed\n".to_owned(),
                (Some(name), Some(_)) => format!("key      {name} is set\n"),
                (Some(name), None) => format!("key      {name} is not set\n"),
            };
            report += &match known {
                Some(window) => format!("window   {window} tokens, as is known of its name\n"),
                None if wire == Wire::Ollama => {
                    format!("window   {} tokens, unless model.window says another\n", wire.usual_window())
                }
                None => "window   not known of its name: set model.window\n".to_owned(),
            };
        }
        print(&report)?;
        let window = known.unwrap_or(wire.usual_window());
        let asked =
            Asked { wire, is_own: endpoint.base_url.is_none(), key: key_name, has_key: key.is_some() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::Runtime)?;
        let answered = runtime.block_on(ask(endpoint, name, window, key.map(SecretString::from)));
        let (code, verdict) = match answered {
            Ok(answer) => (SUCCESS, well(&answer)),
            Err(error) => {
                (UNFIT, format!("failed   {}: {error}\nadvice   {}\n", error.class(), asked.advice(&error)))
            }
        };
        print(&verdict)?;
        Ok(code)
    }
}

async fn ask(
    endpoint: Endpoint,
    name: &str,
    window: u32,
    key: Option<SecretString>,
) -> Result<Answer, ModelError> {
    let terms = Terms {
        model: name.to_owned(),
        window,
        max_output: None,
        tool_choice_none: true,
        images: false,
        cache_key: None,
    };
    let request = Request {
        items: vec![Item::made(Role::User, "Say the word: ready", 8)],
        max_output: Some(MOST_ANSWER),
        ..Request::default()
    };
    if endpoint.wire == Wire::Scripted {
        return Scripted::at(endpoint.base_url.as_deref())?.answer(&request, &mut drop).await;
    }
    let mut model =
        Remote::new(Clients::default().of(&endpoint)?, endpoint, key, terms, IDLE).without_retries();
    model.answer(&request, &mut drop).await
}

fn well(answer: &Answer) -> String {
    let used = answer.usage.and_then(|usage| usage.input_tokens);
    let used = used.map_or_else(String::new, |tokens| format!("; it counted {tokens} tokens of input"));
    format!("well     it answered{used}\n")
}

/// What is known of a model that did not answer.
struct Asked {
    wire: Wire,
    /// Whether it was looked for where its provider is.
    is_own: bool,
    key: Option<String>,
    has_key: bool,
}

impl Asked {
    /// What to do about it.
    fn advice(&self, error: &ModelError) -> String {
        let key = self.key.as_deref().unwrap_or("the variable that --key-env names");
        match error {
            ModelError::Auth { .. } if !self.has_key => {
                format!("There is no key. Set {key}, or name another variable with --key-env.")
            }
            ModelError::Auth { .. } => format!(
                "The key in {key} was not accepted. Look whether it is whole, still valid, of this provider, and may \
                 use this model."
            ),
            ModelError::Network { reason } if reason.contains("certificate") => {
                "The address answers with a certificate that is not trusted here. Look whether it is the right address, and \
                 whether a proxy stands between that has a certificate of its own."
                    .to_owned()
            }
            ModelError::Network { reason } if reason.contains("dns error") => {
                "There is no such host. Look at the spelling of the address, and at your network.".to_owned()
            }
            ModelError::Network { .. } if self.wire == Wire::Ollama && self.is_own => {
                "Nobody answers there. Start Ollama, or say with --base-url where it runs.".to_owned()
            }
            ModelError::Silent { .. } => {
                "The request was taken and nothing came. The model may still be read into memory, or think for long: ask \
                 again, and set modelDeadlineMs to more."
                    .to_owned()
            }
            ModelError::Network { .. } => {
                "Nobody answers there, or the connection broke. Look at the address, its \
                                           port, http or https, and at your network and proxy."
                    .to_owned()
            }
            ModelError::BadRequest { .. } if self.wire == Wire::Scripted => {
                "Look whether the file is there and is a fixture of a scripted model.".to_owned()
            }
            ModelError::BadRequest { status: Some(404 | 405), .. } => {
                address::of_nothing_there(self.wire)
            }
            ModelError::BadRequest { status: Some(300..=399), .. } => {
                "The address leads on to another one, which is not followed with a key. Give that one."
                    .to_owned()
            }
            ModelError::BadRequest { status: Some(500..), .. } if self.wire == Wire::Ollama => {
                "The model with its window does not fit the machine's memory. Set a smaller model.window, or choose a \
                 smaller model."
                    .to_owned()
            }
            ModelError::BadRequest { .. } => format!(
                "The provider did not take the request. Look whether the model's name is right and the address speaks {}.",
                self.wire.name()
            ),
            ModelError::CorruptStream { .. } => format!(
                "What came is no answer of {}. Look whether the address speaks another wire, or is a web page.",
                self.wire.name()
            ),
            ModelError::RateLimited { .. } => {
                "The key and the address are right; too much was asked of late. Wait, and ask again."
                    .to_owned()
            }
            ModelError::Quota { .. } => {
                "The key is right; the account has nothing left. Look at its plan and its bills.".to_owned()
            }
            ModelError::Overloaded { .. } => {
                "The provider has no room or is broken at the moment. Ask again in a while.".to_owned()
            }
            ModelError::ContextOverflow { overflow, .. } if overflow.limit.is_none() => {
                "One sentence was refused as too large. Look at the address, and whether a proxy stands between that takes \
                 only smaller requests."
                    .to_owned()
            }
            ModelError::ContextOverflow { .. } | ModelError::TooLargeForRate { .. } => {
                "The model takes less than one sentence: its window or its rate limit is set too small."
                    .to_owned()
            }
            ModelError::Refused { .. } => {
                "The key and the address are right; the provider would not answer this question.".to_owned()
            }
            ModelError::Cancelled => "It was stopped. Ask again.".to_owned(),
        }
    }
}
