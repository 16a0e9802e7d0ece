//! Asks a provider for the limits of a model, with the address, the headers and the keys of its calls.

use super::{MOST_ERROR, Remote, in_time, network};
use crate::ModelError;
use crate::excerpt::excerpt;
use crate::listed::{self, ListedLimits};
use crate::options::with_query;
use secrecy::ExposeSecret;
use serde_json::Value;

/// The largest list of models, in bytes.
const MOST_LIST: usize = 16 << 20;

impl Remote {
    /// Asks for the model's limits; without a retry, because nobody waits for them. Empty if the provider lists none.
    ///
    /// # Errors
    ///
    /// Fails if the provider cannot be reached, refuses the request, or answers with something else than JSON.
    pub async fn listed_limits(&self) -> Result<ListedLimits, ModelError> {
        let model = &self.terms.model;
        let Some(path) = listed::path(&self.endpoint, model) else { return Ok(ListedLimits::default()) };
        let path = with_query(&path, &self.endpoint.options);
        let version: &[_] = if self.endpoint.wire == engine::endpoint::Wire::Anthropic {
            &[("anthropic-version", "2023-06-01")]
        } else {
            &[]
        };
        let sent = self.client.get(format!("{}{path}", self.endpoint.url())).headers(self.headers(version)?);
        let hidden = |error: ModelError| {
            let keys = self.key.iter().chain(self.keyed.iter().map(|(_, key)| key));
            keys.fold(error, |error, key| error.without(key.expose_secret()))
        };
        let answered = async {
            let mut response = in_time(self.silence.first, sent.send()).await?.map_err(network)?;
            let is_refused = !response.status().is_success();
            let most = if is_refused { MOST_ERROR } else { MOST_LIST };
            let status = response.status();
            let mut body = Vec::new();
            while let Some(piece) = in_time(self.silence.later, response.chunk()).await?.map_err(network)? {
                body.extend_from_slice(&piece);
                if body.len() > most {
                    let reason = format!("the list of models is larger than {most} bytes");
                    return Err(ModelError::CorruptStream { reason });
                }
            }
            let text = String::from_utf8_lossy(&body);
            if is_refused {
                let reason = format!("{status}: {}", excerpt(&text, 200));
                return Err(ModelError::BadRequest { status: Some(status.as_u16()), reason });
            }
            let body: Value = serde_json::from_str(&text).map_err(|_| ModelError::CorruptStream {
                reason: "the list of models is no JSON".to_owned(),
            })?;
            Ok(listed::read(&body, model))
        };
        answered.await.map_err(hidden)
    }
}
