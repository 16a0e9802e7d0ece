//! `threadhold doctor`: sends a model one small request and reports the outcome: the class of an error, the
//! provider's own words, and advice. Nothing is stored; a key is read and never shown. `storage` checks a
//! storage folder instead.

mod storage;

use super::files::print;
use super::model::Named;
use super::{Failure, SUCCESS, UNFIT};
use clap::Args;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::{Answer, Request};
use models::listed::{self, ListedLimits};
use models::remote::{Clients, Remote};
use models::scripted::Scripted;
use models::wire::Terms;
use models::{Model, ModelError, address, known};
use secrecy::SecretString;
use std::path::PathBuf;
use std::time::Duration;

/// Longest silence of the model.
const IDLE: Duration = Duration::from_secs(60);
/// Most tokens of the answer; the least that every provider takes.
const MOST_ANSWER: u32 = 16;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// The wire and the model's name; wires are openai-chat, openai-responses, anthropic, ollama and scripted
    #[arg(long, value_name = "WIRE:NAME", required_unless_present = "storage", conflicts_with = "storage")]
    model: Option<String>,
    /// The base URL, instead of the provider's
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The environment variable that holds the API key, instead of the provider's usual one
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// Check this storage folder, and its sessions' own files, instead of a model; nothing is changed
    #[arg(long, value_name = "DIR")]
    storage: Option<PathBuf>,
    /// Repair what can be repaired, after copying what is changed; no other program may use it meanwhile
    #[arg(long, requires = "storage")]
    repair: bool,
    /// Delete this damaged session or revision with all that is left of it, after a copy
    #[arg(long, value_name = "ID", requires = "storage", conflicts_with = "repair")]
    drop: Option<String>,
}

impl Doctor {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        if let Some(folder) = &self.storage {
            return match &self.drop {
                Some(session) => storage::drop_session(folder, session),
                None => storage::run(folder, self.repair),
            };
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
                (None, _) => "key      not needed\n".to_owned(),
                (Some(name), Some(_)) => format!("key      {name} is set\n"),
                (Some(name), None) => format!("key      {name} is not set\n"),
            };
            report += &match known {
                Some(window) => format!("window   {window} tokens, known for this name\n"),
                None if wire == Wire::Ollama => {
                    format!("window   {} tokens, unless model.window is set\n", wire.usual_window())
                }
                None => "window   unknown for this name; set model.window\n".to_owned(),
            };
        }
        print(&report)?;
        let looks_up = listed::is_usual(&endpoint).then(|| endpoint.clone());
        let window = known.unwrap_or(wire.usual_window());
        let asked =
            Asked { wire, is_own: endpoint.base_url.is_none(), key: key_name, has_key: key.is_some() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::Runtime)?;
        let listing_key = key.clone().map(SecretString::from);
        let answered = runtime.block_on(ask(endpoint, name, window, key.map(SecretString::from)));
        let (code, verdict) = match answered {
            Ok(answer) => (SUCCESS, well(&answer)),
            Err(error) => {
                (UNFIT, format!("failed   {}: {error}\nadvice   {}\n", error.class(), asked.advice(&error)))
            }
        };
        print(&verdict)?;
        if let Some(endpoint) = looks_up.filter(|_| code == SUCCESS) {
            let limits = runtime.block_on(limits(endpoint, name, listing_key));
            print(&listed_line(&limits))?;
        }
        Ok(code)
    }
}

fn terms(name: &str, window: u32) -> Terms {
    Terms {
        model: name.to_owned(),
        window,
        max_output: None,
        tool_choice_none: true,
        images: false,
        cache_key: None,
    }
}

/// Looks up the model in the provider's list.
async fn limits(
    endpoint: Endpoint,
    name: &str,
    key: Option<SecretString>,
) -> Result<ListedLimits, ModelError> {
    let client = Clients::default().of(&endpoint)?;
    Remote::new(client, endpoint, key, terms(name, 0), IDLE).listed_limits().await
}

fn listed_line(limits: &Result<ListedLimits, ModelError>) -> String {
    match limits {
        Ok(ListedLimits { window: Some(window), .. }) => {
            format!("listed   {window} tokens, in the provider's list of models\n")
        }
        Ok(_) => "listed   no window in the provider's list of models\n".to_owned(),
        Err(error) => format!("listed   unknown: the list of models could not be read: {error}\n"),
    }
}

