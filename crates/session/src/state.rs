//! The states of a session (source: 001), each with what it waits for. Which command is taken where stands in
//! `acceptance`.

use super::effect::Diagnostic;
use super::input::{ModelCallId, Render, ReplyTo};
use super::settings::ModelFacts;
use super::stored::Decision;
use super::undo::Again;
use engine::compact::ladder::{Prepared, Waiting};
use engine::compact::plan::Aim;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::delta::{Delta, Draft};
use engine::id::{CallId, MessageId, SessionId, Time};
use engine::prompt::BudgetExceeded;
use engine::prompt::request::Request;
pub use engine::words::StateName;
use std::collections::{BTreeMap, BTreeSet};

/// Where a session stands.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// Nothing runs.
    Resting(Rest),
    /// A model answers.
    Streaming(Box<Streaming>),
    /// A prompt was too large, or somebody asked: a model sums up.
    Compacting(Box<Compacting>),
    /// A compaction is done, and the user is asked about it before it holds.
    Reviewing(Box<Reviewing>),
    /// Calls wait for the user; nothing of their round runs before all are decided (source: 001).
    Paused(Pause),
    /// Calls of the newest round run.
    Calling(Calling),
}

/// Calls that run. One set at least has a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calling {
    /// Those that the editor runs.
    pub editors: BTreeSet<CallId>,
    /// Those that we run.
    pub own: BTreeSet<CallId>,
}

impl Calling {
    /// Whether nothing runs any more.
    pub(super) fn is_over(&self) -> bool {
        self.editors.is_empty() && self.own.is_empty()
    }

    /// All of them.
    pub(super) fn all(&self) -> BTreeSet<CallId> {
        self.editors.union(&self.own).cloned().collect()
    }
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
    /// What was sent, in raw tokens.
    pub tokens: u32,
    /// The most that the answer may have, in tokens, where the request says so.
    pub most: Option<u32>,
    /// The message that it will be.
    pub message: MessageId,
    /// What was said so far.
    pub draft: Draft,
    /// What of it was not told yet; it is, when the time is up.
    pub untold: Vec<Delta>,
    /// Whether something was told a moment ago: what comes now waits a little.
    pub is_told: bool,
    /// How much longer it may say nothing, whatever signs of life come.
    pub patience: Patience,
}

/// What is waited for while a model names a session.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Titling {
    /// The call.
    pub call: ModelCallId,
    /// What the model said so far.
    pub draft: Draft,
    /// How much more it may say.
    pub patience: Patience,
}

/// How much more is taken of an answer that nobody reads while it is given. A model that goes on for ever says something
/// before each deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    until: Time,
    bytes: usize,
}

/// Times the deadline for a word, which such an answer may take as a whole.
const WHOLE_ANSWER: u64 = 5;
/// Bytes of such an answer, with what the model thinks before it.
const MOST_ANSWERED: usize = 256 * 1024;

impl Patience {
    /// Patience with signs of life that come without a word from now on: the model may say nothing for so many milliseconds.
    pub(super) fn with_signs(now: Time, silence: u64) -> Self {
        Self::new(now, silence.saturating_mul(WHOLE_ANSWER))
    }

    /// A sign of life came, or the promise of one after a wait: how long the next one may take, in milliseconds; nothing
    /// where it was enough.
    pub(super) fn lives_on(&self, now: Time, silence: u64) -> Option<u64> {
        let left = self.until.0.checked_sub(now.0).filter(|left| *left > 0)?;
        Some(left.min(silence))
    }

    /// Patience with an answer that begins now, whose model may say nothing for so many milliseconds.
    pub(super) fn new(now: Time, silence: u64) -> Self {
        Self { until: Time(now.0.saturating_add(silence.saturating_mul(WHOLE_ANSWER))), bytes: MOST_ANSWERED }
    }

    /// A piece of it came: how long the next one may take, in milliseconds; nothing where it was enough.
    pub(super) fn goes_on(&mut self, delta: &Delta, now: Time, silence: u64) -> Option<u64> {
        self.bytes = self.bytes.checked_sub(delta.bytes())?;
        self.lives_on(now, silence)
    }
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
    /// The one that is asked the same where this one fails.
    pub spare: Option<ModelFacts>,
    /// What it was asked.
    pub request: Request,
    /// What the model said so far.
    pub draft: Draft,
    /// How much more it may say.
    pub patience: Patience,
    /// How the compaction goes on with its answer.
    pub waiting: Waiting,
    /// What it is about.
    pub job: Job,
}

