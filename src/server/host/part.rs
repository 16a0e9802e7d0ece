//! A session opened with its newest part: whatever needs no more is done at once, everything else waits until
//! the store has loaded the rest. The rest is requested when the first prompt is on its way, or when
//! something waits for it. The machine decides what a part can do.

use super::parked::{self, ParkedItem};
use super::threads::spawn_or_run;
use crate::convert;
use crate::server::clock::now;
use crate::server::host::queued::Queued;
use engine::id::{Ordinal, SessionId, Time};
use engine::tokens::TokenCount;
use session::effect::Effect;
use session::input::{Command, Input, ReplyTo};
use session::part::Claims;
use session::stored::{Part, Rest};
use session::{Opening, Session, StepContext};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use store::error::StoreError;
use store::worker::Handle;

/// A counter that threads share.
pub(in crate::server) type Counter = Arc<dyn TokenCount + Send + Sync>;

/// The host's state of a partly loaded session.
pub(super) struct PartialSession {
    /// The opening of the part, with its stored data.
    opening: Opening,
    from: Ordinal,
    counter: Counter,
    /// Inputs so far, replayed on the whole session.
    log: Vec<(Input, Time)>,
    /// In order.
    waits: VecDeque<ParkedItem>,
    /// Claims that the store found to be new to the session.
    fresh: Claims,
    rest: Wanted,
}

/// State of the request for the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    /// Not needed yet.
    Not,
    /// To be requested once all steps are with the store; with claims, only if these are not new.
    Soon(Option<Claims>),
    /// Requested so.
    Asked(Option<Claims>),
}

/// The answer about a partly loaded session.
pub(in crate::server) struct RestLoaded {
    /// Stream of the session's events; it differs for another opening.
    stream: String,
    answered: Result<Found, StoreError>,
}

/// What was found for a partly loaded session.
enum Found {
    /// The claims are new: no more is needed.
    Fresh,
    /// The whole session, and how many of the inputs it has taken.
    Whole(Box<Session>, usize),
    /// The machine panicked over it.
    Panicked,
}

/// What the whole session is made of, for another thread: that takes as long as the session is.
struct Rebuild {
    opening: Opening,
    from: Ordinal,
    log: Vec<(Input, Time)>,
    counter: Counter,
}

/// The outcome of a store's answer.
pub(super) enum PartOutcome {
    /// Still a part; these items run now.
    Same(VecDeque<ParkedItem>),
    /// The whole session; these items run now.
    Whole(Box<Session>, VecDeque<ParkedItem>),
    /// The whole session does not fit what was made of the part.
    Differs,
    /// The store failed.
    Failed(StoreError),
}

/// The machine panicked.
pub(super) struct Panicked;

impl RestLoaded {
    /// `true` if the opening with this stream was asked.
    pub fn is_of(&self, stream: &str) -> bool {
        self.stream == stream
    }
}

impl PartialSession {
    /// `opening` holds the stored part, `fresh` the claims that are new to the session.
    pub fn new(opening: Opening, from: Ordinal, fresh: Claims, counter: Counter) -> Self {
        let (log, waits) = (Vec::new(), VecDeque::new());
        Self { opening, from, counter, log, waits, fresh, rest: Wanted::Not }
    }

    /// `true` if nothing waits for the rest.
    pub fn is_free(&self) -> bool {
        self.waits.is_empty()
    }

    /// `true` if nothing waits for the rest or was requested from the store.
    pub fn is_settled(&self) -> bool {
        self.is_free() && self.rest == Wanted::Not
    }

    pub fn is_asked(&self) -> bool {
        matches!(self.rest, Wanted::Asked(_))
    }

    /// `true` if this request waits for the rest.
    pub fn holds(&self, to: ReplyTo) -> bool {
        parked::hold(&self.waits, to)
    }

    pub fn push(&mut self, item: Queued) {
        self.waits.push_back(ParkedItem::Item(item));
    }

    /// Requests the whole session.
    pub fn want(&mut self) {
        self.wants(None);
    }

    fn wants(&mut self, claims: Option<Claims>) {
        if matches!(self.rest, Wanted::Not) {
            self.rest = Wanted::Soon(claims);
        }
    }

