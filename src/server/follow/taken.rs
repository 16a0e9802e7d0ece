//! Sessions that another process took over while they were open here: how that is noticed, also where nothing is written,
//! who is told, and how they are followed from then on. Taking one over here is opening it, in `opening`.

use crate::server::inbox::Event;
use crate::server::main_loop::{MainLoop, Slot};
use crate::server::queued::Queued;
use crate::server::stores;
use crate::server::trajectories::Filed;
use engine::id::SessionId;
use protocol::event::{Event as Happening, SessionEvent};
use protocol::methods::{self, Named};
use session::input::{Command, Open, ReplyTo};
use session::stored::Write;
use std::collections::BTreeMap;
use store::error::StoreError;
use store::{Fence, Store};

/// A session that is written here, and the right to do so.
type Held = (SessionId, Fence);

/// What is known of a store's sessions that are written here.
#[derive(Default)]
pub(super) struct Leases {
    is_asked: bool,
    /// The pulse at which all of these were still held.
    seen: Option<(u64, Vec<Held>)>,
}

/// A store's answer to a look at leases.
pub(in crate::server) struct Looked {
    store: String,
    asked: Vec<Held>,
    /// Its pulse, and what it holds for us no longer.
    found: Result<(u64, Vec<(Held, StoreError)>), StoreError>,
}

/// A store's answer about a session that is open here and is to be taken over.
pub(in crate::server) struct Confirmed {
    held: Held,
    to: ReplyTo,
    folder: Option<String>,
    done: Result<(), StoreError>,
}

/// Which of these are held no longer, where anything was committed since.
fn look(
    store: &mut dyn Store,
    held: &[Held],
    since: Option<u64>,
) -> Result<(u64, Vec<(Held, StoreError)>), StoreError> {
    let pulse = store.pulse()?;
    let mut lost = Vec::new();
    for (id, fence) in held.iter().filter(|_| since != Some(pulse)) {
        match store.holds(id, *fence) {
            Err(error @ StoreError::FenceLost { .. }) => lost.push(((id.clone(), *fence), error)),
            done => done?,
        }
    }
    Ok((pulse, lost))
}

impl MainLoop {
    /// Asks the stores whether what is written here is still ours to write: an idle session would not notice.
    pub(super) fn look_at_leases(&mut self) {
        let mut by_store: BTreeMap<String, Vec<Held>> = BTreeMap::new();
        for (id, slot) in &self.sessions {
            if let Slot::Live(live) = slot
                && let Some((_, fence)) = live.store
                && let Some(name) = self.stores.had(id)
            {
                by_store.entry(name.to_owned()).or_default().push((id.clone(), fence));
            }
        }
        self.follows.leases.retain(|name, leases| leases.is_asked || by_store.contains_key(name));
        for (name, held) in by_store {
            let leases = self.follows.leases.entry(name.clone()).or_default();
            if leases.is_asked {
                continue;
            }
            let Ok(store) = self.stores.of(Some(&name)) else { continue };
            leases.is_asked = true;
            let since = leases.seen.take().filter(|(_, seen)| *seen == held).map(|(pulse, _)| pulse);
            let (inbox, asked) = (self.inbox.clone(), held.clone());
            store.submit(
                move |store| look(store, &held, since),
                move |found| {
                    drop(inbox.send(Event::Leases(Box::new(Looked { store: name, asked, found }))));
                },
            );
        }
    }

    /// A store said what it holds for us no longer.
    pub fn looked_at_leases(&mut self, looked: Looked) {
        let Looked { store, asked, found } = looked;
        let Some(leases) = self.follows.leases.get_mut(&store) else { return };
        leases.is_asked = false;
        match found {
            Ok((pulse, lost)) => {
                // Until none is lost they are looked at again.
                leases.seen = lost.is_empty().then_some((pulse, asked));
                lost.into_iter().for_each(|(held, error)| self.lost_while_idle(&held, &error));
            }
            Err(error) => tracing::debug!(%error, "a look at leases failed; it is tried again"),
        }
    }

