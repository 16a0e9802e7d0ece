//! Sessions that were searched by this store, and those whose index is to be extended while it is idle.

use engine::id::SessionId;
use session::stored::Write;
use std::collections::{BTreeMap, BTreeSet};

/// Messages that are committed to a searched session before they are indexed.
const MOST_UNINDEXED: usize = 256;

/// Sessions that were searched.
#[derive(Debug, Default)]
pub(super) struct Searched {
    /// Messages that were committed since, as far as they are counted.
    new: BTreeMap<SessionId, usize>,
    behind: BTreeSet<SessionId>,
}

impl Searched {
    /// A session was searched.
    pub fn add(&mut self, session: &SessionId) {
        self.new.entry(session.clone()).or_default();
    }

    /// Changes of a session are to be committed.
    pub fn count(&mut self, session: &SessionId, writes: &[Write]) {
        let Some(new) = self.new.get_mut(session) else { return };
        *new += writes.iter().filter(|write| matches!(write, Write::Message { .. })).count();
        if *new > MOST_UNINDEXED {
            *new = 0;
            self.behind.insert(session.clone());
        }
    }

    /// The index of a session is to be extended.
    pub fn push(&mut self, session: &SessionId) {
        self.behind.insert(session.clone());
    }

    /// Takes a session whose index is to be extended.
    pub fn pop(&mut self) -> Option<SessionId> {
        self.behind.pop_first()
    }
}
