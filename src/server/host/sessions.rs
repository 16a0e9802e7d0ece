//! The sessions that are open here, or about to be, in the order of their ids: what is said of all of them is said in one
//! order.

use super::{Opening, SessionHost};
use engine::id::SessionId;
use session::stored::Head;
use std::collections::{BTreeMap, BTreeSet};

/// See the file's header.
#[derive(Default)]
pub(in crate::server) struct Sessions {
    slots: BTreeMap<SessionId, Slot>,
    /// Sessions that are not opened in part.
    whole: BTreeSet<SessionId>,
}

enum Slot {
    /// The store was asked for it.
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

    /// A session on its way in.
    pub fn opening(&self, id: &SessionId) -> Option<&Opening> {
        match self.slots.get(id)? {
            Slot::Opening(opening) => Some(opening),
            Slot::Open(_) => None,
        }
    }

    pub fn opening_mut(&mut self, id: &SessionId) -> Option<&mut Opening> {
        match self.slots.get_mut(id)? {
            Slot::Opening(opening) => Some(opening),
            Slot::Open(_) => None,
        }
    }

    /// Returns whether it is open, or about to be.
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

    /// All that are open, or about to be.
    pub fn ids(&self) -> Vec<SessionId> {
        self.slots.keys().cloned().collect()
    }

    /// Open sessions that are stored and of which this holds.
    pub fn sharing(&self, is_meant: impl Fn(&Head) -> bool) -> Vec<SessionId> {
        let stored = self.hosts().filter(|host| host.is_stored());
        let meant = stored.map(|host| host.session().head()).filter(|head| is_meant(head));
        meant.map(|head| head.id.clone()).collect()
    }

    /// Returns whether a session is open that is stored.
    pub fn any_stored(&self) -> bool {
        self.hosts().any(SessionHost::is_stored)
    }

    /// Returns whether nothing is on its way to a store or from one.
    pub fn are_settled(&self) -> bool {
        self.slots.values().all(|slot| match slot {
            Slot::Open(host) => host.is_settled(),
            // What was asked of it is still answered.
            Slot::Opening(_) => false,
        })
    }

    pub fn insert_opening(&mut self, id: &SessionId, opening: Opening) {
        self.slots.insert(id.clone(), Slot::Opening(Box::new(opening)));
    }

    /// Takes a session that is on its way in.
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

    /// A session goes.
    pub fn remove(&mut self, id: &SessionId) -> Option<SessionHost> {
        match self.slots.remove(id)? {
            Slot::Open(host) => Some(*host),
            Slot::Opening(_) => None,
        }
    }

    /// A session is opened whole from now on: its rest did not fit what was made of its part.
    pub fn open_whole(&mut self, id: &SessionId) {
        self.whole.insert(id.clone());
    }

    /// Returns whether a session is opened whole.
    pub fn opens_whole(&self, id: &SessionId) -> bool {
        self.whole.contains(id)
    }
}
