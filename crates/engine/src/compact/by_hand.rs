//! Records that a user makes by hand: messages left out without a text for them, other words for a narrative. No rung
//! of the ladder is tried and no model is asked; whether the prompt that follows may be sent is the caller's.

use super::compose::Desk;
use super::record::{Action, Compaction, Mode, Status, Strength, Trigger};
use super::template::renarrated;
use crate::id::Ordinal;
use crate::prompt;
use crate::tokens::PER_MESSAGE;
use std::collections::BTreeSet;

/// The record in force with these messages left out. They are named with all that belongs to them.
pub fn excluding(desk: &Desk<'_>, ords: &BTreeSet<Ordinal>) -> Compaction {
    let mut record = desk.blank(Mode::Excluded);
    record.trigger = Trigger::Manual;
    record.excluded.extend(ords);
    let Compaction { excluded, kept_users, reported_users, open_requests, actions, .. } = &mut record;
    for users in [kept_users, reported_users, open_requests] {
        users.retain(|ord| !excluded.contains(ord));
    }
    // What was folded into a copy that is left out now is shown where it was said.
    actions.retain(|ord, action| {
        let newer = match action {
            Action::Repeat { newer, .. } => Some(*newer),
            Action::Shorten { .. } => None,
        };
        !excluded.contains(ord) && newer.is_none_or(|newer| !excluded.contains(&newer))
    });
    weighed(desk, record)
}

/// A record in the place of another one, with the user's narrative in its block and everything else as it was. Nothing
/// where the other one has no block.
pub fn edited(desk: &Desk<'_>, of: &Compaction, narrative: &str) -> Option<Compaction> {
    if of.block.is_empty() {
        return None;
    }
    let block = renarrated(&of.block, of.narrative.as_deref(), narrative);
    let record = Compaction {
        id: desk.source.transcript.next_compaction_id(),
        block_tokens: desk.counter.count(&block) + PER_MESSAGE,
        block: block.into(),
        narrative: Some(narrative.into()),
        tokens_before: desk.tokens_before,
        target: None,
        estimator: desk.counter.name().to_owned(),
        trigger: Trigger::Manual,
        mode: Mode::Edited,
        strength: Strength::Absent,
        fallbacks: Vec::new(),
        focus: None,
        unreviewed: false,
        model: None,
        asked_again: 0,
        input_truncated: false,
        replaces: Some(of.id.clone()),
        created_at: None,
        duration_ms: None,
        status: Status::InForce,
        ..of.clone()
    };
    Some(weighed(desk, record))
}

fn weighed(desk: &Desk<'_>, mut record: Compaction) -> Compaction {
    record.tokens_after = prompt::draft(desk.source, Some(&record)).tokens;
    record
}
