//! Sessions that another process writes and that are shown here. Each is read from its store, without its lease; the
//! store is asked a few times a second whether anything was committed, and only what is new is read. What is told of it
//! is decided in `changes`; what changed in the list of sessions, in `lists`. Commands on such a session ask for its
//! lease as ever: when the other process is gone, the session goes on here.

mod changes;
mod lists;
mod looking;
mod seen;
mod wanted;

pub(super) use looking::Told;

use super::client::Client;
use super::client::replies::{NOBODY, Replies};
use super::given::own_settings;
use super::host::queued::Queued;
use super::host::sessions::Sessions;
use super::mailbox::Mailbox;
use super::settings::Layers;
use super::stores::{self, Stores};
use super::wire::{event as wire_event, to_value};
use changes::Shown;
use engine::id::SessionId;
use engine::tokens::{QuarterOfChars, TokenCount};
use looking::Watched;
use protocol::error::ProtocolError;
use protocol::event::SessionsChangedParams;
use protocol::session::SessionCloseResult;
use protocol::snapshot::Snapshot;
use seen::{Seen, With};
use session::Session;
use session::event;
use session::input::{Command, ReplyTo};
use std::collections::{BTreeMap, VecDeque};
use store::error::StoreError;
use store::follow::{Change, News};
use tokio::task::AbortHandle;
use uuid::Uuid;
use wanted::{Wanted, only_reads};

/// Sessions that are followed, and the stores that are watched for them.
pub(super) struct Follows {
    mailbox: Mailbox<FollowEvent>,
    followers: BTreeMap<SessionId, Follower>,
    /// Stores that are looked at, by their names.
    watched: BTreeMap<String, Watched>,
    /// Says when to look; nothing while there is nothing to look for.
    clock: Option<AbortHandle>,
    looks: u64,
}

/// Something that matters to what is followed.
pub(super) enum FollowEvent {
    /// The clock ticked: stores may have something new.
    Look,
    /// A store said what is new.
    Told(Told),
}

/// The components that following needs beside its own state.
pub(super) struct FollowContext<'a> {
    pub client: &'a mut Client,
    pub replies: &'a mut Replies,
    pub stores: &'a mut Stores,
    pub layers: &'a Layers,
    pub counter: &'a dyn TokenCount,
    pub sessions: &'a Sessions,
    /// True if tasks may wait, or end elsewhere.
    pub has_tasks: bool,
}

/// A session that is followed.
struct Follower {
    /// The name of its store.
    store: String,
    /// Requests that came before it was read.
    waiting: Vec<(ReplyTo, Wanted)>,
    /// Their answer where it cannot be read.
    refusal: ProtocolError,
    /// Nothing until it was read for the first time.
    seen: Option<Seen>,
}

impl Drop for Follows {
    fn drop(&mut self) {
        if let Some(clock) = self.clock.take() {
            clock.abort();
        }
    }
}

impl Follows {
    pub fn new(mailbox: Mailbox<FollowEvent>) -> Self {
        let (followers, watched) = (BTreeMap::new(), BTreeMap::new());
        Self { mailbox, followers, watched, clock: None, looks: 0 }
    }

    pub fn has(&self, id: &SessionId) -> bool {
        self.followers.contains_key(id)
    }

    /// Returns whether this request waits for the first sight of a session that is followed.
    pub fn is_awaited(&self, id: &SessionId, to: ReplyTo) -> bool {
        let follower = self.followers.get(id);
        follower.is_some_and(|follower| follower.waiting.iter().any(|(waiting, _)| *waiting == to))
    }

    /// Does what is asked of a session that is followed. Gives back what needs its lease.
    pub fn hand(&mut self, context: &mut FollowContext<'_>, id: &SessionId, item: Queued) -> Option<Queued> {
        match item {
            Queued::Command(to, command) => match *command {
                Command::Subscribe { since, newest } => {
                    self.show(context, id, to, Wanted::Subscribe(since, newest));
                }
                command if only_reads(&command) => {
                    self.show(context, id, to, Wanted::Read(Box::new(command)));
                }
                command => return Some(Queued::Command(to, Box::new(command))),
            },
            Queued::Close(to) => {
                self.stop(context, id);
                context.replies.answer(context.client, to, to_value(&SessionCloseResult {}));
            }
            item => return Some(item),
        }
        None
    }