    /// Whether a session is still here under this fence, and no store was asked to destroy it.
    fn is_here_under(&self, (id, fence): &Held) -> bool {
        matches!(self.sessions.get(id), Some(Slot::Live(live))
            if live.deleting.is_none() && live.store.as_ref().is_some_and(|(_, at)| at == fence))
    }

    /// Whether a session is still open here under this fence, and not on its way out.
    fn is_open_under(&self, (id, fence): &Held) -> bool {
        matches!(self.sessions.get(id), Some(Slot::Live(live))
            if !live.is_leaving() && live.store.as_ref().is_some_and(|(_, at)| at == fence))
    }

    fn lost_while_idle(&mut self, held: &Held, error: &StoreError) {
        let is_idle = |slot: &Slot| matches!(slot, Slot::Live(live) if !live.is_writing);
        // What is with the store is refused by it, which says the same.
        if self.is_open_under(held) && self.sessions.get(&held.0).is_some_and(is_idle) {
            self.lost(&held.0, error);
        }
    }

    /// Another process writes a session that was written here. What runs is stopped, what waits is told who has it, and
    /// it is followed from now on.
    pub fn lost(&mut self, id: &SessionId, error: &StoreError) {
        tracing::warn!(session = %id, %error, "the session was taken over");
        let refusal = stores::error(error);
        let is_task = self.is_only_task(id);
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        let is_shown = !live.is_leaving() && !is_task && self.ending.is_none();
        let taken = SessionEvent {
            session_id: id.as_str().to_owned(),
            stream: live.session.stream().to_owned(),
            seq: live.next_seq(),
            event: Happening::SessionTakenOver {},
        };
        live.cannot_write(refusal.clone());
        let left = live.unwritten.iter().filter(|write| matches!(write, Write::Message { .. })).count();
        // What is here is no longer the session: its file is the new writer's.
        live.file = Filed::default();
        if !self.delivery.keeps_back(id, &self.outgoing, &self.inbox) {
            self.outgoing.notification(methods::SessionEventSent::NAME, &taken);
        }
        if left > 0 {
            self.log(format!(
                "session {id} was taken over before {left} of its messages could be stored: they are shown here no longer"
            ));
        }
        self.stage_broke(id);
        self.give_up(id, &refusal);
        if is_shown
            && !self.sessions.contains_key(id)
            && let Some(store) = self.stores.had(id).map(str::to_owned)
        {
            self.delivery.owe(id);
            self.begin_to_follow(id, &store, Vec::new(), refusal);
        }
        self.end_if_saved();
    }

    /// A session that is open here is to be taken over: nothing is to be done, once it is sure that it is still ours.
    pub fn make_sure(&mut self, id: &SessionId, to: ReplyTo, folder: Option<String>) {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        let Some((store, fence)) = live.store.clone() else { return self.open_here(id, to) };
        let (pending, held) = (self.pending(to), (id.clone(), fence));
        let asked = held.clone();
        store.submit(
            move |store| store.holds(&asked.0, asked.1),
            move |done| {
                pending.send(Event::Confirmed(Box::new(Confirmed { held, to, folder, done })));
            },
        );
    }

    /// A store said whether a session is still ours that is to be taken over.
    pub fn confirmed(&mut self, confirmed: Confirmed) {
        let Confirmed { held, to, folder, done } = confirmed;
        let id = held.0.clone();
        match done {
            // On its way out it still answers what was asked before its end.
            Ok(()) if self.is_here_under(&held) => self.open_here(&id, to),
            Err(error) if self.is_open_under(&held) => match error {
                StoreError::FenceLost { .. } => {
                    if let Some(Slot::Live(live)) = self.sessions.get_mut(&id) {
                        live.after.push_back(Queued::TakeOver(to, folder));
                    }
                    self.lost_while_idle(&held, &error);
                }
                error => self.answer(to, Err(stores::error(&error))),
            },
            // It went meanwhile.
            _ => self.hand(&id, Queued::TakeOver(to, folder)),
        }
    }

    fn open_here(&mut self, id: &SessionId, to: ReplyTo) {
        self.run_command(to, id, Command::Open(Box::<Open>::default()));
    }
}
