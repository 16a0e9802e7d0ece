//! Frames in, calls of the service, frames out: one task that always reads. tower-lsp handles life cycle,
//! routing and cancellation. Its own transport is not used, because it ends at the first bad frame, stops
//! reading at four handlers, and panics when an answer arrives after its receiver is gone. Only the methods
//! of the life cycle are known here.
//!
//! A large body is parsed on a thread of its own. Frames behind it wait, so that the order of the stream stays; handlers
//! and output go on meanwhile.
//!
//! A call is polled once at its place in the stream, so a handler that forwards before its first await
//! forwards in the order of the frames. Waiting handlers run beside the reading; neither they nor a client
//! that does not read ever stop it. Answers to the server's own requests go to [`Transport::answers`] and
//! never to tower-lsp's `Client`, which may send notifications but must not send requests.

use crate::ending::Ending;
use crate::frame::{Frame, FrameReader, ReadError};
use crate::message::{Answer, Message, decode, of_fault};
use crate::outgoing::{Item, Queue, Writer};
use crate::plain::Plain;
use crate::record::{Recorder, Side};
use crate::written::WrittenResults;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;
use serde_json::value::RawValue;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};
use tower_lsp::{ClientSocket, ExitedError};
use tower_service::Service;

/// The largest accepted body, in bytes.
pub const BODY_LIMIT: u64 = 64 << 20;
/// The smallest body that is parsed on a thread of its own, in bytes.
const LARGE: usize = 256 << 10;
/// The timeout for flushing to a client that does not read, at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Admits or refuses a request, given the number of calls in progress.
pub type Admit = Box<dyn FnMut(&Request, usize) -> Result<(), Error> + Send>;

/// The parts that [`run`] connects.
pub struct Transport<R, W, S> {
    /// The source of frames.
    pub input: R,
    /// The destination of frames.
    pub output: W,
    /// The service to call.
    pub service: S,
    /// Messages of tower-lsp's own client.
    pub socket: ClientSocket,
    /// The queue of the owner loop's [`Outgoing`](crate::outgoing::Outgoing).
    pub outgoing: Queue,
    /// Receives the client's answers, in the order of the stream.
    pub answers: Box<dyn FnMut(Answer) + Send>,
    /// Called before each request; notifications and answers are always accepted.
    pub admit: Admit,
    /// Results that handlers leave as text.
    pub written: WrittenResults,
    /// Completes an error before it is written, such as with data that name its kind.
    pub typed: fn(Error) -> Error,
    /// Repairs a body before it is parsed, recorded or masked; returns the number of replacements.
    pub well_formed: fn(Vec<u8>) -> (Vec<u8>, usize),
    /// The recording, if requested.
    pub record: Option<Recorder>,
    /// The largest accepted body, in bytes; [`BODY_LIMIT`] except in tests.
    pub body_limit: u64,
}

/// Serves until the end and returns its reason. Then nothing more is read; handlers continue while `saving`
/// runs, so that open requests are answered; those still waiting are cancelled, and pending output is
/// written, if the client reads it.
pub async fn run<R, W, S>(
    transport: Transport<R, W, S>,
    ended: impl Future<Output = Ending>,
    saving: impl AsyncFnOnce(&Ending),
) -> Ending
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Unpin,
{
    let Transport {
        input,
        output,
        service,
        socket,
        outgoing,
        answers,
        admit,
        written,
        typed,
        well_formed,
        record,
        body_limit,
    } = transport;
    let mut reader = FrameReader::new(input, body_limit);
    let mut edge = Connection {
        writer: Writer::new(output, &outgoing),
        service,
        socket,
        outgoing,
        answers,
        admit,
        written,
        typed,
        well_formed,
        record,
        handlers: FuturesUnordered::new(),
        parsing: None,
        is_shut_down: false,
    };
    let mut ended = pin!(ended);
    let ending = loop {
        tokio::select! {
            ending = &mut ended => break ending,
            parsed = parsed(&mut edge.parsing), if edge.parsing.is_some() => {
                edge.parsing = None;
                if let Some(ending) = edge.parsed(parsed).await {
                    break ending;
                }
            }
            frame = reader.next(), if edge.parsing.is_none() => match frame {
                Ok(Some(frame)) => if let Some(ending) = edge.take(frame).await {
                    break ending;
                },
                Ok(None) => break Ending::EndOfInput,
                Err(ReadError::Unframeable(error)) => break Ending::Unframeable(error),
                Err(ReadError::Io(error)) => {
                    tracing::info!(%error, "the input broke");
                    break Ending::EndOfInput;
                }
            },
            Some(done) = edge.handlers.next() => edge.respond(done),
            Some(item) = edge.outgoing.items.recv() => edge.item(item).await,
            Some(request) = edge.socket.next() => edge.forward(&request),
            result = edge.writer.work(), if !edge.writer.is_idle() => if let Err(error) = result {
                tracing::info!(%error, "the output broke");
                break Ending::OutputClosed;
            },
        }
    };
    edge.end(ending, saving).await
}

