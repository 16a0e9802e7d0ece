//! Sessions that run for others, as a store tells of them: which wait for a process that runs them, and how each stands.
//! Values only; who runs one, and when, is the server's.

use engine::id::{SessionId, Time};
use serde_json::Value;
use session::stored::TurnStatus;

/// A session that waits for a process that serves its folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// The session.
    pub session: SessionId,
    /// The settings that were made for it alone: they say who is asked.
    pub settings: Value,
}

/// A session that runs for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The session.
    pub session: SessionId,
    /// Its title, where it has one.
    pub title: Option<String>,
    /// How it stands.
    pub state: TaskState,
    /// When it was made.
    pub created_at: Time,
}

/// How a session stands that runs for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskState {
    /// It waits for a process that serves its folder.
    Waiting,
    /// Its turn runs, or waits for a user.
    Running,
    /// The process that ran its turn is gone. It is not run again by itself.
    Interrupted,
    /// Its turn ended.
    Ended(TurnStatus),
}

impl TaskState {
    /// How a session stands whose newest turn stands so; nothing where it was asked nothing.
    pub(super) fn of(waits: bool, last: Option<TurnStatus>, is_held: impl FnOnce() -> bool) -> Option<Self> {
        match last {
            _ if waits => Some(Self::Waiting),
            Some(TurnStatus::Running) if is_held() => Some(Self::Running),
            Some(TurnStatus::Running) => Some(Self::Interrupted),
            Some(ended) => Some(Self::Ended(ended)),
            None => None,
        }
    }
}
