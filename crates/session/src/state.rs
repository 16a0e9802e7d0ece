//! States of a session, each with what it waits for. `acceptance` says which command is accepted in which state.

use crate::compaction::job::{Job, Then};
use crate::compaction::review::Reviewing;
use crate::compaction::summarizing::Summarizing;
use crate::tools::calling::Calling;
use crate::tools::found::Found;
use crate::tools::pause::Pause;
use crate::turn::streaming::Streaming;
use crate::values::rest::Lasting;
pub use crate::values::rest::Rest;
pub use engine::words::StateName;

/// The state of a session, with the data of what runs.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nothing runs.
    Resting(Rest),
    /// A model is answering.
    Streaming(Box<Streaming>),
    /// A model is writing a summary: a prompt was too large, or a compaction was asked for or is due.
    Compacting(Box<Summarizing>),
    /// A compaction is done, and waits for the user's review before it takes effect.
    Reviewing(Box<Reviewing>),
    /// Tool calls wait for the user; no call of their round runs before all are decided.
    Paused(Pause),
    /// Tool calls of the newest round are running.
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
    /// `true` if nothing of the session runs.
    pub fn is_resting(&self) -> bool {
        matches!(self, Self::Resting(_))
    }

    /// The running compaction, if there is one.
    pub(crate) fn job(&self) -> Option<&Job> {
        match self {
            State::Compacting(running) => Some(running.job()),
            State::Reviewing(reviewing) => Some(reviewing.job()),
            State::Resting(_) | State::Streaming(_) | State::Paused(_) | State::Calling(_) => None,
        }
    }

    /// The state as other processes know it: a turn at work is one state, whatever it does.
    pub(crate) fn lasting(&self) -> Lasting {
        let works = |found| Lasting { found, works: true };
        match self {
            State::Streaming(_) => works(StateName::Error),
            State::Compacting(_) | State::Reviewing(_) => works(match self.job() {
                Some(job) if job.then != Then::Generate => job.rest.lasting().found,
                _ => StateName::Error,
            }),
            State::Calling(calling) if calling.state_name() == StateName::ExecutingTools => {
                works(StateName::ExecutingTools)
            }
            State::Resting(rest) => rest.lasting(),
            State::Paused(_) | State::Calling(_) => Lasting { found: self.name(), works: false },
        }
    }

    /// The state as clients see it.
    pub fn name(&self) -> StateName {
        match self {
            State::Resting(rest) => rest.name(),
            State::Streaming(_) | State::Compacting(_) | State::Reviewing(_) => StateName::Generating,
            State::Paused(_) => StateName::Paused,
            State::Calling(calling) => calling.state_name(),
        }
    }
}
