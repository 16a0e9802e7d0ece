//! Sessions that are open here or being opened, ordered by id: whatever is sent for all of them has one
//! order.

use super::{Opening, SessionHost};
use engine::id::SessionId;
use session::stored::Head;
use std::collections::{BTreeMap, BTreeSet};

/// The sessions of this process.
#[derive(Default)]
pub(in crate::server) struct Sessions {
    slots: BTreeMap<SessionId, Slot>,
    /// Sessions that are always loaded whole.
    whole: BTreeSet<SessionId>,
}

enum Slot {
    /// Being loaded from its store.
    Opening(Box<Opening>),
    Open(Box<SessionHost>),
}

impl Sessions {
    /// An open session.
    pub fn host(&self, id: &SessionId) -> Option<&SessionHost> {
        match self.slots.get(id)? {
            Slot::Open(host) => Some(host),
            Slot::Opening(_) => None,
        }
    }

    pub fn host_mut(&mut self, id: &SessionId) -> Option<&mut SessionHost> {
        match self.slots.get_mut(id)? {
            Slot::Open(host) => Some(host),
            Slot::Opening(_) => None,
        }
    }

    /// A session being opened.
    pub fn opening(&self, id: &SessionId) -> Option<&Opening> {
        match self.slots.get(id)? {
            Slot::Opening(opening) => Some(opening),
            Slot::Open(_) => None,
        }
    }

    /// The folder of a session that is open or being opened and does not end meanwhile, as far as it is known.
    pub fn folder(&self, id: &SessionId) -> Option<&str> {
        match self.slots.get(id)? {
            Slot::Open(host) => Some(&*host.session().head().workspace).filter(|_| !host.is_leaving()),
            Slot::Opening(opening) => opening.folder().filter(|_| !opening.ends()),
        }
    }

    pub fn opening_mut(&mut self, id: &SessionId) -> Option<&mut Opening> {
        match self.slots.get_mut(id)? {
            Slot::Opening(opening) => Some(opening),
            Slot::Open(_) => None,
        }
    }

    /// `true` if it is open or being opened.
    pub fn has(&self, id: &SessionId) -> bool {
        self.slots.contains_key(id)
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All open sessions.
    pub fn hosts(&self) -> impl Iterator<Item = &SessionHost> {
        self.slots.values().filter_map(|slot| match slot {
            Slot::Open(host) => Some(&**host),
            Slot::Opening(_) => None,
        })
    }

    /// Ids of all sessions that are open or being opened.
    pub fn ids(&self) -> Vec<SessionId> {
        self.slots.keys().cloned().collect()
    }

    /// Ids of the open, stored sessions whose head matches.
    pub fn sharing(&self, is_meant: impl Fn(&Head) -> bool) -> Vec<SessionId> {
        let stored = self.hosts().filter(|host| host.is_stored());
        let meant = stored.map(|host| host.session().head()).filter(|head| is_meant(head));
        meant.map(|head| head.id.clone()).collect()
    }

    /// `true` if a stored session is open.
    pub fn any_stored(&self) -> bool {
        self.hosts().any(SessionHost::is_stored)
    }

    /// `true` if nothing is on its way to or from a store.
    pub fn are_settled(&self) -> bool {
        self.slots.values().all(|slot| match slot {
            Slot::Open(host) => host.is_settled(),
            // Its items are still to be answered.
            Slot::Opening(_) => false,
        })
    }

    pub fn insert_opening(&mut self, id: &SessionId, opening: Opening) {
        self.slots.insert(id.clone(), Slot::Opening(Box::new(opening)));
    }

    /// Takes a session that is being opened.
    pub fn take_opening(&mut self, id: &SessionId) -> Option<Opening> {
        self.opening(id)?;
        match self.slots.remove(id)? {
            Slot::Opening(opening) => Some(*opening),
            Slot::Open(_) => None,
        }
    }

    pub fn insert(&mut self, host: SessionHost) {
        self.slots.insert(host.session().id().clone(), Slot::Open(Box::new(host)));
    }

    /// Takes an open session.
    pub fn remove(&mut self, id: &SessionId) -> Option<SessionHost> {
        match self.slots.remove(id)? {
            Slot::Open(host) => Some(*host),
            Slot::Opening(_) => None,
        }
    }

    /// Loads a session whole from now on: its rest did not fit its part.
    pub fn open_whole(&mut self, id: &SessionId) {
        self.whole.insert(id.clone());
    }

    /// `true` if a session is loaded whole.
    pub fn opens_whole(&self, id: &SessionId) -> bool {
        self.whole.contains(id)
    }
}
