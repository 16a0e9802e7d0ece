//! A session that is open with its newest part: what it can do with that is done at once, everything else waits until the
//! store has given the rest. That is asked for when the first prompt is on its way, or when somebody waits for it. What a
//! part can do is the machine's to say.

use crate::convert;
use crate::server::clock::now;
use crate::server::host::queued::Queued;
use engine::id::{Ordinal, SessionId, Time};
use engine::tokens::TokenCount;
use session::effect::Effect;
use session::input::{Command, Input, ReplyTo};
use session::part::Claims;
use session::stored::{Part, Rest};
use session::{Around, Opening, Session};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use store::error::StoreError;
use store::worker::Handle;

/// The state of a session beside its machine while only a part of it is here.
pub(super) struct Partly {
    /// The opening of the part, with what the store gave.
    opening: Opening,
    from: Ordinal,
    /// Inputs since, to be given to the whole again.
    log: Vec<(Input, Time)>,
    /// In order.
    waits: VecDeque<Waits>,
    /// Claims that the store said to be new to the session.
    fresh: Claims,
    rest: Wanted,
}

/// Something that waits for the rest of a session, or for the store's word that something is new to it.
pub(in crate::server) enum Waits {
    Item(Queued),
    Input(Box<Input>),
}

/// How far the rest is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    /// Nobody needs it yet.
    Not,
    /// Asked for when all that was decided is with the store; only where this is not new to the session, if that
    /// is given.
    Soon(Option<Claims>),
    /// The store was asked so.
    Asked(Option<Claims>),
}

/// A store's word about a session of which a part is here: the rest, or that what was claimed is new.
pub(in crate::server) struct RestCame {
    /// The session's numbering of events: another one is another opening of it.
    stream: String,
    answered: Result<Option<Rest>, StoreError>,
}

/// The outcome of a store's word.
pub(super) enum Grown {
    /// Still a part, and this is done now.
    Same(VecDeque<Waits>),
    /// The whole session, and this is done now.
    Whole(Box<Session>, VecDeque<Waits>),
    /// The rest does not fit what was made of the part.
    Differs,
    /// The store failed.
    Failed(StoreError),
}

/// The machine panicked.
pub(super) struct Broke;

impl RestCame {
    /// Returns whether it is about the opening of a session that has this numbering.
    pub fn is_of(&self, stream: &str) -> bool {
        self.stream == stream
    }
}

impl Partly {
    /// `opening` has what the store gave; `fresh` is new to the session, as it said.
    pub fn new(opening: Opening, from: Ordinal, fresh: Claims) -> Self {
        Self { opening, from, log: Vec::new(), waits: VecDeque::new(), fresh, rest: Wanted::Not }
    }

    /// Returns whether nothing waits for the rest.
    pub fn is_free(&self) -> bool {
        self.waits.is_empty()
    }

    /// Whether, too, nobody asked the store for something.
    pub fn is_settled(&self) -> bool {
        self.is_free() && self.rest == Wanted::Not
    }

    pub fn is_asked(&self) -> bool {
        matches!(self.rest, Wanted::Asked(_))
    }

    /// Returns whether this request waits for the rest.
    pub fn holds(&self, to: ReplyTo) -> bool {
        self.waits.iter().any(|waits| match waits {
            Waits::Item(item) => item.to() == to,
            Waits::Input(input) => matches!(&**input, Input::Command(asked, _) if *asked == to),
        })
    }

    pub fn push(&mut self, item: Queued) {
        self.waits.push_back(Waits::Item(item));
    }

    /// Somebody needs all of the session.
    pub fn want(&mut self) {
        self.wants(None);
    }

    fn wants(&mut self, claims: Option<Claims>) {
        if matches!(self.rest, Wanted::Not) {
            self.rest = Wanted::Soon(claims);
        }
    }

    /// Takes an input, or has it wait: then there is nothing to perform.
    pub fn step(
        &mut self,
        session: &mut Session,
        input: Input,
        counter: &dyn TokenCount,
    ) -> Result<Option<Vec<Effect>>, Broke> {
        let claims = Claims::of(&input);
        let is_fresh = claims.is_empty() || claims == self.fresh;
        if !self.is_free() || !is_fresh {
            self.waits.push_back(Waits::Input(Box::new(input)));
            self.wants((!is_fresh).then_some(claims));
            return Ok(None);
        }
        let now = now();
        let stamp = convert::iso(now);
        let around = Around { now, stamp: &stamp, counter };
        let tried = catch_unwind(AssertUnwindSafe(|| session.try_step(input.clone(), around)));
        let Some((next, effects)) = tried.map_err(|_| Broke)? else {
            self.waits.push_back(Waits::Input(Box::new(input)));
            self.wants(None);
            return Ok(None);
        };
        *session = next;
        // Whoever looks at a session may never ask it for anything.
        if matches!(&input, Input::Command(_, Command::StartTurn(_) | Command::Render(_))) {
            self.wants(None);
        }
        self.log.push((input, now));
        Ok(Some(effects))
    }

    /// Asks the store for what is wanted, behind all that was decided: no answer waits for it.
    pub fn ask(
        &mut self,
        session: &Session,
        store: &Handle,
        send: impl FnOnce(SessionId, RestCame) + Send + 'static,
    ) {
        let Wanted::Soon(claims) = self.rest.clone() else { return };
        self.rest = Wanted::Asked(claims.clone());
        let (from, id, stream) = (self.from, session.id().clone(), session.stream().to_owned());
        let asked = id.clone();
        store.submit(
            move |store| match claims {
                Some(claims) if !store.is_known(&asked, &claims, from)? => Ok(None),
                _ => store.load_rest(&asked, from).map(Some),
            },
            move |answered| send(id, RestCame { stream, answered }),
        );
    }

    /// Takes in what the store said.
    pub fn grow(
        mut self: Box<Self>,
        came: RestCame,
        part: &Session,
        counter: &dyn TokenCount,
    ) -> (Option<Box<Self>>, Grown) {
        match came.answered {
            Ok(None) => {
                if let Wanted::Asked(Some(claims)) = std::mem::replace(&mut self.rest, Wanted::Not) {
                    self.fresh = claims;
                }
                let waits = std::mem::take(&mut self.waits);
                (Some(self), Grown::Same(waits))
            }
            Ok(Some(rest)) => (None, self.whole(rest, part, counter)),
            Err(error) => (None, Grown::Failed(error)),
        }
    }

    /// The whole session, where it stands as the part does.
    fn whole(mut self: Box<Self>, rest: Rest, part: &Session, counter: &dyn TokenCount) -> Grown {
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
        match whole.stands_as(part) {
            true => Grown::Whole(Box::new(whole), self.waits),
            false => Grown::Differs,
        }
    }
}
