//! The sidecar: what an editor spawns and talks to over standard input and output. [`transport`] is the edge, with
//! [`frame`], [`message`] and [`outgoing`] under it; nothing in here decides anything about a prompt.

mod backend;
pub mod ending;
pub mod frame;
mod log;
pub mod message;
pub mod outgoing;
mod parent;
pub mod record;
mod stdio;
pub mod transport;

use backend::Backend;
use ending::{Ending, from_outside};
use outgoing::outgoing;
use record::Recorder;
use std::path::PathBuf;
use tokio::sync::mpsc;
use tower_lsp::LspService;
use transport::{BODY_LIMIT, Transport};

/// What the command line says about the server.
#[derive(Debug, Default)]
pub struct Options {
    /// Where the wire is recorded, see [`record`].
    pub record: Option<PathBuf>,
}

/// Serves on standard input and output until the end; the process's exit code.
///
/// # Errors
/// When standard input and output cannot be used.
pub fn serve(options: &Options) -> std::io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let log = log::start();
    let ending = runtime.block_on(async {
        let stdio = stdio::open()?;
        let (parents, watched) = mpsc::unbounded_channel();
        let (_outgoing, queue) = outgoing();
        let (service, socket) = LspService::new(|_| Backend { parents });
        let transport = Transport {
            input: stdio.input,
            output: stdio.output,
            service,
            socket,
            outgoing: queue,
            answers: Box::new(|answer| tracing::debug!(id = %answer.id, "nobody waits for this answer")),
            admit: Box::new(|_, _| Ok(())),
            record: options.record.as_deref().and_then(recorder),
            body_limit: BODY_LIMIT,
        };
        let ending = transport::run(transport, from_outside(watched), async |_: &Ending| {}).await;
        // Inside the runtime, and after the last byte was written.
        drop(stdio.undo);
        Ok::<_, std::io::Error>(ending)
    });
    // A thread may stand in a read of a terminal or a file: it is not waited for.
    runtime.shutdown_background();
    log.finish();
    ending.map(|ending| ending.code())
}

/// The recorder of a file. A recording that cannot be made is no reason not to serve.
fn recorder(file: &std::path::Path) -> Option<Recorder> {
    Recorder::create(file)
        .inspect_err(|error| {
            tracing::error!(file = %file.display(), %error, "the file cannot be written; there will be no recording");
        })
        .ok()
}
