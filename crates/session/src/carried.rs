//! State that a session keeps from one request to the next, beside its messages. Each part has its own rules;
//! all are stored in the session's row.

pub(crate) mod attachments;
pub(crate) mod continuity;
pub(crate) mod limits;
pub(crate) mod restraint;
pub mod spent;
pub(crate) mod told;

use attachments::WaitingAttachments;
use continuity::Continuity;
use engine::estimate::Learned;
use engine::words::StateName;
use limits::Limits;
use restraint::Restraint;
use serde::{Deserialize, Serialize};
use spent::Spent;
use told::ScopeTold;

/// State kept from one request to the next. Written with most commits, so its size must not grow with the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Carried {
    /// `true` once a message was added to a session that a rewind of its parent made: from then on it is the
    /// user's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) continued: bool,
    /// The state that another process finds if this one ends now; `None` in a row from before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateName>,
    /// `true` while a turn or a compaction is at work: the session is generating as long as its process lives.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub works: bool,
    /// The levels of agents above an agent; 0 for a session that no agent is.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u64,
    /// Tokens that an agent used; not counted for other sessions.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) used: u64,
    /// The cost of its requests to models; `None` before the first, and in a row from before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
    /// The scope as a request last showed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) told: Option<ScopeTold>,
    #[serde(skip_serializing_if = "WaitingAttachments::is_empty")]
    pub(crate) attachments: WaitingAttachments,
    #[serde(flatten)]
    pub(crate) restraint: Restraint,
    #[serde(flatten)]
    pub(crate) limits: Limits,
    #[serde(flatten)]
    pub(crate) continuity: Continuity,
    /// Calibration learned from usage reports.
    pub(crate) usage: Learned,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Carried {
    /// The state of a new agent so many levels below a session that a user opened.
    pub fn of_agent(depth: u64) -> Self {
        Self { depth, ..Self::default() }
    }

    /// Tokens that an agent used so far.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The session's state for who does not have it open; `is_held`: another process does.
    pub fn seen(&self, is_held: bool) -> Option<StateName> {
        if self.works && is_held { Some(StateName::Generating) } else { self.state }
    }

    /// What is kept of a branch: only what is known of the models, since a branch has sent no prompt. It waits for its first
    /// request, however the turn ended that it was copied from.
    pub(crate) fn branched(&self) -> Self {
        let mut usage = self.usage.clone();
        usage.forget_baseline();
        let (limits, continuity) = (self.limits.branched(), self.continuity.branched());
        // What its parent paid for is not counted again.
        let spent = Some(Spent::default());
        Self { usage, limits, continuity, spent, state: Some(StateName::Idle), ..Self::default() }
    }
}
