//! A model call whose answer is not streamed to clients: a summary, a title.

use super::cost::{Ended, spend};
use super::deadline::Deadline;
use crate::core::Core;
use crate::values::effect::Effect;
use crate::values::input::{ModelCallId, Timer};
use crate::values::settings::ModelFacts;
use engine::cost::{Cost, Price};
use engine::delta::{Delta, Draft};
use engine::message::Usage;
use engine::words::Purpose;

/// The call, with the answer so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BufferedCall {
    id: ModelCallId,
    draft: Draft,
    deadline: Deadline,
    purpose: Purpose,
    prices: Vec<Price>,
    /// The cost of its attempts so far, without the one that runs.
    spent: Cost,
}

/// Outcome of a piece of an answer.
pub(crate) struct Folded {
    /// Milliseconds until the next piece is due; `None` if the answer does not come to an end.
    pub next: Option<u64>,
    /// `false` if the piece belongs to no known part of the answer.
    pub is_known: bool,
}

impl BufferedCall {
    pub fn new(core: &mut Core<'_>, purpose: Purpose, model: &ModelFacts) -> Self {
        let deadline = Deadline::new(core.now(), core.settings().model_deadline_ms);
        let (draft, prices, spent) = (Draft::default(), model.prices.clone(), Cost::default());
        Self { id: core.next_call(), draft, deadline, purpose, prices, spent }
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
    pub fn begin_again(&mut self, core: &mut Core<'_>) {
        self.broke(core);
        self.draft = Draft::default();
    }

    /// Counts the cost of an attempt with a whole answer.
    pub fn answered(&mut self, core: &mut Core<'_>, usage: Option<Usage>) {
        self.draft.beside.merge_usage(usage);
        self.count(core, Ended::Whole);
    }

    /// Counts the cost of an attempt without a whole answer.
    pub fn broke(&mut self, core: &mut Core<'_>) {
        self.count(core, Ended::without_end(&self.draft));
    }

    fn count(&mut self, core: &mut Core<'_>, ended: Ended) {
        let cost = spend(core, self.purpose, &self.prices, &self.draft.beside, ended);
        self.spent.add(cost);
    }

    /// Returns the cost of all attempts that are over.
    pub fn spent(&self) -> Cost {
        self.spent
    }

    pub fn into_draft(self) -> Draft {
        self.draft
    }

    /// Cancels the model call.
    pub fn cancel(&mut self, core: &mut Core<'_>) {
        self.broke(core);
        core.push(Effect::CancelModel(self.id));
        core.stop(Timer::Model(self.id));
    }
}

/// Milliseconds that this model may be silent, after so much of its answer.
pub(crate) fn silence(core: &Core<'_>, model: &ModelFacts, draft: &Draft) -> u64 {
    let settings = core.settings();
    if *draft == Draft::default() { settings.first_word_ms(model) } else { settings.model_deadline_ms }
}
