//! How a session rests.

use engine::words::StateName;

/// A state in which nothing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    /// Nothing ran, or what ran was stopped.
    Idle,
    /// The last turn is done.
    Completed,
    /// The last turn goes on when the user says so.
    WaitingUserInput,
    /// The last turn could not go on; why.
    Failed(String),
}

impl Rest {
    /// As clients know it.
    pub fn name(&self) -> StateName {
        match self {
            Self::Idle => StateName::Idle,
            Self::Completed => StateName::Completed,
            Self::WaitingUserInput => StateName::WaitingUserInput,
            Self::Failed(_) => StateName::Error,
        }
    }
}