struct Connection<W, S: Service<Request>> {
    writer: Writer<W>,
    service: S,
    socket: ClientSocket,
    outgoing: Queue,
    answers: Box<dyn FnMut(Answer) + Send>,
    admit: Admit,
    written: WrittenResults,
    typed: fn(Error) -> Error,
    well_formed: fn(Vec<u8>) -> (Vec<u8>, usize),
    record: Option<Recorder>,
    handlers: FuturesUnordered<Handler<S::Future>>,
    /// The large body that is being parsed.
    parsing: Option<JoinHandle<Parsed>>,
    is_shut_down: bool,
}

/// A body, repaired, with its message.
struct Parsed {
    body: Vec<u8>,
    /// The number of replacements in the body.
    replaced: usize,
    message: Message,
}

impl Parsed {
    fn of(body: Vec<u8>, well_formed: fn(Vec<u8>) -> (Vec<u8>, usize)) -> Self {
        let (body, replaced) = well_formed(body);
        let message = decode(&body);
        Self { body, replaced, message }
    }
}

/// Waits for a body that is being parsed; forever if there is none.
async fn parsed(parsing: &mut Option<JoinHandle<Parsed>>) -> Parsed {
    let Some(parsing) = parsing else { return std::future::pending().await };
    parsing.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a body was not parsed");
        let message = Message::Bad { id: Id::Null, error: Error::internal_error() };
        Parsed { body: Vec::new(), replaced: 0, message }
    })
}

