//! The store after every step: another process would find the same, nothing that was said is lost, and a
//! branch has its parent's messages.

use super::Model;
use crate::effect::Effect;
use crate::snapshot::Snapshot;
use crate::state::StateName;
use crate::stored::{Origin, Write};
use crate::tests::bench::id;
use engine::compact::record::Status;
use engine::id::SessionId;
use engine::message::Message;
use std::collections::BTreeSet;

impl Model {
    /// Checks that another process would find the same.
    pub(super) fn is_stored(&mut self, before: &Snapshot, after: &Snapshot) {
        let reopened = self.bench.reopened();
        // Other settings may give a tool to the other side while it runs, or while it waits for agents.
        let its_own = reopened.own_calls();
        let ours = self.bench.session.own_calls().into_iter();
        let given_away: BTreeSet<_> =
            ours.filter(|call| !its_own.contains(call)).map(|call| call.call).collect();
        let mut again = reopened.snapshot();
        if self.bench.session.has_deferred_head() {
            // What the row tells of the last prompt is written with whatever comes next.
            again.head.updated_at = after.head.updated_at;
            again.head.carried.continuity = after.head.carried.continuity.clone();
            again.head.carried.usage = after.head.carried.usage.clone();
        }
        assert_eq!(after.messages, again.messages);
        assert_eq!(after.turns, again.turns);
        assert_eq!(after.compactions, again.compactions);
        assert_eq!(after.head, again.head);
        assert_eq!(after.queue, again.queue);
        let waits_for_any = !after.queue.is_empty() || self.bench.session.waits_for_agents();
        assert!(!after.head.waits || waits_for_any, "a session that waits has a queue, or waits for agents");
        assert_eq!(after.thread.draft, again.thread.draft);
        let waits_or_rests = |state| match state {
            StateName::ExecutingTools => StateName::WaitingIde,
            StateName::WaitingUserInput if !given_away.is_empty() => StateName::WaitingIde,
            state => state,
        };
        let found = self.bench.session.state().lasting().found;
        if !self.bench.was_approved {
            let (found, again) = (waits_or_rests(found), waits_or_rests(again.state));
            assert_eq!(found, again, "what runs has failed, what rests or waits goes on so");
        }
        // Waits survive; nothing is asked again on its own but what needs approval.
        let waits = |snapshot: &Snapshot| -> BTreeSet<_> {
            let asked = snapshot.pause.iter().map(|asked| &asked.call);
            snapshot.pending.iter().chain(asked).map(|call| call.id.clone()).collect()
        };
        // Approvals that changed in another session change which calls need one.
        if !self.bench.was_approved {
            assert_eq!(
                &waits(after) | &given_away,
                waits(&again),
                "the editor is asked for what it was given"
            );
            assert_eq!(
                after.state == StateName::Paused,
                again.state == StateName::Paused,
                "a pause survives"
            );
        }
        let effects = std::mem::take(&mut self.bench.effects);
        let writes = effects.iter().filter_map(|effect| match effect {
            Effect::Write(write) => Some(write),
            _ => None,
        });
        let (mut revisions, mut branches) = (Vec::new(), Vec::new());
        for write in writes {
            match write {
                Write::Revision(revision) => revisions.push(revision.id.clone()),
                Write::Branch { to, .. } => branches.push(to.clone()),
                _ => {}
            }
        }
        self.nothing_is_lost(before, after, &revisions);
        if self.bench.is_stored {
            branches.iter().for_each(|branch| self.is_branch(after, branch));
        }
        self.bench.effects = effects;
    }

    /// Checks that messages that were removed or changed are in a revision as they were.
    fn nothing_is_lost(&mut self, before: &Snapshot, after: &Snapshot, revisions: &[SessionId]) {
        let is_here = |message: &Message| {
            after.messages.iter().any(|now| now.id == message.id && now.body == message.body)
        };
        let gone: Vec<_> = before.messages.iter().filter(|message| !is_here(message)).collect();
        let mut kept = Vec::new();
        for revision in revisions {
            let stored = self.bench.rows.load(revision).expect("a revision that is stored");
            assert_eq!((stored.head.parent, stored.head.origin), (Some(id()), Origin::Revision));
            assert!(
                !stored.head.waits
                    && stored.queue.is_empty()
                    && stored.keys.is_empty()
                    && stored.draft.is_none()
            );
            kept.extend(stored.messages);
        }
        for message in gone {
            let is_kept = kept.iter().any(|(_, kept)| kept.id == message.id && kept.body == message.body);
            assert!(is_kept, "{message:?} is gone and no revision has it");
        }
    }

    /// Checks that a branch has its parent's messages under ids of its own, with the summaries of these.
    fn is_branch(&mut self, after: &Snapshot, branch: &SessionId) {
        let stored = self.bench.rows.load(branch).expect("a branch that is stored");
        assert_eq!((&stored.head.parent, stored.head.origin), (&Some(id()), Origin::Branch));
        let said = stored.messages.iter().filter(|(_, message)| !message.is_removed());
        for ((_, message), ours) in said.zip(&after.messages) {
            assert_eq!(message.body, ours.body);
            assert!(message.id.as_str().starts_with(&format!("{branch}/")), "{}", message.id);
        }
        let last = stored.messages.last().map(|(_, message)| message.ord);
        for record in stored.compactions.iter().filter(|record| record.status == Status::InForce) {
            assert!(record.covers.is_none_or(|span| Some(span.to) <= last));
        }
    }
}
