//! A session that is open with its newest part: what it can do with that is done at once, everything else waits until the
//! store has given the rest. That is asked for when the first prompt is on its way, or when somebody waits for it. What a
//! part can do is the engine's.

use super::inbox::Event;
use super::live::{Done, Live};
use super::main_loop::{MainLoop, Slot, now};
use super::queued::Queued;
use super::stores;
use crate::convert;
use engine::id::{Ordinal, SessionId, Time};
use engine::tokens::TokenCount;
use protocol::error::{ErrorData, ProtocolError};
use session::input::{Command, Input, ReplyTo};
use session::part::Claims;
use session::stored::{Part, Rest};
use session::{Around, Opening, Session};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use store::error::StoreError;

/// What makes a session whole of which a part is here.
pub(super) struct Partly {
    /// What it was made of, with what the store gave.
    opening: Opening,
    from: Ordinal,
    /// What it was given since, to be given to the whole again.
    log: Vec<(Input, Time)>,
    /// What waits, in order.
    waits: VecDeque<Waits>,
    /// What the store said to be new to the session.
    fresh: Claims,
    rest: Wanted,
}

/// What waits for the rest of a session, or for the store's word that something is new to it.
enum Waits {
    Item(Queued),
    Input(Box<Input>),
}

/// How far the rest is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    /// Nobody needs it yet.
    Not,
    /// It is asked for when all that was decided is with the store; only where this is not new to the session, if that
    /// is given.
    Soon(Option<Claims>),
    /// The store was asked so.
    Asked(Option<Claims>),
}

/// What the store answered: the rest, or that what was claimed is new.
pub(super) type Answered = Result<Option<Rest>, StoreError>;

impl Partly {
    /// `opening` has what the store gave; `fresh` is new to the session, as it said.
    pub fn new(opening: Opening, from: Ordinal, fresh: Claims) -> Self {
        Self { opening, from, log: Vec::new(), waits: VecDeque::new(), fresh, rest: Wanted::Not }
    }

    /// Whether nothing waits for the rest.
    pub fn is_free(&self) -> bool {
        self.waits.is_empty()
    }

    /// Whether, too, nobody asked the store for something.
    pub fn is_settled(&self) -> bool {
        self.is_free() && self.rest == Wanted::Not
    }

    /// Whether the store was asked for something and has not answered.
    pub fn is_asked(&self) -> bool {
        matches!(self.rest, Wanted::Asked(_))
    }

    /// Whether this request waits for the rest.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.waits.iter().any(|waits| match waits {
            Waits::Item(item) => item.to() == to,
            Waits::Input(input) => matches!(&**input, Input::Command(asked, _) if *asked == to),
        })
    }

    fn wants(&mut self, claims: Option<Claims>) {
        if matches!(self.rest, Wanted::Not) {
            self.rest = Wanted::Soon(claims);
        }
    }

    /// The whole session, where it stands as the part does.
    fn whole(
        mut self,
        rest: Rest,
        part: &Session,
        counter: &dyn TokenCount,
    ) -> (Option<Session>, VecDeque<Waits>) {
        let keys = self.log.iter().filter_map(|(input, _)| Claims::of(input).key);
        let claimed: Vec<String> = keys.collect();
        let unreadable = rest.unreadable.clone();
        self.opening.stored =
            self.opening.stored.take().map(|stored| Part { stored, from: self.from }.with(rest, &claimed));
        let mut whole = Session::new(self.opening, counter);
        for (input, now) in self.log {
            let stamp = convert::iso(now);
            // All of it was done when the part did it.
            drop(whole.step(input, Around { now, stamp: &stamp, counter }));
        }
        whole.missed(unreadable);
        (whole.stands_as(part).then_some(whole), self.waits)
    }
}

/// What a store did for a session of which a part is here.
pub(super) struct Came {
    /// The session.
    pub session: SessionId,
    /// Its numbering of events: another one is another opening of it.
    stream: String,
    answered: Answered,
}

