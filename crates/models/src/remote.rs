//! A model behind an HTTP endpoint: sends requests, reads streams as they arrive, and retries. Formats are in
//! `wire`, error classes in `error`.

mod beside;
mod over_socket;

use super::address::{is_local, key_header};
use super::error::Refusal;
use super::sockets::Sockets;
use super::wire::anthropic::BETA;
use super::wire::{Stream, Terms, named_back, post, stamped};
use super::{AnswerFuture, CountFuture, Model, ModelError, OnProgress, Progress, Retrying, retry};
use engine::endpoint::options as extra;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::request::{Answer, Request};
use engine::text::json;
use futures_util::{StreamExt, TryStreamExt};
use over_socket::Call;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, ClientBuilder, Response, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// The deadline for opening a connection.
const CONNECT: Duration = Duration::from_secs(15);
/// Statuses of servers and proxies that do not know WebSockets. Others say what a POST would be told, too.
const NO_SOCKET: [StatusCode; 5] = [
    StatusCode::BAD_REQUEST,
    StatusCode::NOT_FOUND,
    StatusCode::METHOD_NOT_ALLOWED,
    StatusCode::UPGRADE_REQUIRED,
    StatusCode::NOT_IMPLEMENTED,
];
/// The most of an error's body that is read, in bytes.
const MOST_ERROR: usize = 64 << 10;
/// The largest answer, in bytes; more is not a model's answer.
const MOST_ANSWER: usize = 64 << 20;

/// A model that is called over a network.
pub struct Remote {
    client: Client,
    endpoint: Endpoint,
    key: Option<SecretString>,
    /// Headers whose values are keys, by name.
    keyed: Vec<(String, SecretString)>,
    terms: Terms,
    silence: StreamDeadlines,
    /// `true` if failed calls are retried.
    retries: bool,
    sockets: Sockets,
}

/// Deadlines for the next data from a provider.
#[derive(Debug, Clone, Copy)]
pub struct StreamDeadlines {
    /// Before the first content of an answer: the model reads the prompt, and may think.
    pub first: Duration,
    /// Between later pieces.
    pub later: Duration,
}

/// One deadline for both.
impl From<Duration> for StreamDeadlines {
    fn from(idle: Duration) -> Self {
        Self { first: idle, later: idle }
    }
}

/// A failed attempt.
struct FailedAttempt {
    error: ModelError,
    /// The provider's `x-should-retry`.
    should_retry: Option<bool>,
    /// `true` if the endpoint, or something on the way to it, does not take a WebSocket.
    is_sockets: bool,
}

impl From<ModelError> for FailedAttempt {
    fn from(error: ModelError) -> Self {
        Self { error, should_retry: None, is_sockets: false }
    }
}

/// HTTP clients shared by all calls, so that connections are reused.
#[derive(Debug, Default)]
pub struct Clients {
    /// For endpoints on this machine, without a proxy.
    near: Option<Client>,
    /// For all other endpoints.
    far: Option<Client>,
    sockets: Sockets,
}

impl Clients {
    /// Returns the WebSockets between calls.
    pub fn sockets(&self) -> Sockets {
        self.sockets.clone()
    }

    /// Returns the client for an endpoint.
    ///
    /// # Errors
    ///
    /// Fails if the system's certificates cannot be read.
    pub fn of(&mut self, endpoint: &Endpoint) -> Result<Client, ModelError> {
        let kept = if is_local(endpoint) { &mut self.near } else { &mut self.far };
        match kept {
            Some(client) => Ok(client.clone()),
            None => Ok(kept.insert(builder(endpoint).build().map_err(network)?).clone()),
        }
    }
}

fn builder(endpoint: &Endpoint) -> ClientBuilder {
    // Fails only if a provider is installed already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = Client::builder();
    // A proxy cannot reach this machine.
    let client = if is_local(endpoint) { client.no_proxy() } else { client };
    client
        .connect_timeout(CONNECT)
        // The target of a redirect must not get the key.
        .redirect(redirect::Policy::none())
        .user_agent(concat!("threadhold/", env!("CARGO_PKG_VERSION")))
}

/// The environment variables that name a proxy for URLs of this scheme, in order.
fn proxy_variables(url: &str) -> [&'static str; 4] {
    match url.starts_with("https:") {
        true => ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        false => ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    }
}

