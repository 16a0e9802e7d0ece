//! Byte extension: each request's items begin with those of the one before it. Whatever breaks that says so when it
//! happens, and what it costs is told with the next request. A break that nobody announced is a defect.

use crate::values::settings::ModelFacts;
use crate::values::stored::Announced;
use engine::id::Ordinal;
use engine::prompt::sent::Sent;
use engine::prompt::{CutReason, Prompt};
use engine::words::BreakCause;
use serde::{Deserialize, Serialize};

/// The prompt that went out last, and what is known of the one that follows it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Continuity {
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_thinking: Option<RefusedThinking>,
    /// The model that a prompt was made for last.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelFacts>,
    /// The prompt that was sent last.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Sent>,
    /// Why the next one will not begin with it.
    #[serde(skip_serializing_if = "Announced::is_empty")]
    breaks: Announced,
}

/// A provider refused thinking, because something before it had changed. It gets none of these messages again, and later
/// thinking only behind the prompt that it followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RefusedThinking {
    /// The model, by its name.
    model: Option<String>,
    /// The first message that came after that.
    before: Ordinal,
}

/// How a prompt that goes out follows the one before it.
pub(crate) enum Follows {
    /// It is the first one.
    Nothing,
    /// It begins with the one before it. Whether anything else is to be stored.
    Extends { is_new: bool },
    /// It does not.
    Breaks {
        causes: Announced,
        /// Raw tokens from the start on that both share.
        reused: u32,
        /// Raw tokens that both could have shared.
        lost: u32,
    },
}

impl Continuity {
    /// What was sent is no longer a prefix of what is sent next. Nothing where nothing was sent; else whether this cause
    /// is a new one.
    pub(crate) fn announce(&mut self, cause: BreakCause) -> Option<bool> {
        self.sent.as_ref()?;
        Some(self.breaks.insert(cause))
    }

    /// The prompt that was sent last.
    pub(crate) fn sent(&self) -> Option<&Sent> {
        self.sent.as_ref()
    }

    /// The prompt that an answer at this place follows, where it follows the one that was sent last.
    pub(crate) fn followed_at(&self, ord: Ordinal) -> Option<&str> {
        self.sent.as_ref().filter(|sent| sent.messages == ord.0).and_then(Sent::whole)
    }

    /// Whether the message at this place was in the prompt that was sent last.
    pub(crate) fn was_shown(&self, ord: Ordinal) -> bool {
        self.sent.as_ref().is_some_and(|sent| ord.0 < sent.messages)
    }

    /// The provider of this model refused thinking: it is shown none of what comes before this message. Whether the prompt
    /// that was sent last had any; without it, asking again would not help.
    pub(crate) fn refuse_thinking(&mut self, model: Option<String>, before: Ordinal) -> bool {
        if self.sent.as_ref().is_none_or(|sent| sent.thought.is_none()) {
            return false;
        }
        self.refused_thinking = Some(RefusedThinking { model, before });
        true
    }

    /// The first message whose thinking this model may be shown, where its provider refused earlier thinking.
    pub(crate) fn refused_before(&self, model: &ModelFacts) -> Option<Ordinal> {
        let refused = self.refused_thinking.as_ref().filter(|refused| refused.model == model.name);
        refused.map(|refused| refused.before)
    }

    /// The model that a prompt was made for last.
    pub(crate) fn model(&self) -> Option<&ModelFacts> {
        self.model.as_ref()
    }

    /// A prompt is made for this model; whether it is another one.
    pub(crate) fn set_model(&mut self, model: &ModelFacts) -> bool {
        let is_other = self.model.as_ref() != Some(model);
        if is_other {
            self.model = Some(model.clone());
        }
        is_other
    }

    /// A prompt goes out.
    pub(crate) fn send(&mut self, prompt: &Prompt, next: Sent) -> Follows {
        let mut causes = std::mem::take(&mut self.breaks);
        let had_causes = !causes.is_empty();
        let Some(before) = self.sent.replace(next) else { return Follows::Nothing };
        let Some(next) = &self.sent else { return Follows::Nothing };
        let follows = before.followed_by(next);
        if follows.extends {
            return Follows::Extends { is_new: had_causes || before != *next };
        }
        let is_other = [
            (BreakCause::Model, before.model != next.model),
            (BreakCause::Tools, before.tools != next.tools),
            (BreakCause::System, before.sections != next.sections),
        ];
        causes.extend(is_other.into_iter().filter(|(_, is_other)| *is_other).map(|(cause, _)| cause));
        if leaves_out_thinking(prompt, &before) {
            causes.insert(BreakCause::Thinking);
        }
        let lost = follows.possible.saturating_sub(follows.reused);
        Follows::Breaks { causes, reused: follows.reused, lost }
    }

    /// The session ends here from now on.
    pub(crate) fn truncate(&mut self, from: Ordinal) {
        if let Some(refused) = &mut self.refused_thinking {
            // What comes in their place follows a prompt that it may be bound to.
            refused.before = refused.before.min(from);
        }
        if let Some(sent) = &mut self.sent {
            // Their places may be other messages' soon.
            sent.messages = sent.messages.min(from.0);
        }
    }

    pub(super) fn branched(&self) -> Self {
        let (refused_thinking, model) = (self.refused_thinking.clone(), self.model.clone());
        Self { refused_thinking, model, ..Self::default() }
    }
}

/// Whether a prompt leaves thinking out that the one before it showed, or that was its answer's.
fn leaves_out_thinking(prompt: &Prompt, before: &Sent) -> bool {
    let mut left_out = prompt.cuts.iter().filter(|cut| cut.reason == CutReason::Thinking);
    left_out.any(|cut| {
        let ord = cut.ord.unwrap_or_default();
        before.thought.is_some_and(|thought| ord == thought) || ord.0 == before.messages
    })
}
