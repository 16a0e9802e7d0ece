//! A session on its way in: a store was asked for it, and what is asked of it meanwhile waits, in order.

use super::event::{Came, HostEvent};
use super::loading::load;
use crate::server::clock::now;
use crate::server::host::queued::{New, Opens, Queued};
use crate::server::mailbox::Mailbox;
use crate::server::stores::Stores;
use engine::id::SessionId;
use protocol::error::ProtocolError;
use protocol::settings::Settings;
use session::input::ReplyTo;
use session::part::{self, Claims};
use std::collections::VecDeque;
use store::worker::Handle;

/// A session that a store was asked for.
pub(in crate::server) struct Opening {
    /// Items that wait for it, in order.
    queue: VecDeque<Queued>,
    /// The store that was asked last.
    store: Option<Handle>,
    /// The names of all that were asked, that one last.
    asked: Vec<String>,
}

/// An opening whose session is there.
pub(in crate::server) struct Opened {
    /// Items that wait for it, up to its next end.
    pub queue: VecDeque<Queued>,
    /// Items behind that end.
    pub behind: VecDeque<Queued>,
    /// The form of a session that is made.
    pub new: Option<New>,
    /// Settings of its own that are to hold from now on.
    pub settings: Option<Settings>,
    /// The name of its store.
    pub store: Option<String>,
}

impl Opening {
    /// A session that this was asked of.
    pub fn of(item: Queued) -> Self {
        Self { queue: VecDeque::from([item]), store: None, asked: Vec::new() }
    }

    pub fn push(&mut self, item: Queued) {
        self.queue.push_back(item);
    }

    /// Takes back what this request asked.
    pub fn forget(&mut self, to: ReplyTo) {
        self.queue.retain(|item| item.to() != to);
    }

    pub fn holds(&self, to: ReplyTo) -> bool {
        self.queue.iter().any(|item| item.to() == to)
    }

    /// Returns whether all who asked for it took that back.
    pub fn is_unwanted(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns whether it is let go again by what waits.
    pub fn ends(&self) -> bool {
        self.queue.iter().any(Queued::is_end)
    }

    pub fn into_queue(self) -> VecDeque<Queued> {
        self.queue
    }

    pub fn asked_last(&self) -> Option<&String> {
        self.asked.last()
    }

    /// The store to ask now: that of the folder where one is named, else each that may have it. One that nobody has is
    /// made in the client's folder.
    pub fn next_store(&self, id: &SessionId, stores: &Stores) -> Option<String> {
        let last = self.asked.last();
        let other = |name: String| (last != Some(&name)).then_some(name);
        if let Some(folder) = self.folder() {
            return other(stores.name(folder));
        }
        let mut candidates = stores.candidates(id).into_iter();
        let home = || other(stores.name(stores.home()));
        let is_made = self.opens().next().is_some();
        candidates.find(|name| !self.asked.contains(name)).or_else(|| is_made.then(home).flatten())
    }

    /// Asks this store for the session; for all of it where `is_whole`.
    pub fn ask(
        &mut self,
        id: &SessionId,
        stores: &mut Stores,
        name: String,
        is_whole: bool,
        mailbox: Mailbox<HostEvent>,
    ) -> Result<(), ProtocolError> {
        let store = stores.of(Some(&name))?;
        let (asked, session, since) = (id.clone(), id.clone(), now());
        let wanted = self.wanted().filter(|_| !is_whole);
        let scope = self.opens().next().and_then(|opens| opens.new.work_scope.clone());
        let new = (self.folder().unwrap_or(stores.home()).to_owned(), scope);
        let takes_over = self.takes_over();
        store.submit(
            move |store| load(store, &asked, since, takes_over, new, wanted),
            move |loaded| mailbox.send(HostEvent { session, what: Came::Loaded(Box::new(loaded)) }),
        );
        self.store = Some(store);
        self.asked.push(name);
        Ok(())
    }

    /// The store that was asked last.
    pub fn take_store(&mut self) -> Option<Handle> {
        self.store.take()
    }

    /// How many of its newest messages are enough for what is asked first, and what that claims; nothing where it takes
    /// all of them.
    fn wanted(&self) -> Option<(u32, Claims)> {
        let command = match self.queue.front()? {
            Queued::Command(_, command) => &**command,
            Queued::Open(_, opens) if opens.settings.is_none() => &opens.command,
            _ => return None,
        };
        Some((part::newest_for(command)?, Claims::of_command(command)))
    }

    /// The folder that is named.
    pub fn folder(&self) -> Option<&str> {
        self.before_end().find_map(|item| match item {
            Queued::Open(_, opens) => opens.folder.as_deref(),
            Queued::TakeOver(_, folder) => folder.as_deref(),
            _ => None,
        })
    }

    /// Returns whether it is taken from whoever writes it.
    fn takes_over(&self) -> bool {
        self.before_end().any(|item| matches!(item, Queued::TakeOver(..)))
    }

    /// The session is there.
    pub fn into_opened(mut self) -> Opened {
        let end = self.queue.iter().position(Queued::is_end).map_or(self.queue.len(), |at| at + 1);
        let behind = self.queue.split_off(end);
        let (mut new, mut settings) = (None, None);
        for item in &mut self.queue {
            if let Queued::Open(_, opens) = item {
                new.get_or_insert_with(|| std::mem::take(&mut opens.new));
                settings = opens.settings.take().or(settings);
            }
        }
        Opened { queue: self.queue, behind, new, settings, store: self.asked.pop() }
    }

    /// The items that would make it, up to where it ends again. The first of them says what it is to be and where.
    fn opens(&self) -> impl Iterator<Item = &Opens> {
        self.before_end().filter_map(|item| match item {
            Queued::Open(_, opens) => Some(&**opens),
            _ => None,
        })
    }

    /// The items before it ends again.
    fn before_end(&self) -> impl Iterator<Item = &Queued> {
        self.queue.iter().take_while(|item| !item.is_end())
    }
}
