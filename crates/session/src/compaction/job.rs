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
use engine::id::{SessionId, Time};
use engine::prompt::BudgetExceeded;

/// A compaction about to begin.
pub(crate) struct Begin {
    /// What starts it.
    pub trigger: Trigger,
    /// What the summary is to keep in view.
    pub focus: Option<String>,
    /// What changes with it.
    pub again: Again,
    /// The prompt that is too large, where one is.
    pub exceeded: Option<BudgetExceeded>,
    /// What follows.
    pub then: Then,
}

impl Begin {
    /// One that nobody asked for in words, and that no prompt is too large for.
    pub fn new(trigger: Trigger, then: Then) -> Self {
        Self { trigger, focus: None, again: Again::default(), exceeded: None, then }
    }
}

/// A compaction that was begun.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
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
    /// How the session rested before, where it did.
    pub rest: Rest,
    /// The model that sums up, where another one answers next: the window becomes smaller.
    pub old_model: Option<ModelFacts>,
    /// Whether a model was asked.
    pub was_asked: bool,
    /// Whether the user was asked, and refused.
    pub was_refused: bool,
}

impl Job {
    /// A job in a session that rests so, or does not rest.
    pub fn new(core: &Core<'_>, begin: Begin, rest: Rest) -> Self {
        let Begin { trigger, focus, again, exceeded, then } = begin;
        let old_model = core.head().carried.continuity.model().cloned();
        let old_model = old_model.filter(|_| trigger == Trigger::ModelChanged);
        let since = core.now();
        let (was_asked, was_refused) = (false, false);
        Self { trigger, focus, again, since, exceeded, then, rest, old_model, was_asked, was_refused }
    }

    /// A summary that is made ahead of time.
    pub fn ahead(core: &Core<'_>) -> Self {
        let begin = Begin::new(Trigger::Background, Then::Rest);
        Self { was_asked: true, ..Self::new(core, begin, Rest::Idle) }
    }

    /// Whether it is worth its record: where the prompt was not too large, it must become smaller, and nothing be dropped.
    pub fn gains(&self, record: &Compaction) -> bool {
        let is_smaller = record.tokens_after < record.tokens_before && record.mode != Mode::Dropped;
        self.exceeded.is_some() || is_smaller
    }

    /// What it is for. Where the prompt does not fit, whatever was asked for: room.
    pub fn aim(&self) -> Aim {
        if self.exceeded.is_some() { Aim::Room } else { Aim::of(self.trigger) }
    }

    /// Whether it goes down the whole ladder: the prompt must fit, or a user wants it.
    pub fn must_end(&self) -> bool {
        self.exceeded.is_some() || self.trigger == Trigger::Manual
    }

    /// Why it was begun, in words.
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

/// How a compaction came out.
pub(crate) enum End {
    /// There is a record.
    Made(Box<Compaction>),
    /// There was nothing to gain; why.
    Nothing(String),
    /// Nothing brings the prompt under its limit.
    CannotFit(CannotFit),
}

/// What follows a compaction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Then {
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
pub(crate) struct Rendering {
    /// Who waits for it.
    pub reply: ReplyTo,
    /// What was asked for, without what was taken in already.
    pub render: Render,
    /// Where the session keeps what the editor's history no longer has.
    pub fork: Option<SessionId>,
    /// What there is to say.
    pub diagnostics: Vec<Diagnostic>,
}
