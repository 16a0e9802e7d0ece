//! A WebSocket instead of a POST: the request is one message, and the messages that arrive are the events of
//! the same stream. The handshake uses the ordinary HTTP client, so addresses, keys and certificates are
//! treated alike. A socket can be asked again once its answer ended; one whose call was cancelled must be dropped,
//! because an unread answer is on it.

use super::ModelError;
use futures_util::{SinkExt, Stream, StreamExt};
use reqwest::header::{
    CONNECTION, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use reqwest::{Response, StatusCode, Upgraded};
use serde_json::Value;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};

/// The largest message, in bytes; more is not a model's answer.
const MOST_MESSAGE: usize = 16 << 20;
/// The deadline for an answer to a ping: without one, a new socket is opened.
const PONG: Duration = Duration::from_secs(3);

/// A handshake: the key that was sent, from which the response is verified.
#[derive(Debug)]
pub(crate) struct Handshake {
    key: String,
}

impl Handshake {
    /// Creates a handshake with a fresh key.
    pub fn new() -> Self {
        Self { key: generate_key() }
    }

    /// The headers that request a WebSocket.
    ///
    /// # Errors
    ///
    /// Never in practice: a key is valid in a header.
    pub(crate) fn headers(&self) -> Result<HeaderMap, ModelError> {
        let key = HeaderValue::from_str(&self.key).map_err(|_| broken("its key cannot be created"))?;
        let fields: [(HeaderName, HeaderValue); 4] = [
            (CONNECTION, HeaderValue::from_static("Upgrade")),
            (UPGRADE, HeaderValue::from_static("websocket")),
            (SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
            (SEC_WEBSOCKET_KEY, key),
        ];
        Ok(HeaderMap::from_iter(fields))
    }

    /// Makes the upgraded connection a socket.
    ///
    /// # Errors
    ///
    /// Fails if the server did not accept the upgrade, or the connection broke.
    pub async fn open(self, response: Response) -> Result<Socket, ModelError> {
        let accepted = response.headers().get(SEC_WEBSOCKET_ACCEPT).and_then(|value| value.to_str().ok());
        let is_open = response.status() == StatusCode::SWITCHING_PROTOCOLS
            && accepted == Some(&*derive_accept_key(self.key.as_bytes()));
        if !is_open {
            return Err(broken("the server did not accept it"));
        }
        let opened = response.upgrade().await.map_err(|error| broken(&error.without_url().to_string()))?;
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MOST_MESSAGE))
            .max_frame_size(Some(MOST_MESSAGE));
        let messages = WebSocketStream::from_raw_socket(opened, Role::Client, Some(limits)).await;
        Ok(Socket { messages, has_begun: false, response: None })
    }
}

/// An open socket. As a stream, it gives what the body of a POST would have; dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Socket {
    messages: WebSocketStream<Upgraded>,
    has_begun: bool,
    response: Option<String>,
}

impl Socket {
    /// Sends a request.
    ///
    /// # Errors
    ///
    /// Fails if the connection broke.
    pub async fn send(&mut self, body: &Value) -> Result<(), ModelError> {
        (self.has_begun, self.response) = (false, None);
        self.messages.send(Message::text(first(body).to_string())).await.map_err(|error| failed(&error))
    }

    /// `true` if a message has arrived since the last request.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Returns the id of the response that was completed since the last request.
    pub fn response(&self) -> Option<&str> {
        self.response.as_deref()
    }

    /// `true` if the server still answers and nothing else has arrived.
    pub async fn is_usable(&mut self) -> bool {
        let answered = async {
            self.messages.send(Message::Ping(Bytes::new())).await.ok()?;
            loop {
                match self.messages.next().await?.ok()? {
                    Message::Pong(_) => return Some(()),
                    Message::Ping(_) => {}
                    // An event behind the end of its answer could be taken for one of the next.
                    _ => return None,
                }
            }
        };
        tokio::time::timeout(PONG, answered).await == Ok(Some(()))
    }

    fn note(&mut self, message: &Result<Message, Error>) {
        let Ok(Message::Text(text)) = message else { return };
        self.has_begun = true;
        if text.contains("response.completed")
            && let Ok(event) = serde_json::from_str::<Value>(text)
            && event["type"] == "response.completed"
        {
            self.response = event.pointer("/response/id").and_then(Value::as_str).map(str::to_owned);
        }
    }
}

impl Stream for Socket {
    type Item = Result<String, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(message) = ready!(self.messages.poll_next_unpin(cx)) else { return Poll::Ready(None) };
            self.note(&message);
            if let Some(event) = event(message) {
                return Poll::Ready(Some(event));
            }
        }
    }
}

impl Default for Handshake {
    fn default() -> Self {
        Self::new()
    }
}

/// Converts the body to the first message, without `stream`: a socket always streams.
fn first(body: &Value) -> Value {
    let mut message = serde_json::Map::from_iter([("type".to_owned(), Value::from("response.create"))]);
    message.extend(body.as_object().cloned().unwrap_or_default());
    message.shift_remove("stream");
    Value::Object(message)
}

/// Converts a message to a server-sent event; a ping becomes a comment, which shows that the call is alive.
fn event(message: Result<Message, Error>) -> Option<Result<String, ModelError>> {
    match message {
        // A line break would end the event's data; within JSON it is white space.
        Ok(Message::Text(text)) => Some(Ok(format!("data: {}\n\n", text.replace(['\n', '\r'], " ")))),
        Ok(Message::Ping(_) | Message::Pong(_)) => Some(Ok(":\n".to_owned())),
        Ok(Message::Close(Some(frame))) if !frame.reason.is_empty() => {
            Some(Err(broken(&format!("the server closed it: {}", frame.reason))))
        }
        Ok(Message::Close(_) | Message::Frame(_)) => None,
        Ok(Message::Binary(_)) => {
            Some(Err(ModelError::CorruptStream { reason: "a message is not text".to_owned() }))
        }
        Err(Error::ConnectionClosed | Error::AlreadyClosed) => None,
        Err(error) => Some(Err(failed(&error))),
    }
}

fn failed(error: &Error) -> ModelError {
    match error {
        Error::Capacity(_) | Error::Utf8(_) => ModelError::CorruptStream { reason: error.to_string() },
        _ => broken(&error.to_string()),
    }
}

fn broken(why: &str) -> ModelError {
    ModelError::Network { reason: format!("the WebSocket failed: {why}") }
}
