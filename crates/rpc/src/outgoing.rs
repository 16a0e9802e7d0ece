//! What goes to the client: a handle for whoever has something to say, and the writer. Nobody who sends ever waits for
//! a client that does not read; the queue is in memory and its size can be asked for.

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

/// A buffer that holds this much takes no further frame, and one that is larger is given back once it is written. Bytes.
const KEEP: usize = 1 << 20;

/// Where a client that was behind counts as one that reads again. Bytes that wait for it.
pub const DRAINED: usize = 1 << 20;

/// Is called once, when the client has read.
type Tell = Box<dyn FnOnce() + Send>;

/// Sends frames to the client. They leave in the order in which they were sent, and the answers that are given through
/// [`Outgoing::answer`] keep their place among them.
#[derive(Debug, Clone)]
pub struct Outgoing {
    sender: mpsc::UnboundedSender<Item>,
    waiting: Arc<AtomicUsize>,
}

/// The other end of [`Outgoing`]: what has been sent and not yet been taken for writing.
#[derive(Debug)]
pub struct Queue {
    pub(crate) items: mpsc::UnboundedReceiver<Item>,
    waiting: Arc<AtomicUsize>,
}

/// What stands in the queue.
pub enum Item {
    /// The body of a frame.
    Frame(Vec<u8>),
    /// Gives a handler its reply. It is called where it stands in the queue, so the response stands there too.
    Answer(Tell),
    /// Asks to be told when the client has read.
    WhenDrained(Tell),
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

/// A handle and its queue.
#[must_use]
pub fn outgoing() -> (Outgoing, Queue) {
    let (sender, items) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (Outgoing { sender, waiting: Arc::clone(&waiting) }, Queue { items, waiting })
}

impl Queue {
    /// The next item that is there now, for a test that stands where the transport stands.
    pub fn try_next(&mut self) -> Option<Item> {
        self.items.try_recv().ok()
    }
}

impl Outgoing {
    /// Sends a frame as it is. After the transport's end it goes nowhere.
    pub fn send(&self, frame: &Value) {
        self.push(frame);
    }

    /// Sends a notification.
    pub fn notification(&self, method: &str, params: &impl Serialize) {
        self.push(&Notification { jsonrpc: "2.0", method, params });
    }

    /// Sends a request. The client's answer comes to the transport's `answers`.
    pub fn request(&self, id: impl Into<Id>, method: &str, params: &impl Serialize) {
        self.push(&Request { jsonrpc: "2.0", id: id.into(), method, params });
    }

    /// Tells the client that the answer to a request of ours is not wanted any more.
    pub fn cancel(&self, id: impl Into<Id>) {
        self.notification("$/cancelRequest", &json!({ "id": id.into() }));
    }

    /// Gives a handler the reply that it awaits, at this place in the order: what was sent before reaches the client
    /// before the response, and what is sent later reaches it after. A handler that is gone wants none.
    pub fn answer<T: Send + 'static>(&self, reply: oneshot::Sender<T>, value: T) {
        let give = move || drop(reply.send(value));
        drop(self.sender.send(Item::Answer(Box::new(give))));
    }

    /// How many bytes wait for the client to read them.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Calls this once, when at most [`DRAINED`] bytes wait for the client; at once where that is so now. Not after the
    /// transport's end.
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

/// The size of a frame with this body. Bytes.
fn size(body: &[u8]) -> usize {
    head(body.len()).len() + body.len()
}

/// Writes frames, as many at a time as there are.
pub(crate) struct Writer<W> {
    output: W,
    /// Several: what waits may be large, and taking written bytes off the front of one buffer costs all that is behind.
    buffers: VecDeque<Vec<u8>>,
    /// What lies before in the first of them was written.
    at: usize,
    is_flushed: bool,
    waiting: Arc<AtomicUsize>,
    /// Who wants to know that the client has read.
    when_drained: Vec<Tell>,
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

    /// Calls this when the client has read.
    pub(crate) fn when_drained(&mut self, tell: Tell) {
        self.when_drained.push(tell);
        self.tell_if_drained();
    }

    fn tell_if_drained(&mut self) {
        if !self.when_drained.is_empty() && self.waiting.load(Ordering::Relaxed) <= DRAINED {
            self.when_drained.drain(..).for_each(|tell| tell());
        }
    }

    /// Takes in a frame that came through the queue and was counted there.
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

    /// Takes in a frame that came from elsewhere.
    pub(crate) fn push_own(&mut self, body: &[u8]) {
        self.waiting.fetch_add(size(body), Ordering::Relaxed);
        self.push(body);
    }

    /// Whether all that was taken in was written.
    pub(crate) const fn is_idle(&self) -> bool {
        self.is_flushed
    }

    /// Writes until nothing is left. Nothing is lost when the future is dropped before it is done.
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
                // The next frame goes there.
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
