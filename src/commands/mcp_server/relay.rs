//! Requests of tool calls, which run side by side, on the one connection with the sidecar.

use crate::commands::client::{Client, ClientError};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the connection; further ones wait for a place.
const WAITING: usize = 16;

/// A request for the sidecar.
#[derive(Debug)]
pub(super) struct Request {
    method: &'static str,
    params: Value,
    answer: oneshot::Sender<Result<Value, ClientError>>,
}

/// The tool calls' end of the relay.
#[derive(Debug, Clone)]
pub(super) struct Requests(mpsc::Sender<Request>);

/// Returns both ends of a relay.
pub(super) fn ends() -> (Requests, mpsc::Receiver<Request>) {
    let (requests, waiting) = mpsc::channel(WAITING);
    (Requests(requests), waiting)
}

impl Requests {
    /// Sends a request and waits for its result.
    pub async fn send(&self, method: &'static str, params: Value) -> Result<Value, ClientError> {
        let (answer, answered) = oneshot::channel();
        self.0.send(Request { method, params, answer }).await.map_err(|_| ClientError::Gone)?;
        answered.await.unwrap_or(Err(ClientError::Gone))
    }
}

/// Sends requests one after another, until no tool call can send one or the sidecar has stopped.
pub(super) async fn relay(mut client: Client, mut requests: mpsc::Receiver<Request>) {
    loop {
        tokio::select! {
            request = requests.recv() => {
                let Some(Request { method, params, answer }) = request else { return };
                // The caller may have been cancelled.
                drop(answer.send(client.call_named(method, &params).await));
            }
            // The sidecar reports changes of the list of sessions. Unread reports would fill its memory.
            heard = client.hear() => if heard.is_none() { return },
        }
    }
}
