//! What a session carries from one request to the next, beside what was said: each part with its own rules, all of them
//! stored in the session's row.

pub(crate) mod attachments;
pub(crate) mod continuity;
pub(crate) mod limits;
pub(crate) mod restraint;

use attachments::WaitingAttachments;
use continuity::Continuity;
use engine::estimate::Learned;
use limits::Limits;
use restraint::Restraint;
use serde::{Deserialize, Serialize};

/// What a session carries from one request to the next. It is written with most commits, so it must not grow with the
/// session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Carried {
    /// Whether something was said in it since a rewind of its parent made it: it is the user's own then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) continued: bool,
    #[serde(skip_serializing_if = "WaitingAttachments::is_empty")]
    pub(crate) attachments: WaitingAttachments,
    #[serde(flatten)]
    pub(crate) restraint: Restraint,
    #[serde(flatten)]
    pub(crate) limits: Limits,
    #[serde(flatten)]
    pub(crate) continuity: Continuity,
    /// What reports of usage taught.
    pub(crate) usage: Learned,
}

impl Carried {
    /// What a branch takes along: what is known of the models. It has sent nothing yet.
    pub(crate) fn branched(&self) -> Self {
        let mut usage = self.usage.clone();
        usage.forget_baseline();
        let (limits, continuity) = (self.limits.branched(), self.continuity.branched());
        Self { usage, limits, continuity, ..Self::default() }
    }
}
