//! What is told to a client that does not read. Above a limit events are no longer sent: each session is noted, and when
//! the client has read it gets one snapshot in the place of all that it missed. Changes of the list become one; reports of
//! progress and lines for the client's log are left out. Requests and responses always go. What is said is not known
//! here.

use super::inbox::Event;
use super::main_loop::{MainLoop, Slot};
use super::outgoing::Outgoing;
use super::wire_session;
use engine::id::SessionId;
use protocol::event::{Event as Happening, SessionEvent, SessionsChangedParams};
use protocol::methods::{self, Named};
use protocol::session::SessionSummary;
use protocol::snapshot::Snapshot;
use protocol::transfer::TrajectorySummary;
use session::input::{Input, Timer};
use session::state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use tokio::sync::mpsc::UnboundedSender;

/// Bytes that may wait for the client before it counts as one that does not read. A burst of a large session stays below.
const HELD: usize = 8 << 20;

/// What a client that does not read is told later.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// Whether too much waits. The writer says when that is over.
    is_held: bool,
    /// Sessions of which events were not sent.
    behind: BTreeSet<SessionId>,
    /// The one of them that had its turn last: none waits for ever because of others.
    last: Option<SessionId>,
    /// Changes of the list.
    list: List,
    /// Lines that were left out of the client's log.
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
            // Also where it was created meanwhile: the client may have learned of it from an answer.
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
    /// Whether too much waits for the client.
    pub const fn is_held(&self) -> bool {
        self.is_held
    }

    /// Whether too much waits for the client, looked at now.
    fn holds(&mut self, outgoing: &Outgoing, inbox: &UnboundedSender<Event>) -> bool {
        if !self.is_held && outgoing.waiting() > HELD {
            self.is_held = true;
            tracing::warn!(waiting = outgoing.waiting(), "the client does not read: events wait");
            let inbox = inbox.clone();
            outgoing.when_drained(move || drop(inbox.send(Event::Drained)));
        }
        self.is_held
    }

    /// Whether an event of this session is not sent now. A snapshot will come in its place.
    pub fn keeps_back(
        &mut self,
        id: &SessionId,
        outgoing: &Outgoing,
        inbox: &UnboundedSender<Event>,
    ) -> bool {
        if self.holds(outgoing, inbox) && !self.behind.contains(id) {
            self.behind.insert(id.clone());
        }
        // Also while it waits for its snapshot: an event without those before it would be of no use.
        self.behind.contains(id)
    }

    /// A snapshot is due in the place of this session's events, as soon as what it has to store is stored.
    pub fn owe(&mut self, id: &SessionId) {
        self.behind.insert(id.clone());
    }

    /// Whether a line for the client's log is left out.
    pub const fn keeps_log_back(&mut self) -> bool {
        self.lines += self.is_held as u64;
        self.is_held
    }

    /// Sessions that are behind, those that waited longer before those that had their turn.
    fn in_turn(&self) -> Vec<SessionId> {
        let Some(last) = &self.last else { return self.behind.iter().cloned().collect() };
        let after = self.behind.range((Bound::Excluded(last), Bound::Unbounded));
        after.chain(self.behind.range(..=last)).cloned().collect()
    }
}

impl MainLoop {
    /// Tells what changed in the list of sessions.
    pub fn tell_sessions(&mut self, changed: SessionsChangedParams) {
        if self.delivery.holds(&self.outgoing, &self.inbox) {
            self.delivery.list.add(changed);
        } else {
            self.outgoing.notification(methods::SessionsChanged::NAME, &changed);
        }
    }

    /// The client has read: it gets what it missed, as far as it goes on reading.
    pub fn drained(&mut self) {
        self.delivery.is_held = false;
        if let Some(changed) = self.delivery.list.take() {
            self.outgoing.notification(methods::SessionsChanged::NAME, &changed);
        }
        let lines = std::mem::take(&mut self.delivery.lines);
        if lines > 0 {
            self.log(format!("{lines} lines were left out here while nobody read; standard error has them"));
        }
        for id in self.delivery.in_turn() {
            self.catch_up(&id);
        }
    }

    /// Sends a session's snapshot in the place of the events that were not sent, if there are any and the client reads.
    pub fn catch_up(&mut self, id: &SessionId) {
        if !self.delivery.behind.contains(id) || self.delivery.holds(&self.outgoing, &self.inbox) {
            return;
        }
        if let Some(Slot::Live(live)) = self.sessions.get(id)
            && let State::Streaming(running) = live.session.state()
            && !running.untold.is_empty()
            && live.steps.is_empty()
        {
            // A snapshot holds all that was said: what is gathered is told first, as a part of what is left out. Then
            // this is done again.
            let gathered = Timer::Deltas(running.call);
            return self.run_input(id, Input::Expired(gathered));
        }
        let snapshot = match self.sessions.get(id) {
            // What is not stored yet is not told. It is caught up when that is done.
            Some(Slot::Live(live)) if !live.steps.is_empty() => return,
            Some(Slot::Live(live)) if live.part.is_some() => return self.want_rest(id),
            Some(Slot::Live(live)) => Some(wire_session::whole(&live.session, live.session.snapshot())),
            // Whoever opens it again gets a snapshot.
            Some(Slot::Opening(_)) | None => self.followed_snapshot(id),
        };
        self.delivery.behind.remove(id);
        self.delivery.last = Some(id.clone());
        if let Some(snapshot) = snapshot {
            self.tell_snapshot(snapshot);
        }
    }

    /// Sends a session as it stands.
    pub fn tell_snapshot(&self, snapshot: Snapshot) {
        let event = SessionEvent {
            session_id: snapshot.session_id.clone(),
            stream: snapshot.stream.clone(),
            seq: snapshot.seq,
            event: Happening::Snapshot { snapshot: Box::new(snapshot) },
        };
        self.outgoing.notification(methods::SessionEventSent::NAME, &event);
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
