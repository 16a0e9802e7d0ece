//! A check of a model: one small request, and what a person can do if it fails.

use crate::used::UsageSoFar;
use crate::{Model, ModelError, address};
use engine::endpoint::Wire;
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
    /// The name of the key, if one is sent.
    pub key: Option<String>,
    /// `true` if there is a key of that name.
    pub has_key: bool,
    /// `true` for a reader who gives options on a command line.
    pub is_shell: bool,
}

impl Asked {
    /// What a person can do about an error.
    pub fn advice(&self, error: &ModelError) -> String {
        let key = self.key.as_deref().unwrap_or(match self.is_shell {
            true => "the variable that --key-env names",
            false => "the setting keyEnv",
        });
        match error {
            ModelError::Auth { .. } if !self.has_key && self.is_shell => {
                format!("No key is set. Set {key}, or name another variable with --key-env.")
            }
            ModelError::Auth { .. } if !self.has_key => {
                format!("No key is set. Set {key}, or name another key with the setting keyEnv.")
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
}
