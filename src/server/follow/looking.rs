//! Polls stores for writes of other processes: a few times a second, only while a session is open or
//! followed, a client has a list or tasks may wait, and with one cheap query per store. `follow` and `lists`
//! decide what to report.

use super::lists::{self, Newest};
use super::{FollowContext, FollowEvent, Follower, Follows};
use crate::server::stores;
use crate::server::wire::listed;
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::event::SessionsChangedParams;
use std::time::Duration;
use store::error::StoreError;
use store::follow::{FollowState, Mark};
use store::list::{Page, SessionRow};

/// Interval between looks at a store.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// Every so many looks is slow: it also checks lists, and whether writers live, which no commit shows.
const SLOW: u64 = 4;
/// Every so many slow looks, failed writes are retried.
const BETWEEN_TRIES: u64 = 5;

/// A polled store.
#[derive(Default)]
pub(super) struct PolledStore {
    pulse: Option<u64>,
    /// `true` while a look is unanswered.
    is_asked: bool,
    /// `true` if a client asked for a list of it.
    is_listed: bool,
    newest: Option<Newest>,
}

impl PolledStore {
    /// Forgets a deleted session whose deletion was reported.
    pub fn forget(&mut self, id: &SessionId) {
        if let Some(newest) = &mut self.newest {
            newest.forget(id);
        }
    }
}

/// A store's answer.
pub(in crate::server) struct StoreAnswer {
    store: String,
    /// `true` for a look, `false` for the first read of a session.
    is_look: bool,
    found: Result<Found, StoreError>,
}

/// A query to a store.
#[derive(Default)]
struct Question {
    /// Followed sessions, each with the position up to which it was read.
    wanted: Vec<(SessionId, Option<Mark>)>,
    /// The pulse at which everything was read: if it is the same, nothing is.
    since: Option<u64>,
    /// `true` to read sessions at any pulse: no commit shows that a writer died.
    is_thorough: bool,
    /// `true` to list the newest sessions.
    has_list: bool,
    /// `true` to list them at any pulse: one of another process is at work, and no commit shows that its writer died.
    has_work: bool,
}

struct Found {
    pulse: u64,
    news: Vec<(SessionId, Result<Option<FollowState>, StoreError>)>,
    page: Option<Page>,
}

impl Found {
    /// `true` if everything that may have changed was read.
    fn is_whole(&self, is_listed: bool) -> bool {
        self.news.iter().all(|(_, news)| news.is_ok()) && (self.page.is_some() || !is_listed)
    }
}

/// Work due at a look, besides followed sessions.
#[derive(Default)]
pub(in crate::server) struct Due {
    /// Look for tasks.
    pub tasks: bool,
    /// Check leases and files of open sessions, and whether there is still anything to look for.
    pub slow: bool,
    /// Retry failed writes.
    pub tries: bool,
}

impl Follows {
    /// Reports other processes' changes of a store's session list from now on.
    pub fn watch_list(&mut self, context: &mut FollowContext<'_>, store: &str) {
        self.watch(store);
        let Some(watched) = self.watched.get_mut(store) else { return };
        if !watched.is_listed {
            watched.is_listed = true;
            watched.is_asked = true;
            self.ask_news(context, store, Question { has_list: true, ..Question::default() });
        }
    }

    pub(super) fn watch(&mut self, store: &str) {
        self.watched.entry(store.to_owned()).or_default();
        self.start_looking();
    }

