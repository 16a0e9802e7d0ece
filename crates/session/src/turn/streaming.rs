//! A streaming answer: deltas are folded and emitted, gathered for a moment so that a fast model does not
//! flood clients with events. One that breaks and is asked for again begins anew.

use crate::carried::limits::SentRequest;
use crate::core::Core;
use crate::model::cost::{Ended, spend};
use crate::model::deadline::Deadline;
use crate::model::quiet::silence;
use crate::values::effect::Effect;
use crate::values::event::EventBody;
use crate::values::input::{ModelCallId, Retry, Timer};
use crate::values::stored::{Streamed, Write};
use engine::cost::{Cost, Price};
use engine::delta::{Delta, Draft};
use engine::id::MessageId;
use engine::message::Beside;
use engine::words::Purpose;

/// State while a model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Streaming {
    call: ModelCallId,
    asked: SentRequest,
    /// Id of the message that the answer becomes.
    message: MessageId,
    /// The answer so far.
    draft: Draft,
    /// `Some` once the answer broke and is asked for again: what came of the next attempt beside its content. What the
    /// broken one said stays until then, as it may be all that there will be.
    again: Option<Vec<Delta>>,
    /// Deltas gathered until the interval ends.
    untold: Vec<Delta>,
    /// `true` if deltas were emitted a moment ago: further ones are gathered.
    is_told: bool,
    journal: Journal,
    deadline: Deadline,
    /// The prices of the model that answers.
    prices: Vec<Price>,
    /// The cost of the attempts that are over.
    spent: Cost,
}

/// Milliseconds between two pieces of an answer that are kept in case the process ends: at most so much is lost, and the
/// disk is written at most so often.
const JOURNAL_MS: u64 = 1000;

/// What of an answer in progress is kept.
#[derive(Debug, Clone, Default, PartialEq)]
struct Journal {
    /// Deltas since the last piece. The timer runs while there are any.
    next: Vec<Delta>,
    /// `true` once there is a piece.
    is_begun: bool,
}

/// A finished answer, whatever ended it.
pub(crate) struct Given {
    pub asked: SentRequest,
    pub message: MessageId,
    pub draft: Draft,
    /// The prices of the model that was asked.
    pub prices: Vec<Price>,
    /// The cost of its earlier attempts.
    pub spent: Cost,
}

impl Streaming {
    /// The timer at whose end gathered deltas are emitted, if there are any.
    pub fn gathered(&self) -> Option<Timer> {
        (!self.untold.is_empty()).then_some(Timer::Deltas(self.call))
    }

    pub(crate) fn new(core: &Core<'_>, call: ModelCallId, asked: SentRequest, message: MessageId) -> Self {
        let deadline = Deadline::with_signs(core.now(), core.settings().model_deadline_ms);
        let (draft, untold, journal, spent) = Default::default();
        let prices = core.settings().model.prices.clone();
        Self {
            call,
            asked,
            message,
            draft,
            again: None,
            untold,
            is_told: false,
            journal,
            deadline,
            prices,
            spent,
        }
    }

    pub(crate) fn call(&self) -> ModelCallId {
        self.call
    }

    #[cfg(test)]
    pub(crate) fn untold(&self) -> &[Delta] {
        &self.untold
    }

    pub(crate) fn message(&self) -> &MessageId {
        &self.message
    }

    pub(crate) fn draft(&self) -> &Draft {
        &self.draft
    }

    /// Takes in a piece of the answer; returns `false` if it belongs to no known part of it.
    pub(crate) fn hear(&mut self, core: &mut Core<'_>, delta: Delta) -> bool {
        match &mut self.again {
            Some(held) if !delta.is_content() => {
                held.push(delta);
                core.start(Timer::Model(self.call), self.silence(core));
                return true;
            }
            Some(_) => self.replace(core),
            None => {}
        }
        self.fold(core, delta)
    }

    /// Notes that the answer broke and is asked for again. The next attempt may be silent for as long as the first.
    pub(crate) fn begin_again(&mut self, core: &mut Core<'_>, retry: &Retry) {
        if self.again.is_none() && self.draft.is_empty() {
            return;
        }
        // Before the event that tells of the retry: what comes after it is the next attempt's.
        self.tell(core);
        self.drop_held(core);
        self.again = Some(Vec::new());
        if let Some(ms) = self.after_sign(core, retry.delay_ms) {
            core.start(Timer::Model(self.call), ms);
        }
    }

    /// Forgets what a broken attempt said, if there was one: the next one has content, or is whole.
    pub(crate) fn replace(&mut self, core: &mut Core<'_>) {
        let Some(held) = self.again.take() else { return };
        let broken = std::mem::take(&mut self.draft);
        self.count(core, &broken.beside, Ended::without_end(&broken));
        // An answer that was just taken back is shown again at once.
        if std::mem::take(&mut self.is_told) {
            core.stop(Timer::Deltas(self.call));
        }
        if !std::mem::take(&mut self.journal.next).is_empty() {
            core.stop(Timer::Journal(self.call));
        }
        // A process that finds pieces of both attempts would show them as one text.
        if std::mem::take(&mut self.journal.is_begun) {
            core.write(Write::StreamEnded);
        }
        core.emit(EventBody::StreamReset { message: self.message.clone() });
        for delta in held {
            self.fold(core, delta);
        }
    }

