//! Steps of a session on their way to the store: what follows a step is done once the step is stored. Writes that the
//! store did not take go first with the next ones.

use protocol::error::ProtocolError;
use session::effect::Effect;
use session::stored::Write;
use std::collections::VecDeque;
use std::sync::Arc;

/// The steps of one session that are not done yet.
#[derive(Default)]
pub(super) struct Steps {
    /// Oldest first.
    waiting: VecDeque<Step>,
    /// True if the oldest of them is with the store.
    is_writing: bool,
    /// Writes that could not be stored; they go first with the next ones.
    unwritten: Vec<Write>,
    /// Writes that the store has now, to be kept where it fails.
    writing: Arc<Vec<Write>>,
    /// Why the store did not take what is in `unwritten`.
    fault: Option<ProtocolError>,
}

/// A step that was taken.
#[derive(Default)]
struct Step {
    /// Stored first.
    writes: Vec<Write>,
    /// Performed after that.
    effects: Vec<Effect>,
}

/// The next deed.
pub(super) enum Next {
    /// Nothing until the store has answered.
    Wait,
    /// Nothing.
    Nothing,
    /// The store is to take this.
    Write(Arc<Vec<Write>>),
    /// These are to be performed, in order.
    Perform(Vec<Effect>),
}

impl Steps {
    /// Adds a step. Its writes are stored before the rest is done; both keep their order.
    pub fn push(&mut self, effects: Vec<Effect>) {
        let mut step = Step::default();
        for effect in effects {
            match effect {
                Effect::Write(write) => step.writes.push(write),
                other => step.effects.push(other),
            }
        }
        self.waiting.push_back(step);
    }

    /// Goes on; writes go nowhere where the session is not stored.
    pub fn next(&mut self, is_stored: bool) -> Next {
        if self.is_writing {
            return Next::Wait;
        }
        let Some(step) = self.waiting.front_mut() else { return Next::Nothing };
        if is_stored && !step.writes.is_empty() {
            let mut writes = std::mem::take(&mut self.unwritten);
            writes.append(&mut step.writes);
            self.writing = Arc::new(writes);
            self.is_writing = true;
            return Next::Write(self.writing.clone());
        }
        Next::Perform(self.waiting.pop_front().unwrap_or_default().effects)
    }

    /// The store took what it had: what follows it.
    pub fn written(&mut self) -> Vec<Effect> {
        self.is_writing = false;
        drop(std::mem::take(&mut self.writing));
        self.waiting.pop_front().unwrap_or_default().effects
    }

    /// The store did not take what it had, and why: what would have followed.
    pub fn not_written(&mut self, fault: ProtocolError) -> Vec<Effect> {
        self.keep_written();
        self.fault = Some(fault);
        self.waiting.pop_front().unwrap_or_default().effects
    }

    /// Another process has the session: what the store had is kept, to be told of.
    pub fn keep_written(&mut self) {
        self.is_writing = false;
        self.unwritten = Arc::unwrap_or_clone(std::mem::take(&mut self.writing));
    }

    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Makes a step of what could not be stored. Whether there was something.
    pub fn retry(&mut self) -> bool {
        if self.unwritten.is_empty() {
            return false;
        }
        let writes = std::mem::take(&mut self.unwritten);
        self.waiting.push_back(Step { writes, effects: Vec::new() });
        true
    }

    /// Gives up writing: nothing more can be stored, and `fault` says why. The messages among it that are lost.
    pub fn give_up(&mut self, fault: ProtocolError) -> usize {
        let left = self.waiting.drain(..).flat_map(|step| step.writes);
        self.unwritten.extend(left);
        self.fault = Some(fault);
        self.unwritten.iter().filter(|write| matches!(write, Write::Message { .. })).count()
    }

    /// Drops what could not be stored: there is nothing that it could go to.
    pub fn drop_unwritten(&mut self) {
        self.unwritten.clear();
    }

    /// Why something was not stored, where it still is not.
    pub fn take_fault(&mut self) -> Option<ProtocolError> {
        self.fault.take().filter(|_| !self.unwritten.is_empty())
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub const fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// Returns whether all that was decided is done or with the store.
    pub fn are_with_store(&self) -> bool {
        self.waiting.is_empty() || self.is_writing && self.waiting.len() == 1
    }

    /// The number of the first event that waits for the store.
    pub fn first_untold(&self) -> Option<u64> {
        self.waiting.iter().flat_map(|step| &step.effects).find_map(|effect| match effect {
            Effect::Emit(event) => Some(event.seq),
            _ => None,
        })
    }

    /// Writes on their way to the store, oldest first.
    pub fn writes(&self) -> impl Iterator<Item = &Write> {
        self.writing.iter().chain(self.waiting.iter().flat_map(|step| &step.writes))
    }
}
