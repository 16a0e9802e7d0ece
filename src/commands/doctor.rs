//! `threadhold doctor`: sends a model one small request and reports the outcome: the class of an error, the
//! provider's own words, and advice. Nothing is stored; a key is read and never shown. `storage` checks a
//! storage folder instead.

mod database;
mod storage;

use super::files::print;
use super::model::Named;
use super::store::database_of;
use super::{Failure, SUCCESS, UNFIT};
use clap::Args;
use engine::endpoint::{Endpoint, Wire};
use models::check::{self, Asked};
use models::listed::{self, ListedLimits};
use models::remote::{Clients, Remote};
use models::scripted::Scripted;
use models::wire::Terms;
use models::{ModelError, known};
use secrecy::SecretString;
use std::path::Path;
use std::time::Duration;

/// Longest silence of the model.
const IDLE: Duration = Duration::from_secs(60);

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
    /// Check this storage folder, and its sessions' own files, instead of a model; nothing is changed. A PostgreSQL database
    /// is checked by its URL, or as `postgres` where the environment or the user's settings name it
    #[arg(long, value_name = "DIR|URL")]
    storage: Option<String>,
    /// The tenant in a PostgreSQL database, instead of the one in the settings
    #[arg(long, value_name = "NAME", requires = "storage")]
    tenant: Option<String>,
    /// Repair what can be repaired, after copying what is changed; no other program may use it meanwhile
    #[arg(long, requires = "storage")]
    repair: bool,
    /// Delete this damaged session or revision with all that is left of it, after a copy
    #[arg(long, value_name = "ID", requires = "storage", conflicts_with = "repair")]
    drop: Option<String>,
}

impl Doctor {
    pub(super) fn run(&self) -> Result<u8, Failure> {
        if let Some(storage) = &self.storage {
            if let Some(options) = database_of(storage, self.tenant.as_deref())? {
                if self.repair || self.drop.is_some() {
                    return Err(Failure::Chat(
                        "--repair and --drop are for storage folders; a database is repaired with its own tools".into(),
                    ));
                }
                return database::run(&options);
            }
            let folder = Path::new(storage);
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
        let asked = Asked::of(&endpoint, key.is_some(), true);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::Runtime)?;
        let listing_key = key.clone().map(SecretString::from);
        let answered = runtime.block_on(ask(endpoint, name, window, key.map(SecretString::from)));
        let (code, verdict) = match answered {
            Ok(input_tokens) => (SUCCESS, well(input_tokens)),
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
) -> Result<Option<u32>, ModelError> {
    if endpoint.wire == Wire::Scripted {
        return check::ask(&mut Scripted::at(endpoint.base_url.as_deref())?).await;
    }
    let client = Clients::default().of(&endpoint)?;
    check::ask(&mut Remote::new(client, endpoint, key, terms(name, window), IDLE).without_retries()).await
}

fn well(input_tokens: Option<u32>) -> String {
    let used = input_tokens.map_or_else(String::new, |tokens| format!("; it counted {tokens} input tokens"));
    format!("ok       the model answered{used}\n")
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
