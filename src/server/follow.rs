//! Sessions that another process writes and that are shown here. Each is read from its store, without its lease; the
//! store is asked a few times a second whether anything was committed, and only what is new is read. What is told of it
//! is decided in `changes`; what changed in the list of sessions, in `lists`. Commands on such a session ask for its
//! lease as ever: when the other process is gone, the session goes on here.

mod changes;
mod lists;
mod looking;
mod taken;

pub(super) use looking::Told;
pub(super) use taken::{Confirmed, Looked};

use looking::Watched;
use taken::Leases;

use super::main_loop::{MainLoop, NOBODY, now, wire};
use super::opening::{Opening, own_settings};
use super::queued::Queued;
use super::settings::Layers;
use super::wire_session::Asked;
use super::{stores, wire_event, wire_session};
use crate::convert;
use changes::Shown;
use engine::id::SessionId;
use engine::scope::Scope;
use engine::tokens::{QuarterOfChars, TokenCount};
use protocol::error::{ErrorData, ProtocolError};
use protocol::event::SessionsChangedParams;
use protocol::methods::{self, Named};
use protocol::session::{SessionCloseResult, SessionOpenResult, SessionSubscribeResult};
use protocol::snapshot::{HeldBy, Snapshot};
use serde_json::Value;
use session::effect::Effect;
use session::event;
use session::input::{Command, Input, Open, ReplyTo};
use session::reconcile::Report;
use session::settings::Settings;
use session::stored::Stored;
use session::{Around, Opening as Begin, Session};
use std::collections::BTreeMap;
use store::error::StoreError;
use store::follow::{Change, Mark, News};
use tokio::task::AbortHandle;
use uuid::Uuid;

/// What is followed.
#[derive(Default)]
pub(super) struct Follows {
    followers: BTreeMap<SessionId, Follower>,
    /// Stores that are looked at, by their names.
    watched: BTreeMap<String, Watched>,
    /// What is known of the sessions that are written here, by the names of their stores.
    leases: BTreeMap<String, Leases>,
    /// Says when to look; nothing while there is nothing to look for.
    clock: Option<AbortHandle>,
    looks: u64,
}

/// A session that is followed.
struct Follower {
    /// The name of its store.
    store: String,
    /// Who asked before it was read.
    waiting: Vec<(ReplyTo, Wanted)>,
    /// What they hear where it cannot be read.
    refusal: ProtocolError,
    /// What was read of it.
    seen: Option<Seen>,
}

/// What a client asks of a session that is followed.
pub(super) enum Wanted {
    /// `session/open`, and how many of the newest messages.
    Open(Option<u32>),
    /// `session/subscribe`, with the last event that is known, and how many of the newest messages.
    Subscribe(Option<(String, u64)>, Option<u32>),
    /// What only reads.
    Read(Box<Command>),
}

/// What is needed to answer it.
struct With<'a> {
    layers: &'a Layers,
    counter: &'a dyn TokenCount,
}

/// A session as it was read.
struct Seen {
    mark: Mark,
    stored: Stored,
    session: Session,
    /// The last event.
    seq: u64,
    shown: Shown,
}

impl Drop for Follows {
    fn drop(&mut self) {
        if let Some(clock) = self.clock.take() {
            clock.abort();
        }
    }
}

impl Seen {
    fn snapshot(&self, newest: Option<u32>) -> Snapshot {
        let held_by =
            self.shown.holder.map(|holder| HeldBy { pid: holder.pid, since: convert::iso(holder.since) });
        Snapshot {
            seq: self.seq,
            state: self.shown.state.into(),
            held_by,
            ..wire_session::whole(&self.session, self.session.shown(newest))
        }
    }

