//! A step that may take long, taken on a thread of its own: other sessions go on meanwhile, and whatever comes for this
//! one waits in order. The outcome does not depend on when it is ready.

use super::parked::ParkedItem;
use super::part::{Counter, Panicked};
use super::threads::spawn_or_run;
use crate::convert;
use crate::server::clock::now;
use engine::id::Time;
use engine::tokens::TokenCount;
use session::effect::Effect;
use session::input::Input;
use session::{Session, StepContext};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A step that was taken elsewhere.
pub(in crate::server) struct StepDone {
    /// Stream of the session's events; it differs for another opening.
    stream: String,
    /// The session after the step, and its effects.
    taken: Result<(Session, Vec<Effect>), Panicked>,
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

impl StepDone {
    /// `true` if the opening with this stream began it.
    pub fn is_of(&self, stream: &str) -> bool {
        self.stream == stream
    }

    /// The session after the step, and its effects.
    pub(super) fn taken(self) -> Result<(Session, Vec<Effect>), Panicked> {
        self.taken
    }
}

/// Takes a step.
pub(super) fn step(
    session: &mut Session,
    input: Input,
    now: Time,
    counter: &dyn TokenCount,
) -> Result<Vec<Effect>, Panicked> {
    let stamp = convert::iso(now);
    let context = StepContext { now, stamp: &stamp, counter };
    catch_unwind(AssertUnwindSafe(|| session.step(input, context))).map_err(|_| Panicked)
}

/// Begins a step on a copy of the session; `send` gets its outcome.
pub(super) fn begin(
    session: &Session,
    input: Input,
    counter: Counter,
    send: impl FnOnce(StepDone) + Send + 'static,
) {
    let (mut session, now) = (session.clone(), now());
    spawn_or_run("step", move || {
        let stream = session.stream().to_owned();
        let taken = step(&mut session, input, now, &*counter).map(|effects| (session, effects));
        send(StepDone { stream, taken });
    });
}
