//! A client of the sidecar in the same process: sends requests, and parses the messages that come back. Acting on them is
//! up to the command that connects.

use lsp_types::notification::{Cancel, Initialized, LogMessage, Notification};
use lsp_types::request::{Initialize, Request as _};
use lsp_types::{CancelParams, InitializedParams, LogMessageParams, NumberOrString};
use protocol::VERSION;
use protocol::event::SessionEvent;
use protocol::methods::{self, Method, Named, read_params, read_result};
use protocol::settings::GivenSettings;
use protocol::tool::server::McpElicitParams;
use protocol::tool::{RequestPermissionParams, ToolInvokeParams};
use rpc::frame::{Frame, FrameReader, head};
use rpc::message::{Message, decode};
use rpc::transport::BODY_LIMIT;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::Path;
use tokio::io::{AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tower_lsp::jsonrpc::{Error, Id, Request};

/// A message from the sidecar.
#[derive(Debug)]
pub(super) enum Incoming {
    /// An event of a session.
    Event(Box<SessionEvent>),
    /// A request to run a tool.
    Invoke(Id, ToolInvokeParams),
    /// A request for the user's decision.
    Permission(Id, RequestPermissionParams),
    /// A request for what a tool server wants to know of the user.
    Elicit(Id, McpElicitParams),
    /// The request of this id was cancelled.
    Withdrawn(Id),
    /// The response to our request of this number.
    Answer(i64, Result<Value, Error>),
    /// A log message for the user.
    Told(String),
}

/// The reason that a request has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientError {
    /// The sidecar's error message.
    #[error("{0}")]
    No(String),
    /// The connection is closed.
    #[error("the sidecar has stopped")]
    Gone,
}

/// A command that greets the sidecar.
#[derive(Debug, Default)]
pub(super) struct Greeting<'a> {
    pub name: &'a str,
    /// Version of the client; `None` for ours.
    pub version: Option<&'a str>,
    /// Capabilities of the client, as `initialize` takes them. Default: none.
    pub capabilities: Option<Value>,
    /// The storage folder; `None` for the platform's.
    pub storage: Option<&'a Path>,
    /// Settings of the client.
    pub settings: Option<GivenSettings>,
}

/// A connection with the sidecar.
#[derive(Debug)]
pub(super) struct Client {
    reader: FrameReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    last: i64,
    /// Messages that arrived while a response was awaited.
    backlog: VecDeque<Incoming>,
}

