//! Outgoing messages: a handle for senders, and the writer. Sending never waits for a slow client; the queue
//! is in memory and its size can be queried.

use crate::frame::head;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, oneshot};
use tower_lsp::jsonrpc::Id;

/// A buffer with this many bytes takes no further frame, and a larger one is freed once it is written.
const KEEP: usize = 1 << 20;

/// The most unread bytes at which a slow client counts as caught up.
pub const DRAINED: usize = 1 << 20;

/// Called once, when the client has caught up.
type Callback = Box<dyn FnOnce() + Send>;

/// Sends frames to the client, in the order of sending. Responses given through [`Outgoing::answer`] keep
/// their place in that order.
#[derive(Debug, Clone)]
pub struct Outgoing {
    sender: mpsc::UnboundedSender<Item>,
    waiting: Arc<AtomicUsize>,
}

/// The receiving end of [`Outgoing`]: items sent and not yet taken for writing.
#[derive(Debug)]
pub struct Queue {
    pub(crate) items: mpsc::UnboundedReceiver<Item>,
    waiting: Arc<AtomicUsize>,
}

/// An item of the queue.
pub enum Item {
    /// The body of a frame.
    Frame(Vec<u8>),
    /// Gives a handler its reply. Called at its place in the queue, so that the response is written there too.
    Answer(Callback),
    /// Requests a call once the client has caught up.
    WhenDrained(Callback),
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Frame(body) => write!(f, "Frame({} bytes)", body.len()),
            Self::Answer(_) => f.write_str("Answer"),
            Self::WhenDrained(_) => f.write_str("WhenDrained"),
        }
    }
}

/// Creates a handle and its queue.
#[must_use]
pub fn outgoing() -> (Outgoing, Queue) {
    let (sender, items) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (Outgoing { sender, waiting: Arc::clone(&waiting) }, Queue { items, waiting })
}

impl Queue {
    /// Returns the next available item, for tests that replace the transport.
    pub fn try_next(&mut self) -> Option<Item> {
        self.items.try_recv().ok()
    }
}

impl Outgoing {
    /// Sends a frame as it is. Dropped after the transport's end.
    pub fn send(&self, frame: &Value) {
        self.push(frame);
    }

    /// Sends a notification.
    pub fn notification(&self, method: &str, params: &impl Serialize) {
        self.push(&Notification { jsonrpc: "2.0", method, params });
    }

    /// Sends a request. The client's answer goes to [`Transport::answers`](crate::transport::Transport::answers).
    pub fn request(&self, id: impl Into<Id>, method: &str, params: &impl Serialize) {
        self.push(&Request { jsonrpc: "2.0", id: id.into(), method, params });
    }

    /// Cancels a request to the client.
    pub fn cancel(&self, id: impl Into<Id>) {
        self.notification("$/cancelRequest", &json!({ "id": id.into() }));
    }

    /// Gives a handler its reply, at this place in the order: earlier items reach the client before the
    /// response, later items after it. Dropped if the handler is gone.
    pub fn answer<T: Send + 'static>(&self, reply: oneshot::Sender<T>, value: T) {
        let give = move || drop(reply.send(value));
        drop(self.sender.send(Item::Answer(Box::new(give))));
    }

    /// Returns the number of bytes that the client has not read yet.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Calls `tell` once at most [`DRAINED`] bytes are unread, at once if that holds now. Never called after
    /// the transport's end.
    pub fn when_drained(&self, tell: impl FnOnce() + Send + 'static) {
        drop(self.sender.send(Item::WhenDrained(Box::new(tell))));
    }

    fn push(&self, frame: &impl Serialize) {
        match serde_json::to_vec(frame) {
            Ok(body) => {
                let size = size(&body);
                self.waiting.fetch_add(size, Ordering::Relaxed);
                if self.sender.send(Item::Frame(body)).is_err() {
                    self.waiting.fetch_sub(size, Ordering::Relaxed);
                }
            }
            Err(error) => tracing::error!(%error, "a frame could not be written as JSON and was not sent"),
        }
    }
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a P,
}

#[derive(Serialize)]
struct Request<'a, P> {
    jsonrpc: &'static str,
    id: Id,
    method: &'a str,
    params: &'a P,
}

/// The size in bytes of a frame with this body.
fn size(body: &[u8]) -> usize {
    head(body.len()).len() + body.len()
}

/// Writes frames, as many at a time as are available.
pub(crate) struct Writer<W> {
    output: W,
    /// Several buffers, because removing written bytes from the front of a single large one would move all the rest.
    buffers: VecDeque<Vec<u8>>,
    /// The number of written bytes of the first buffer.
    at: usize,
    is_flushed: bool,
    waiting: Arc<AtomicUsize>,
    /// Callbacks to run once the client has caught up.
    when_drained: Vec<Callback>,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(crate) fn new(output: W, queue: &Queue) -> Self {
        Self {
            output,
            buffers: VecDeque::new(),
            at: 0,
            is_flushed: true,
            waiting: Arc::clone(&queue.waiting),
            when_drained: Vec::new(),
        }
    }

    /// Calls `tell` once the client has caught up.
    pub(crate) fn when_drained(&mut self, tell: Callback) {
        self.when_drained.push(tell);
        self.tell_if_drained();
    }

    fn tell_if_drained(&mut self) {
        if !self.when_drained.is_empty() && self.waiting.load(Ordering::Relaxed) <= DRAINED {
            self.when_drained.drain(..).for_each(|tell| tell());
        }
    }

    /// Adds a frame from the queue, which already counted it.
    pub(crate) fn push(&mut self, body: &[u8]) {
        if self.buffers.back().is_none_or(|last| last.len() >= KEEP) {
            self.buffers.push_back(Vec::new());
        }
        if let Some(last) = self.buffers.back_mut() {
            last.extend_from_slice(head(body.len()).as_bytes());
            last.extend_from_slice(body);
        }
        self.is_flushed = false;
    }

    /// Adds a frame that did not pass through the queue.
    pub(crate) fn push_own(&mut self, body: &[u8]) {
        self.waiting.fetch_add(size(body), Ordering::Relaxed);
        self.push(body);
    }

    /// `true` if everything is written and flushed.
    pub(crate) const fn is_idle(&self) -> bool {
        self.is_flushed
    }

    /// Writes until nothing is left. Cancel safe.
    pub(crate) async fn work(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| self.poll_work(context)).await
    }

    fn poll_work(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(first) = self.buffers.front() {
            if let Some(rest @ [_, ..]) = first.get(self.at..) {
                let written = ready!(Pin::new(&mut self.output).poll_write(context, rest))?;
                if written == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                self.at += written;
                self.waiting.fetch_sub(written, Ordering::Relaxed);
                self.tell_if_drained();
                continue;
            }
            self.at = 0;
            let is_last = self.buffers.len() == 1;
            if let Some(mut done) = self.buffers.pop_front()
                && is_last
                && done.capacity() <= KEEP
            {
                // Reuses the buffer for the next frame.
                done.clear();
                self.buffers.push_back(done);
                break;
            }
        }
        ready!(Pin::new(&mut self.output).poll_flush(context))?;
        self.is_flushed = true;
        Poll::Ready(Ok(()))
    }
}
