//! Branches: another session, with its own ids, continues from a message of this one. Changes to this
//! session's own past are in `rewind`.

use crate::core::{Conversation, Core};
use crate::values::effect::{Effect, Made};
use crate::values::input::At;
use crate::values::refusal::Refusal;
use crate::values::renaming::Renaming;
use crate::values::stored::{Head, Inherited, Prefix, TitleFrom, TurnFigures, TurnRow, Write};
use engine::compact::record::{Compaction, Status};
use engine::id::{MessageId, Ordinal, PinId, SessionId, Time, TurnId};
use engine::prompt::pins::{Pin, Pinned};
use engine::words::{Origin, TurnStatus};

/// Makes a session that continues from here, with its own ids.
pub(crate) fn branch(
    core: &mut Core<'_>,
    to: &SessionId,
    up_to: Option<At>,
    title: Option<String>,
) -> Result<(), Refusal> {
    let end = match up_to {
        Some(at) => {
            let found = core.at(&at);
            found.map_err(|refusal| refusal.of_fields(["upToMessageId", "upToIndex"]))?.ord.next()
        }
        None => core.next_ord(),
    };
    let (inherited, writes) = writes(core, to, end, title, core.now());
    let made = made_by(core, end, &inherited, &writes);
    core.write(Write::Branch { to: to.clone(), inherited, writes });
    if let Some(made) = made {
        core.push(Effect::Made(Box::new(made)));
    }
    Ok(())
}

/// The session that begins with these writes, as a list shows it.
fn made_by(
    conversation: &Conversation,
    end: Ordinal,
    inherited: &Inherited,
    writes: &[Write],
) -> Option<Made> {
    let Some(Write::Head(head)) = writes.first() else { return None };
    let turns = writes.iter().filter(|write| matches!(write, Write::Turn(_)));
    let in_force = whole(conversation, end).filter(|record| record.status == Status::InForce).last();
    Some(Made {
        head: (**head).clone(),
        messages: end.0,
        turns: inherited.turns + count(turns.count()),
        summary: in_force.map(|record| record.block.clone()),
        summarized: in_force.map_or(0, |record| record.resume_at().0),
    })
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The compactions that name no message from `end` on.
fn whole(conversation: &Conversation, end: Ordinal) -> impl Iterator<Item = &Compaction> {
    let records = conversation.transcript().compactions().iter();
    records.filter(move |record| record.newest_named() < Some(end))
}

/// What a session with another id and everything before `end` has of this one, and its other writes.
fn writes(
    conversation: &Conversation,
    to: &SessionId,
    end: Ordinal,
    title: Option<String>,
    now: Time,
) -> (Inherited, Vec<Write>) {
    let renaming = Renaming::between(conversation.head().id.as_str(), to.as_str());
    let id = |known: &str| renaming.as_ref().map_or_else(|| known.to_owned(), |renaming| renaming.id(known));
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
    let mut inherited = Inherited { messages: end, ..Inherited::default() };
    let mut writes = vec![Write::Head(Box::new(head))];
    for row in turns_before(conversation, end) {
        let is_next = row.index == inherited.turns && writes.len() == 1;
        match conversation.turns().get(row.index as usize) {
            Some(own) if is_next && TurnRow { decided: Vec::new(), ..own.clone() } == row => {
                inherited.turns += 1;
            }
            _ => writes.push(Write::Turn(TurnRow { id: TurnId::new(id(row.id.as_str())), ..row })),
        }
    }
    let all = conversation.transcript().compactions().iter();
    let mut records = whole(conversation, end).peekable();
    for known in all {
        if records.next_if(|record| record.id == known.id).is_none() {
            break;
        }
        inherited.compactions = Some(known.id.clone());
    }
    for record in records {
        let copy = match &renaming {
            Some(renaming) => renaming.compaction(record.clone()),
            None => record.clone(),
        };
        writes.push(Write::Compaction(Box::new(copy)));
    }
    (inherited, writes)
}

/// The turns that begin before `end`, as they stand there: without what comes later, and with no decisions.
fn turns_before(conversation: &Conversation, end: Ordinal) -> impl Iterator<Item = TurnRow> {
    let last = end.0.checked_sub(1).and_then(|last| conversation.transcript().turn_at(Ordinal(last)));
    let turns = conversation.turns().iter().take(last.map_or(0, |last| last + 1));
    turns.enumerate().map(move |(turn, row)| {
        let runs = row.status == TurnStatus::Running;
        let status = if runs { TurnStatus::Cancelled } else { row.status };
        let is_whole = !runs && conversation.transcript().last_of_turn(turn) < Some(end);
        let known = if is_whole { row.figures } else { TurnFigures::default() };
        let figures = if known.usage.is_some() {
            known
        } else {
            let (usage, spent) = conversation.spent_before(turn, end);
            TurnFigures { usage, spent, ..known }
        };
        TurnRow { status, decided: Vec::new(), figures, ..row.clone() }
    })
}