    fn answer(&self, wanted: Wanted, with: &With<'_>) -> Result<Value, ProtocolError> {
        match wanted {
            Wanted::Open(newest) => {
                let report = Report { unreadable: self.stored.unreadable.clone(), ..Report::default() };
                let restore = wire_session::restored(&self.session, &report);
                wire(&SessionOpenResult { snapshot: self.snapshot(newest), restore })
            }
            Wanted::Subscribe(Some((stream, seq)), _)
                if stream == self.session.stream() && seq == self.seq =>
            {
                wire(&SessionSubscribeResult { events: Some(Vec::new()), snapshot: None })
            }
            Wanted::Subscribe(_, newest) => {
                let snapshot = Some(Box::new(self.snapshot(newest)));
                wire(&SessionSubscribeResult { events: None, snapshot })
            }
            Wanted::Read(command) => self.read(*command, with),
        }
    }

    /// Answers from what was read, as whoever writes it would, with counts as exact as there.
    fn read(&self, command: Command, With { layers, counter }: &With<'_>) -> Result<Value, ProtocolError> {
        let settings = self.session.settings().clone();
        let mut session =
            Session::new(opening(self.stored.clone(), settings, self.session.stream().to_owned()), *counter);
        let now = now();
        let around = Around { now, stamp: &convert::iso(now), counter: *counter };
        let effects = session.step(Input::Command(NOBODY, command), around);
        let said = effects.into_iter().find_map(|effect| match effect {
            Effect::Reply(_, answer) => Some(*answer),
            _ => None,
        });
        let unanswered = || {
            let message = "this cannot be said of a session that another process writes; nothing was changed";
            ProtocolError::new(ErrorData::InternalError {}, message)
        };
        wire_session::answer(&session, layers, true, Asked::default(), said.ok_or_else(unanswered)?)
    }
}

/// Whether a session that is followed can answer this: what was said in it and what a prompt of it is made of.
const fn only_reads(command: &Command) -> bool {
    matches!(command, Command::Inspect | Command::Recall(_) | Command::Ledger(_))
}

/// A session that was read from its store.
fn opening(stored: Stored, settings: Settings, stream: String) -> Begin {
    Begin {
        head: stored.head.clone(),
        settings,
        stored: Some(stored),
        stream,
        // What sessions share is theirs who write them.
        scope: Scope::default(),
        approvals: Vec::new(),
        memories: Vec::new(),
    }
}

impl MainLoop {
    /// Whether a session is followed here.
    pub fn is_followed(&self, id: &SessionId) -> bool {
        self.follows.followers.contains_key(id)
    }

    /// Whether this request waits for the first sight of a session that is followed.
    pub fn is_awaited_by_follower(&self, id: &SessionId, to: ReplyTo) -> bool {
        let follower = self.follows.followers.get(id);
        follower.is_some_and(|follower| follower.waiting.iter().any(|(waiting, _)| *waiting == to))
    }

    /// Does what is asked of a session that is followed and not on its way in.
    pub fn hand_followed(&mut self, id: &SessionId, item: Queued) {
        match item {
            Queued::Command(to, command) => match *command {
                Command::Subscribe { since, newest } => self.show(id, to, Wanted::Subscribe(since, newest)),
                command if only_reads(&command) => self.show(id, to, Wanted::Read(Box::new(command))),
                command => self.open_slot(id, Opening::of(Queued::Command(to, Box::new(command)))),
            },
            Queued::Close(to) => {
                self.stop_following(id);
                self.answer(to, wire(&SessionCloseResult {}));
            }
            item => self.open_slot(id, Opening::of(item)),
        }
    }

