//! Looking whether other processes wrote something: a few times a second, only while a session is open or followed, a client
//! has a list or tasks may wait, and with one cheap question to each store. What is told of it is decided beside here.

use super::lists::{self, Newest};
use super::{FollowContext, FollowEvent, Follower, Follows};
use crate::server::stores;
use crate::server::wire::listed;
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::event::SessionsChangedParams;
use std::time::Duration;
use store::error::StoreError;
use store::follow::{Mark, News};
use store::list::{Page, SessionRow};

/// How often a store is asked whether anything was committed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);
/// Every so many looks it is also looked whether the writers live, which no commit tells, and at lists.
const SLOW: u64 = 4;
/// Every so many slow looks it is tried again to store what could not be stored.
const BETWEEN_TRIES: u64 = 5;

/// A store that is looked at.
#[derive(Default)]
pub(super) struct Watched {
    pulse: Option<u64>,
    /// True if it was asked and has not answered.
    is_asked: bool,
    /// True if a client asked for a list of it.
    is_listed: bool,
    newest: Option<Newest>,
}

impl Watched {
    /// A session is gone, and it was told.
    pub fn forget(&mut self, id: &SessionId) {
        if let Some(newest) = &mut self.newest {
            newest.forget(id);
        }
    }
}

/// What a store said.
pub(in crate::server) struct Told {
    store: String,
    /// True if it was a look at the whole store.
    is_look: bool,
    found: Result<Found, StoreError>,
}

/// What is asked of a store.
#[derive(Default)]
struct Question {
    /// Sessions that are followed, each with how far it is read.
    wanted: Vec<(SessionId, Option<Mark>)>,
    /// The pulse at which all of it was seen: then there is nothing to read.
    since: Option<u64>,
    /// True if the sessions are looked at whatever the pulse is: that a writer is gone no commit tells.
    is_thorough: bool,
    /// True if its newest sessions are wanted.
    has_list: bool,
}

struct Found {
    pulse: u64,
    news: Vec<(SessionId, Result<Option<News>, StoreError>)>,
    page: Option<Page>,
}

impl Found {
    /// Returns whether all was read that may have changed.
    fn is_whole(&self, is_listed: bool) -> bool {
        self.news.iter().all(|(_, news)| news.is_ok()) && (self.page.is_some() || !is_listed)
    }
}

/// What is due at a look, beside what is followed.
#[derive(Default)]
pub(in crate::server) struct Due {
    /// Tasks are looked for.
    pub tasks: bool,
    /// It is looked whether what is written here is still ours, whether files changed, and whether there is anything
    /// to look for.
    pub slow: bool,
    /// What could not be stored is tried again.
    pub tries: bool,
}

impl Follows {
    /// A client has a list of this store: it is told of what other processes change in it.
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

    /// Has the router told when to look.
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

    /// Looks at a store no longer where nobody needs it.
    pub(super) fn stop_looking_at(&mut self, store: &str, context: &FollowContext<'_>) {
        let is_used = self.followers.values().any(|follower| follower.store == store);
        if !is_used && self.watched.get(store).is_some_and(|watched| !watched.is_listed) {
            self.watched.remove(store);
        }
        self.rest_if_done(context);
    }

    /// Stops the clock where there is nothing to look for.
    pub fn rest_if_done(&mut self, context: &FollowContext<'_>) {
        if self.watched.is_empty()
            && !context.has_tasks
            && !context.sessions.any_stored()
            && let Some(clock) = self.clock.take()
        {
            clock.abort();
        }
    }

    /// It is time to look: what is due.
    pub fn tick(&mut self) -> Due {
        self.looks += 1;
        Due {
            // The first look is one at tasks.
            tasks: self.looks % SLOW == 1,
            slow: self.looks.is_multiple_of(SLOW),
            tries: self.looks.is_multiple_of(SLOW * BETWEEN_TRIES),
        }
    }

    /// Asks the stores that are watched for what is new.
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
            self.ask_news(context, &name, Question { wanted, since, is_thorough: is_slow, has_list });
        }
    }

    /// Has a store read a session for the first time.
    pub(super) fn read_first(&mut self, context: &mut FollowContext<'_>, name: &str, id: &SessionId) {
        let wanted = vec![(id.clone(), None)];
        self.ask_news(context, name, Question { wanted, is_thorough: true, ..Question::default() });
    }

    fn ask_news(&mut self, context: &mut FollowContext<'_>, name: &str, question: Question) {
        let store = match context.stores.of(Some(name)) {
            Ok(store) => store,
            // Nothing will be read: who waits for the first sight of a session hears of it.
            Err(error) => return self.unread(context, name, &error),
        };
        let Question { wanted, since, is_thorough, has_list } = question;
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
                let page = (has_list && !is_same).then(|| store.list(&lists::newest())).transpose()?;
                Ok(Found { pulse, news, page })
            },
            move |found| mailbox.send(FollowEvent::Told(Told { store: store_name, is_look, found })),
        );
    }

    /// A store said what is new. What is open here was told when it changed: of that only followers hear.
    pub fn told(&mut self, context: &mut FollowContext<'_>, told: Told) {
        let Told { store, is_look, found } = told;
        if is_look && let Some(watched) = self.watched.get_mut(&store) {
            watched.is_asked = false;
            match &found {
                // Only a pulse of which nothing was left out needs no second look.
                Ok(found) if found.is_whole(watched.is_listed) => watched.pulse = Some(found.pulse),
                Ok(_) | Err(StoreError::Locked { .. }) => {}
                // A store that cannot be opened is not tried again and again for a list's sake.
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

    /// A store could not be read. Those who wait for the first sight of a session hear of it.
    fn unread(&mut self, context: &mut FollowContext<'_>, store: &str, error: &ProtocolError) {
        let is_unseen = |follower: &Follower| follower.store == store && follower.seen.is_none();
        let unseen = self.followers.iter().filter(|(_, follower)| is_unseen(follower));
        let ids: Vec<SessionId> = unseen.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.fail(context, &id, error);
        }
    }

    /// Tells what other processes changed in the list of sessions.
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
