//! A model behind an address: the posting, the reading of its stream as it comes, and the calls that are made again. What
//! is posted and how a stream is read is `wire`'s, what an error means `error`'s.

use super::error::Refusal;
use super::socket::Handshake;
use super::wire::{Stream, Terms, post, stamped};
use super::{Answering, Hear, Model, ModelError, Retrying, Said, retry};
use crate::engine::delta::Delta;
use crate::engine::prompt::request::{Answer, Request};
use crate::engine::session::endpoint::{Endpoint, Wire};
use futures_util::{StreamExt, TryStreamExt};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, ClientBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// The most of an error's body that is read, in bytes.
const MOST_ERROR: usize = 64 << 10;
/// The most that an answer may have, in bytes. More is no answer of a model.
const MOST_ANSWER: usize = 64 << 20;

/// A model that is asked over a network.
pub struct Remote {
    client: Client,
    endpoint: Endpoint,
    key: Option<SecretString>,
    terms: Terms,
    silence: Silence,
    /// Whether a call that comes to nothing is made again.
    retries: bool,
}

/// How long a provider may be silent.
#[derive(Debug, Clone, Copy)]
pub struct Silence {
    /// Before the first word of an answer: it reads the prompt, and may think.
    pub first: Duration,
    /// After it.
    pub later: Duration,
}

/// The same before the first word and after it.
impl From<Duration> for Silence {
    fn from(idle: Duration) -> Self {
        Self { first: idle, later: idle }
    }
}

/// A call that came to nothing.
struct Failed {
    error: ModelError,
    /// What the provider said about asking again.
    should_retry: Option<bool>,
}

impl From<ModelError> for Failed {
    fn from(error: ModelError) -> Self {
        Self { error, should_retry: None }
    }
}

/// A client for all calls: connections are kept between them.
///
/// # Errors
///
/// The system's certificates cannot be read.
pub fn client() -> Result<Client, ModelError> {
    builder().build().map_err(network)
}

/// A client for one socket.
fn http_1() -> Result<Client, ModelError> {
    builder().http1_only().build().map_err(network)
}

fn builder() -> ClientBuilder {
    // An error says that there is one already.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder()
        .connect_timeout(CONNECT)
        // Whoever an address leads on to was not given the key.
        .redirect(redirect::Policy::none())
        .user_agent(concat!("threadhold/", env!("CARGO_PKG_VERSION")))
}

/// The address of the handshake of a socket: an HTTP one.
fn of_handshake(url: &str) -> String {
    let schemes = [("wss://", "https://"), ("ws://", "http://")];
    let socket = schemes.iter().find_map(|(of, http)| Some(format!("{http}{}", url.strip_prefix(of)?)));
    socket.unwrap_or_else(|| url.to_owned())
}

impl Remote {
    /// A model at this address. `silence` is how long it may say nothing.
    pub fn new(
        client: Client,
        endpoint: Endpoint,
        key: Option<SecretString>,
        terms: Terms,
        silence: impl Into<Silence>,
    ) -> Self {
        Self { client, endpoint, key, terms, silence: silence.into(), retries: true }
    }

    /// The same, but a call that comes to nothing stays so: for who wants to know why.
    #[must_use]
    pub fn without_retries(self) -> Self {
        Self { retries: false, ..self }
    }