async fn ask(
    endpoint: Endpoint,
    name: &str,
    window: u32,
    key: Option<SecretString>,
) -> Result<Answer, ModelError> {
    let terms = terms(name, window);
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
    let used = used.map_or_else(String::new, |tokens| format!("; it counted {tokens} input tokens"));
    format!("ok       the model answered{used}\n")
}

/// The facts that advice depends on.
struct Asked {
    wire: Wire,
    /// `true` if no base URL was given.
    is_own: bool,
    key: Option<String>,
    has_key: bool,
}

impl Asked {
    fn advice(&self, error: &ModelError) -> String {
        let key = self.key.as_deref().unwrap_or("the variable that --key-env names");
        match error {
            ModelError::Auth { .. } if !self.has_key => {
                format!("No key is set. Set {key}, or name another variable with --key-env.")
            }
            ModelError::Auth { .. } => format!(
                "The key in {key} was rejected. Check that it is complete, still valid, belongs to this provider and may \
                 use this model."
            ),
            ModelError::Network { reason } if reason.contains("certificate") => {
                "The address presents a certificate that this machine does not trust. Check the address, and whether a proxy \
                 with its own certificate intercepts the connection."
                    .to_owned()
            }
            ModelError::Network { reason } if reason.contains("dns error") => {
                "No such host. Check the spelling of the address and the network.".to_owned()
            }
            ModelError::Network { .. } if self.wire == Wire::Ollama && self.is_own => {
                "Nothing listens at this address. Start Ollama, or give its address with --base-url.".to_owned()
            }
            ModelError::Silent { .. } => {
                "The request was accepted, but no answer came. The model may still be loading or thinking: try again, or raise \
                 modelDeadlineMs."
                    .to_owned()
            }
            ModelError::Network { .. } => {
                "Nothing listens at this address, or the connection broke. Check the address, its port, http or https, the network and \
                 the proxy."
                    .to_owned()
            }
            ModelError::BadRequest { .. } if self.wire == Wire::Scripted => {
                "Check that the file exists and is a script of answers.".to_owned()
            }
            ModelError::BadRequest { status: Some(404 | 405), .. } => {
                format!("Unknown model or address; {}.", address::of_nothing_there(self.wire))
            }
            ModelError::BadRequest { status: Some(300..=399), .. } => {
                "The address redirects to another one, and redirects are not followed, to protect the key. Use the other address."
                    .to_owned()
            }
            ModelError::BadRequest { status: Some(500..), .. } if self.wire == Wire::Ollama => {
                "The model with this window does not fit into memory. Set a smaller model.window, or choose a smaller model."
                    .to_owned()
            }
            ModelError::BadRequest { .. } => format!(
                "The provider rejected the request. Check the model's name, and that the address speaks {}.",
                self.wire.name()
            ),
            ModelError::CorruptStream { .. } => format!(
                "The response is not an answer of the wire {}. Check whether the address speaks another wire, or is a web page.",
                self.wire.name()
            ),
            ModelError::RateLimited { .. } => {
                "The key and the address work; the rate limit is reached. Wait, then try again."
                    .to_owned()
            }
            ModelError::Quota { .. } => {
                "The key works, but the account's quota is used up. Check its plan and billing.".to_owned()
            }
            ModelError::Overloaded { .. } => {
                "The provider is overloaded or has an outage. Try again later.".to_owned()
            }
            ModelError::ContextOverflow { overflow, .. } if overflow.limit.is_none() => {
                "A request of one sentence was rejected as too large. Check the address, and whether a proxy limits the size of \
                 requests."
                    .to_owned()
            }
            ModelError::ContextOverflow { .. } | ModelError::TooLargeForRate { .. } => {
                "The model accepts less than one sentence: its window or its rate limit is configured too small."
                    .to_owned()
            }
            ModelError::Refused { .. } => {
                "The key and the address work; the provider refused to answer this question.".to_owned()
            }
            ModelError::Cancelled => "The request was cancelled. Try again.".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_the_provider_is_reported_in_a_line() {
        let listed = |limits: Result<ListedLimits, ModelError>| listed_line(&limits);
        let window = Some(300_000);
        assert_eq!(
            listed(Ok(ListedLimits { window, input: None })),
            "listed   300000 tokens, in the provider's list of models\n"
        );
        assert_eq!(
            listed(Ok(ListedLimits::default())),
            "listed   no window in the provider's list of models\n"
        );
        let error = ModelError::Network { reason: "no route".to_owned() };
        assert!(listed(Err(error)).starts_with("listed   unknown: the list of models could not be read: "));
    }
}