impl<W, S> Connection<W, S>
where
    W: AsyncWrite + Unpin,
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Unpin,
{
    /// Handles a piece of the stream.
    async fn take(&mut self, frame: Frame) -> Option<Ending> {
        match frame {
            Frame::Body(body) if body.len() >= LARGE => {
                let well_formed = self.well_formed;
                self.parsing = Some(tokio::task::spawn_blocking(move || Parsed::of(body, well_formed)));
                None
            }
            Frame::Body(body) => {
                let parsed = Parsed::of(body, self.well_formed);
                self.parsed(parsed).await
            }
            Frame::Bad { fault, bytes } => {
                if let Some(record) = &mut self.record {
                    record.bytes(Side::Client, &bytes, &fault.to_string());
                }
                self.message(of_fault(fault, &bytes)).await
            }
            Frame::Skipped(bytes) => {
                if let Some(record) = &mut self.record {
                    record.bytes(Side::Client, &bytes, "Skipped on the way to the next header.");
                }
                None
            }
        }
    }

    /// Handles a parsed body.
    async fn parsed(&mut self, Parsed { body, replaced, message }: Parsed) -> Option<Ending> {
        if replaced > 0 {
            tracing::warn!(replaced, "unpaired surrogates in a body are read as U+FFFD");
        }
        if let Some(record) = &mut self.record {
            match &message {
                Message::Bad { error, .. } => record.body(Side::Client, &body, &error.message),
                Message::Answer(Answer { outcome: Err(error), .. })
                    if serde_json::from_slice::<Plain>(&body).is_err() =>
                {
                    record.body(Side::Client, &body, &error.message);
                }
                _ => record.frame(Side::Client, &body),
            }
        }
        drop(body);
        self.message(message).await
    }

    async fn message(&mut self, message: Message) -> Option<Ending> {
        match message {
            Message::Call(request) if request.method() == "exit" => match request.id() {
                None => return Some(Ending::Exit { after_shutdown: self.is_shut_down }),
                Some(id) => {
                    let error = Error {
                        message: "exit is a notification and must not have an id".into(),
                        ..Error::invalid_request()
                    };
                    self.refuse(id.clone(), error);
                }
            },
            Message::Call(request) => self.call(request).await,
            Message::Answer(answer) => {
                tracing::trace!(id = %answer.id, "answer");
                (self.answers)(answer);
            }
            Message::Bad { id, error } => {
                tracing::warn!(%id, "bad frame: {}", error.message);
                self.refuse(id, error);
            }
        }
        None
    }

    /// Calls the service and polls the call once, at its place in the stream.
    async fn call(&mut self, request: Request) {
        tracing::trace!(method = request.method(), id = ?request.id(), "call");
        if let Some(id) = request.id()
            && (self.admit)(&request, self.handlers.len()).is_err()
        {
            // Some waiting handlers may only need to be polled: many requests may arrive in one read.
            tokio::task::yield_now().await;
            while let Ok(item) = self.outgoing.items.try_recv() {
                self.item(item).await;
            }
            self.finished().await;
            if let Err(error) = (self.admit)(&request, self.handlers.len()) {
                return self.refuse(id.clone(), error);
            }
        }
        let (method, id) = (request.method().to_owned(), request.id().cloned());
        // Parsing the parameters is part of the call and may panic too.
        let future = catch_unwind(AssertUnwindSafe(|| self.service.call(request))).ok();
        let mut handler = Handler { method, id, future };
        match now(|context| Pin::new(&mut handler).poll(context)).await {
            Poll::Ready(done) => self.respond(done),
            Poll::Pending => self.handlers.push(handler),
        }
    }

    /// Writes the outcome of a call.
    fn respond(&mut self, done: Done) {
        match done.outcome {
            Outcome::Response(response) => {
                if let Some(response) = response {
                    self.is_shut_down |= done.method == "shutdown" && response.is_ok();
                    let (id, result) = response.into_parts();
                    match result.as_ref().ok().and_then(|value| self.written.take(value)) {
                        Some(text) => self.write(&Written { jsonrpc: "2.0", result: &text, id: &id }, &id),
                        None => {
                            self.write(&Response::from_parts(id.clone(), result.map_err(self.typed)), &id)
                        }
                    }
                }
            }
            Outcome::Panicked => {
                // The panic hook logs the panic itself.
                tracing::error!(method = done.method, id = ?done.id, "a handler panicked");
                let Some(id) = done.id else { return };
                // tower-lsp forgets the id of a handler that returns or is cancelled, and this one did neither.
                let forget = serde_json::json!({ "id": id });
                let request = Request::build("$/cancelRequest").params(forget).finish();
                let (method, future) = (request.method().to_owned(), Some(self.service.call(request)));
                self.handlers.push(Handler { method, id: None, future });
                let message =
                    "internal error; the request was aborted and threadhold keeps running; see the log";
                self.refuse(id, Error { message: message.into(), ..Error::internal_error() });
            }
        }
    }

    fn refuse(&mut self, id: Id, error: Error) {
        self.write(&Response::from_error(id.clone(), (self.typed)(error)), &id);
    }

    fn write(&mut self, response: &impl Serialize, id: &Id) {
        let body = serde_json::to_vec(response).unwrap_or_else(|error| {
            tracing::error!(%error, "a response could not be written as JSON");
            let error = Error::new(ErrorCode::InternalError);
            serde_json::to_vec(&Response::from_error(id.clone(), error)).unwrap_or_default()
        });
        self.record_own(&body);
        self.writer.push_own(&body);
    }

    /// Writes a message of tower-lsp's client.
    fn forward(&mut self, request: &Request) {
        if let Ok(body) = serde_json::to_vec(request) {
            self.record_own(&body);
            self.writer.push_own(&body);
        }
    }

    /// Handles an item and all further ones in the queue, which are then flushed with one write.
    async fn item(&mut self, item: Item) {
        let mut next = Some(item);
        while let Some(item) = next {
            match item {
                Item::Frame(body) => {
                    self.record_own(&body);
                    self.writer.push(&body);
                }
                Item::Answer(give) => {
                    give();
                    self.finished().await;
                }
                Item::WhenDrained(tell) => self.writer.when_drained(tell),
            }
            next = self.outgoing.items.try_recv().ok();
        }
    }

    /// Writes the responses of finished handlers.
    async fn finished(&mut self) {
        while let Poll::Ready(Some(done)) = now(|context| self.handlers.poll_next_unpin(context)).await {
            self.respond(done);
        }
    }

    fn record_own(&mut self, body: &[u8]) {
        if let Some(record) = &mut self.record {
            record.frame(Side::Server, body);
        }
    }

    async fn end(mut self, ending: Ending, saving: impl AsyncFnOnce(&Ending)) -> Ending {
        match &ending {
            Ending::Unframeable(_) => tracing::error!("ending: {ending}"),
            _ => tracing::info!("ending: {ending}"),
        }
        let mut can_write = ending != Ending::OutputClosed;
        if self.parsing.is_some() {
            // It came before the end.
            let parsed = parsed(&mut self.parsing).await;
            self.parsing = None;
            // The stream ends already, whatever this one asks for.
            let _: Option<Ending> = self.parsed(parsed).await;
        }
        {
            let mut saving = pin!(saving(&ending));
            loop {
                tokio::select! {
                    () = &mut saving => break,
                    Some(done) = self.handlers.next() => self.respond(done),
                    Some(item) = self.outgoing.items.recv() => self.item(item).await,
                    Some(request) = self.socket.next() => self.forward(&request),
                    result = self.writer.work(), if can_write && !self.writer.is_idle() => {
                        can_write = result.is_ok();
                    }
                }
            }
        }
        if let Ok(item) = self.outgoing.items.try_recv() {
            self.item(item).await;
        }
        self.finished().await;
        // Every request gets a response: those still waiting are cancelled.
        drop(self.service.call(Request::build("exit").finish()));
        self.finished().await;
        if can_write && tokio::time::timeout(FLUSH_TIMEOUT, self.writer.work()).await.is_err() {
            tracing::warn!("the client does not read: what was left for it is dropped");
        }
        match ending {
            Ending::Exit { .. } => Ending::Exit { after_shutdown: self.is_shut_down },
            other => other,
        }
    }
}

