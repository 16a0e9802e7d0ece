//! Checks whether leases are still ours: an idle session would not notice a takeover.

use crate::server::mailbox::Mailbox;
use crate::server::stores::Stores;
use engine::id::SessionId;
use std::collections::BTreeMap;
use store::error::StoreError;
use store::{Fence, Store};

/// A session that is written here, and its fence.
pub(in crate::server) type Held = (SessionId, Fence);

/// The leases of the sessions that are written here, by store.
pub(in crate::server) struct Leases {
    mailbox: Mailbox<LeaseCheck>,
    stores: BTreeMap<String, Known>,
}

#[derive(Default)]
struct Known {
    is_asked: bool,
    /// The pulse at which all of these were still held.
    seen: Option<(u64, Vec<Held>)>,
}

/// A store's answer to a look at leases.
pub(in crate::server) struct LeaseCheck {
    store: String,
    asked: Vec<Held>,
    /// The store's pulse, and the leases that are no longer ours.
    found: Result<(u64, Vec<(Held, StoreError)>), StoreError>,
}

impl Leases {
    pub fn new(mailbox: Mailbox<LeaseCheck>) -> Self {
        Self { mailbox, stores: BTreeMap::new() }
    }

    /// Asks the stores of these sessions whether their leases are still ours.
    pub fn look(&mut self, stores: &mut Stores, held: impl Iterator<Item = Held>) {
        let mut by_store: BTreeMap<String, Vec<Held>> = BTreeMap::new();
        for held in held {
            if let Some(name) = stores.had(&held.0) {
                by_store.entry(name.to_owned()).or_default().push(held);
            }
        }
        self.stores.retain(|name, known| known.is_asked || by_store.contains_key(name));
        for (name, held) in by_store {
            let known = self.stores.entry(name.clone()).or_default();
            if known.is_asked {
                continue;
            }
            let Ok(store) = stores.of(Some(&name)) else { continue };
            known.is_asked = true;
            let since = known.seen.take().filter(|(_, seen)| *seen == held).map(|(pulse, _)| pulse);
            let (mailbox, asked) = (self.mailbox.clone(), held.clone());
            store.submit(
                move |store| look(store, &held, since),
                move |found| mailbox.send(LeaseCheck { store: name, asked, found }),
            );
        }
    }

    /// Handles a store's answer. Returns the lost leases.
    pub fn looked(&mut self, looked: LeaseCheck) -> Vec<(Held, StoreError)> {
        let LeaseCheck { store, asked, found } = looked;
        let Some(known) = self.stores.get_mut(&store) else { return Vec::new() };
        known.is_asked = false;
        match found {
            Ok((pulse, lost)) => {
                // After a loss, the next look is not skipped.
                known.seen = lost.is_empty().then_some((pulse, asked));
                lost
            }
            Err(error) => {
                tracing::debug!(%error, "a look at leases failed; it is tried again");
                Vec::new()
            }
        }
    }
}

/// The leases that are no longer ours; not looked up if nothing was committed since.
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
