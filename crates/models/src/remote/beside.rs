//! What is asked of a provider beside answers: the limits of a model, and its count of a request. With the address, the
//! headers and the keys of the calls; without retries, because nobody waits for the one, and a user for the other.

use super::{Remote, in_time, network};
use crate::ModelError;
use crate::counted;
use crate::listed::{self, ListedLimits};
use crate::options::with_query;
use crate::wire::post;
use engine::endpoint::Wire;
use engine::prompt::request::Request;
use reqwest::RequestBuilder;
use secrecy::ExposeSecret;
use serde_json::Value;

/// The largest answer, in bytes: a list of models.
const MOST_LISTED: usize = 16 << 20;

impl Remote {
    /// Asks for the model's limits. Empty if the provider lists none.
    ///
    /// # Errors
    ///
    /// Fails if the provider cannot be reached, refuses the request, or answers with something else than JSON.
    pub async fn listed_limits(&self) -> Result<ListedLimits, ModelError> {
        let model = &self.terms.model;
        let Some(path) = listed::path(&self.endpoint, model) else { return Ok(ListedLimits::default()) };
        let path = with_query(&path, &self.endpoint.options);
        let version: &[_] = match self.endpoint.wire {
            Wire::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        };
        let asked = self.client.get(format!("{}{path}", self.endpoint.url())).headers(self.headers(version)?);
        let body = self.json(asked, "the list of models").await?;
        Ok(listed::read(&body, model))
    }

    /// Asks for the provider's count of a request. `None` where the provider counts none.
    pub(super) async fn count(&self, request: &Request) -> Result<Option<u32>, ModelError> {
        let post = post(&self.endpoint, request, &self.terms);
        let asked = post.and_then(|post| counted::question(&self.endpoint, &self.terms.model, post));
        let Some(post) = asked else { return Ok(None) };
        let url = format!("{}{}", self.endpoint.url(), post.path);
        let asked = self.client.post(url).headers(self.headers(&post.headers)?).body(post.body.to_string());
        let body = self.json(asked, "the count of tokens").await?;
        let unread = || ModelError::CorruptStream { reason: "the count of tokens has no figure".to_owned() };
        counted::read(&body).ok_or_else(unread).map(Some)
    }

    /// Sends a request and returns its answer, which `what` names in errors.
    async fn json(&self, asked: RequestBuilder, what: &str) -> Result<Value, ModelError> {
        let answered = async {
            let mut response = in_time(self.silence.first, asked.send()).await?.map_err(network)?;
            if !response.status().is_success() {
                return Err(self.refused(response).await.error);
            }
            let mut body = Vec::new();
            while let Some(piece) = in_time(self.silence.later, response.chunk()).await?.map_err(network)? {
                body.extend_from_slice(&piece);
                if body.len() > MOST_LISTED {
                    let reason = format!("{what} is larger than {MOST_LISTED} bytes");
                    return Err(ModelError::CorruptStream { reason });
                }
            }
            let unread = |_| ModelError::CorruptStream { reason: format!("{what} is no JSON") };
            serde_json::from_slice(&body).map_err(unread)
        };
        let keys = self.key.iter().chain(self.keyed.iter().map(|(_, key)| key));
        let hidden = |error| keys.fold(error, |error: ModelError, key| error.without(key.expose_secret()));
        answered.await.map_err(hidden)
    }
}
