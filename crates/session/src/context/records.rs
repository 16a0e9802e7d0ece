//! Compaction records: looked up, committed, taken out of force, and emitted each time. Only their status
//! ever changes.

use crate::core::{Conversation, Core};
use crate::values::event::{CompactionUpdate, EventBody, Phase};
use crate::values::refusal::Refusal;
use crate::values::stored::Write;
use crate::values::undo::{Alternative, CannotUndo};
use engine::compact::metadata::Persisted;
use engine::compact::record::{Compaction, Status};
use engine::id::{CompactionId, TurnId};

/// Returns the record in force. Fails if there is none, or `id` names another one.
pub(crate) fn meant<'c>(
    conversation: &'c Conversation,
    id: Option<&CompactionId>,
) -> Result<&'c Compaction, Refusal> {
    let Some(newest) = conversation.transcript().in_force() else {
        return Err(match id {
            Some(id) => not_in_force(conversation, id),
            None => Refusal::Unusable { field: "compactionId", why: "no compaction is in force" },
        });
    };
    match id {
        Some(id) if *id != newest.id => Err(not_in_force(conversation, id)),
        _ => Ok(newest),
    }
}

fn not_in_force(conversation: &Conversation, id: &CompactionId) -> Refusal {
    let named = || id.as_str().to_owned();
    let known = conversation.transcript().compactions().iter().find(|record| record.id == *id);
    match (known.map(|record| record.status), conversation.transcript().in_force()) {
        (None, _) => Refusal::Unknown { what: "compactionId", id: named() },
        (Some(Status::InForce), Some(newest)) => Refusal::CannotUndo(Box::new(CannotUndo {
            compaction: id.clone(),
            limit: 0,
            needed: 0,
            sections: Vec::new(),
            ways: vec![Alternative::UndoFirst(newest.id.clone())],
        })),
        (Some(_), _) => Refusal::Settled { what: "compactionId", id: named() },
    }
}

/// Metadata of the summaries that a turn still has, oldest first.
pub(crate) fn summaries_left(conversation: &Conversation, turn: Option<&TurnId>) -> Vec<Persisted> {
    let at = conversation.transcript().turns().iter().position(|known| Some(&known.id) == turn);
    at.map_or_else(Vec::new, |at| conversation.summaries_of(at))
}

/// Puts a record into force or out of it at the user's request, and emits it.
pub(crate) fn set_status(core: &mut Core<'_>, id: &CompactionId, status: Status) {
    core.transcript_mut().set_status(id, status);
    core.write(Write::CompactionStatus { id: id.clone(), status });
    tell_record(core, id, None);
}

/// Emits a record that is in force or was undone. `why` is given if it is emitted again.
pub(crate) fn tell_record(core: &mut Core<'_>, id: &CompactionId, why: Option<&str>) {
    let Some(record) = core.record(id).cloned() else { return };
    let left = summaries_left(core, record.turn.as_ref());
    let phase = if record.status == Status::InForce { Phase::Accepted } else { Phase::Undone };
    let metadata = core.persisted(&record);
    core.emit(EventBody::CompactionUpdated(Box::new(CompactionUpdate {
        id: id.clone(),
        phase,
        mode: Some(record.mode),
        trigger: record.trigger,
        reason: why.map(str::to_owned),
        tokens_before: Some(record.tokens_before),
        left: (phase == Phase::Undone).then_some(left),
        record: Some((record, metadata)),
    })));
}

/// Writes and emits a record, after taking the one that it replaces out of force.
pub(crate) fn commit(core: &mut Core<'_>, record: Compaction, why: Option<&str>) -> Compaction {
    if let Some(replaced) = record.replaces.clone() {
        set_status(core, &replaced, Status::Undone);
    }
    let record = Compaction { created_at: Some(core.now()), ..record };
    core.transcript_mut().record(record.clone());
    core.write(Write::Compaction(Box::new(record.clone())));
    let metadata = core.persisted(&record);
    core.emit(EventBody::CompactionUpdated(Box::new(CompactionUpdate {
        id: record.id.clone(),
        phase: Phase::Accepted,
        mode: Some(record.mode),
        trigger: record.trigger,
        reason: why.map(str::to_owned),
        tokens_before: Some(record.tokens_before),
        left: None,
        record: Some((record.clone(), metadata)),
    })));
    record
}

/// Stores and emits that records went out of force.
pub(crate) fn void(core: &mut Core<'_>, records: &[CompactionId]) {
    for id in records {
        core.write(Write::CompactionStatus { id: id.clone(), status: Status::Void });
        let Some(record) = core.record(id).cloned() else { continue };
        let metadata = core.persisted(&record);
        core.emit(EventBody::CompactionUpdated(Box::new(CompactionUpdate {
            id: id.clone(),
            tokens_before: Some(record.tokens_before),
            left: None,
            phase: Phase::Voided,
            mode: Some(record.mode),
            trigger: record.trigger,
            reason: Some("the messages that it replaces were changed or removed".into()),
            record: Some((record, metadata)),
        })));
    }
}
