//! What hangs together with a session: its scopes, parents and children, revisions and copies left by rewinds.

use super::State;
use super::step::StoredSession;
use crate::Deleted;
use engine::id::SessionId;
use engine::scope::Scope;
use session::stored::{Head, Origin, Revision, Write};
use std::collections::BTreeSet;

impl State {
    /// Copies a session's own scope to the revisions and branches of these writes.
    pub(super) fn copy_scopes(&mut self, session: &SessionId, writes: &[Write]) {
        let Some(workspace) = self.sessions.get(session).map(|kept| kept.head.workspace.clone()) else {
            return;
        };
        let Some(own) = self.scopes.get(&(workspace.clone(), session.as_str().to_owned())).cloned() else {
            return;
        };
        for write in writes {
            if let Write::Revision(Revision { id: to, .. }) | Write::Branch { to, .. } = write {
                let mut copy = Scope { revision: 1, numbered: 0, ..own.clone() };
                copy.number_todos();
                self.scopes.insert((workspace.clone(), to.as_str().to_owned()), copy);
            }
        }
    }

    /// `true` if a parent or child of a deleted session stays.
    pub(super) fn has_related(&self, gone: &[SessionId]) -> bool {
        let is_of = |id: &SessionId, parent: &SessionId| {
            self.sessions.get(id).is_some_and(|kept| kept.head.parent.as_ref() == Some(parent))
        };
        let mut stay = self.sessions.keys().filter(|id| !gone.contains(id));
        stay.any(|id| gone.iter().any(|one| is_of(id, one) || is_of(one, id)))
    }

    /// The revisions of a session and the copies left by its rewinds, and those of these.
    pub(super) fn copies(&self, session: &SessionId) -> BTreeSet<SessionId> {
        let (mut copies, mut left) = (BTreeSet::new(), vec![session]);
        while let Some(id) = left.pop() {
            let heads = self.sessions.values().map(|kept| &kept.head);
            let its = heads.filter(|head| {
                head.parent.as_ref() == Some(id) && head.is_left_behind() && head.id != *session
            });
            left.extend(its.map(|head| &head.id).filter(|copy| copies.insert((*copy).clone())));
        }
        copies
    }

    /// The branches of deleted sessions.
    pub(super) fn branches(&self, gone: &[SessionId]) -> Vec<SessionId> {
        let heads = self.sessions.values().map(|kept| &kept.head);
        let its = heads.filter(|head| {
            let is_of = head.parent.as_ref().is_some_and(|parent| gone.contains(parent));
            head.origin == Origin::Branch && is_of && !gone.contains(&head.id)
        });
        its.map(|head| head.id.clone()).collect()
    }

    /// Removes the scopes that only this session used.
    pub(super) fn drop_scopes(&mut self, gone: &Head) {
        for name in [Some(gone.id.as_str()), gone.work_scope.as_deref()].into_iter().flatten() {
            let uses = |head: &Head| {
                head.workspace == gone.workspace
                    && (head.id.as_str() == name || head.work_scope.as_deref() == Some(name))
            };
            if !self.sessions.values().any(|kept| uses(&kept.head)) {
                self.scopes.remove(&(gone.workspace.clone(), name.to_owned()));
            }
        }
    }
}

/// Counts what deleted sessions had; what several of them had counts once.
pub(super) fn count(deleted: &mut Deleted, all: Vec<StoredSession>) {
    let (mut messages, mut turns, mut compactions) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for kept in all {
        messages.extend(kept.messages.into_values().map(|(_, message)| (message.id.clone(), message.rev)));
        turns.extend(kept.turns.into_values().map(|turn| turn.id));
        compactions.extend(kept.compactions.into_iter().map(|record| record.id));
    }
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    deleted.messages = count(messages.len());
    deleted.turns = count(turns.len());
    deleted.compactions = count(compactions.len());
}