    async fn ask(&self, request: &Request, hear: Hear<'_>) -> Result<Answer, ModelError> {
        let mut attempt = 1;
        loop {
            let mut is_heard = false;
            let mut note = |said: Said| {
                is_heard = is_heard || is_shown(&said);
                hear(stamped(said, self.endpoint.wire, &self.terms.model));
            };
            let Failed { error, should_retry } = match self.once(request, &mut note).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            // Some repeat the key that they do not accept.
            let error = match &self.key {
                Some(key) => error.without(key.expose_secret()),
                None => error,
            };
            // What was heard was shown: it is not said twice.
            let delay = if is_heard || !self.retries {
                None
            } else {
                retry::delay(&error, should_retry, attempt, chance())
            };
            let Some(delay_ms) = delay else { return Err(error) };
            attempt += 1;
            hear(Said::Retrying(Retrying { attempt, delay_ms, reason: error.to_string() }));
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
    }

    async fn once(&self, request: &Request, hear: Hear<'_>) -> Result<Answer, Failed> {
        let wire = self.endpoint.wire;
        let unknown = || ModelError::BadRequest {
            status: None,
            reason: format!("nothing is posted over {}", wire.name()),
        };
        let post = post(&self.endpoint, request, &self.terms).ok_or_else(unknown)?;
        let stream = Stream::new(wire).ok_or_else(unknown)?;
        let url = format!("{}{}", self.endpoint.url(), post.path);
        let headers = self.headers(&post.headers)?;
        if wire == Wire::OpenaiResponses && self.endpoint.socket {
            let handshake = Handshake::new();
            // Over a connection of its own: the others may carry more than one request at a time, which no socket can.
            let sent = http_1()?.get(of_handshake(&url)).headers(headers).headers(handshake.headers()?);
            let response = in_time(self.silence.first, sent.send()).await?.map_err(network)?;
            if response.status() != StatusCode::SWITCHING_PROTOCOLS {
                return Err(self.refused(response).await);
            }
            let pieces = in_time(self.silence.first, handshake.ask(response, &post.body)).await??;
            return Ok(read(stream, pieces, self.silence, hear).await?);
        }
        let sent = self.client.post(url).headers(headers).body(post.body.to_string());
        let response = in_time(self.silence.first, sent.send()).await?.map_err(network)?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(read(stream, response.bytes_stream().map_err(network).boxed(), self.silence, hear).await?)
    }

    fn headers(&self, more: &[(&'static str, &'static str)]) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in more {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        if let Some(key) = &self.key {
            let (name, value) = match self.endpoint.wire {
                Wire::Anthropic => ("x-api-key", key.expose_secret().to_owned()),
                Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Ollama | Wire::Scripted => {
                    ("authorization", format!("Bearer {}", key.expose_secret()))
                }
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| ModelError::Auth {
                status: None,
                reason: "the key has characters that no header can hold".to_owned(),
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    async fn refused(&self, mut response: Response) -> Failed {
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let should_retry = header("x-should-retry").and_then(|says| says.parse().ok());
        let ms = header("retry-after-ms").and_then(|ms| ms.trim().parse().ok());
        let after = header("retry-after").and_then(|after| later(after.trim(), SystemTime::now()));
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Ok(Ok(Some(piece))) = in_time(self.silence.later, response.chunk()).await {
            body.extend_from_slice(&piece);
            if body.len() > MOST_ERROR {
                body.truncate(MOST_ERROR);
                break;
            }
        }
        let text = String::from_utf8_lossy(&body).into_owned();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        let refusal = Refusal { status, retry_after_ms: ms.or(after), body };
        Failed { error: refusal.class(), should_retry }
    }
}

/// Reads an answer from the pieces in which it comes. A connection that breaks once the answer is whole took nothing away.
///
/// # Errors
///
/// What the provider says is wrong, what cannot be read, a stream that breaks, ends too early, has no end, or is silent
/// for too long.
pub async fn read<P: AsRef<[u8]>>(
    mut stream: Stream,
    mut pieces: impl futures_util::Stream<Item = Result<P, ModelError>> + Unpin,
    silence: impl Into<Silence>,
    hear: Hear<'_>,
) -> Result<Answer, ModelError> {
    let silence = silence.into();
    let mut is_begun = false;
    let mut bytes = 0usize;
    loop {
        let most = if is_begun { silence.later } else { silence.first };
        let broken = match in_time(most, pieces.next()).await {
            Ok(Some(Ok(piece))) => {
                let piece = piece.as_ref();
                bytes = bytes.saturating_add(piece.len());
                if bytes > MOST_ANSWER {
                    let reason = format!("it has more than {MOST_ANSWER} bytes");
                    return Err(ModelError::CorruptStream { reason });
                }
                hear(Said::Alive);
                let mut note = |said: Said| {
                    is_begun = is_begun || is_shown(&said);
                    hear(said);
                };
                if stream.push(piece, &mut note)? {
                    return stream.end(hear);
                }
                continue;
            }
            Ok(None) => return stream.end(hear),
            Ok(Some(Err(error))) | Err(error) => error,
        };
        return match stream.end(hear) {
            Err(ModelError::Network { .. } | ModelError::CorruptStream { .. }) => Err(broken),
            ended => ended,
        };
    }
}

/// What is silent for too long is broken.
async fn in_time<T>(most: Duration, coming: impl Future<Output = T>) -> Result<T, ModelError> {
    tokio::time::timeout(most, coming).await.map_err(|_| ModelError::Silent { waited: most })
}

/// Whether somebody saw it: then it is not said again.
fn is_shown(said: &Said) -> bool {
    match said {
        Said::Delta(delta) => !matches!(delta, Delta::SetUsage(_) | Delta::MergeExtra(_)),
        Said::Alive | Said::Retrying(_) => false,
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.terms.model
    }

    fn answer<'a>(&'a mut self, request: &'a Request, hear: Hear<'a>) -> Answering<'a> {
        Box::pin(self.ask(request, hear))
    }
}

/// `retry-after`: seconds, or a date; in milliseconds from now.
fn later(after: &str, now: SystemTime) -> Option<u64> {
    if let Ok(seconds) = after.parse::<f64>() {
        return (seconds >= 0.0).then_some((seconds * 1000.0) as u64);
    }
    let date = httpdate::parse_http_date(after).ok()?;
    u64::try_from(date.duration_since(now).unwrap_or_default().as_millis()).ok()
}

/// What broke, without the address: it may hold what nobody is to see.
fn network(error: reqwest::Error) -> ModelError {
    let error = error.without_url();
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        reason = format!("{reason}: {deeper}");
        cause = deeper.source();
    }
    ModelError::Network { reason }
}

/// From 0 to 1, different for each process and moment.
fn chance() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    f64::from(now.subsec_micros() % 1000) / 1000.0
}
