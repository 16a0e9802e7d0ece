//! A call of a model whose answer nobody reads while it is given: a summary, a title.

use super::deadline::Deadline;
use crate::core::Core;
use crate::values::effect::Effect;
use crate::values::input::{ModelCallId, Timer};
use crate::values::settings::ModelFacts;
use engine::delta::{Delta, Draft};

/// The call, with what the model said so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QuietCall {
    id: ModelCallId,
    draft: Draft,
    deadline: Deadline,
}

/// What a piece of an answer came to.
pub(crate) struct Heard {
    /// How long the next piece may take, in milliseconds; nothing where the answer does not come to an end.
    pub next: Option<u64>,
    /// Whether it is a piece of anything.
    pub is_known: bool,
}

impl QuietCall {
    pub fn new(core: &mut Core<'_>) -> Self {
        let deadline = Deadline::new(core.now(), core.settings().model_deadline_ms);
        Self { id: core.next_call(), draft: Draft::default(), deadline }
    }

    pub fn id(&self) -> ModelCallId {
        self.id
    }

    pub fn hear(&mut self, core: &Core<'_>, delta: Delta) -> Heard {
        let next = self.deadline.after_piece(&delta, core.now(), core.settings().model_deadline_ms);
        Heard { next, is_known: self.draft.fold(delta).is_ok() }
    }

    /// A model that works is waited for, for as long again and this much longer, but not for ever: signs of life are no
    /// answer. In milliseconds; nothing where it was enough.
    pub fn after_sign(&self, core: &Core<'_>, model: &ModelFacts, more_ms: u64) -> Option<u64> {
        let ms = silence(core, model, &self.draft);
        self.deadline.after_sign(core.now(), ms.saturating_add(more_ms))
    }

    /// What came so far is no part of the answer that comes now.
    pub fn begin_again(&mut self) {
        self.draft = Draft::default();
    }

    pub fn into_draft(self) -> Draft {
        self.draft
    }

    /// The answer is not wanted any more.
    pub fn cancel(&self, core: &mut Core<'_>) {
        core.push(Effect::CancelModel(self.id));
        core.stop(Timer::Model(self.id));
    }
}

/// How long this model may say nothing, in milliseconds, where it said this so far.
pub(crate) fn silence(core: &Core<'_>, model: &ModelFacts, draft: &Draft) -> u64 {
    let settings = core.settings();
    if *draft == Draft::default() { settings.first_word_ms(model) } else { settings.model_deadline_ms }
}
