//! The end of the process: its reasons, their exit codes, and the reasons outside of the stream. The caller
//! saves, the transport flushes.

use crate::frame::Unframeable;
use crate::parent::Parent;
use std::time::Duration;
use tokio::sync::mpsc;

/// The interval between checks for the parent process.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The reason for the server's end. The caller saves everything before each of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// The client sent `exit`.
    #[error("the client sent exit")]
    Exit {
        /// `true` if `shutdown` was answered before.
        after_shutdown: bool,
    },
    /// The input ended or failed between two frames: the client is gone.
    #[error("the input ended")]
    EndOfInput,
    /// The output is closed.
    #[error("the output was closed")]
    OutputClosed,
    /// No further frame can be found in the input.
    #[error("{0}")]
    Unframeable(Unframeable),
    /// A signal asked the process to end.
    #[error("received {0}")]
    Signal(&'static str),
    /// The process given in `initialize` has ended.
    #[error("the parent process {0} has ended")]
    ParentGone(u32),
}

impl Ending {
    /// Returns the exit code: 1 for `exit` without `shutdown`, 2 for an input that cannot be framed, else 0.
    /// Ending on a signal is no failure.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Exit { after_shutdown: false } => 1,
            Self::Unframeable(_) => 2,
            _ => 0,
        }
    }
}

/// Waits for an end from outside of the stream: a signal, or the death of the first process sent over `parents`.
pub async fn from_outside(parents: mpsc::UnboundedReceiver<Parent>) -> Ending {
    tokio::select! {
        name = signal() => Ending::Signal(name),
        pid = death(parents) => Ending::ParentGone(pid),
    }
}

async fn signal() -> &'static str {
    tokio::select! {
        name = terminated() => name,
        name = interrupted() => name,
    }
}

/// Waits for a signal meant for the process itself: from a closed terminal, or from a system going down.
/// Never returns on systems other than Unix.
pub async fn terminated() -> &'static str {
    #[cfg(unix)]
    {
        use tokio::signal::unix::SignalKind;
        tokio::select! {
            () = wait(SignalKind::terminate()) => "SIGTERM",
            () = wait(SignalKind::hangup()) => "SIGHUP",
        }
    }
    #[cfg(not(unix))]
    std::future::pending().await
}

#[cfg(unix)]
async fn interrupted() -> &'static str {
    wait(tokio::signal::unix::SignalKind::interrupt()).await;
    "SIGINT"
}

#[cfg(unix)]
async fn wait(kind: tokio::signal::unix::SignalKind) {
    match tokio::signal::unix::signal(kind) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(error) => {
            tracing::warn!(%error, "a signal cannot be waited for: it ends the process at once");
            std::future::pending().await
        }
    }
}

#[cfg(not(unix))]
async fn interrupted() -> &'static str {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
    "Ctrl-C"
}

async fn death(mut parents: mpsc::UnboundedReceiver<Parent>) -> u32 {
    let Some(parent) = parents.recv().await else { return std::future::pending().await };
    while parent.is_alive() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    parent.pid()
}
