//! The log: lines on standard error, because standard output is the protocol's. A thread of its own writes
//! them, so that a client that does not read them cannot block us; lines that find no room are counted and
//! dropped.

use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;
use tracing_subscriber::EnvFilter;

/// Most lines that wait.
const WAITING: usize = 4096;
/// Longest wait at the end for lines that nobody reads.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// The log of this process.
#[derive(Debug)]
pub struct Log {
    lines: Lines,
}

#[derive(Debug, Clone)]
struct Lines {
    sender: SyncSender<Line>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Line {
    Text(Vec<u8>),
    /// Acknowledged once all lines before it are written.
    Mark(SyncSender<()>),
}

/// Starts the log at the level that `RUST_LOG` names, or at `usual`. A panic is logged with its place and, if
/// it is a literal, its text; a text made at run time may hold content and is left out.
#[must_use]
pub fn start(usual: &str) -> Log {
    let (sender, receiver) = sync_channel(WAITING);
    let dropped = Arc::new(AtomicU64::new(0));
    let lines = Lines { sender, dropped: Arc::clone(&dropped) };
    std::thread::spawn(move || write(&receiver, &dropped));
    let given = std::env::var("RUST_LOG").unwrap_or_default();
    let filter =
        EnvFilter::try_new(wanted(&given, usual)).unwrap_or_else(|_| EnvFilter::new(wanted("", usual)));
    let writer = lines.clone();
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .try_init();
    std::panic::set_hook(Box::new(note));
    Log { lines }
}

/// The directives of `RUST_LOG`, or the usual level. The library rmcp stays silent whatever they say: its log holds whole
/// messages of servers, and so what users and tools said.
fn wanted(given: &str, usual: &str) -> String {
    let directives = given.split(',').map(str::trim).filter(|of| !of.is_empty() && !of.contains("rmcp"));
    let given: Vec<_> = directives.collect();
    let given = if given.is_empty() { usual.to_owned() } else { given.join(",") };
    given + ",rmcp=off"
}

/// Logs a panic.
pub(super) fn note(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let text = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("(text left out)");
    tracing::error!(place, text, "panic");
}

impl Log {
    /// Waits, for half a second at most, until the log is written.
    pub fn finish(self) {
        let (sender, receiver) = sync_channel(1);
        if self.lines.sender.try_send(Line::Mark(sender)).is_ok() {
            let _ = receiver.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(Line::Text(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(lines: &Receiver<Line>, dropped: &AtomicU64) {
    let mut output = io::stderr();
    for line in lines {
        match line {
            // A closed standard error cannot be reported.
            Line::Text(line) => drop(output.write_all(&line)),
            Line::Mark(done) => drop(done.try_send(())),
        }
        match dropped.swap(0, Ordering::Relaxed) {
            0 => {}
            count => drop(writeln!(output, "threadhold: {count} log lines found no room and were dropped")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_servers_are_never_logged() {
        assert_eq!(wanted("", "warn"), "warn,rmcp=off");
        assert_eq!(
            wanted("debug, rmcp::service=trace,threadhold=info", "warn"),
            "debug,threadhold=info,rmcp=off"
        );
        assert_eq!(wanted("rmcp=debug", "error"), "error,rmcp=off");
    }
}
