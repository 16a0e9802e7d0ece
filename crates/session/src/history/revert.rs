//! The way back to a revision. What stood there before becomes a revision itself, so a restore can be undone.

use super::cut::{cut, keep};
use crate::context::pins::pins_follow;
use crate::context::records::{set_status, void};
use crate::core::Core;
use crate::values::stored::{Stored, TurnRow};
use engine::compact::record::Status;
use engine::id::{CompactionId, Ordinal, SessionId};
use engine::message::Message;
use engine::words::{BreakCause, RevisionCause, TurnStatus};

/// Restores messages, turns and summaries of a revision of this session, in which nothing runs. Title, settings and
/// pins stay as they are. Returns the revision that keeps the present state; `None` if both are equal.
pub(crate) fn revert(core: &mut Core<'_>, revision: Stored) -> Option<SessionId> {
    let Stored { messages, turns, compactions, .. } = revision;
    let ours = core.transcript().messages();
    let is_same = |ours: &Message, theirs: &Message| {
        (&ours.id, ours.rev, &ours.hash) == (&theirs.id, theirs.rev, &theirs.hash)
    };
    let same = ours.iter().zip(&messages).take_while(|(ours, (_, theirs))| is_same(ours, theirs)).count();
    let is_equal = same == ours.len() && same == messages.len();
    let from = Ordinal(u32::try_from(same).unwrap_or(u32::MAX));
    // The session has all records of its revisions: none is ever deleted.
    let status = |id: &CompactionId| {
        let kept = compactions.iter().find(|record| record.id == *id);
        kept.map_or(Status::Void, |record| record.status)
    };
    let is_settled = core.transcript().compactions().iter().all(|record| record.status == status(&record.id));
    if is_equal && is_settled {
        // A process that no longer writes the session learns it from the write.
        core.write_head();
        return None;
    }
    let kept = keep(core, RevisionCause::Restore, from);
    core.announce(BreakCause::Edit);
    cut(core, from, &kept);
    for (turn, message) in messages.into_iter().skip(same) {
        core.put_back(turn as usize, message);
    }
    for row in turns {
        let status = match row.status {
            TurnStatus::Running => TurnStatus::Cancelled,
            ended => ended,
        };
        core.put_back_turn(TurnRow { status, ..row });
    }
    let records = core.transcript().compactions().iter();
    let changed: Vec<_> = records
        .map(|record| (record.id.clone(), record.status, status(&record.id)))
        .filter(|(_, now, then)| now != then)
        .collect();
    for (id, _, then) in changed {
        if then == Status::Void {
            core.transcript_mut().set_status(&id, then);
            void(core, &[id]);
        } else {
            set_status(core, &id, then);
        }
    }
    pins_follow(core);
    core.write_head();
    Some(kept)
}
