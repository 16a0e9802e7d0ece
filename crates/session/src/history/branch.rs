//! Branches: another session, with its own ids, continues from a message of this one. Changes to this
//! session's own past are in `rewind`.

use crate::core::{Conversation, Core};
use crate::values::effect::{Effect, Made};
use crate::values::input::At;
use crate::values::refusal::Refusal;
use crate::values::stored::{Head, Prefix, TitleFrom, TurnFigures, TurnRow, Write};
use engine::compact::record::Status;
use engine::id::{CompactionId, MessageId, Ordinal, PinId, RoundId, SessionId, Time, TurnId};
use engine::message::Message;
use engine::prompt::pins::{Pin, Pinned};
use engine::words::{Origin, TurnStatus};
use std::sync::Arc;

/// Makes a session that continues from here, with its own ids.
pub(crate) fn branch(
    core: &mut Core<'_>,
    to: &SessionId,
    up_to: Option<At>,
    title: Option<String>,
) -> Result<(), Refusal> {
    let end = match up_to {
        Some(at) => {
            let found = core.resolve(&at).and_then(|id| core.find(&id));
            found.map_err(|refusal| refusal.of_fields(["upToMessageId", "upToIndex"]))?.ord.next()
        }
        None => core.next_ord(),
    };
    let writes = writes(core, to, end, title, core.now());
    let made = made_by(&writes);
    core.write(Write::Branch { to: to.clone(), writes });
    if let Some(made) = made {
        core.push(Effect::Made(Box::new(made)));
    }
    Ok(())
}

/// The session that begins with these writes, as a list shows it.
fn made_by(writes: &[Write]) -> Option<Made> {
    let Some(Write::Head(head)) = writes.first() else { return None };
    let messages = writes.iter().filter(|write| matches!(write, Write::Message { .. }));
    let turns = writes.iter().filter(|write| matches!(write, Write::Turn(_)));
    let mut newest_first = writes.iter().rev();
    let in_force = newest_first.find_map(|write| match write {
        Write::Compaction(record) if record.status == Status::InForce => Some(record),
        _ => None,
    });
    Some(Made {
        head: (**head).clone(),
        messages: count(messages.count()),
        turns: count(turns.count()),
        summary: in_force.map(|record| record.block.clone()),
        summarized: in_force.map_or(0, |record| record.resume_at().0),
    })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The writes of a session with another id and everything before `end`.
fn writes(
    conversation: &Conversation,
    to: &SessionId,
    end: Ordinal,
    title: Option<String>,
    now: Time,
) -> Vec<Write> {
    let own = format!("{}/", conversation.head().id);
    let id = |known: &str| known.strip_prefix(&own).map_or(known.to_owned(), |rest| format!("{to}/{rest}"));
    let is_named = title.is_some();
    let stays = |what: &Pinned| match what {
        Pinned::Message(known) => {
            let message = conversation.transcript().by_id(known).filter(|message| message.ord < end)?;
            Some(Pinned::Message(MessageId::new(id(message.id.as_str()))))
        }
        Pinned::Text(text) => Some(Pinned::Text(text.clone())),
    };
    let pins = conversation
        .pins()
        .iter()
        .filter_map(|pin| Some(Pin { id: PinId::new(id(pin.id.as_str())), what: stays(&pin.what)? }));
    let head = Head {
        prefix: Prefix { pins: pins.collect(), ..conversation.head().prefix.clone() },
        id: to.clone(),
        title: title.or_else(|| conversation.head().title.clone()),
        title_from: if is_named { Some(TitleFrom::Client) } else { conversation.head().title_from },
        origin: Origin::Branch,
        waits: false,
        carried: conversation.head().carried.branched(),
        parent: Some(conversation.head().id.clone()),
        cuts: conversation.transcript().cuts(),
        created_at: now,
        updated_at: now,
        ..conversation.head().clone()
    };
    let mut writes = vec![Write::Head(Box::new(head))];
    let kept = conversation.transcript().range(Ordinal(0), end).iter().filter(|message| message.ord < end);
    let mut newest = None;
    for message in kept {
        let turn = conversation.transcript().turn_at(message.ord).unwrap_or_default();
        let at = u32::try_from(turn).unwrap_or(u32::MAX);
        if newest != Some(turn) {
            newest = Some(turn);
            let row = conversation.turns().get(turn).cloned();
            writes.extend(row.map(|row| {
                let runs = row.status == TurnStatus::Running;
                let status = if runs { TurnStatus::Cancelled } else { row.status };
                let (usage, cost) = conversation.spent_before(turn, end);
                let is_whole = !runs && conversation.transcript().last_of_turn(turn) < Some(end);
                let known = if is_whole { row.figures } else { TurnFigures::default() };
                Write::Turn(TurnRow {
                    id: TurnId::new(id(row.id.as_str())),
                    status,
                    decided: Vec::new(),
                    figures: TurnFigures { usage, cost, ..known },
                    ..row
                })
            }));
        }
        let message = Arc::new(Message {
            id: MessageId::new(id(message.id.as_str())),
            turn: TurnId::new(id(message.turn.as_str())),
            ..(**message).clone()
        });
        writes.push(Write::Message { turn: at, message });
    }
    let whole =
        conversation.transcript().compactions().iter().filter(|record| record.newest_named() < Some(end));
    for record in whole {
        let mut copy = record.clone();
        copy.id = CompactionId::new(id(record.id.as_str()));
        copy.anchor.round_id = RoundId::new(id(record.anchor.round_id.as_str()));
        copy.previous = record.previous.as_ref().map(|known| CompactionId::new(id(known.as_str())));
        copy.replaces = record.replaces.as_ref().map(|known| CompactionId::new(id(known.as_str())));
        copy.turn = record.turn.as_ref().map(|known| TurnId::new(id(known.as_str())));
        writes.push(Write::Compaction(Box::new(copy)));
    }
    writes
}