/// What is waited for while a user looks at a compaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewing {
    /// What would hold.
    pub record: Compaction,
    /// What it is about.
    pub job: Job,
}

/// A summary that is made beside a turn, for when it is needed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Background {
    /// A model sums up.
    Asking(Box<Compacting>),
    /// It did.
    Ready(Box<Prepared>),
}

/// A compaction that was begun, and what follows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    /// What started it.
    pub trigger: Trigger,
    /// What the summary is to keep in view.
    pub focus: Option<String>,
    /// What changes with it.
    pub again: Again,
    /// When.
    pub since: Time,
    /// The prompt that was too large, where it was.
    pub exceeded: Option<BudgetExceeded>,
    /// What follows.
    pub then: Then,
    /// Where the session stood before, where it rested.
    pub rest: Rest,
    /// The model that sums up, where another one answers next: the window becomes smaller.
    pub old_model: Option<ModelFacts>,
    /// Whether a model was asked.
    pub was_asked: bool,
    /// Whether the user was asked, and refused.
    pub was_refused: bool,
}

impl Job {
    /// Whether it is worth its record: where the prompt was not too large, it must become smaller, and nothing be dropped.
    pub(super) fn gains(&self, record: &Compaction) -> bool {
        let is_smaller = record.tokens_after < record.tokens_before && record.mode != Mode::Dropped;
        self.exceeded.is_some() || is_smaller
    }

    /// What it is for. Where the prompt does not fit, whatever was asked for: room.
    pub(super) fn aim(&self) -> Aim {
        if self.exceeded.is_some() { Aim::Room } else { Aim::of(self.trigger) }
    }

    /// Whether it goes down the whole ladder: the prompt must fit, or a user wants it.
    pub(super) fn must_end(&self) -> bool {
        self.exceeded.is_some() || self.trigger == Trigger::Manual
    }

    /// Why it was begun, in words.
    pub(super) fn reason(&self) -> String {
        match (&self.exceeded, self.trigger) {
            (Some(exceeded), _) => exceeded.to_string(),
            (None, Trigger::PreTurnTokens) => "the prompt comes near its limit".to_owned(),
            (None, Trigger::UserTurns) => "as many user turns are shown as may be".to_owned(),
            (None, Trigger::Messages) => "as many messages are shown as may be".to_owned(),
            (None, Trigger::Idle) => "nothing was said for a while".to_owned(),
            (None, Trigger::Background) => "a summary is ready".to_owned(),
            (None, _) => "somebody asked for it".to_owned(),
        }
    }
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
    /// The session rests as before.
    Rest,
}

impl Then {
    /// Who waits for it.
    pub fn reply(&self) -> Option<ReplyTo> {
        match self {
            Self::Report(reply) => Some(*reply),
            Self::Render(rendering) => Some(rendering.reply),
            Self::Generate | Self::Rest => None,
        }
    }
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

impl State {
    /// The compaction that goes on, where one does.
    pub(super) fn job(&self) -> Option<&Job> {
        match self {
            State::Compacting(running) => Some(&running.job),
            State::Reviewing(reviewing) => Some(&reviewing.job),
            State::Resting(_) | State::Streaming(_) | State::Paused(_) | State::Calling(_) => None,
        }
    }

    /// As clients know it.
    pub fn name(&self) -> StateName {
        match self {
            State::Resting(Rest::Idle) => StateName::Idle,
            State::Resting(Rest::Completed) => StateName::Completed,
            State::Resting(Rest::WaitingUserInput) => StateName::WaitingUserInput,
            State::Resting(Rest::Failed(_)) => StateName::Error,
            State::Streaming(_) | State::Compacting(_) | State::Reviewing(_) => StateName::Generating,
            State::Paused(_) => StateName::Paused,
            State::Calling(calling) if calling.editors.is_empty() => StateName::ExecutingTools,
            State::Calling(_) => StateName::WaitingIde,
        }
    }
}