impl Remote {
    /// Creates a model at this endpoint; `silence` is the deadline for its data.
    pub fn new(
        client: Client,
        endpoint: Endpoint,
        key: Option<SecretString>,
        terms: Terms,
        silence: impl Into<StreamDeadlines>,
    ) -> Self {
        let silence = silence.into();
        let (keyed, sockets) = (Vec::new(), Sockets::default());
        Self { client, endpoint, key, keyed, terms, silence, retries: true, sockets }
    }

    /// Disables retries, for callers that want the first error.
    #[must_use]
    pub fn without_retries(self) -> Self {
        Self { retries: false, ..self }
    }

    /// Sets the values of the endpoint's headers that are keys, by the names of the headers.
    #[must_use]
    pub fn with_keys(self, keyed: Vec<(String, SecretString)>) -> Self {
        Self { keyed, ..self }
    }

    /// Shares the WebSockets between calls with other models.
    #[must_use]
    pub fn with_sockets(self, sockets: Sockets) -> Self {
        Self { sockets, ..self }
    }

    async fn ask(&self, request: &Request, hear: OnProgress<'_>) -> Result<Answer, ModelError> {
        let mut attempt = 1;
        loop {
            let mut note = |said: Progress| {
                hear(stamped(named_back(said, &request.tools), self.endpoint.wire, &self.terms.model));
            };
            let FailedAttempt { error, should_retry, is_sockets } = match self.once(request, &mut note).await
            {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let error = self.without_keys(error);
            let (delay, reason) = if self.retries && is_sockets {
                self.sockets.refused_by(&self.endpoint);
                (Some(0), format!("{error}; asking without it"))
            } else {
                let delay =
                    self.retries.then(|| retry::delay(&error, should_retry, attempt, retry::chance()));
                (delay.flatten(), error.to_string())
            };
            let Some(delay_ms) = delay else { return Err(error) };
            attempt += 1;
            hear(Progress::Retrying(Retrying { attempt, delay_ms, reason }));
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
    }

    async fn once(&self, request: &Request, hear: OnProgress<'_>) -> Result<Answer, FailedAttempt> {
        let wire = self.endpoint.wire;
        let unknown = || ModelError::BadRequest {
            status: None,
            reason: format!("the wire {} has no HTTP requests", wire.name()),
        };
        let post = post(&self.endpoint, request, &self.terms).ok_or_else(unknown)?;
        let url = format!("{}{}", self.endpoint.url(), post.path);
        let headers = self.headers(&post.headers)?;
        if wire == Wire::OpenaiResponses
            && self.endpoint.socket
            && !self.sockets.are_refused_by(&self.endpoint)
        {
            return self.over_socket(Call { url, headers, body: &post.body, request }, hear).await;
        }
        let stream = Stream::new(wire).ok_or_else(unknown)?;
        let sent = self.client.post(url).headers(headers).body(post.body.to_string());
        let response = in_time(self.silence.first, sent.send()).await?;
        let response = response.map_err(|error| self.unreached(error))?;
        if !response.status().is_success() {
            return Err(self.refused(response).await);
        }
        Ok(read(stream, response.bytes_stream().map_err(network).boxed(), self.silence, hear).await?)
    }

    /// Removes the keys from an error: some providers repeat the rejected one.
    fn without_keys(&self, error: ModelError) -> ModelError {
        let keys = self.key.iter().chain(self.keyed.iter().map(|(_, key)| key));
        keys.fold(error, |error, key| error.without(key.expose_secret()))
    }

    /// The error of a failed connection. Names the proxy variable that applies: a proxy is often the cause,
    /// and the error does not mention it.
    fn unreached(&self, error: reqwest::Error) -> ModelError {
        let is_far = error.is_connect() && !is_local(&self.endpoint);
        let mut names = proxy_variables(self.endpoint.url()).into_iter();
        let proxy =
            names.find(|name| is_far && std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        match (network(error), proxy) {
            (ModelError::Network { reason }, Some(name)) => {
                ModelError::Network { reason: format!("{reason}; {name} names a proxy") }
            }
            (error, _) => error,
        }
    }

    fn headers(&self, more: &[(&'static str, &'static str)]) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        for (name, value) in &self.endpoint.options.extra_headers {
            // Keys follow below, the endpoint's own last.
            if let extra::HeaderValue::Text(text) = value {
                Self::put(&mut headers, name, text)?;
            }
        }
        for (name, value) in more {
            if *name != BETA {
                headers.entry(*name).or_insert(HeaderValue::from_static(value));
            }
        }
        // Features that the user named and those of the request go together.
        let named = headers.get(BETA).and_then(|named| named.to_str().ok()).unwrap_or_default().to_owned();
        let ours =
            more.iter().filter(|(name, beta)| *name == BETA && !named.split(',').any(|b| b.trim() == *beta));
        let betas: Vec<&str> = ours.map(|(_, beta)| *beta).collect();
        if !betas.is_empty() {
            let named = Some(&*named).filter(|named| !named.is_empty());
            Self::put(&mut headers, BETA, &named.into_iter().chain(betas).collect::<Vec<_>>().join(","))?;
        }
        for (name, key) in &self.keyed {
            Self::put(&mut headers, name, key.expose_secret())?;
        }
        if let Some(key) = &self.key {
            let (name, value) = key_header(&self.endpoint, key.expose_secret());
            Self::put(&mut headers, name, &value)?;
        }
        Ok(headers)
    }

    /// Sets a header whose value is never shown.
    fn put(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), ModelError> {
        let unfit = || ModelError::Auth {
            status: None,
            reason: format!("the value of {name} has characters that an HTTP header must not have"),
        };
        let key = HeaderName::try_from(name).map_err(|_| unfit())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| unfit())?;
        value.set_sensitive(true);
        headers.insert(key, value);
        Ok(())
    }

    async fn refused(&self, mut response: Response) -> FailedAttempt {
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
        let body = json::read(&text).unwrap_or(Value::String(text));
        let refusal = Refusal { status, retry_after_ms: ms.or(after), body };
        FailedAttempt { should_retry, ..refusal.class().into() }
    }
}

/// Parses an answer from its pieces. A complete answer counts even if the connection then breaks.
///
/// # Errors
///
/// Fails on an error of the provider, unreadable data, a stream that breaks, ends too early or is too large,
/// and a missed deadline.
pub async fn read<P: AsRef<[u8]>>(
    mut stream: Stream,
    mut pieces: impl futures_util::Stream<Item = Result<P, ModelError>> + Unpin,
    silence: impl Into<StreamDeadlines>,
    hear: OnProgress<'_>,
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
                    let reason = format!("it is larger than {MOST_ANSWER} bytes");
                    return Err(ModelError::CorruptStream { reason });
                }
                hear(Progress::Alive);
                let mut note = |said: Progress| {
                    is_begun = is_begun || matches!(&said, Progress::Delta(delta) if delta.is_content());
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

/// Fails with `Silent` after the deadline.
async fn in_time<T>(most: Duration, coming: impl Future<Output = T>) -> Result<T, ModelError> {
    tokio::time::timeout(most, coming).await.map_err(|_| ModelError::Silent { waited: most })
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.terms.model
    }

    fn answer<'a>(&'a mut self, request: &'a Request, hear: OnProgress<'a>) -> AnswerFuture<'a> {
        Box::pin(self.ask(request, hear))
    }

    fn count_tokens<'a>(&'a mut self, request: &'a Request) -> CountFuture<'a> {
        Box::pin(self.count(request))
    }
}

/// Parses `retry-after`, seconds or a date, as milliseconds from `now`.
fn later(after: &str, now: SystemTime) -> Option<u64> {
    if let Ok(seconds) = after.parse::<f64>() {
        return (seconds >= 0.0).then_some((seconds * 1000.0) as u64);
    }
    let date = httpdate::parse_http_date(after).ok()?;
    u64::try_from(date.duration_since(now).unwrap_or_default().as_millis()).ok()
}

/// Converts an error, without the URL, which may hold a secret.
fn network(error: reqwest::Error) -> ModelError {
    let error = error.without_url();
    let is_asked = !error.is_builder();
    let mut reason = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(deeper) = cause {
        reason = format!("{reason}: {deeper}");
        cause = deeper.source();
    }
    // A request that cannot be built is no network failure, and a retry does not help.
    if is_asked { ModelError::Network { reason } } else { ModelError::BadRequest { status: None, reason } }
}