/// Polls once, outside of tokio's cooperative budget: with the budget used up, a ready reply would look
/// pending, and the order would be lost.
async fn now<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Poll<T> {
    tokio::task::unconstrained(std::future::poll_fn(|context| Poll::Ready(poll(context)))).await
}

/// A call of the service in progress.
struct Handler<F> {
    method: String,
    id: Option<Id>,
    /// `None` if creating the future panicked.
    future: Option<F>,
}

/// A response whose result is JSON text, in the form of [`Response`].
#[derive(Serialize)]
struct Written<'a> {
    jsonrpc: &'static str,
    result: &'a RawValue,
    id: &'a Id,
}

/// A finished call.
struct Done {
    method: String,
    id: Option<Id>,
    outcome: Outcome,
}

enum Outcome {
    /// `None` for a notification.
    Response(Option<Response>),
    Panicked,
}

impl<F: Future<Output = Result<Option<Response>, ExitedError>> + Unpin> Future for Handler<F> {
    type Output = Done;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Done> {
        let polled = match &mut self.future {
            None => Poll::Ready(None),
            Some(future) => match catch_unwind(AssertUnwindSafe(|| Pin::new(future).poll(context))) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(outcome)) => Poll::Ready(Some(outcome)),
                Err(_) => Poll::Ready(None),
            },
        };
        polled.map(|outcome| Done {
            method: std::mem::take(&mut self.method),
            id: self.id.take(),
            outcome: match outcome {
                Some(Ok(response)) => Outcome::Response(response),
                // Called after `exit`, as only the end does: no response is due.
                Some(Err(_)) => Outcome::Response(None),
                None => Outcome::Panicked,
            },
        })
    }
}

#[cfg(test)]
mod tests;