impl MainLoop {
    /// Has an item wait where something waits already for the rest of its session. Gives it back where it is done now.
    pub fn waits_for_rest(&mut self, id: &SessionId, item: Queued) -> Option<Queued> {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return Some(item) };
        let Some(part) = &mut live.part else { return Some(item) };
        if part.is_free() {
            return Some(item);
        }
        part.waits.push_back(Waits::Item(item));
        None
    }

    /// Has an item wait until all of its session is here. Gives it back where it is.
    pub fn waits_for_whole(&mut self, id: &SessionId, item: Queued) -> Option<Queued> {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return Some(item) };
        let Some(part) = &mut live.part else { return Some(item) };
        part.waits.push_back(Waits::Item(item));
        self.want_rest(id);
        None
    }

    /// Hands an input to a session of which a part is here.
    pub fn run_in_part(&mut self, id: &SessionId, input: Input) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        let Live { session, part: Some(part), steps, .. } = &mut **live else { return };
        let claims = Claims::of(&input);
        let is_fresh = claims.is_empty() || claims == part.fresh;
        if !part.is_free() || !is_fresh {
            part.waits.push_back(Waits::Input(Box::new(input)));
            part.wants((!is_fresh).then_some(claims));
            return self.ask_rest(id);
        }
        let now = now();
        let stamp = convert::iso(now);
        let around = Around { now, stamp: &stamp, counter: &*self.counter };
        let Ok(tried) = catch_unwind(AssertUnwindSafe(|| session.try_step(input.clone(), around))) else {
            return self.broke(id);
        };
        match tried {
            Some((next, effects)) => {
                *session = next;
                // Whoever looks at a session may never ask it for anything.
                if matches!(&input, Input::Command(_, Command::StartTurn(_) | Command::Render(_))) {
                    part.wants(None);
                }
                part.log.push((input, now));
                steps.push_back(Done::of(effects));
                self.pump(id);
            }
            None => {
                part.waits.push_back(Waits::Input(Box::new(input)));
                part.wants(None);
            }
        }
        self.ask_rest(id);
    }

    /// Somebody needs all of a session.
    pub fn want_rest(&mut self, id: &SessionId) {
        if let Some(Slot::Live(live)) = self.sessions.get_mut(id)
            && let Some(part) = &mut live.part
        {
            part.wants(None);
        }
        self.ask_rest(id);
    }

    /// Asks the store for the rest where it is wanted, behind all that was decided: no answer waits for it.
    pub fn ask_rest(&mut self, id: &SessionId) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        let is_behind = live.steps.is_empty() || live.is_writing && live.steps.len() == 1;
        let (Some(part), Some((store, _))) = (&mut live.part, &live.store) else { return };
        let Wanted::Soon(claims) = part.rest.clone() else { return };
        if !is_behind {
            return;
        }
        part.rest = Wanted::Asked(claims.clone());
        let (inbox, from, session) = (self.inbox.clone(), part.from, id.clone());
        let (asked, stream) = (id.clone(), live.session.stream().to_owned());
        store.submit(
            move |store| match claims {
                Some(claims) if !store.is_known(&asked, &claims, from)? => Ok(None),
                _ => store.load_rest(&asked, from).map(Some),
            },
            move |answered| drop(inbox.send(Event::Came(Box::new(Came { session, stream, answered })))),
        );
    }

    /// The rest of a session came, or the word that something is new to it: what waited is done.
    pub fn came(&mut self, came: Came) {
        let Came { session: id, stream, answered } = came;
        self.at_work = Some(id.clone());
        let Some(Slot::Live(live)) = self.sessions.get_mut(&id) else { return };
        if live.session.stream() != stream {
            return;
        }
        let Some(mut part) = live.part.take() else { return };
        let waits = match answered {
            Ok(None) => {
                if let Wanted::Asked(Some(claims)) = std::mem::replace(&mut part.rest, Wanted::Not) {
                    part.fresh = claims;
                }
                let waits = std::mem::take(&mut part.waits);
                live.part = Some(part);
                waits
            }
            Ok(Some(rest)) => {
                let (whole, waits) = part.whole(rest, &live.session, &*self.counter);
                let Some(whole) = whole else {
                    self.differs(&id);
                    return self.end_if_saved();
                };
                live.session = whole;
                waits
            }
            Err(error) => {
                self.give_up(&id, &stores::error(&error));
                return self.end_if_saved();
            }
        };
        self.is_handing_over = true;
        for wait in waits {
            match wait {
                Waits::Item(item) => self.hand(&id, item),
                Waits::Input(input) => self.run_input(&id, *input),
            }
        }
        self.is_handing_over = false;
        self.pump(&id);
    }

    /// A session is not what its part was taken for. What was said in it is stored; it is opened whole from now on.
    fn differs(&mut self, id: &SessionId) {
        tracing::error!(session = %id, "the rest of this session did not fit what was made of its part");
        self.whole.insert(id.clone());
        let message =
            "the session met a defect and was closed. What was acknowledged is stored; open it again";
        self.give_up(id, &ProtocolError::new(ErrorData::InternalError {}, message));
    }
}