    /// Drops what came of an attempt beside its content, which never came.
    fn drop_held(&mut self, core: &mut Core<'_>) {
        let mut held = Draft::default();
        for delta in self.again.take().into_iter().flatten() {
            drop(held.fold(delta));
        }
        self.count(core, &held.beside, Ended::Nothing);
    }

    fn count(&mut self, core: &mut Core<'_>, beside: &Beside, ended: Ended) {
        let cost = spend(core, Purpose::Turn, &self.prices, beside, ended);
        self.spent.add(cost);
    }

    fn fold(&mut self, core: &mut Core<'_>, delta: Delta) -> bool {
        if self.draft.fold(delta.clone()).is_err() {
            return false;
        }
        let ms = core.settings().model_deadline_ms;
        self.deadline = Deadline::with_signs(core.now(), ms);
        self.note(core, &delta);
        join(&mut self.untold, delta);
        if !self.is_told {
            self.tell(core);
            self.gather(core);
        }
        core.start(Timer::Model(self.call), ms);
        true
    }

    /// Milliseconds until the next sign of life is due, after one; `None` if the time is up.
    pub(crate) fn after_sign(&self, core: &Core<'_>, more_ms: u64) -> Option<u64> {
        self.deadline.after_sign(core.now(), self.silence(core).saturating_add(more_ms))
    }

    /// Milliseconds that the model may be silent now.
    pub(crate) fn silence(&self, core: &Core<'_>) -> u64 {
        let nothing = Draft::default();
        let draft = if self.again.is_some() { &nothing } else { &self.draft };
        silence(core, &core.settings().model, draft)
    }

    /// Emits the gathered deltas.
    pub(crate) fn tell(&mut self, core: &mut Core<'_>) {
        let deltas = std::mem::take(&mut self.untold);
        if !deltas.is_empty() {
            let message = self.message.clone();
            core.emit(EventBody::StreamDelta { message, deltas });
        }
    }

    /// Gathers a delta for the journal.
    fn note(&mut self, core: &mut Core<'_>, delta: &Delta) {
        // Calls that may be cut are not kept.
        if !core.is_stored() || matches!(delta, Delta::SetToolCalls(_) | Delta::AppendToolArguments { .. }) {
            return;
        }
        if self.journal.next.is_empty() {
            core.start(Timer::Journal(self.call), JOURNAL_MS);
        }
        join(&mut self.journal.next, delta.clone());
    }

    /// Keeps what was added since the last piece.
    pub(crate) fn journal(&mut self, core: &mut Core<'_>) {
        let deltas = std::mem::take(&mut self.journal.next);
        if !deltas.is_empty() {
            self.journal.is_begun = true;
            core.push(Effect::Journal(Streamed { message: self.message.clone(), deltas }));
        }
    }

    /// Starts an interval whose deltas are emitted together.
    fn gather(&mut self, core: &mut Core<'_>) {
        let interval = core.settings().delta_interval_ms;
        if interval > 0 {
            self.is_told = true;
            core.start(Timer::Deltas(self.call), interval);
        }
    }

    /// Ends the interval; starts another one if deltas were gathered.
    pub(crate) fn moment_over(&mut self, core: &mut Core<'_>) {
        self.is_told = false;
        if !self.untold.is_empty() {
            self.tell(core);
            self.gather(core);
        }
    }

    /// Ends the answer: emits the gathered deltas, stops the timers, and drops what was kept of it, in the step that
    /// stores the answer.
    pub(crate) fn end(mut self, core: &mut Core<'_>) -> Given {
        core.stop(Timer::Model(self.call));
        if !self.journal.next.is_empty() {
            core.stop(Timer::Journal(self.call));
        }
        if self.journal.is_begun {
            core.write(Write::StreamEnded);
        }
        if self.is_told {
            core.stop(Timer::Deltas(self.call));
        }
        self.tell(core);
        self.drop_held(core);
        let Self { asked, message, draft, prices, spent, .. } = self;
        Given { asked, message, draft, prices, spent }
    }
}

/// Adds a delta to the gathered ones; consecutive text is one delta.
fn join(deltas: &mut Vec<Delta>, delta: Delta) {
    match (deltas.last_mut(), delta) {
        (Some(Delta::AppendContent(text)), Delta::AppendContent(more))
        | (Some(Delta::AppendReasoning(text)), Delta::AppendReasoning(more)) => text.push_str(&more),
        (
            Some(Delta::AppendToolArguments { call, text }),
            Delta::AppendToolArguments { call: same, text: more },
        ) if *call == same => text.push_str(&more),
        (_, delta) => deltas.push(delta),
    }
}