    /// Another process writes a session of this store. Whoever can do with reading it follows it, the others are told.
    /// What is asked again, because it was asked when the store had been asked already, and what stands behind it.
    pub fn held(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        store: &str,
        mut queue: VecDeque<Queued>,
        refusal: &ProtocolError,
    ) -> VecDeque<Queued> {
        while let Some(item) = queue.pop_front() {
            match item {
                Queued::TakeOver(..) => {
                    queue.push_front(item);
                    return queue;
                }
                // Whoever holds it looks itself how its tasks stand, and runs it where it is one.
                Queued::Task | Queued::Close(NOBODY) => {}
                Queued::Command(NOBODY, _) => {
                    tracing::info!(session = %id, "held elsewhere; nothing was told")
                }
                Queued::Command(to, command) => match *command {
                    Command::Subscribe { since, newest } => {
                        let wanted = Wanted::Subscribe(since, newest);
                        self.follow(context, id, store, (to, wanted), refusal);
                    }
                    command if only_reads(&command) && self.has(id) => {
                        self.show(context, id, to, Wanted::Read(Box::new(command)));
                    }
                    _ => context.replies.answer(context.client, to, Err(refusal.clone())),
                },
                Queued::Open(to, opens) if opens.follow => {
                    let wanted = Wanted::Open(opens.newest());
                    self.follow(context, id, store, (to, wanted), refusal);
                }
                Queued::Close(to) if self.has(id) => drop(self.hand(context, id, Queued::Close(to))),
                item => context.replies.answer(context.client, item.to(), Err(refusal.clone())),
            }
        }
        queue
    }

    /// Follows a session of this store, and shows it to who asked.
    fn follow(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        store: &str,
        (to, wanted): (ReplyTo, Wanted),
        refusal: &ProtocolError,
    ) {
        if let Some(follower) = self.followers.get_mut(id) {
            return match follower.seen {
                Some(_) => self.show(context, id, to, wanted),
                None => follower.waiting.push((to, wanted)),
            };
        }
        context.stores.remember(id, store.to_owned());
        self.begin(context, id, store, vec![(to, wanted)], refusal.clone());
    }

    /// Follows a session from now on that was written here.
    pub fn follow_lost(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        store: &str,
        refusal: ProtocolError,
    ) {
        self.begin(context, id, store, Vec::new(), refusal);
    }

    fn begin(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        store: &str,
        waiting: Vec<(ReplyTo, Wanted)>,
        refusal: ProtocolError,
    ) {
        let follower = Follower { store: store.to_owned(), waiting, refusal, seen: None };
        self.followers.insert(id.clone(), follower);
        self.read_first(context, store, id);
        self.watch(store);
    }

    /// Answers who wants to see a session that is followed.
    fn show(&mut self, context: &mut FollowContext<'_>, id: &SessionId, to: ReplyTo, wanted: Wanted) {
        let Some(follower) = self.followers.get_mut(id) else { return };
        match &follower.seen {
            Some(seen) => {
                let with = With { layers: context.layers, counter: context.counter };
                let value = seen.answer(wanted, &with);
                context.replies.answer(context.client, to, value);
            }
            None => follower.waiting.push((to, wanted)),
        }
    }

    /// A session that is followed as it stands.
    pub fn snapshot(&self, id: &SessionId) -> Option<Snapshot> {
        Some(self.followers.get(id)?.seen.as_ref()?.snapshot(None))
    }

    /// Follows a session no longer. Whether it was followed.
    pub fn stop(&mut self, context: &mut FollowContext<'_>, id: &SessionId) -> bool {
        let Some(follower) = self.followers.remove(id) else { return false };
        for (to, _) in follower.waiting {
            context.replies.answer(context.client, to, Err(follower.refusal.clone()));
        }
        self.stop_looking_at(&follower.store, context);
        true
    }

    /// A session is gone, and it was told.
    pub fn forget(&mut self, context: &mut FollowContext<'_>, id: &SessionId) {
        self.stop(context, id);
        self.watched.values_mut().for_each(|watched| watched.forget(id));
    }

