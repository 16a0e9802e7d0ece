//! Sessions that another process writes and that are shown here. Each is read from its store without a lease:
//! the store is polled a few times a second for commits, and only what is new is read. `changes` derives the
//! events, `lists` the changes of the session list. Commands on such a session ask for its lease as usual:
//! once the other process has ended, the session goes on here.

mod changes;
mod lists;
mod looking;
mod pieces;
mod seen;
mod wanted;

pub(super) use looking::StoreAnswer;
pub(super) use seen::opening;

use super::client::Client;
use super::client::replies::{NOBODY, Replies};
use super::given::own_settings;
use super::host::queued::Queued;
use super::host::sessions::Sessions;
use super::mailbox::Mailbox;
use super::settings::Layers;
use super::stores::{self, Stores};
use super::wire::to_json;
use changes::Shown;
use engine::id::SessionId;
use engine::tokens::{QuarterOfChars, TokenCount};
use looking::PolledStore;
use pieces::AnswerPieces;
use protocol::error::ProtocolError;
use protocol::event::SessionsChangedParams;
use protocol::session::SessionCloseResult;
use protocol::snapshot::Snapshot;
use seen::{AnswerContext, FollowedSession};
use session::Session;
use session::input::{Command, ReplyTo};
use std::collections::{BTreeMap, VecDeque};
use store::error::StoreError;
use store::follow::{Change, FollowState};
use tokio::task::AbortHandle;
use uuid::Uuid;
use wanted::{Wanted, only_reads};

/// Followed sessions, and the stores polled for them.
pub(super) struct Follows {
    mailbox: Mailbox<FollowEvent>,
    followers: BTreeMap<SessionId, Follower>,
    /// Polled stores, by name.
    watched: BTreeMap<String, PolledStore>,
    /// Triggers looks; `None` while there is nothing to look for.
    clock: Option<AbortHandle>,
    looks: u64,
}

/// An event for followed sessions.
pub(super) enum FollowEvent {
    /// The clock ticked: stores may have news.
    Look,
    /// A store answered.
    StoreAnswer(StoreAnswer),
}

/// The components that following needs beside its own state.
pub(super) struct FollowContext<'a> {
    pub client: &'a mut Client,
    pub replies: &'a mut Replies,
    pub stores: &'a mut Stores,
    pub layers: &'a Layers,
    pub counter: &'a dyn TokenCount,
    pub sessions: &'a Sessions,
    /// `true` if tasks may be waiting, or end in another process.
    pub has_tasks: bool,
}

/// A followed session.
struct Follower {
    /// The name of its store.
    store: String,
    /// Requests that wait for the first read.
    waiting: Vec<(ReplyTo, Wanted)>,
    /// Their answer if following stops before it.
    refusal: ProtocolError,
    /// `None` before the first read.
    seen: Option<FollowedSession>,
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

    /// `true` if this request waits for the first read of a followed session.
    pub fn is_awaited(&self, id: &SessionId, to: ReplyTo) -> bool {
        let follower = self.followers.get(id);
        follower.is_some_and(|follower| follower.waiting.iter().any(|(waiting, _)| *waiting == to))
    }

    /// Handles a request for a followed session. Gives back one that needs the lease.
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
                context.replies.answer(context.client, to, to_json(&SessionCloseResult {}));
            }
            item => return Some(item),
        }
        None
    }

    /// Handles the queue of a session whose lease another process holds: requests that only read follow the
    /// session, others get `refusal`. Returns a takeover, which is asked anew, and all items behind it.
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
                // The lease holder looks after its tasks itself.
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

    /// Follows a session of this store, and answers the request once it is read.
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

    /// Follows a session from now on whose lease was lost.
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

    /// Answers a request for a followed session, now or after the first read.
    fn show(&mut self, context: &mut FollowContext<'_>, id: &SessionId, to: ReplyTo, wanted: Wanted) {
        let Some(follower) = self.followers.get_mut(id) else { return };
        match &follower.seen {
            Some(seen) => {
                let with = AnswerContext { layers: context.layers, counter: context.counter };
                let value = seen.answer(wanted, &with);
                context.replies.answer(context.client, to, value);
            }
            None => follower.waiting.push((to, wanted)),
        }
    }

    /// Snapshot of a followed session; `None` before the first read.
    pub fn snapshot(&self, id: &SessionId) -> Option<Snapshot> {
        Some(self.followers.get(id)?.seen.as_ref()?.snapshot(None))
    }

    /// Stops following a session. Returns `false` if it was not followed.
    pub fn stop(&mut self, context: &mut FollowContext<'_>, id: &SessionId) -> bool {
        let Some(follower) = self.followers.remove(id) else { return false };
        for (to, _) in follower.waiting {
            context.replies.answer(context.client, to, Err(follower.refusal.clone()));
        }
        self.stop_looking_at(&follower.store, context);
        true
    }

    /// Forgets a deleted session whose deletion was reported.
    pub fn forget(&mut self, context: &mut FollowContext<'_>, id: &SessionId) {
        self.stop(context, id);
        self.watched.values_mut().for_each(|watched| watched.forget(id));
    }

    /// Handles what a store read of a followed session.
    fn take_news(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        news: Result<Option<FollowState>, StoreError>,
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
            // Its holder has not stored it yet: waiting requests get the refusal.
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

    /// Applies what was read, and sends the events.
    fn take_in(
        &mut self,
        context: &mut FollowContext<'_>,
        id: &SessionId,
        news: FollowState,
    ) -> Result<(), ProtocolError> {
        let FollowState { mark, holder, change, streamed } = news;
        let Some(follower) = self.followers.get_mut(id) else { return Ok(()) };
        let (known, stream) = match follower.seen.take() {
            Some(mut seen) => {
                if change.is_none() && seen.shown().holder == holder {
                    let events = seen.goes_on(mark, streamed);
                    if !context.client.holds_back(id) {
                        events.iter().for_each(|event| context.client.send_event(event));
                    }
                    follower.seen = Some(seen);
                    return Ok(());
                }
                let stream = seen.session().stream().to_owned();
                (Some(seen), stream)
            }
            None => (None, Uuid::now_v7().simple().to_string()),
        };
        // Without a change only new pieces were read.
        let pieces = match (&known, &change) {
            (Some(known), None) => known.pieces().with(streamed),
            _ => AnswerPieces::new(streamed),
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
        // A session that is only shown needs no exact counts.
        let session = Session::new(seen::opening(stored.clone(), settings, stream), &QuarterOfChars);
        let shown = Shown::of(&session, holder);
        let mut seen = FollowedSession::new(mark, stored, session, shown, pieces);
        let Some(follower) = self.followers.get_mut(id) else { return Ok(()) };
        let Some(known) = known else {
            let waiting = std::mem::take(&mut follower.waiting);
            let with = AnswerContext { layers: context.layers, counter: context.counter };
            let answers: Vec<_> =
                waiting.into_iter().map(|(to, wanted)| (to, seen.answer(wanted, &with))).collect();
            follower.seen = Some(seen);
            for (to, value) in answers {
                context.replies.answer(context.client, to, value);
            }
            // A client that had it open gets a snapshot.
            if context.client.takes_snapshot(id) {
                context.client.caught_up(id, self.snapshot(id));
            }
            return Ok(());
        };
        let events = seen.events_since(&known, from, &added);
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