    /// Starts the clock that triggers looks.
    pub fn start_looking(&mut self) {
        if self.clock.is_none() {
            let mailbox = self.mailbox.clone();
            let clock = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                    mailbox.send(FollowEvent::Look);
                }
            });
            self.clock = Some(clock.abort_handle());
        }
    }

    /// Stops polling a store that nothing needs.
    pub(super) fn stop_looking_at(&mut self, store: &str, context: &FollowContext<'_>) {
        let is_used = self.followers.values().any(|follower| follower.store == store);
        if !is_used && self.watched.get(store).is_some_and(|watched| !watched.is_listed) {
            self.watched.remove(store);
        }
        self.rest_if_done(context);
    }

    /// Stops the clock if there is nothing to look for.
    pub fn rest_if_done(&mut self, context: &FollowContext<'_>) {
        if self.watched.is_empty()
            && !context.has_tasks
            && !context.sessions.any_stored()
            && let Some(clock) = self.clock.take()
        {
            clock.abort();
        }
    }

    /// Counts a look. Returns the work that is due.
    pub fn tick(&mut self) -> Due {
        self.looks += 1;
        Due {
            // The first look includes tasks.
            tasks: self.looks % SLOW == 1,
            slow: self.looks.is_multiple_of(SLOW),
            tries: self.looks.is_multiple_of(SLOW * BETWEEN_TRIES),
        }
    }

    /// Asks the polled stores for news.
    pub fn look(&mut self, context: &mut FollowContext<'_>, is_slow: bool) {
        let names: Vec<String> = self.watched.keys().cloned().collect();
        for name in names {
            let of_store = |(id, follower): (&SessionId, &Follower)| {
                let mark = follower.seen.as_ref()?.mark();
                (follower.store == name).then(|| (id.clone(), Some(mark)))
            };
            let wanted: Vec<_> = self.followers.iter().filter_map(of_store).collect();
            let Some(watched) = self.watched.get_mut(&name) else { continue };
            // Lists are looked at less often.
            if watched.is_asked || wanted.is_empty() && !is_slow {
                continue;
            }
            watched.is_asked = true;
            let (since, has_list) = (watched.pulse, watched.is_listed && is_slow);
            let is_others = |id: &SessionId| context.sessions.host(id).is_none();
            let has_work = watched.newest.as_ref().is_some_and(|newest| newest.has_work(is_others));
            self.ask_news(
                context,
                &name,
                Question { wanted, since, is_thorough: is_slow, has_list, has_work },
            );
        }
    }

    /// Asks a store to read a session for the first time.
    pub(super) fn read_first(&mut self, context: &mut FollowContext<'_>, name: &str, id: &SessionId) {
        let wanted = vec![(id.clone(), None)];
        self.ask_news(context, name, Question { wanted, is_thorough: true, ..Question::default() });
    }

    fn ask_news(&mut self, context: &mut FollowContext<'_>, name: &str, question: Question) {
        let store = match context.stores.of(Some(name)) {
            Ok(store) => store,
            // Nothing will be read: requests that wait for the first read fail.
            Err(error) => return self.unread(context, name, &error),
        };
        let Question { wanted, since, is_thorough, has_list, has_work } = question;
        let is_look = wanted.iter().all(|(_, mark)| mark.is_some());
        let (mailbox, store_name) = (self.mailbox.clone(), name.to_owned());
        store.submit(
            move |store| {
                let pulse = store.pulse()?;
                let is_same = since == Some(pulse);
                let wanted = if is_same && !is_thorough { Vec::new() } else { wanted };
                let read = wanted.into_iter().map(|(id, mark)| {
                    let news = store.follow(&id, mark.as_ref());
                    (id, news)
                });
                let news = read.collect();
                let page =
                    (has_list && (has_work || !is_same)).then(|| store.list(&lists::newest())).transpose()?;
                Ok(Found { pulse, news, page })
            },
            move |found| {
                mailbox.send(FollowEvent::StoreAnswer(StoreAnswer { store: store_name, is_look, found }))
            },
        );
    }

    /// Handles a store's answer. Changes to sessions open here are not reported again in the list.
    pub fn told(&mut self, context: &mut FollowContext<'_>, told: StoreAnswer) {
        let StoreAnswer { store, is_look, found } = told;
        if is_look && let Some(watched) = self.watched.get_mut(&store) {
            watched.is_asked = false;
            match &found {
                // A look may be skipped only if everything was read at this pulse.
                Ok(found) if found.is_whole(watched.is_listed) => watched.pulse = Some(found.pulse),
                Ok(_) | Err(StoreError::Locked { .. }) => {}
                // A store that cannot be opened is not retried for the sake of a list.
                Err(_) => watched.is_listed = false,
            }
        }
        self.stop_looking_at(&store, context);
        match found {
            Ok(Found { news, page, .. }) => {
                if let Some(page) = page {
                    self.tell_newest(context, &store, page);
                }
                for (id, news) in news {
                    self.take_news(context, &id, news);
                }
            }
            Err(error) if is_look => tracing::debug!(%error, "a look at a store failed; it is tried again"),
            Err(error) => self.unread(context, &store, &stores::error(&error)),
        }
    }

    /// Fails the requests that wait for first reads of a store.
    fn unread(&mut self, context: &mut FollowContext<'_>, store: &str, error: &ProtocolError) {
        let is_unseen = |follower: &Follower| follower.store == store && follower.seen.is_none();
        let unseen = self.followers.iter().filter(|(_, follower)| is_unseen(follower));
        let ids: Vec<SessionId> = unseen.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.fail(context, &id, error);
        }
    }

    /// Reports other processes' changes in the list of sessions.
    fn tell_newest(&mut self, context: &mut FollowContext<'_>, store: &str, page: Page) {
        let Some(watched) = self.watched.get_mut(store) else { return };
        let new = Newest::of(page);
        let changed = watched.newest.as_ref().map(|known| known.until(&new)).unwrap_or_default();
        watched.newest = Some(new);
        let is_others = |id: &SessionId| context.sessions.host(id).is_none();
        let listed =
            |rows: &[SessionRow]| rows.iter().filter(|row| is_others(&row.id)).map(listed::row).collect();
        let deleted = changed.deleted.iter().filter(|id| is_others(id)).map(|id| id.as_str().to_owned());
        let changed = SessionsChangedParams {
            created: listed(&changed.created),
            updated: listed(&changed.updated),
            deleted: deleted.collect(),
            ..SessionsChangedParams::default()
        };
        if changed != SessionsChangedParams::default() {
            context.client.sessions_changed(changed);
        }
    }
}
