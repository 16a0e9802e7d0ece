//! Events held back for a slow client. Above a limit events are no longer sent: each session is noted, and
//! once the client has read, it gets one snapshot instead of all that it missed. Changes of the list are
//! merged; progress reports and lines for the client's log are dropped. Requests and responses are always
//! sent.

use crate::server::mailbox::Mailbox;
use engine::id::SessionId;
use protocol::event::SessionsChangedParams;
use protocol::session::SessionSummary;
use protocol::transfer::TrajectorySummary;
use rpc::outgoing::Outgoing;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// The client has read what waited for it.
pub(in crate::server) struct Drained;

/// Unread bytes above which a client counts as slow. A burst of a large session stays below.
const HELD: usize = 8 << 20;

/// The events held back, and what replaces them.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// `true` while too much is unread. The writer reports the end of that.
    is_held: bool,
    /// Sessions of which events were not sent.
    behind: BTreeSet<SessionId>,
    /// The one of them that was caught up last: each gets its turn.
    last: Option<SessionId>,
    /// Merged changes of the list.
    list: List,
    /// Number of dropped lines for the client's log.
    lines: u64,
}

/// Changes of the list of sessions, each session once.
#[derive(Debug, Default)]
struct List {
    created: BTreeMap<String, SessionSummary>,
    updated: BTreeMap<String, SessionSummary>,
    deleted: BTreeSet<String>,
    trajectories: BTreeMap<(String, String), TrajectorySummary>,
    trajectories_gone: BTreeSet<String>,
}

impl List {
    fn add(&mut self, changed: SessionsChangedParams) {
        for session in changed.created {
            self.deleted.remove(&session.session_id);
            self.created.insert(session.session_id.clone(), session);
        }
        for session in changed.updated {
            let id = session.session_id.clone();
            let known = if self.created.contains_key(&id) { &mut self.created } else { &mut self.updated };
            known.insert(id, session);
        }
        for id in changed.deleted {
            self.updated.remove(&id);
            // Even if it was created meanwhile: the client may know it from a response.
            self.created.remove(&id);
            self.deleted.insert(id);
        }
        for file in changed.trajectories {
            self.trajectories_gone.remove(&file.chat_id);
            self.trajectories.insert((file.workspace_folder.clone(), file.chat_id.clone()), file);
        }
        for id in changed.trajectories_gone {
            self.trajectories.retain(|(_, known), _| *known != id);
            self.trajectories_gone.insert(id);
        }
    }

    fn take(&mut self) -> Option<SessionsChangedParams> {
        let Self { created, updated, deleted, trajectories, trajectories_gone } = std::mem::take(self);
        let changed = SessionsChangedParams {
            created: created.into_values().collect(),
            updated: updated.into_values().collect(),
            deleted: deleted.into_iter().collect(),
            trajectories: trajectories.into_values().collect(),
            trajectories_gone: trajectories_gone.into_iter().collect(),
        };
        (changed != SessionsChangedParams::default()).then_some(changed)
    }
}

impl Delivery {
    /// `true` if too much is unread.
    pub const fn is_held(&self) -> bool {
        self.is_held
    }

    /// `true` if too much is unread, checked now.
    pub fn holds(&mut self, outgoing: &Outgoing, mailbox: &Mailbox<Drained>) -> bool {
        if !self.is_held && outgoing.waiting() > HELD {
            self.is_held = true;
            tracing::warn!(waiting = outgoing.waiting(), "the client does not read: events wait");
            let mailbox = mailbox.clone();
            outgoing.when_drained(move || mailbox.send(Drained));
        }
        self.is_held
    }

    /// `true` if an event of this session is held back. A snapshot will replace it.
    pub fn keeps_back(&mut self, id: &SessionId, outgoing: &Outgoing, mailbox: &Mailbox<Drained>) -> bool {
        if self.holds(outgoing, mailbox) && !self.behind.contains(id) {
            self.behind.insert(id.clone());
        }
        // Also while it waits for its snapshot: an event is useless without those before it.
        self.behind.contains(id)
    }

    /// Replaces events of this session by a snapshot, due once its steps are stored.
    pub fn owe(&mut self, id: &SessionId) {
        self.behind.insert(id.clone());
    }

    /// Counts a line for the client's log if it is to be dropped. Returns `true` in that case.
    pub const fn keeps_log_back(&mut self) -> bool {
        self.lines += self.is_held as u64;
        self.is_held
    }

    /// `true` if events of this session were not sent.
    pub fn is_behind(&self, id: &SessionId) -> bool {
        self.behind.contains(id)
    }

    /// Marks a session as up to date.
    pub fn caught_up(&mut self, id: &SessionId) {
        self.behind.remove(id);
        self.last = Some(id.clone());
    }

    /// Gives changes of the list back if they can be sent now; merges them otherwise.
    pub fn sessions_changed(
        &mut self,
        changed: SessionsChangedParams,
        outgoing: &Outgoing,
        mailbox: &Mailbox<Drained>,
    ) -> Option<SessionsChangedParams> {
        if self.holds(outgoing, mailbox) {
            self.list.add(changed);
            return None;
        }
        Some(changed)
    }

    /// Ends holding back, but for sessions that are behind. Returns the merged changes of the list, and the
    /// number of dropped lines.
    pub fn drained(&mut self) -> (Option<SessionsChangedParams>, u64) {
        self.is_held = false;
        (self.list.take(), std::mem::take(&mut self.lines))
    }

    /// Sessions that are behind, beginning after the one that was caught up last.
    pub fn in_turn(&self) -> Vec<SessionId> {
        let Some(last) = &self.last else { return self.behind.iter().cloned().collect() };
        let after = self.behind.range((Bound::Excluded(last), Bound::Unbounded));
        after.chain(self.behind.range(..=last)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SessionId {
        SessionId::new(name)
    }

    #[test]
    fn those_that_waited_longer_come_first() {
        let mut delivery = Delivery { behind: ["a", "b", "c"].map(id).into(), ..Delivery::default() };
        assert_eq!(delivery.in_turn(), ["a", "b", "c"].map(id));
        delivery.last = Some(id("a"));
        assert_eq!(delivery.in_turn(), ["b", "c", "a"].map(id));
        delivery.last = Some(id("bb"));
        assert_eq!(delivery.in_turn(), ["c", "a", "b"].map(id));
    }
}
