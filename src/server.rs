//! The sidecar, which an editor spawns and talks to over standard input and output. Frames come from
//! [`rpc::transport`]; `edge::backend` forwards requests to `router`, the one task that owns every component.
//! Nothing here decides anything about a prompt.
//!
//! A component keeps its state private and knows neither the router nor the other components' internals: it
//! borrows what it needs, sends its own events through a `mailbox`, and returns what it cannot do itself.
//!
//! | module | owns |
//! |---|---|
//! | `edge` | nothing: tower-lsp's handlers, the data of errors |
//! | `client` | output to the client: events held back, requests of ours, pending replies |
//! | `host` | one open session each: machine, steps, calls, timers, opening and closing |
//! | `config` | settings of all sessions and the files they come from; `settings` reads the layers |
//! | `follow` | sessions that another process writes |
//! | `services` | large requests, leases, models, shared values, loops, tasks, trajectories; `stores` owns the stores |
//! | `requests` | nothing: parameters become commands and queries |
//! | `wire` | nothing: values of sessions become results, events and errors |

mod client;
mod clock;
mod config;
pub mod dump;
mod edge;
mod folder;
mod follow;
mod given;
mod host;
mod inbox;
mod log;
mod mailbox;
pub mod outside;
mod requests;
mod router;
mod services;
mod settings;
mod stores;
mod watch;
mod wire;

pub use stores::database;

use crate::tokenizer::O200k;
use edge::backend::{self, Backend};
use inbox::Event;
use outside::Flags;
use protocol::error::{ErrorData, ProtocolError};
use protocol::methods::{self, Named};
use router::Router;
use rpc::ending::{Ending, from_outside, terminated};
use rpc::outgoing::outgoing;
use rpc::parent::Parent;
use rpc::record::Recorder;
use rpc::stdio;
use rpc::transport::{self, BODY_LIMIT, Transport};
use rpc::written::WrittenResults;
use services::diagnostics::REQUEST_LIMIT;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::{mpsc, oneshot};

/// Buffer between a client in this process and the server, in bytes.
const BETWEEN: usize = 64 << 10;

/// Options of the server from the command line.
#[derive(Debug, Default)]
pub struct Options {
    /// The file that the wire is recorded in, see [`rpc::record`].
    pub record: Option<PathBuf>,
    /// Settings of the command line.
    pub flags: Flags,
    /// The folder that requests to models are dumped into.
    pub dump_prompts: Option<PathBuf>,
}

/// Serves on standard input and output until the end. Returns the process's exit code.
///
/// # Errors
/// Fails if standard input and output cannot be used.
pub fn serve(options: &Options) -> std::io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = log::start("warn");
    let ending = runtime.block_on(async {
        let stdio = stdio::open()?;
        let ending = serve_on(stdio.input, stdio.output, options, true, from_outside).await;
        // Inside the runtime, and after the last byte was written.
        drop(stdio.undo);
        Ok::<_, std::io::Error>(ending)
    });
    // A thread may be blocked in a read of a terminal or a file: it is not waited for.
    runtime.shutdown_background();
    log.finish();
    ending.map(|ending| ending.code())
}

/// Serves one client in this process until the end, and returns its result. The client exchanges the same
/// frames as one outside; it shows messages itself, so the log holds only defects.
///
/// # Errors
/// Fails if there can be no runtime.
pub fn serve_within<T>(options: &Options, client: impl AsyncFnOnce(DuplexStream) -> T) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = log::start("error");
    let done = runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(BETWEEN);
        let (input, output) = tokio::io::split(theirs);
        // Interrupts are the client's: one may mean a turn and not the process.
        let outside = async |_| Ending::Signal(terminated().await);
        // Runs no tasks: this process lives only as long as its user looks at it.
        let serving = serve_on(input, output, options, false, outside);
        tokio::join!(client(ours), serving).0
    });
    // Threads may be blocked in a read of a terminal, or in a tool.
    runtime.shutdown_background();
    log.finish();
    Ok(done)
}

