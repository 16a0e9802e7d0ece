//! Background sessions: those that wait for a process, and the state of each. Scheduling is the server's.

use engine::id::{SessionId, Time};
use engine::words::StateName;
use serde_json::Value;
use session::stored::TurnStatus;

/// A session that waits for a process that serves its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// The session.
    pub session: SessionId,
    /// The session's own settings, which name its model.
    pub settings: Value,
}

/// A session that runs in the background for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The session.
    pub session: SessionId,
    /// The title, if there is one.
    pub title: Option<String>,
    /// The purpose, in the words of who started it.
    pub kind: Option<String>,
    /// The state of its newest turn.
    pub state: TaskState,
    /// The state of the session, as it was stored; `None` if the session was last used by a version that did not store
    /// it.
    pub rest: Option<StateName>,
    /// Tokens that it used, if it is an agent.
    pub used: u64,
    /// The time of creation.
    pub created_at: Time,
}

/// The state of a background session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// Waits for a process that serves its folder.
    Waiting,
    /// The turn runs, or waits for a user, an editor or agents.
    Running,
    /// The process of the running turn ended. The turn is not restarted.
    Interrupted,
    /// The turn ended with this status.
    Ended(TurnStatus),
}

impl TaskState {
    /// The state of a session with this newest turn and this stored state; `None` if it has no turn and waits for none.
    pub(super) fn of(
        waits: bool,
        last: Option<TurnStatus>,
        rest: Option<StateName>,
        is_held: impl FnOnce() -> bool,
    ) -> Option<Self> {
        // What waits for somebody survives its process.
        let goes_on = matches!(rest, Some(StateName::Paused | StateName::WaitingIde));
        match last {
            Some(TurnStatus::Running) if waits || goes_on || is_held() => Some(Self::Running),
            _ if waits => Some(Self::Waiting),
            Some(TurnStatus::Running) => Some(Self::Interrupted),
            Some(ended) => Some(Self::Ended(ended)),
            None => None,
        }
    }
}
