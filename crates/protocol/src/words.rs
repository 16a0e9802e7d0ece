//! Conversions of enumerations whose wire form differs from the engine's. All others are re-exported.

use crate::session::scope::TodoStatus;
use crate::turn::TurnOutcome;
use engine::scope;
use engine::words::TurnStatus;

impl From<scope::TodoStatus> for TodoStatus {
    fn from(status: scope::TodoStatus) -> Self {
        match status {
            scope::TodoStatus::Pending => Self::Pending,
            scope::TodoStatus::InProgress => Self::InProgress,
            scope::TodoStatus::Completed => Self::Completed,
        }
    }
}

impl From<TodoStatus> for scope::TodoStatus {
    fn from(status: TodoStatus) -> Self {
        match status {
            TodoStatus::Pending => Self::Pending,
            TodoStatus::InProgress => Self::InProgress,
            TodoStatus::Completed => Self::Completed,
        }
    }
}

impl From<TurnOutcome> for TurnStatus {
    fn from(outcome: TurnOutcome) -> Self {
        match outcome {
            TurnOutcome::Completed => Self::Completed,
            TurnOutcome::Cancelled => Self::Cancelled,
            TurnOutcome::Failed => Self::Failed,
        }
    }
}