    /// Runs an input. Returns `None` if it waits instead.
    pub fn step(&mut self, session: &mut Session, input: Input) -> Result<Option<Vec<Effect>>, Panicked> {
        let claims = Claims::of(&input);
        let is_fresh = claims.is_empty() || claims == self.fresh;
        if !self.is_free() || !is_fresh {
            self.waits.push_back(ParkedItem::Input(Box::new(input)));
            self.wants((!is_fresh).then_some(claims));
            return Ok(None);
        }
        let now = now();
        let stamp = convert::iso(now);
        let context = StepContext { now, stamp: &stamp, counter: &*self.counter };
        let tried = catch_unwind(AssertUnwindSafe(|| session.try_step(input.clone(), context)));
        let Some((next, effects)) = tried.map_err(|_| Panicked)? else {
            self.waits.push_back(ParkedItem::Input(Box::new(input)));
            self.wants(None);
            return Ok(None);
        };
        *session = next;
        // A client that only looks at a session needs no rest.
        if matches!(&input, Input::Command(_, Command::StartTurn(_) | Command::Render(_))) {
            self.wants(None);
        }
        self.log.push((input, now));
        Ok(Some(effects))
    }

    /// Sends the wanted request to the store, behind all steps: no answer waits for it.
    pub fn ask(
        &mut self,
        session: &Session,
        store: &Handle,
        send: impl FnOnce(SessionId, RestLoaded) + Send + 'static,
    ) {
        let Wanted::Soon(claims) = self.rest.clone() else { return };
        self.rest = Wanted::Asked(claims.clone());
        let (from, id, stream) = (self.from, session.id().clone(), session.stream().to_owned());
        let (asked, counter) = (id.clone(), self.counter.clone());
        let rebuild = Rebuild { opening: self.opening.clone(), from, log: self.log.clone(), counter };
        store.submit(
            move |store| match claims {
                Some(claims) if !store.is_known(&asked, &claims, from)? => Ok(None),
                _ => store.load_rest(&asked, from).map(Some),
            },
            move |answered| {
                let send = move |answered| send(id, RestLoaded { stream, answered });
                match answered {
                    Ok(Some(rest)) => rebuild.run(rest, send),
                    Ok(None) => send(Ok(Found::Fresh)),
                    Err(error) => send(Err(error)),
                }
            },
        );
    }

    /// Applies the answer.
    pub fn grow(mut self: Box<Self>, came: RestLoaded, part: &Session) -> (Option<Box<Self>>, PartOutcome) {
        match came.answered {
            Ok(Found::Fresh) => {
                if let Wanted::Asked(Some(claims)) = std::mem::replace(&mut self.rest, Wanted::Not) {
                    self.fresh = claims;
                }
                let waits = std::mem::take(&mut self.waits);
                (Some(self), PartOutcome::Same(waits))
            }
            Ok(Found::Whole(mut whole, taken)) => {
                replay(&mut whole, self.log.drain(taken..), &*self.counter);
                let outcome = match whole.stands_as(part) {
                    true => PartOutcome::Whole(whole, self.waits),
                    false => PartOutcome::Differs,
                };
                (None, outcome)
            }
            Ok(Found::Panicked) => (None, PartOutcome::Differs),
            Err(error) => (None, PartOutcome::Failed(error)),
        }
    }
}

impl Rebuild {
    /// Makes the session on a thread of its own, and sends it.
    fn run(self, rest: Rest, send: impl FnOnce(Result<Found, StoreError>) + Send + 'static) {
        spawn_or_run("opening", move || {
            let taken = self.log.len();
            let whole = catch_unwind(AssertUnwindSafe(|| self.whole(rest)));
            send(Ok(whole.map_or(Found::Panicked, |whole| Found::Whole(Box::new(whole), taken))));
        });
    }

    /// The whole session after the inputs, which must be in the state of the part.
    fn whole(mut self, rest: Rest) -> Session {
        let keys = self.log.iter().filter_map(|(input, _)| Claims::of(input).key);
        let claimed: Vec<String> = keys.collect();
        let unreadable = rest.unreadable.clone();
        self.opening.stored =
            self.opening.stored.take().map(|stored| Part { stored, from: self.from }.with(rest, &claimed));
        let mut whole = Session::new(self.opening, &*self.counter);
        replay(&mut whole, self.log.into_iter(), &*self.counter);
        whole.missed(unreadable);
        whole
    }
}

/// Takes inputs again whose effects were performed when the part took them.
fn replay(whole: &mut Session, inputs: impl Iterator<Item = (Input, Time)>, counter: &dyn TokenCount) {
    for (input, now) in inputs {
        let stamp = convert::iso(now);
        drop(whole.step(input, StepContext { now, stamp: &stamp, counter }));
    }
}