    /// Another process writes this session. Whoever can do with reading it follows it; the others are told.
    pub fn held(&mut self, id: &SessionId, opening: Opening, error: &StoreError) {
        let refusal = stores::error(error);
        let Some(name) = opening.asked.last().cloned() else {
            return self.refuse(id, &opening.queue, &refusal);
        };
        let mut queue = opening.queue.into_iter();
        while let Some(item) = queue.next() {
            match item {
                // It was asked when the store had been asked already, and what stands behind it waits for it.
                Queued::TakeOver(..) => {
                    self.hand(id, item);
                    return queue.for_each(|item| self.hand(id, item));
                }
                // Whoever holds it looks itself how its tasks stand, and runs it where it is one.
                Queued::Task | Queued::Close(NOBODY) => {}
                Queued::Command(NOBODY, _) => {
                    tracing::info!(session = %id, "held elsewhere; nothing was told")
                }
                Queued::Command(to, command) => match *command {
                    Command::Subscribe { since, newest } => {
                        let wanted = Wanted::Subscribe(since, newest);
                        self.follow(id, &name, (to, wanted), &refusal);
                    }
                    command if only_reads(&command) && self.is_followed(id) => {
                        self.show(id, to, Wanted::Read(Box::new(command)));
                    }
                    _ => self.answer(to, Err(refusal.clone())),
                },
                Queued::Open(to, opens) if opens.follow => {
                    self.follow(id, &name, (to, Wanted::Open(opens.newest())), &refusal);
                }
                Queued::Close(to) if self.is_followed(id) => {
                    self.hand_followed(id, Queued::Close(to));
                }
                item => self.answer(item.to(), Err(refusal.clone())),
            }
        }
    }

    /// Follows a session of this store, and shows it to who asked.
    fn follow(&mut self, id: &SessionId, store: &str, asked: (ReplyTo, Wanted), refusal: &ProtocolError) {
        if let Some(follower) = self.follows.followers.get_mut(id) {
            return match follower.seen {
                Some(_) => self.show(id, asked.0, asked.1),
                None => follower.waiting.push(asked),
            };
        }
        self.stores.remember(id, store.to_owned());
        self.begin_to_follow(id, store, vec![asked], refusal.clone());
    }

    fn begin_to_follow(
        &mut self,
        id: &SessionId,
        store: &str,
        waiting: Vec<(ReplyTo, Wanted)>,
        refusal: ProtocolError,
    ) {
        let follower = Follower { store: store.to_owned(), waiting, refusal, seen: None };
        self.follows.followers.insert(id.clone(), follower);
        self.read_first(store, id);
        self.watch(store);
    }

    /// Answers who wants to see a session that is followed.
    fn show(&mut self, id: &SessionId, to: ReplyTo, wanted: Wanted) {
        let Some(follower) = self.follows.followers.get_mut(id) else { return };
        match &follower.seen {
            Some(seen) => {
                let with = With { layers: &self.layers, counter: &*self.counter };
                let value = seen.answer(wanted, &with);
                self.answer(to, value);
            }
            None => follower.waiting.push((to, wanted)),
        }
    }

    /// A session that is followed as it stands.
    pub fn followed_snapshot(&self, id: &SessionId) -> Option<Snapshot> {
        Some(self.follows.followers.get(id)?.seen.as_ref()?.snapshot(None))
    }

    /// A session that was followed is written here from now on: what its last process left open is ended, and the client
    /// gets it whole, in a new stream.
    pub fn go_on_here(&mut self, id: &SessionId) {
        if self.stop_following(id) {
            self.delivery.owe(id);
            // Nobody waits for this one's answer.
            self.run_input(id, Input::Command(ReplyTo(u64::MAX), Command::Open(Box::<Open>::default())));
        }
    }

    /// Follows a session no longer. Whether it was followed.
    pub fn stop_following(&mut self, id: &SessionId) -> bool {
        let Some(follower) = self.follows.followers.remove(id) else { return false };
        for (to, _) in follower.waiting {
            self.answer(to, Err(follower.refusal.clone()));
        }
        self.stop_looking_at(&follower.store);
        true
    }

    /// A session is gone, and it was told.
    pub fn forget(&mut self, id: &SessionId) {
        self.stop_following(id);
        self.follows
            .watched
            .values_mut()
            .filter_map(|w| w.newest.as_mut())
            .for_each(|newest| newest.forget(id));
    }

