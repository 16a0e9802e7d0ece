//! A call over a WebSocket. A socket stays open after its answer, and the next request of the conversation sends over it
//! what is new only; in any doubt the whole input goes.

use super::{FailedAttempt, NO_SOCKET, Remote, builder, in_time, network, read};
use crate::socket::{Handshake, Socket};
use crate::sockets::Kept;
use crate::wire::openai_responses::{Previous, rendered};
use crate::wire::{Stream, named_back, stamped};
use crate::{ModelError, OnProgress, Progress};
use engine::delta::Draft;
use engine::prompt::request::{Answer, Request};
use engine::text::sha256_hex;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::SystemTime;

/// A call over a socket.
pub(super) struct Call<'a> {
    pub url: String,
    pub headers: HeaderMap,
    pub body: &'a Value,
    pub request: &'a Request,
}

impl Remote {
    /// Asks over an open socket of the conversation, otherwise over a new one.
    pub(super) async fn over_socket(
        &self,
        call: Call<'_>,
        hear: OnProgress<'_>,
    ) -> Result<Answer, FailedAttempt> {
        let of = identity(&call);
        if let Some(mut kept) = self.sockets.take(&of)
            && kept.socket.is_usable().await
        {
            let (previous, opened) = (kept.previous, kept.opened);
            let message = previous.continued(call.body);
            let asked =
                self.ask_over(&mut kept.socket, message.as_ref().unwrap_or(call.body), &call, hear).await;
            let is_lost =
                |error: &ModelError| matches!(error, ModelError::Network { .. } | ModelError::Silent { .. });
            match asked {
                Ok((answer, said)) => {
                    self.keep(Kept { previous, of, opened, ..kept }, &call, &said);
                    return Ok(answer);
                }
                // The provider closed it, or no longer has the response before: the whole input goes over a new one.
                Err((error, false)) if is_lost(&error) => {}
                Err((error, _)) => return Err(error.into()),
            }
        }
        let opened = SystemTime::now();
        let mut socket = self.open_socket(&call).await?;
        match self.ask_over(&mut socket, call.body, &call, hear).await {
            Ok((answer, said)) => {
                self.keep(Kept { socket, of, previous: Previous::default(), opened }, &call, &said);
                Ok(answer)
            }
            // Something on the way may let sockets be opened and nothing through, or the request is too large for one.
            Err((error, false)) if !socket.has_begun() && matches!(error, ModelError::Network { .. }) => {
                Err(FailedAttempt { is_sockets: self.sockets.broke_at(&self.endpoint), ..error.into() })
            }
            Err((error, _)) => Err(error.into()),
        }
    }

    /// Sends a message and reads the answer. Returns what the answer said beside it, or the error with whether something
    /// of the answer was heard.
    async fn ask_over(
        &self,
        socket: &mut Socket,
        message: &Value,
        call: &Call<'_>,
        hear: OnProgress<'_>,
    ) -> Result<(Answer, Draft), (ModelError, bool)> {
        let (mut said, mut is_heard) = (Draft::default(), false);
        let stream = Stream::new(self.endpoint.wire).ok_or_else(|| {
            (ModelError::BadRequest { status: None, reason: "this wire has no streams".to_owned() }, false)
        })?;
        let sent = match in_time(self.silence.first, socket.send(message)).await {
            Ok(sent) => sent,
            Err(error) => Err(error),
        };
        sent.map_err(|error| (error, false))?;
        let mut note = |progress: Progress| {
            if matches!(progress, Progress::Delta(_)) {
                is_heard = true;
                let named = named_back(progress.clone(), &call.request.tools);
                if let Progress::Delta(delta) = stamped(named, self.endpoint.wire, &self.terms.model) {
                    // What cannot be folded is not found in the next request, which then goes whole.
                    drop(said.fold(delta));
                }
            }
            hear(progress);
        };
        match read(stream, &mut *socket, self.silence, &mut note).await {
            Ok(answer) => Ok((answer, said)),
            Err(error) => Err((error, is_heard)),
        }
    }

    /// Keeps a socket for the next request, if the provider named the response.
    fn keep(&self, kept: Kept, call: &Call<'_>, said: &Draft) {
        self.sockets.work_at(&self.endpoint);
        let Some(id) = kept.socket.response() else { return };
        let previous = Previous::of(id, call.body, rendered(&said.body(), &self.terms));
        self.sockets.keep(Kept { previous, ..kept });
    }

    async fn open_socket(&self, call: &Call<'_>) -> Result<Socket, FailedAttempt> {
        let sockets = |error: ModelError| FailedAttempt { is_sockets: true, ..error.into() };
        let handshake = Handshake::new();
        // HTTP/1.1 on its own connection: an HTTP/2 connection cannot become a socket.
        let client = builder(&self.endpoint).http1_only().build().map_err(network)?;
        let sent = client.get(&call.url).headers(call.headers.clone()).headers(handshake.headers()?);
        let response = in_time(self.silence.first, sent.send()).await?.map_err(|error| {
            // Without a connection, a POST would fail in the same way.
            let is_sockets = !error.is_connect();
            FailedAttempt { is_sockets, ..self.unreached(error).into() }
        })?;
        let status = response.status();
        if status != StatusCode::SWITCHING_PROTOCOLS {
            let is_sockets = status.is_success() || NO_SOCKET.contains(&status);
            return Err(FailedAttempt { is_sockets, ..self.refused(response).await });
        }
        in_time(self.silence.first, handshake.open(response)).await?.map_err(sockets)
    }
}

/// The hash of address, headers and conversation, so that no key is kept as text.
fn identity(call: &Call<'_>) -> String {
    let mut bytes = call.url.clone().into_bytes();
    let mut field = |text: &[u8]| {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text);
    };
    for (name, value) in &call.headers {
        field(name.as_str().as_bytes());
        field(value.as_bytes());
    }
    field(call.body.get("prompt_cache_key").and_then(Value::as_str).unwrap_or_default().as_bytes());
    sha256_hex(&bytes)
}
