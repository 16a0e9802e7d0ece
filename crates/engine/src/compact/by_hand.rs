//! Records that a user makes by hand: messages excluded without a summary, a narrative edited. No rung of the ladder
//! runs and no model is asked; the caller checks that the resulting prompt fits.

use super::compose::Inputs;
use super::record::{Action, Compaction, Mode, Status, Strength, Trigger};
use super::template::renarrated;
use crate::id::Ordinal;
use crate::prompt;
use crate::tokens::PER_MESSAGE;
use std::collections::BTreeSet;

/// Returns the record in force with `ords` excluded; `ords` holds calls together with their results.
pub fn excluding(inputs: &Inputs<'_>, ords: &BTreeSet<Ordinal>) -> Compaction {
    let mut record = inputs.blank(Mode::Excluded);
    record.trigger = Trigger::Manual;
    record.excluded.extend(ords);
    let Compaction { excluded, kept_users, reported_users, open_requests, actions, .. } = &mut record;
    for users in [kept_users, reported_users, open_requests] {
        users.retain(|ord| !excluded.contains(ord));
    }
    // A result that was folded into a now excluded copy is shown in its own place again.
    actions.retain(|ord, action| {
        let newer = match action {
            Action::Repeat { newer, .. } => Some(*newer),
            Action::Shorten { .. } => None,
        };
        !excluded.contains(ord) && newer.is_none_or(|newer| !excluded.contains(&newer))
    });
    weighed(inputs, record)
}

/// Returns a record that replaces `of`, with the user's narrative in its block and the same coverage; `None` if `of`
/// has no block.
pub fn edited(inputs: &Inputs<'_>, of: &Compaction, narrative: &str) -> Option<Compaction> {
    if of.block.is_empty() {
        return None;
    }
    let block = renarrated(&of.block, of.narrative.as_deref(), narrative);
    let record = Compaction {
        id: inputs.source.transcript.next_compaction_id(),
        block_tokens: inputs.counter.count(&block) + PER_MESSAGE,
        block: block.into(),
        narrative: Some(narrative.into()),
        tokens_before: inputs.tokens_before,
        target: None,
        estimator: inputs.counter.name().to_owned(),
        trigger: Trigger::Manual,
        mode: Mode::Edited,
        strength: Strength::Absent,
        fallbacks: Vec::new(),
        focus: None,
        unreviewed: false,
        model: None,
        asked_again: 0,
        cost: None,
        input_truncated: false,
        replaces: Some(of.id.clone()),
        created_at: None,
        duration_ms: None,
        status: Status::InForce,
        ..of.clone()
    };
    Some(weighed(inputs, record))
}

fn weighed(inputs: &Inputs<'_>, mut record: Compaction) -> Compaction {
    record.tokens_after = prompt::draft(inputs.source, Some(&record)).tokens;
    record
}
