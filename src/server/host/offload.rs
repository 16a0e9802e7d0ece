//! A step that may take long, taken on a thread of its own: other sessions go on meanwhile, and whatever comes for this
//! one waits in order. The outcome does not depend on when it is ready.

use super::part::{Counter, ParkedItem};
use super::threads::spawn_or_run;
use crate::convert;
use crate::server::clock::now;
use session::effect::Effect;
use session::input::{Input, ReplyTo};
use session::{Session, StepContext};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The host's state while a step is taken elsewhere. The host's own session is the one before it.
#[derive(Default)]
pub(super) struct OffloadedStep {
    /// In order.
    waits: VecDeque<ParkedItem>,
}

/// A step that was taken elsewhere.
pub(in crate::server) struct StepDone {
    /// Stream of the session's events; it differs for another opening.
    stream: String,
    /// The session after the step, and its effects; `None` if the machine panicked.
    taken: Option<(Session, Vec<Effect>)>,
}

/// What became of a step that was taken elsewhere.
pub(in crate::server) enum StepOutcome {
    /// Meant for another opening of the session.
    Stale,
    /// Taken; these items run now.
    Done(VecDeque<ParkedItem>),
    /// The machine panicked.
    Panicked,
}

impl OffloadedStep {
    /// Begins a step; `send` gets its outcome.
    pub fn begin(
        session: &Session,
        input: Input,
        counter: Counter,
        send: impl FnOnce(StepDone) + Send + 'static,
    ) -> Self {
        let (mut session, now) = (session.clone(), now());
        spawn_or_run("step", move || {
            let stream = session.stream().to_owned();
            let stepped = catch_unwind(AssertUnwindSafe(|| {
                let stamp = convert::iso(now);
                let effects = session.step(input, StepContext { now, stamp: &stamp, counter: &*counter });
                (session, effects)
            }));
            send(StepDone { stream, taken: stepped.ok() });
        });
        Self::default()
    }

    pub fn park(&mut self, item: ParkedItem) {
        self.waits.push_back(item);
    }

    /// `true` if this request waits for the step's end.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.waits.iter().any(|item| item.to() == Some(to))
    }

    /// Ends the step. Returns the items that waited.
    pub fn end(self) -> VecDeque<ParkedItem> {
        self.waits
    }
}

impl StepDone {
    /// The session after the step, with its effects; `None` if the machine panicked. Fails for another opening than the
    /// one with this stream.
    pub fn of(self, stream: &str) -> Result<Option<(Session, Vec<Effect>)>, ()> {
        if self.stream == stream { Ok(self.taken) } else { Err(()) }
    }
}
