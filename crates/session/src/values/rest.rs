//! The states in which a session rests, and its state as other processes know it.

use engine::words::StateName;

/// A state in which nothing runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rest {
    /// Nothing ran yet, the last turn ended with an answer, or it was stopped.
    Idle,
    /// A tool that finishes the work ended the last turn.
    Completed,
    /// The last turn waits for the user: it asked a question or reached the round limit.
    WaitingUserInput,
    /// The last turn failed; the reason.
    Failed(String),
    /// The editor's loop runs the last turn: the session has nothing to do, and clients see that it is generating.
    EditorsTurn,
}

/// The reason for a failure whose own reason is not known any more.
const FAILED: &str = "the last turn failed";

impl Rest {
    /// The rest after a turn that failed, and whose reason is not known any more.
    pub(crate) fn failed() -> Self {
        Self::Failed(FAILED.to_owned())
    }

    /// The rest of this name; `None` if something runs or waits in that state.
    pub(crate) fn named(name: StateName) -> Option<Self> {
        match name {
            StateName::Idle => Some(Self::Idle),
            StateName::Completed => Some(Self::Completed),
            StateName::WaitingUserInput => Some(Self::WaitingUserInput),
            StateName::Error => Some(Self::failed()),
            StateName::Generating | StateName::ExecutingTools | StateName::Paused | StateName::WaitingIde => {
                None
            }
        }
    }

    /// Returns the state as clients know it.
    pub fn name(&self) -> StateName {
        match self {
            Self::Idle => StateName::Idle,
            Self::Completed => StateName::Completed,
            Self::WaitingUserInput => StateName::WaitingUserInput,
            Self::Failed(_) => StateName::Error,
            Self::EditorsTurn => StateName::Generating,
        }
    }

    /// The state as other processes know it.
    pub(crate) fn lasting(&self) -> Lasting {
        match self {
            // Opening the session ends the turn.
            Self::EditorsTurn => Lasting { found: StateName::Idle, works: true },
            rest => Lasting { found: rest.name(), works: false },
        }
    }
}

/// A state as other processes know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lasting {
    /// The state that is found if the process ends now.
    pub found: StateName,
    /// `true` while a turn or a compaction is at work.
    pub works: bool,
}
