//! The states of a session, each with what it waits for. Which command is taken where stands in `acceptance`.

use crate::compaction::job::Job;
use crate::compaction::review::Reviewing;
use crate::compaction::summarizing::Summarizing;
use crate::tools::calling::Calling;
use crate::tools::found::Found;
use crate::tools::pause::Pause;
use crate::turn::streaming::Streaming;
pub use crate::values::rest::Rest;
pub use engine::words::StateName;

/// Where a session stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nothing runs.
    Resting(Rest),
    /// A model answers.
    Streaming(Box<Streaming>),
    /// A prompt was too large, or somebody asked: a model sums up.
    Compacting(Box<Summarizing>),
    /// A compaction is done, and the user is asked about it before it holds.
    Reviewing(Box<Reviewing>),
    /// Calls wait for the user; nothing of their round runs before all are decided.
    Paused(Pause),
    /// Calls of the newest round run.
    Calling(Calling),
}

impl From<Found> for State {
    fn from(found: Found) -> Self {
        match found {
            Found::Resting(rest) => Self::Resting(rest),
            Found::Paused(pause) => Self::Paused(pause),
            Found::Calling(calling) => Self::Calling(calling),
        }
    }
}

impl State {
    pub(crate) fn is_resting(&self) -> bool {
        matches!(self, Self::Resting(_))
    }

    /// The compaction that goes on, where one does.
    pub(crate) fn job(&self) -> Option<&Job> {
        match self {
            State::Compacting(running) => Some(running.job()),
            State::Reviewing(reviewing) => Some(reviewing.job()),
            State::Resting(_) | State::Streaming(_) | State::Paused(_) | State::Calling(_) => None,
        }
    }

    /// As clients know it.
    pub fn name(&self) -> StateName {
        match self {
            State::Resting(rest) => rest.name(),
            State::Streaming(_) | State::Compacting(_) | State::Reviewing(_) => StateName::Generating,
            State::Paused(_) => StateName::Paused,
            State::Calling(calling) => calling.state_name(),
        }
    }
}