/// Serves on these streams until the end, which `outside` may cause, too.
async fn serve_on(
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin,
    options: &Options,
    runs_tasks: bool,
    outside: impl AsyncFnOnce(mpsc::UnboundedReceiver<Parent>) -> Ending,
) -> Ending {
    let (parents, watched) = mpsc::unbounded_channel();
    let (outgoing, queue) = outgoing();
    let (events, inbox) = mpsc::unbounded_channel();
    let to_loop = events.clone();
    let storage = stores::StorageOutside::now();
    let written = WrittenResults::default();
    let (service, socket) = backend::service(|_| Backend {
        events: to_loop,
        parents,
        requests: AtomicU64::new(0),
        written: written.clone(),
        storage,
    });
    let answers = events.clone();
    let sent = outgoing.clone();
    let transport = Transport {
        input,
        output,
        service,
        socket,
        outgoing: queue,
        answers: Box::new(move |answer| drop(answers.send(Event::Answered(Box::new(answer))))),
        admit: Box::new(move |request, open| admit(request.method(), open, sent.waiting())),
        written,
        typed: edge::typed,
        well_formed: edge::well_formed,
        record: options.record.as_deref().and_then(recorder),
        body_limit: BODY_LIMIT,
    };
    // Without tokio's cooperative budget: a burst of events could use it up.
    let mut owner = Router::new(outgoing, events.clone(), Box::new(O200k));
    owner.take_outside(&options.flags, runs_tasks, options.dump_prompts.clone());
    let owner = tokio::task::unconstrained(owner.run(inbox));
    let saving = async |_: &Ending| {
        let (done, saved) = oneshot::channel();
        drop(events.send(Event::Ending(done)));
        drop(saved.await);
    };
    let serving = transport::run(transport, outside(watched), saving);
    // The router ends with the transport, never before it.
    tokio::select! {
        // In this order, the router takes what the transport forwarded before the transport goes on.
        biased;
        ending = serving => ending,
        () = owner => Ending::EndOfInput,
    }
}

/// Most unread bytes. Above it requests are refused, so that a client that only writes cannot fill the
/// memory.
const UNREAD_LIMIT: usize = 32 << 20;

/// Refuses a request if too many wait, or too much is unread. Requests that end a wait or the process are
/// always taken.
fn admit(method: &str, open: usize, unread: usize) -> Result<(), tower_lsp::jsonrpc::Error> {
    let ends_a_wait = [methods::ToolResult::NAME, methods::ToolDecide::NAME, methods::TurnCancel::NAME];
    let is_free = open < REQUEST_LIMIT && unread <= UNREAD_LIMIT;
    if is_free || matches!(method, "initialize" | "shutdown") || ends_a_wait.contains(&method) {
        return Ok(());
    }
    let limit = u32::try_from(REQUEST_LIMIT).unwrap_or(u32::MAX);
    let message = if unread > UNREAD_LIMIT {
        format!(
            "{unread} bytes are unread and the limit is {UNREAD_LIMIT}; nothing was done; read them, then send this request again"
        )
    } else {
        format!(
            "{open} requests have no response yet and the limit is {limit}; nothing was done; send this one again after a response"
        )
    };
    Err(backend::jsonrpc(&ProtocolError::new(ErrorData::Overloaded { limit }, message)))
}

/// The recorder of a file. The server serves even if nothing can be recorded.
fn recorder(file: &std::path::Path) -> Option<Recorder> {
    Recorder::create(file, edge::MASKED)
        .inspect_err(|error| {
            tracing::error!(file = %file.display(), %error, "the file cannot be written; there will be no recording");
        })
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_admits_only_requests_that_end_a_wait() {
        for (open, unread) in [(REQUEST_LIMIT, 0), (0, UNREAD_LIMIT + 1)] {
            let error = admit("session/list", open, unread).unwrap_err();
            assert_eq!(error.data.unwrap()["kind"], "Overloaded");
            for method in ["initialize", "shutdown", "tool/result", "tool/decide", "turn/cancel"] {
                assert!(admit(method, open, unread).is_ok(), "{method}");
            }
        }
        assert!(admit("session/list", REQUEST_LIMIT - 1, UNREAD_LIMIT).is_ok());
    }
}
