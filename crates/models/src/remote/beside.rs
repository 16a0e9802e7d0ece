//! What is asked of a provider beside answers: its list of models, the limits of one, and its count of a request. With the
//! address, the headers and the keys of the calls; without retries, because nobody waits for the limits, and a user for the
//! rest.

use super::{Remote, in_time, network};
use crate::ModelError;
use crate::counted;
use crate::listed::pages::{ListedModel, NoList, Pages};
use crate::listed::{self, ListedLimits};
use crate::options::with_query;
use crate::wire::post;
use engine::endpoint::Wire;
use engine::prompt::request::Request;
use reqwest::RequestBuilder;
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
        Ok(listed::read(&self.listed(&path).await?, model))
    }

    /// Asks for all models that the provider lists. The whole list must arrive within the deadline for the first data.
    ///
    /// # Errors
    ///
    /// Fails if the provider cannot be reached, refuses a request, answers with something else than a list or too late, or
    /// lists no models.
    pub async fn listed_models(&self) -> Result<Vec<ListedModel>, NoList> {
        let mut pages = Pages::of(&self.endpoint).ok_or(NoList::Unsupported)?;
        let waited = self.silence.first;
        let read = async {
            while let Some(path) = pages.path() {
                let page = self.listed(&path).await?;
                pages.take(&page).map_err(|error| self.without_keys(error))?;
            }
            pages.end()
        };
        match tokio::time::timeout(waited, read).await {
            Err(_) | Ok(Err(NoList::Failed(ModelError::Silent { .. }))) => Err(NoList::Late { waited }),
            Ok(read) => read,
        }
    }

    /// Asks for a list of models, or an entry of it, at this path.
    async fn listed(&self, path: &str) -> Result<Value, ModelError> {
        let path = with_query(path, &self.endpoint.options);
        let version: &[_] = match self.endpoint.wire {
            Wire::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        };
        let asked = self.client.get(format!("{}{path}", self.endpoint.url())).headers(self.headers(version)?);
        self.json(asked, "the list of models").await
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
            let response = in_time(self.silence.first, asked.send()).await?;
            let mut response = response.map_err(|error| self.unreached(error))?;
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
        answered.await.map_err(|error| self.without_keys(error))
    }
}
