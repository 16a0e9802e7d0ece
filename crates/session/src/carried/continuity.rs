//! Prompt continuity: the items of each request begin with those of the one before it. A break is announced when its
//! cause occurs, and its cost is reported with the next request. A break that nobody announced is a defect.

use crate::values::settings::ModelFacts;
use crate::values::stored::Announced;
use engine::id::Ordinal;
use engine::prompt::sent::Sent;
use engine::prompt::{CutReason, Prompt};
use engine::words::BreakCause;
use serde::{Deserialize, Serialize};

/// The last prompt sent, and what is known of the next one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Continuity {
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_thinking: Option<RefusedThinking>,
    /// The model of the last prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Sent>,
    /// Announced causes why the next prompt will not extend the last one.
    #[serde(skip_serializing_if = "Announced::is_empty")]
    breaks: Announced,
}

/// A provider refused thinking, because something before it had changed. The model is shown no thinking
/// before `before`, and later thinking only behind the prompt that it followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RefusedThinking {
    /// The model's name.
    model: Option<String>,
    /// The first message after the refusal.
    before: Ordinal,
}

/// Relation of a prompt to the one sent before it.
pub(crate) enum Follows {
    /// No prompt was sent before.
    Nothing,
    /// Begins with all of the one before. `is_new` if there is anything else to store.
    Extends { is_new: bool },
    /// Does not begin with all of the one before.
    Breaks {
        causes: Announced,
        /// Raw tokens that both share from the start on.
        reused: u32,
        /// Raw tokens that could have been shared and are not.
        lost: u32,
    },
}

impl Continuity {
    /// Announces that the next prompt will not extend the last one. Returns `None` if no prompt was sent,
    /// else whether the cause is new.
    pub(crate) fn announce(&mut self, cause: BreakCause) -> Option<bool> {
        self.sent.as_ref()?;
        Some(self.breaks.insert(cause))
    }

    pub(crate) fn sent(&self) -> Option<&Sent> {
        self.sent.as_ref()
    }

    /// Hash of the last prompt, if an answer at this position follows it.
    pub(crate) fn followed_at(&self, ord: Ordinal) -> Option<&str> {
        self.sent.as_ref().filter(|sent| sent.messages == ord.0).and_then(Sent::whole)
    }

    /// `true` if the last prompt was made when the message was there already.
    pub(crate) fn was_shown(&self, ord: Ordinal) -> bool {
        self.sent.as_ref().is_some_and(|sent| ord.0 < sent.messages)
    }

    /// Leaves thinking before this message out for the model whose provider refused it. Returns `false` if
    /// the last prompt showed no thinking: asking again would not help then.
    pub(crate) fn refuse_thinking(&mut self, model: Option<String>, before: Ordinal) -> bool {
        if self.sent.as_ref().is_none_or(|sent| sent.thought.is_none()) {
            return false;
        }
        self.refused_thinking = Some(RefusedThinking { model, before });
        true
    }

    /// The first message whose thinking this model may be shown, if its provider refused earlier thinking.
    pub(crate) fn refused_before(&self, model: &ModelFacts) -> Option<Ordinal> {
        let refused = self.refused_thinking.as_ref().filter(|refused| refused.model == model.name);
        refused.map(|refused| refused.before)
    }

    /// The model of the last prompt.
    pub(crate) fn model(&self) -> Option<&ModelFacts> {
        self.model.as_ref()
    }

    /// Sets the model of the prompt; returns `true` if it is another one.
    pub(crate) fn set_model(&mut self, model: &ModelFacts) -> bool {
        let is_other = self.model.as_ref() != Some(model);
        if is_other {
            self.model = Some(model.clone());
        }
        is_other
    }

    /// Records a prompt as sent; returns how it follows the one before.
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

    /// Adjusts to a session that now ends before `from`.
    pub(crate) fn truncate(&mut self, from: Ordinal) {
        if let Some(refused) = &mut self.refused_thinking {
            // New messages there are bound to the prompt that they follow, not to a refused one.
            refused.before = refused.before.min(from);
        }
        if let Some(sent) = &mut self.sent {
            // Other messages may take these positions soon.
            sent.messages = sent.messages.min(from.0);
        }
    }

    pub(super) fn branched(&self) -> Self {
        let (refused_thinking, model) = (self.refused_thinking.clone(), self.model.clone());
        Self { refused_thinking, model, ..Self::default() }
    }
}

/// `true` if a prompt leaves out thinking that the one before it showed or that its answer contained.
fn leaves_out_thinking(prompt: &Prompt, before: &Sent) -> bool {
    let mut left_out = prompt.cuts.iter().filter(|cut| cut.reason == CutReason::Thinking);
    left_out.any(|cut| {
        let ord = cut.ord.unwrap_or_default();
        before.thought.is_some_and(|thought| ord == thought) || ord.0 == before.messages
    })
}
