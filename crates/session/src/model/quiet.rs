//! A model call whose answer is not streamed to clients: a summary, a title.

use super::deadline::Deadline;
use crate::core::Core;
use crate::values::effect::Effect;
use crate::values::input::{ModelCallId, Timer};
use crate::values::settings::ModelFacts;
use engine::delta::{Delta, Draft};

/// The call, with the answer so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BufferedCall {
    id: ModelCallId,
    draft: Draft,
    deadline: Deadline,
}

/// Outcome of a piece of an answer.
pub(crate) struct Folded {
    /// Milliseconds until the next piece is due; `None` if the answer does not come to an end.
    pub next: Option<u64>,
    /// `false` if the piece belongs to no known part of the answer.
    pub is_known: bool,
}

impl BufferedCall {
    pub fn new(core: &mut Core<'_>) -> Self {
        let deadline = Deadline::new(core.now(), core.settings().model_deadline_ms);
        Self { id: core.next_call(), draft: Draft::default(), deadline }
    }

    pub fn id(&self) -> ModelCallId {
        self.id
    }

    pub fn hear(&mut self, core: &Core<'_>, delta: Delta) -> Folded {
        let next = self.deadline.after_piece(&delta, core.now(), core.settings().model_deadline_ms);
        Folded { next, is_known: self.draft.fold(delta).is_ok() }
    }

    /// Milliseconds until the next sign of life is due, extended by `more_ms`; `None` if the time for the
    /// whole answer is up.
    pub fn after_sign(&self, core: &Core<'_>, model: &ModelFacts, more_ms: u64) -> Option<u64> {
        let ms = silence(core, model, &self.draft);
        self.deadline.after_sign(core.now(), ms.saturating_add(more_ms))
    }

    /// Drops the answer so far: another one follows.
    pub fn begin_again(&mut self) {
        self.draft = Draft::default();
    }

    pub fn into_draft(self) -> Draft {
        self.draft
    }

    /// Cancels the model call.
    pub fn cancel(&self, core: &mut Core<'_>) {
        core.push(Effect::CancelModel(self.id));
        core.stop(Timer::Model(self.id));
    }
}

/// Milliseconds that this model may be silent, after so much of its answer.
pub(crate) fn silence(core: &Core<'_>, model: &ModelFacts, draft: &Draft) -> u64 {
    let settings = core.settings();
    if *draft == Draft::default() { settings.first_word_ms(model) } else { settings.model_deadline_ms }
}
