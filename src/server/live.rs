//! A session in memory: the machine, what it waits to have stored, and what it asked of the client. The order of its
//! effects is kept here; performing them is `perform`'s.

use super::part::Partly;
use super::queued::Queued;
use super::trajectories::Filed;
use engine::id::CallId;
use protocol::error::ProtocolError;
use session::Session;
use session::effect::Effect;
use session::input::{ModelCallId, ReplyTo, Timer};
use session::stored::Write;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use store::Fence;
use store::worker::Handle;
use tokio::task::AbortHandle;

/// A session that is open here.
pub(super) struct Live {
    /// The machine.
    pub session: Session,
    /// What makes it whole, where only a part of it is here.
    pub part: Option<Box<Partly>>,
    /// Where it is stored, and the right to write there. Nothing for a prompt of a history that nobody keeps.
    pub store: Option<(Handle, Fence)>,
    /// Steps whose writes are not stored yet, oldest first, each with what follows.
    pub steps: VecDeque<Done>,
    /// Whether the oldest of them is with the store.
    pub is_writing: bool,
    /// What could not be stored; it goes first with the next write.
    pub unwritten: Vec<Write>,
    /// What the store has now, to be kept where it fails.
    pub writing: Arc<Vec<Write>>,
    /// Its file in the workspace.
    pub file: Filed,
    /// Requests to the client's model, by our numbers for them.
    pub models: BTreeMap<ModelCallId, i64>,
    /// Calls of models that we ask ourselves.
    pub remotes: BTreeMap<ModelCallId, AbortHandle>,
    /// Requests to run a tool.
    pub tools: BTreeMap<CallId, i64>,
    /// The request for permission.
    pub permission: Option<i64>,
    /// The question about a compaction.
    pub review: Option<i64>,
    /// Deadlines that run.
    pub timers: BTreeMap<Timer, (u64, AbortHandle)>,
    /// Why the store did not take what is in `unwritten`.
    pub fault: Option<ProtocolError>,
    /// It is to be let go when all is stored.
    pub is_closing: bool,
    /// Who asked the store to destroy it. Nothing more is written until the store has answered.
    pub deleting: Option<ReplyTo>,
    /// What is asked of it on its way out, for when it is gone.
    pub after: VecDeque<Queued>,
    /// Who is told when it is gone from here and free for others.
    pub closing: Vec<ReplyTo>,
}

/// A step that was taken.
#[derive(Default)]
pub(super) struct Done {
    /// What is stored first.
    pub writes: Vec<Write>,
    /// What is done after that.
    pub effects: Vec<Effect>,
}

impl Done {
    /// Writes apart from the rest; both keep their order.
    pub fn of(effects: Vec<Effect>) -> Self {
        let mut done = Self::default();
        for effect in effects {
            match effect {
                Effect::Write(write) => done.writes.push(write),
                other => done.effects.push(other),
            }
        }
        done
    }
}

impl Live {
    /// A session that was just opened.
    pub fn new(session: Session, store: Option<(Handle, Fence)>) -> Self {
        Self {
            session,
            part: None,
            store,
            steps: VecDeque::new(),
            is_writing: false,
            unwritten: Vec::new(),
            writing: Arc::default(),
            file: Filed::default(),
            models: BTreeMap::new(),
            remotes: BTreeMap::new(),
            tools: BTreeMap::new(),
            permission: None,
            review: None,
            timers: BTreeMap::new(),
            fault: None,
            is_closing: false,
            deleting: None,
            after: VecDeque::new(),
            closing: Vec::new(),
        }
    }

    /// Whether everything that was decided is stored and done.
    pub fn is_settled(&self) -> bool {
        let is_here = self.part.as_ref().is_none_or(|part| part.is_settled());
        self.steps.is_empty() && !self.is_writing && self.deleting.is_none() && is_here
    }

    /// Whether it takes nothing more.
    pub const fn is_leaving(&self) -> bool {
        self.is_closing || self.deleting.is_some()
    }

    /// The number of the next event that is told. What waits for the store is not told yet.
    pub fn next_seq(&self) -> u64 {
        let untold = self.steps.iter().flat_map(|step| &step.effects).find_map(|effect| match effect {
            Effect::Emit(event) => Some(event.seq),
            _ => None,
        });
        untold.unwrap_or_else(|| self.session.snapshot().seq + 1)
    }

    /// Gives up writing: nothing more can be stored, and `fault` says why.
    pub fn cannot_write(&mut self, fault: ProtocolError) {
        let left = self.steps.drain(..).flat_map(|step| step.writes);
        self.unwritten.extend(left);
        self.fault = Some(fault);
    }

    /// Whether the store has something of it whose answer moves it on.
    pub fn awaits_store(&self) -> bool {
        self.is_writing || self.deleting.is_some() || self.part.as_ref().is_some_and(|part| part.is_asked())
    }

    /// Whether this request is parked here, rather than with the machine.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.waits_for_end(to) || self.part.as_ref().is_some_and(|part| part.holds(to))
    }

    /// Whether this waits for its end, or for what comes then.
    pub fn waits_for_end(&self, to: ReplyTo) -> bool {
        self.closing.contains(&to) || self.after.iter().any(|item| item.to() == to)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        for (_, timer) in self.timers.values() {
            timer.abort();
        }
        self.remotes.values().for_each(AbortHandle::abort);
    }
}
