//! The states in which a session rests.

use engine::words::StateName;

/// A state in which nothing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    /// Nothing ran yet, or the running turn was stopped.
    Idle,
    /// The last turn completed.
    Completed,
    /// The last turn waits for the user: it asked a question or reached the round limit.
    WaitingUserInput,
    /// The last turn failed; the reason.
    Failed(String),
}

impl Rest {
    /// Returns the state as clients know it.
    pub fn name(&self) -> StateName {
        match self {
            Self::Idle => StateName::Idle,
            Self::Completed => StateName::Completed,
            Self::WaitingUserInput => StateName::WaitingUserInput,
            Self::Failed(_) => StateName::Error,
        }
    }
}
