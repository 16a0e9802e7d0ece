//! WebSockets between calls: those that are open, and the endpoints that do not take any. Shared by all calls of the process.

use crate::socket::Socket;
use crate::wire::openai_responses::Previous;
use engine::endpoint::Endpoint;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// The most open sockets without a call.
const MOST: usize = 8;
/// The time after which a socket without a call is closed.
const IDLE: Duration = Duration::from_secs(5 * 60);
/// The age from which a socket gets no further call: providers close it after an hour.
const OLD: Duration = Duration::from_secs(55 * 60);

/// WebSockets between calls. One call has a socket at a time.
#[derive(Debug, Clone, Default)]
pub struct Sockets(Arc<Mutex<SocketState>>);

#[derive(Debug, Default)]
struct SocketState {
    /// URLs of endpoints that did not take a WebSocket. They are asked by POST for as long as the process runs.
    refused: BTreeSet<String>,
    /// URLs of endpoints whose last new socket broke before anything arrived.
    broken: BTreeSet<String>,
    /// Open sockets, the newest last.
    idle: Vec<Idle>,
}

#[derive(Debug)]
struct Idle {
    kept: Kept,
    since: SystemTime,
}

/// An open socket with what its last answer was.
#[derive(Debug)]
pub(crate) struct Kept {
    pub socket: Socket,
    /// The hash of address, headers and conversation: a socket is used again for the same ones only.
    pub of: String,
    pub previous: Previous,
    /// The time at which it was opened. Of the wall clock, so that it ages while the machine sleeps.
    pub opened: SystemTime,
}

impl Sockets {
    /// `true` if the endpoint did not take a WebSocket.
    pub(crate) fn are_refused_by(&self, endpoint: &Endpoint) -> bool {
        self.state().refused.contains(endpoint.url())
    }

    /// Notes that the endpoint, or something on the way to it, does not take a WebSocket.
    pub(crate) fn refused_by(&self, endpoint: &Endpoint) {
        self.state().refused.insert(endpoint.url().to_owned());
    }

    /// Notes that a new socket broke before anything arrived. Returns `true` if the one before it did, too: then it is no
    /// accident.
    pub(crate) fn broke_at(&self, endpoint: &Endpoint) -> bool {
        !self.state().broken.insert(endpoint.url().to_owned())
    }

    /// Notes that an answer came over a socket.
    pub(crate) fn work_at(&self, endpoint: &Endpoint) {
        self.state().broken.remove(endpoint.url());
    }

    /// Takes the newest open socket for this hash.
    pub(crate) fn take(&self, of: &str) -> Option<Kept> {
        let mut state = self.state();
        state.close_old();
        let at = state.idle.iter().rposition(|idle| idle.kept.of == of)?;
        Some(state.idle.remove(at).kept)
    }

    /// Keeps a socket for the next call. Its answer must have ended whole.
    pub(crate) fn keep(&self, kept: Kept) {
        let mut state = self.state();
        state.close_old();
        if state.idle.len() >= MOST {
            state.idle.remove(0);
        }
        state.idle.push(Idle { kept, since: SystemTime::now() });
        let shared = Arc::downgrade(&self.0);
        // The process may have no further call.
        tokio::spawn(async move {
            tokio::time::sleep(IDLE + Duration::from_secs(1)).await;
            if let Some(state) = shared.upgrade() {
                Self(state).state().close_old();
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, SocketState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SocketState {
    fn close_old(&mut self) {
        let now = SystemTime::now();
        // A clock that was set back says nothing about the age.
        let is_over = |since: SystemTime, most| now.duration_since(since).is_ok_and(|age| age >= most);
        self.idle.retain(|idle| !is_over(idle.since, IDLE) && !is_over(idle.kept.opened, OLD));
    }
}