    /// Takes what a store read of a session that is followed.
    fn take_news(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        news: Result<Option<News>, StoreError>,
    ) {
        let Some(follower) = self.followers.get_mut(id) else { return };
        let is_new = follower.seen.is_none();
        match news {
            Ok(Some(news)) => {
                if let Err(error) = self.take_in(context, id, news)
                    && is_new
                {
                    self.fail(context, id, &error);
                }
            }
            // Whoever holds it has not written it yet: they hear that it is held.
            Ok(None) if is_new && !follower.waiting.is_empty() => drop(self.stop(context, id)),
            Ok(None) => {
                self.forget(context, id);
                let deleted = vec![id.as_str().to_owned()];
                let changed = SessionsChangedParams { deleted, ..SessionsChangedParams::default() };
                context.client.sessions_changed(changed);
            }
            Err(error) if is_new => self.fail(context, id, &stores::error(&error)),
            Err(error) => {
                tracing::debug!(session = %id, %error, "a session could not be read; it is tried again")
            }
        }
    }

    fn fail(&mut self, context: &mut FollowContext<'_>, id: &SessionId, error: &ProtocolError) {
        let Some(follower) = self.followers.get_mut(id) else { return };
        for (to, ..) in std::mem::take(&mut follower.waiting) {
            context.replies.answer(context.client, to, Err(error.clone()));
        }
        self.stop(context, id);
    }

    /// Takes in what was read, and tells it.
    fn take_in(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        news: News,
    ) -> Result<(), ProtocolError> {
        let News { mark, holder, change } = news;
        let Some(follower) = self.followers.get_mut(id) else { return Ok(()) };
        let (known, stream) = match follower.seen.take() {
            Some(seen) => {
                if change.is_none() && seen.shown().holder == holder {
                    follower.seen = Some(seen);
                    return Ok(());
                }
                let stream = seen.session().stream().to_owned();
                (Some(seen), stream)
            }
            None => (None, Uuid::now_v7().simple().to_string()),
        };
        let (from, added, stored) = match (&known, change) {
            (_, Some(Change { from, mut stored })) => {
                let added = stored.messages.clone();
                if let Some(known) = &known {
                    let kept = known.stored().messages.iter().filter(|(_, message)| message.ord < from);
                    stored.messages = kept.cloned().chain(stored.messages).collect();
                }
                (from.index(), added, stored)
            }
            (Some(known), None) => (known.stored().messages.len(), Vec::new(), known.stored().clone()),
            (None, None) => return Ok(()),
        };
        let own = own_settings(&stored.head.settings);
        let settings = match context.layers.effective(&stored.head.workspace, &own) {
            Ok(settings) => settings,
            Err(error) => match &known {
                Some(known) => known.session().settings().clone(),
                None => return Err(error),
            },
        };
        // Nothing is counted of a session that is only shown.
        let session = Session::new(seen::opening(stored.clone(), settings, stream), &QuarterOfChars);
        let shown = Shown::of(&session, holder);
        let mut seen = Seen::new(mark, stored, session, shown);
        let Some(follower) = self.followers.get_mut(id) else { return Ok(()) };
        let Some(known) = known else {
            let waiting = std::mem::take(&mut follower.waiting);
            let with = With { layers: context.layers, counter: context.counter };
            let answers: Vec<_> =
                waiting.into_iter().map(|(to, wanted)| (to, seen.answer(wanted, &with))).collect();
            follower.seen = Some(seen);
            for (to, value) in answers {
                context.replies.answer(context.client, to, value);
            }
            // Who had it open gets it whole.
            if context.client.takes_snapshot(id) {
                context.client.caught_up(id, self.snapshot(id));
            }
            return Ok(());
        };
        let events = known.shown().until(seen.shown(), from, &added);
        seen.follows(&known, events.as_ref().map_or(1, |events| events.len() as u64));
        let events = events.map(|events| {
            let each = events.into_iter().zip(known.seq() + 1..);
            let each = each.map(|(body, seq)| wire_event::event(seen.session(), &event::Event { seq, body }));
            each.collect::<Vec<_>>()
        });
        follower.seen = Some(seen);
        match events {
            _ if context.client.holds_back(id) => {}
            Some(events) => {
                for event in events {
                    context.client.send_event(&event);
                }
            }
            None => {
                if let Some(snapshot) = self.snapshot(id) {
                    context.client.snapshot(snapshot);
                }
            }
        }
        Ok(())
    }
}