impl Client {
    pub fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: FrameReader::new(reader, BODY_LIMIT), writer, last: 0, backlog: VecDeque::new() }
    }

    /// Initializes the sidecar.
    pub async fn greet(&mut self, greeting: Greeting<'_>) -> Result<(), ClientError> {
        let Greeting { name, version, capabilities, storage, settings } = greeting;
        let ours = json!({
            "protocolVersion": VERSION,
            "client": { "name": name, "version": version.unwrap_or(env!("CARGO_PKG_VERSION")) },
            "capabilities": capabilities,
            "storage": storage.map(|path| json!({ "path": path })),
            "settings": settings,
        });
        let hello = json!({ "capabilities": {}, "initializationOptions": { "threadhold": ours } });
        self.call_named(Initialize::METHOD, &hello).await?;
        self.notify::<Initialized>(InitializedParams {}).await;
        Ok(())
    }

    /// The next message; `None` once the sidecar has stopped. Cancel safe.
    pub async fn hear(&mut self) -> Option<Incoming> {
        match self.backlog.pop_front() {
            Some(heard) => Some(heard),
            None => self.read().await,
        }
    }

    /// A message that arrived while a response was awaited.
    pub fn kept(&mut self) -> Option<Incoming> {
        self.backlog.pop_front()
    }

    async fn read(&mut self) -> Option<Incoming> {
        loop {
            let Ok(Some(frame)) = self.reader.next().await else { return None };
            let Frame::Body(body) = frame else { continue };
            let heard = match decode(&body) {
                Message::Call(request) => called(&request),
                Message::Answer(answer) => match answer.id {
                    Id::Number(number) => Some(Incoming::Answer(number, answer.outcome)),
                    _ => None,
                },
                Message::Bad { .. } => None,
            };
            if heard.is_some() {
                return heard;
            }
        }
    }

    /// Sends a request without waiting. Returns its number.
    pub async fn ask<M: Method>(&mut self, params: &M::Params) -> i64 {
        self.send(M::NAME, params).await
    }

    /// Sends a request and waits for its response. Other messages are kept for [`Client::hear`].
    pub async fn call<M: Method>(&mut self, params: &M::Params) -> Result<M::Result, ClientError> {
        let value = self.call_named(M::NAME, params).await?;
        read_result::<M>(value).map_err(|error| ClientError::No(error.message))
    }

    /// Like [`Client::call`], for a method of the base protocol.
    pub async fn call_named(&mut self, method: &str, params: &impl Serialize) -> Result<Value, ClientError> {
        let asked = self.send(method, params).await;
        loop {
            match self.read().await {
                Some(Incoming::Answer(number, outcome)) if number == asked => {
                    return outcome.map_err(|error| ClientError::No(error.message.into_owned()));
                }
                Some(other) => self.backlog.push_back(other),
                None => return Err(ClientError::Gone),
            }
        }
    }

    /// Drops events that arrived while a response was awaited.
    pub fn drop_events(&mut self) {
        self.backlog.retain(|heard| !matches!(heard, Incoming::Event(_)));
    }

    /// Sends a notification of the base protocol.
    pub async fn notify<N: Notification>(&mut self, params: N::Params) {
        self.write(&json!({ "jsonrpc": "2.0", "method": N::METHOD, "params": params })).await;
    }

    /// Cancels a request.
    pub async fn cancel(&mut self, number: i64) {
        // Numbers are counted up from 1.
        let Ok(number) = i32::try_from(number) else { return };
        self.notify::<Cancel>(CancelParams { id: NumberOrString::Number(number) }).await;
    }

    /// Answers a request from the sidecar.
    pub async fn answer(&mut self, id: &Id, result: &impl Serialize) {
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "result": result })).await;
    }

    async fn send(&mut self, method: &str, params: &impl Serialize) -> i64 {
        self.last += 1;
        let id = self.last;
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// Ignores errors: the next read reports a closed connection.
    async fn write(&mut self, message: &Value) {
        let body = message.to_string();
        let frame = [head(body.len()).as_bytes(), body.as_bytes()].concat();
        drop(self.writer.write_all(&frame).await);
    }
}

/// Parses a request or notification; `None` if no command acts on it.
fn called(request: &Request) -> Option<Incoming> {
    let id = request.id().cloned();
    let params = request.params().cloned().unwrap_or_default();
    match (request.method(), id) {
        (methods::ToolInvoke::NAME, Some(id)) => {
            Some(Incoming::Invoke(id, read_params::<methods::ToolInvoke>(params).ok()?))
        }
        (methods::RequestPermission::NAME, Some(id)) => {
            Some(Incoming::Permission(id, read_params::<methods::RequestPermission>(params).ok()?))
        }
        (methods::McpElicit::NAME, Some(id)) => {
            Some(Incoming::Elicit(id, read_params::<methods::McpElicit>(params).ok()?))
        }
        (methods::SessionEventSent::NAME, None) => {
            Some(Incoming::Event(Box::new(read_params::<methods::SessionEventSent>(params).ok()?)))
        }
        (Cancel::METHOD, None) => {
            Some(Incoming::Withdrawn(serde_json::from_value(params.get("id")?.clone()).ok()?))
        }
        (LogMessage::METHOD, None) => {
            Some(Incoming::Told(serde_json::from_value::<LogMessageParams>(params).ok()?.message))
        }
        _ => None,
    }
}
