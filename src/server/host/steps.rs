//! Steps of a session on their way to the store: effects of a step are performed once it is stored. Failed
//! writes go first with the next ones.

use protocol::error::ProtocolError;
use session::effect::Effect;
use session::stored::Write;
use std::collections::VecDeque;
use std::sync::Arc;

/// The unfinished steps of one session.
#[derive(Default)]
pub(super) struct Steps {
    /// Oldest first.
    waiting: VecDeque<Step>,
    /// `true` while the store has the oldest.
    is_writing: bool,
    /// Failed writes, which go first with the next ones.
    unwritten: Vec<Write>,
    /// Writes that the store has now, kept in case it fails.
    writing: Arc<Vec<Write>>,
    /// The store's error for `unwritten`.
    fault: Option<ProtocolError>,
}

/// A step of the machine.
#[derive(Default)]
struct Step {
    /// Stored first.
    writes: Vec<Write>,
    /// Performed after that.
    effects: Vec<Effect>,
}

/// The next action.
pub(super) enum Next {
    /// Wait for the store's answer.
    Wait,
    /// Nothing to do.
    Nothing,
    /// Send these to the store.
    Write(Arc<Vec<Write>>),
    /// Perform these, in order.
    Perform(Vec<Effect>),
}

impl Steps {
    /// Adds a step. Its writes are stored before its other effects are performed; both keep their order.
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

    /// Takes the next action. Without a store, writes are dropped.
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

    /// Ends a write that succeeded. Returns the effects that follow.
    pub fn written(&mut self) -> Vec<Effect> {
        self.is_writing = false;
        self.writing = Arc::default();
        self.waiting.pop_front().unwrap_or_default().effects
    }

    /// Ends a write that failed. Returns the effects that would have followed.
    pub fn not_written(&mut self, fault: ProtocolError) -> Vec<Effect> {
        self.keep_written();
        self.fault = Some(fault);
        self.waiting.pop_front().unwrap_or_default().effects
    }

    /// Keeps the writes that the store had when another process took the lease, to report them.
    pub fn keep_written(&mut self) {
        self.is_writing = false;
        self.unwritten = Arc::unwrap_or_clone(std::mem::take(&mut self.writing));
    }

    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Queues the failed writes as a step. Returns `false` if there are none.
    pub fn retry(&mut self) -> bool {
        if self.unwritten.is_empty() {
            return false;
        }
        let writes = std::mem::take(&mut self.unwritten);
        self.waiting.push_back(Step { writes, effects: Vec::new() });
        true
    }

    /// Gives up writing, because of `fault`. Returns the number of messages lost.
    pub fn give_up(&mut self, fault: ProtocolError) -> usize {
        let left = self.waiting.drain(..).flat_map(|step| step.writes);
        self.unwritten.extend(left);
        self.fault = Some(fault);
        self.unwritten.iter().filter(|write| matches!(write, Write::Message { .. })).count()
    }

    /// Drops failed writes: no store can take them.
    pub fn drop_unwritten(&mut self) {
        self.unwritten.clear();
    }

    /// Takes the error of writes that are still not stored.
    pub fn take_fault(&mut self) -> Option<ProtocolError> {
        self.fault.take().filter(|_| !self.unwritten.is_empty())
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub const fn is_writing(&self) -> bool {
        self.is_writing
    }

    /// `true` if every step is done or with the store.
    pub fn are_with_store(&self) -> bool {
        self.waiting.is_empty() || self.is_writing && self.waiting.len() == 1
    }

    /// Number of the first event that waits for the store.
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
