//! A check of a model: one small request, and what a person can do if it fails.

use crate::listed::pages::NoList;
use crate::used::UsageSoFar;
use crate::{Model, ModelError, address};
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::Request;

/// Most tokens of the answer; the least that every provider takes.
const MOST_ANSWER: u32 = 16;

/// Asks a model to say one word. Returns the input tokens that the provider counted, if it counted any.
///
/// # Errors
/// Those of the model.
pub async fn ask(model: &mut dyn Model) -> Result<Option<u32>, ModelError> {
    let request = Request {
        items: vec![Item::made(Role::User, "Say the word: ready", 8)],
        max_output: Some(MOST_ANSWER),
        ..Request::default()
    };
    let mut used = UsageSoFar::default();
    let answer = model.answer(&request, &mut |progress| used.hear(&progress)).await?;
    Ok(used.with(answer.usage).and_then(|usage| usage.input_tokens))
}

/// The facts that advice depends on.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The wire.
    pub wire: Wire,
    /// `true` if no base URL was given.
    pub is_own: bool,
    /// The host with its port, if that is not the usual one.
    pub host: String,
    /// The name of the key, if one is sent.
    pub key: Option<String>,
    /// `true` if there is a key of that name.
    pub has_key: bool,
    /// `true` for a reader who gives options on a command line.
    pub is_shell: bool,
}

impl Asked {
    /// The facts of an endpoint.
    pub fn of(endpoint: &Endpoint, has_key: bool, is_shell: bool) -> Self {
        Self {
            wire: endpoint.wire,
            is_own: endpoint.base_url.is_none(),
            host: address::host(endpoint),
            key: endpoint.key_name().map(str::to_owned),
            has_key,
            is_shell,
        }
    }

    /// Advice where there is no list of models.
    pub fn advice_without_list(&self, no_list: &NoList) -> String {
        match no_list {
            NoList::Unsupported | NoList::Failed(ModelError::BadRequest { status: Some(404 | 405), .. }) => {
                format!(
                    "Give the model's name as its provider spells it, or check the address: for {} it ends before {}.",
                    self.wire.name(),
                    address::path(self.wire)
                )
            }
            NoList::Failed(ModelError::BadRequest { status: None | Some(400..), .. }) => {
                format!(
                    "The provider rejected the request. Check that the address speaks {}.",
                    self.wire.name()
                )
            }
            NoList::Empty if self.wire == Wire::Ollama => "Download a model with `ollama pull`.".to_owned(),
            NoList::Empty => {
                "Check whether the key may use any model, or give the model's name as its provider spells it."
                    .to_owned()
            }
            NoList::Late { .. } => {
                "Try again, or give the model's name as its provider spells it.".to_owned()
            }
            NoList::Failed(error) => self.advice(error),
        }
    }

    /// Advice about an error.
    pub fn advice(&self, error: &ModelError) -> String {
        match error {
            ModelError::Auth { .. } => self.advice_about_key(),
            ModelError::Network { reason } if reason.contains("certificate") => {
                "The address presents a certificate that this machine does not trust. Check the address, and whether a proxy \
                 with its own certificate intercepts the connection."
                    .to_owned()
            }
            ModelError::Network { reason } if reason.contains("dns error") => {
                "No such host. Check the spelling of the address and the network.".to_owned()
            }
            ModelError::Network { .. } if self.wire == Wire::Ollama && self.is_own => {
                let way = if self.is_shell { "--base-url" } else { "the setting baseUrl" };
                format!("Nothing listens at this address. Start Ollama, or give its address with {way}.")
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

    /// Advice about a missing or rejected key. A client of the protocol makes names of keys itself, which its
    /// user does not know: there, a rejected key is called by its host.
    fn advice_about_key(&self) -> String {
        let Self { host, key, .. } = self;
        let rejected = |which: String| {
            format!(
                "{which} was rejected. Check that it is complete, still valid, belongs to this provider and may use this model."
            )
        };
        match (self.has_key, self.is_shell, key) {
            (true, true, Some(name)) => rejected(format!("The key in {name}")),
            (true, ..) => rejected(format!("The API key for {host}")),
            (false, true, name) => {
                let name = name.as_deref().unwrap_or("the variable that --key-env names");
                format!("No key is set. Set {name}, or name another variable with --key-env.")
            }
            (false, false, Some(name)) => {
                format!(
                    "No API key is set for {host}. Set {name}, or name another key with the setting keyEnv."
                )
            }
            (false, false, None) => format!("No API key is set for {host}. Set one."),
        }
    }
}
