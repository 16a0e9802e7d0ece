//! How the process ends: the reasons, their exit codes, and the reasons that come from outside the stream. Saving is
//! the caller's, flushing the transport's.

use crate::frame::Unframeable;
use crate::parent::Parent;
use std::time::Duration;
use tokio::sync::mpsc;

/// How often the parent is looked for.
const LOOK: Duration = Duration::from_secs(1);

/// Why the server ends. Everything is saved at each of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ending {
    /// `exit` came.
    #[error("the client said exit")]
    Exit {
        /// Whether `shutdown` had been answered.
        after_shutdown: bool,
    },
    /// The input ended or broke between two frames: the client went away.
    #[error("the input ended")]
    EndOfInput,
    /// Nobody reads what we write.
    #[error("the output was closed")]
    OutputClosed,
    /// No further frame can be found.
    #[error("{0}")]
    Unframeable(Unframeable),
    /// We were asked to end by a signal.
    #[error("{0} came")]
    Signal(&'static str),
    /// The process that `initialize` named has ended.
    #[error("the parent process {0} has ended")]
    ParentGone(u32),
}

impl Ending {
    /// The process's exit code: 1 for `exit` without `shutdown`, 2 for a stream that is none, else 0. A signal that asks
    /// to end and is obeyed is no failure.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Exit { after_shutdown: false } => 1,
            Self::Unframeable(_) => 2,
            _ => 0,
        }
    }
}

/// Waits for an end that does not come through the stream: a signal, or the death of a process that came through the
/// channel.
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

/// Waits for a signal that can only mean the process: what a terminal sends when it is closed, what a system sends when
/// it goes down.
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
        tokio::time::sleep(LOOK).await;
    }
    parent.pid()
}
