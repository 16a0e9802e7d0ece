//! A compaction that was begun, and what follows it.

use super::again::Again;
use crate::core::Core;
use crate::values::input::{Render, ReplyTo};
use crate::values::refusal::Diagnostic;
use crate::values::rest::Rest;
use crate::values::settings::ModelFacts;
use engine::compact::ladder::CannotFit;
use engine::compact::plan::Aim;
use engine::compact::record::{Compaction, Mode, Trigger};
use engine::cost::Cost;
use engine::id::{SessionId, Time};
use engine::prompt::BudgetExceeded;

/// A compaction about to begin.
pub(crate) struct Begin {
    pub trigger: Trigger,
    /// Topic that the summary should keep in view.
    pub focus: Option<String>,
    /// Changes in the same step.
    pub again: Again,
    /// Set if a prompt is over its limit.
    pub exceeded: Option<BudgetExceeded>,
    pub then: Then,
}

impl Begin {
    /// A compaction without a focus, other changes or a prompt over its limit.
    pub fn new(trigger: Trigger, then: Then) -> Self {
        Self { trigger, focus: None, again: Again::default(), exceeded: None, then }
    }
}

/// A compaction in progress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    pub trigger: Trigger,
    /// Topic that the summary should keep in view.
    pub focus: Option<String>,
    /// Changes in the same step.
    pub again: Again,
    /// Start of the compaction.
    pub since: Time,
    /// Set if a prompt was over its limit.
    pub exceeded: Option<BudgetExceeded>,
    pub then: Then,
    /// The rest to return to; idle if the session did not rest.
    pub rest: Rest,
    /// The model that writes the summary, if the next one has a smaller window.
    pub old_model: Option<ModelFacts>,
    /// `true` once a model was asked.
    pub was_asked: bool,
    /// `true` once the user has refused the result.
    pub was_refused: bool,
    /// The cost of its requests for a summary so far.
    pub spent: Cost,
}

impl Job {
    /// Starts a job now; `rest` is what the session returns to.
    pub fn new(core: &Core<'_>, begin: Begin, rest: Rest) -> Self {
        let Begin { trigger, focus, again, exceeded, then } = begin;
        let old_model = core.head().carried.continuity.model().cloned();
        let old_model = old_model.filter(|_| trigger == Trigger::ModelChanged);
        let since = core.now();
        let (was_asked, was_refused, spent) = (false, false, Cost::default());
        Self { trigger, focus, again, since, exceeded, then, rest, old_model, was_asked, was_refused, spent }
    }

    /// A job that prepares a summary ahead of time.
    pub fn ahead(core: &Core<'_>) -> Self {
        let begin = Begin::new(Trigger::Background, Then::Rest);
        Self { was_asked: true, ..Self::new(core, begin, Rest::Idle) }
    }

    /// `true` if the record is worth applying: it made room for a prompt over its limit, or the prompt
    /// smaller without dropping messages.
    pub fn gains(&self, record: &Compaction) -> bool {
        let is_smaller = record.tokens_after < record.tokens_before && record.mode != Mode::Dropped;
        self.exceeded.is_some() || is_smaller
    }

    /// Aim of the compaction: room if the prompt does not fit, whatever was asked for.
    pub fn aim(&self) -> Aim {
        if self.exceeded.is_some() { Aim::Room } else { Aim::of(self.trigger) }
    }

    /// `true` if the job goes down the whole ladder: the prompt must fit, or a user asked for it.
    pub fn must_end(&self) -> bool {
        self.exceeded.is_some() || self.trigger == Trigger::Manual
    }

    /// Reason for the compaction, for people.
    pub fn reason(&self) -> String {
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

/// Outcome of a compaction.
pub(crate) enum End {
    /// A record was made.
    Made(Box<Compaction>),
    /// There was nothing to gain; the reason.
    Nothing(String),
    /// Nothing brings the prompt under its limit.
    CannotFit(CannotFit),
}

/// Continuation after a compaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Then {
    /// Continue the turn.
    Generate,
    /// Answer the editor's render.
    Render(Box<Rendering>),
    /// Answer the request for a compaction.
    Report(ReplyTo),
    /// Return to rest.
    Rest,
}

impl Then {
    /// The request that waits for the compaction, if there is one.
    pub fn reply(&self) -> Option<ReplyTo> {
        match self {
            Self::Report(reply) => Some(*reply),
            Self::Render(rendering) => Some(rendering.reply),
            Self::Generate | Self::Rest => None,
        }
    }
}

/// A render in progress.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendering {
    /// The request to answer.
    pub reply: ReplyTo,
    /// The render without what was taken in already.
    pub render: Render,
    /// The session that keeps what the editor's history no longer has.
    pub revision: Option<SessionId>,
    pub diagnostics: Vec<Diagnostic>,
}