    /// What became of a session that is followed.
    fn took_news(&mut self, id: &SessionId, news: Result<Option<News>, StoreError>) {
        let Some(follower) = self.follows.followers.get_mut(id) else { return };
        let is_new = follower.seen.is_none();
        match news {
            Ok(Some(news)) => {
                if let Err(error) = self.take_in(id, news)
                    && is_new
                {
                    self.fail_follower(id, &error);
                }
            }
            // Whoever holds it has not written it yet: they hear that it is held.
            Ok(None) if is_new && !follower.waiting.is_empty() => drop(self.stop_following(id)),
            Ok(None) => {
                self.forget(id);
                let deleted = vec![id.as_str().to_owned()];
                self.tell_sessions(SessionsChangedParams { deleted, ..SessionsChangedParams::default() });
            }
            Err(error) if is_new => self.fail_follower(id, &stores::error(&error)),
            Err(error) => {
                tracing::debug!(session = %id, %error, "a session could not be read; it is tried again")
            }
        }
    }

    fn fail_follower(&mut self, id: &SessionId, error: &ProtocolError) {
        let Some(follower) = self.follows.followers.get_mut(id) else { return };
        for (to, ..) in std::mem::take(&mut follower.waiting) {
            self.answer(to, Err(error.clone()));
        }
        self.stop_following(id);
    }

    /// Takes in what was read, and tells it.
    fn take_in(&mut self, id: &SessionId, news: News) -> Result<(), ProtocolError> {
        let News { mark, holder, change } = news;
        let Some(follower) = self.follows.followers.get_mut(id) else { return Ok(()) };
        let (known, stream) = match follower.seen.take() {
            Some(seen) => {
                if change.is_none() && seen.shown.holder == holder {
                    follower.seen = Some(seen);
                    return Ok(());
                }
                let stream = seen.session.stream().to_owned();
                (Some(seen), stream)
            }
            None => (None, Uuid::now_v7().simple().to_string()),
        };
        let (from, added, stored) = match (&known, change) {
            (_, Some(Change { from, mut stored })) => {
                let added = stored.messages.clone();
                if let Some(known) = &known {
                    let kept = known.stored.messages.iter().filter(|(_, message)| message.ord < from);
                    stored.messages = kept.cloned().chain(stored.messages).collect();
                }
                (from.index(), added, stored)
            }
            (Some(known), None) => (known.stored.messages.len(), Vec::new(), known.stored.clone()),
            (None, None) => return Ok(()),
        };
        let own = own_settings(&stored.head.settings);
        let settings = match self.layers.effective(&stored.head.workspace, &own) {
            Ok(settings) => settings,
            Err(error) => match &known {
                Some(known) => known.session.settings().clone(),
                None => return Err(error),
            },
        };
        // Nothing is counted of a session that is only shown.
        let session = Session::new(opening(stored.clone(), settings, stream), &QuarterOfChars);
        let shown = Shown::of(&session, holder);
        let mut seen = Seen { mark, stored, session, seq: 0, shown };
        let Some(follower) = self.follows.followers.get_mut(id) else { return Ok(()) };
        let Some(known) = known else {
            let waiting = std::mem::take(&mut follower.waiting);
            let with = With { layers: &self.layers, counter: &*self.counter };
            let answers: Vec<_> =
                waiting.into_iter().map(|(to, wanted)| (to, seen.answer(wanted, &with))).collect();
            follower.seen = Some(seen);
            answers.into_iter().for_each(|(to, value)| self.answer(to, value));
            // Who had it open gets it whole.
            self.catch_up(id);
            return Ok(());
        };
        let events = known.shown.until(&seen.shown, from, &added);
        seen.seq = known.seq + events.as_ref().map_or(1, |events| events.len() as u64);
        let events = events.map(|events| {
            let each = events.into_iter().zip(known.seq + 1..);
            let each = each.map(|(body, seq)| wire_event::event(&seen.session, &event::Event { seq, body }));
            each.collect::<Vec<_>>()
        });
        follower.seen = Some(seen);
        match events {
            _ if self.delivery.keeps_back(id, &self.outgoing, &self.inbox) => {}
            Some(events) => {
                for event in events {
                    self.outgoing.notification(methods::SessionEventSent::NAME, &event);
                }
            }
            None => {
                if let Some(snapshot) = self.followed_snapshot(id) {
                    self.tell_snapshot(snapshot);
                }
            }
        }
        Ok(())
    }
}
