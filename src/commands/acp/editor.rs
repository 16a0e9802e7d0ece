//! The editor's side of the connection: answers and notifications for it, and requests that it answers. Any task may
//! hold a handle; what they send leaves in the order in which it was sent.

use super::version2::{Version2, is_asked_for};
use rpc::message::Answer;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, Id};

/// Unread bytes above which [`Editor::room`] waits.
const MOST_UNREAD: usize = 8 << 20;

/// A handle of the connection.
#[derive(Debug, Clone)]
pub(super) struct Editor {
    lines: mpsc::UnboundedSender<String>,
    unread: Arc<Unread>,
    pending: Arc<Mutex<Pending>>,
    /// The translation for an editor that speaks version 2.
    version2: Arc<Mutex<Option<Version2>>>,
}

/// Bytes that wait to be written.
#[derive(Debug, Default)]
struct Unread {
    bytes: AtomicUsize,
    fell: Notify,
}

/// Requests that have no answer yet.
#[derive(Debug, Default)]
struct Pending {
    last: i64,
    waiting: HashMap<i64, oneshot::Sender<Result<Value, Error>>>,
}

/// The reason that a request has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum Unanswered {
    /// The editor's error message.
    #[error("{0}")]
    Refused(String),
    /// The editor's result has another form.
    #[error("the editor answered {method} in an unknown form")]
    Unreadable { method: &'static str },
    /// The connection is closed.
    #[error("the editor is gone")]
    Gone,
}

/// Lines that are to be written.
#[derive(Debug)]
pub(super) struct Queue {
    lines: mpsc::UnboundedReceiver<String>,
    unread: Arc<Unread>,
}

/// Creates a handle and its queue.
pub(super) fn connection() -> (Editor, Queue) {
    let (sender, lines) = mpsc::unbounded_channel();
    let unread = Arc::new(Unread::default());
    let editor = Editor {
        lines: sender,
        unread: Arc::clone(&unread),
        pending: Arc::default(),
        version2: Arc::default(),
    };
    (editor, Queue { lines, unread })
}

impl Queue {
    /// Writes lines until all handles are gone or the editor no longer reads.
    pub async fn write(mut self, mut output: impl AsyncWrite + Unpin) {
        while let Some(line) = self.lines.recv().await {
            if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
                return;
            }
            self.unread.bytes.fetch_sub(line.len(), Ordering::Relaxed);
            self.unread.fell.notify_waiters();
        }
    }
}

impl Editor {
    /// A request of the editor as version 1 has it. The first one, `initialize`, says which version the editor speaks.
    pub fn requested(&self, id: &Id, method: String, params: Value) -> Result<(String, Value), Error> {
        let mut version2 = lock(&self.version2);
        if version2.is_none() && method == "initialize" && is_asked_for(&params) {
            *version2 = Some(Version2::default());
        }
        match version2.as_mut() {
            Some(version2) => version2.requested(id, &method, params),
            None => Ok((method, params)),
        }
    }

    /// `true` for a notification that means nothing in the editor's version.
    pub fn ignores(&self, method: &str, params: &Value) -> bool {
        lock(&self.version2).as_ref().is_some_and(|version2| version2.ignores(method, params))
    }

    /// Tells that a prompt is part of the conversation, under this id.
    pub fn accepted(&self, prompt: &Id, message: &str) {
        self.tell_version2(|version2| version2.accepted(prompt, message));
    }

    /// Tells whether a session works.
    pub fn works(&self, session: &str, is_working: bool) {
        self.tell_version2(|version2| version2.works(session, is_working));
    }

    /// Sends what only an editor of version 2 is told.
    fn tell_version2(&self, told: impl FnOnce(&mut Version2) -> Vec<Value>) {
        // Held until all is queued: other tasks send, too.
        let mut version2 = lock(&self.version2);
        let messages = version2.as_mut().map(told).unwrap_or_default();
        messages.iter().for_each(|message| self.queue(message));
    }

    /// Answers a request of the editor.
    pub fn answer(&self, id: &Id, outcome: Result<Value, Error>) {
        match outcome {
            Ok(result) => self.send(json!({ "jsonrpc": "2.0", "id": id, "result": result })),
            Err(error) => self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error })),
        }
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &impl Serialize) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and waits for its result. The request is cancelled if this is dropped before.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<T, Unanswered> {
        let (answered, answer) = oneshot::channel();
        let id = {
            let mut pending = self.pending();
            pending.last += 1;
            let id = pending.last;
            pending.waiting.insert(id, answered);
            id
        };
        let _open = Open { editor: self, id };
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let outcome = answer.await.map_err(|_| Unanswered::Gone)?;
        let value = outcome.map_err(|error| Unanswered::Refused(error.message.into_owned()))?;
        serde_json::from_value(value).map_err(|_| Unanswered::Unreadable { method })
    }

    /// Sends a request whose result nobody needs.
    pub fn tell(&self, method: &str, params: &impl Serialize) {
        let id = {
            let mut pending = self.pending();
            pending.last += 1;
            pending.last
        };
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Takes the editor's answer to a request; an answer to none is dropped.
    pub fn answered(&self, answer: Answer) {
        let Id::Number(id) = answer.id else { return };
        self.tell_version2(|version2| version2.answered(id));
        let Some(waiting) = self.pending().waiting.remove(&id) else { return };
        // Whoever asked may have stopped waiting.
        let _ = waiting.send(answer.outcome);
    }

    /// Waits while too much is unread. Cancel safe.
    pub async fn room(&self) {
        while self.unread.bytes.load(Ordering::Relaxed) > MOST_UNREAD {
            self.unread.fell.notified().await;
        }
    }

    /// Sends a message in the editor's version.
    fn send(&self, message: Value) {
        let mut version2 = lock(&self.version2);
        match version2.as_mut() {
            Some(version2) => version2.said(message).iter().for_each(|message| self.queue(message)),
            None => self.queue(&message),
        }
    }

    fn queue(&self, message: &Value) {
        let line = format!("{message}\n");
        self.unread.bytes.fetch_add(line.len(), Ordering::Relaxed);
        // The queue is gone only when the connection is.
        let _ = self.lines.send(line);
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that waits for its answer.
struct Open<'a> {
    editor: &'a Editor,
    id: i64,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.editor.pending().waiting.remove(&self.id).is_some() {
            self.editor.notify("$/cancel_request", &json!({ "requestId": self.id }));
        }
    }
}
