//! The states of a session (source: 001), each with what it waits for. Which command is taken where stands here as
//! data; what a command does is in the files beside it.

use super::effect::Diagnostic;
use super::input::{ModelCallId, Render, ReplyTo};
use super::settings::ModelFacts;
use super::stored::{Decision, Driver};
use crate::engine::compact::ladder::Waiting;
use crate::engine::compact::record::{Mode, Trigger};
use crate::engine::delta::Draft;
use crate::engine::id::{CallId, MessageId, SessionId, Time};
use crate::engine::prompt::BudgetExceeded;
use std::collections::{BTreeMap, BTreeSet};

/// Where a session stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nothing runs.
    Resting(Rest),
    /// A model answers.
    Streaming(Streaming),
    /// A prompt was too large, or somebody asked: a model sums up.
    Compacting(Box<Compacting>),
    /// Calls wait for the user; nothing of their round runs before all are decided (source: 001).
    Paused(Pause),
    /// The editor runs calls of the newest round.
    WaitingIde(BTreeSet<CallId>),
}

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

/// What is waited for while a model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Streaming {
    /// The call.
    pub call: ModelCallId,
    /// The message that it will be.
    pub message: MessageId,
    /// What was said so far.
    pub draft: Draft,
}

/// What is waited for while a model sums up.
#[derive(Debug, Clone, PartialEq)]
pub struct Compacting {
    /// The call.
    pub call: ModelCallId,
    /// The rung that asked.
    pub mode: Mode,
    /// The model that was asked.
    pub model: ModelFacts,
    /// What the model said so far.
    pub draft: Draft,
    /// How the compaction goes on with its answer.
    pub waiting: Waiting,
    /// What it is about.
    pub job: Job,
}

/// A compaction that was begun, and what follows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What started it.
    pub trigger: Trigger,
    /// What the summary is to keep in view.
    pub focus: Option<String>,
    /// When.
    pub since: Time,
    /// The prompt that was too large, where it was.
    pub exceeded: Option<BudgetExceeded>,
    /// What follows.
    pub then: Then,
}

/// What follows a compaction.
#[derive(Debug, Clone, PartialEq)]
pub enum Then {
    /// The turn goes on.
    Generate,
    /// The editor gets its prompt.
    Render(Box<Rendering>),
    /// Who asked for it is told.
    Report(ReplyTo),
}

/// A render that was begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendering {
    /// Who waits for it.
    pub reply: ReplyTo,
    /// What was asked for, without what was taken in already.
    pub render: Render,
    /// Where the session keeps what the editor's history no longer has.
    pub fork: Option<SessionId>,
    /// What there is to say.
    pub diagnostics: Vec<Diagnostic>,
}

/// Calls that wait for the user.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pause {
    /// Those that are not decided.
    pub open: BTreeSet<CallId>,
    /// Those that are: approved, or the words of who rejected them.
    pub decided: BTreeMap<CallId, Result<(), Option<String>>>,
}

impl Pause {
    /// Takes a decision about a call that is open.
    pub(super) fn take(&mut self, decision: &Decision) {
        if self.open.remove(&decision.call) {
            let how = if decision.approved { Ok(()) } else { Err(decision.note.clone()) };
            self.decided.insert(decision.call.clone(), how);
        }
    }
}

/// A state as clients know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateName {
    /// See [`Rest::Idle`].
    Idle,
    /// A model answers or sums up.
    Generating,
    /// Our own tools run.
    ExecutingTools,
    /// See [`State::Paused`].
    Paused,
    /// See [`State::WaitingIde`].
    WaitingIde,
    /// See [`Rest::WaitingUserInput`].
    WaitingUserInput,
    /// See [`Rest::Completed`].
    Completed,
    /// See [`Rest::Failed`].
    Error,
}

impl StateName {
    /// The name on a wire.
    pub fn name(self) -> &'static str {
        match self {
            StateName::Idle => "idle",
            StateName::Generating => "generating",
            StateName::ExecutingTools => "executingTools",
            StateName::Paused => "paused",
            StateName::WaitingIde => "waitingIde",
            StateName::WaitingUserInput => "waitingUserInput",
            StateName::Completed => "completed",
            StateName::Error => "error",
        }
    }

    /// The methods that are taken in this state, beside those that are taken in every one: what a refusal lists.
    pub fn accepts(self) -> &'static [&'static str] {
        match self {
            StateName::Idle | StateName::WaitingUserInput | StateName::Completed | StateName::Error => {
                &["turn/start", "turn/end", "round/append", "prompt/render", "context/compact"]
            }
            StateName::Generating | StateName::ExecutingTools => &["turn/cancel", "session/configure"],
            StateName::Paused => &["tool/decide", "turn/cancel", "session/configure"],
            StateName::WaitingIde => &["tool/result", "turn/cancel", "session/configure"],
        }
    }

    /// The same for the sessions of one driver.
    pub fn accepted_by(self, driver: Driver) -> impl Iterator<Item = &'static str> {
        let of_other: &[&str] = match driver {
            Driver::Sidecar => &["turn/end", "round/append", "prompt/render"],
            Driver::Editor => &["tool/decide", "tool/result"],
        };
        self.accepts().iter().copied().filter(|method| !of_other.contains(method))
    }
}

impl State {
    /// As clients know it.
    pub fn name(&self) -> StateName {
        match self {
            State::Resting(Rest::Idle) => StateName::Idle,
            State::Resting(Rest::Completed) => StateName::Completed,
            State::Resting(Rest::WaitingUserInput) => StateName::WaitingUserInput,
            State::Resting(Rest::Failed(_)) => StateName::Error,
            State::Streaming(_) | State::Compacting(_) => StateName::Generating,
            State::Paused(_) => StateName::Paused,
            State::WaitingIde(_) => StateName::WaitingIde,
        }
    }
}
