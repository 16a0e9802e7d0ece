//! A session being opened: a store was asked for it, and requests for it wait in order.

use super::event::{HostEvent, HostEventKind};
use super::loading::{Asked, Created, load};
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
    /// The store asked last.
    store: Option<Handle>,
    /// Names of all stores asked, that one last.
    asked: Vec<String>,
}

/// A loaded session, with its waiting items.
pub(in crate::server) struct Opened {
    /// Items up to and including the first close or deletion.
    pub queue: VecDeque<Queued>,
    /// Items behind that.
    pub behind: VecDeque<Queued>,
    /// The form of the session, if it is new.
    pub new: Option<New>,
    /// Session settings that hold from now on.
    pub settings: Option<Settings>,
    /// The name of its store.
    pub store: Option<String>,
}

impl Opening {
    /// An opening for its first item.
    pub fn of(item: Queued) -> Self {
        Self { queue: VecDeque::from([item]), store: None, asked: Vec::new() }
    }

    pub fn push(&mut self, item: Queued) {
        self.queue.push_back(item);
    }

    /// Drops the items of this request.
    pub fn forget(&mut self, to: ReplyTo) {
        self.queue.retain(|item| item.to() != to);
    }

    pub fn holds(&self, to: ReplyTo) -> bool {
        self.queue.iter().any(|item| item.to() == to)
    }

    /// `true` if every request for it was cancelled.
    pub fn is_unwanted(&self) -> bool {
        self.queue.is_empty()
    }

    /// `true` if a waiting item closes or deletes it.
    pub fn ends(&self) -> bool {
        self.queue.iter().any(Queued::is_end)
    }

    pub fn into_queue(self) -> VecDeque<Queued> {
        self.queue
    }

    pub fn asked_last(&self) -> Option<&String> {
        self.asked.last()
    }

    /// The store to ask next: the one of the named folder, or else each that may have the session. A session
    /// that none has is created in the client's folder.
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

    /// Asks this store for the session; for all of it if `is_whole`.
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
        let opens = self.opens().next().map(|opens| &opens.new);
        let new = Created {
            folder: self.folder().unwrap_or(stores.home()).to_owned(),
            work_scope: opens.and_then(|new| new.work_scope.clone()),
            parent: opens.and_then(|new| new.parent.clone()),
        };
        let about = Asked { meant: stores.meant(self.folder()), new, wanted };
        let takes_over = self.takes_over();
        store.submit(
            move |store| load(store, &asked, since, takes_over, about),
            move |loaded| mailbox.send(HostEvent { session, what: HostEventKind::Loaded(Box::new(loaded)) }),
        );
        self.store = Some(store);
        self.asked.push(name);
        Ok(())
    }

    /// Takes the store asked last.
    pub fn take_store(&mut self) -> Option<Handle> {
        self.store.take()
    }

    /// Number of newest messages that suffice for the first item, and its claims; `None` if it needs all.
    fn wanted(&self) -> Option<(u32, Claims)> {
        let command = match self.queue.front()? {
            Queued::Command(_, command) => &**command,
            Queued::Open(_, opens) if opens.settings.is_none() => &opens.command,
            _ => return None,
        };
        Some((part::newest_for(command)?, Claims::of_command(command)))
    }

    /// The folder that an item names.
    pub fn folder(&self) -> Option<&str> {
        self.before_end().find_map(Queued::folder)
    }

    /// `true` if the lease is taken from its holder.
    fn takes_over(&self) -> bool {
        self.before_end().any(|item| matches!(item, Queued::TakeOver(..)))
    }

    /// Splits the queue, now that the session is loaded.
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

    /// The items that may create it, up to its end. The first decides its form and place.
    fn opens(&self) -> impl Iterator<Item = &Opens> {
        self.before_end().filter_map(|item| match item {
            Queued::Open(_, opens) => Some(&**opens),
            _ => None,
        })
    }

    /// The items before the first close or deletion.
    fn before_end(&self) -> impl Iterator<Item = &Queued> {
        self.queue.iter().take_while(|item| !item.is_end())
    }
}
