//! A branch: another session goes on from somewhere in this one, with ids of its own (source: 001, BranchFromChat). What
//! changes this session's own past is in `rewind`.

use super::effect::{Effect, Made};
use super::input::{At, ReplyTo};
use super::queue::Accepted;
use super::rewind::count;
use super::stored::{Head, Origin, Prefix, TitleFrom, TurnRow, TurnStatus, Write};
use super::{Session, Step};
use engine::compact::record::Status;
use engine::id::{CompactionId, MessageId, Ordinal, PinId, RoundId, SessionId, Time, TurnId};
use engine::message::Message;
use engine::prompt::pins::{Pin, Pinned};
use std::sync::Arc;

impl Step<'_> {
    /// Another session goes on from here, with ids of its own.
    pub(super) fn branch(
        &mut self,
        reply: ReplyTo,
        to: SessionId,
        up_to: Option<At>,
        title: Option<String>,
        key: Option<String>,
    ) {
        if self.answered_before(reply, key.as_deref()) {
            return;
        }
        let last = up_to.map(|at| {
            let id = self.session.resolve(&at)?;
            self.session.find(&id).map(|message| message.ord)
        });
        let end = match last.transpose() {
            Ok(Some(ord)) => ord.next(),
            Ok(None) => Ordinal(u32::try_from(self.session.transcript.messages().len()).unwrap_or(u32::MAX)),
            Err(refusal) => return self.reply(reply, Err(refusal)),
        };
        let writes = self.session.branch(&to, end, title, self.around.now);
        let made = made_by(&writes);
        self.write(Write::Branch { to: to.clone(), writes });
        self.effects.extend(made.map(|made| Effect::Made(Box::new(made))));
        let accepted = Accepted { session: Some(to), ..Accepted::default() };
        self.accept_command(reply, key, accepted);
    }
}

/// What a session is that begins with these writes.
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

impl Session {
    /// Everything before `end` as a session of another id.
    fn branch(&self, to: &SessionId, end: Ordinal, title: Option<String>, now: Time) -> Vec<Write> {
        let own = format!("{}/", self.head.id);
        let id =
            |known: &str| known.strip_prefix(&own).map_or(known.to_owned(), |rest| format!("{to}/{rest}"));
        let is_named = title.is_some();
        let stays = |what: &Pinned| match what {
            Pinned::Message(known) => {
                let message = self.transcript.by_id(known).filter(|message| message.ord < end)?;
                Some(Pinned::Message(MessageId::new(id(message.id.as_str()))))
            }
            Pinned::Text(text) => Some(Pinned::Text(text.clone())),
        };
        let pins = self
            .pins()
            .iter()
            .filter_map(|pin| Some(Pin { id: PinId::new(id(pin.id.as_str())), what: stays(&pin.what)? }));
        let head = Head {
            prefix: Prefix { pins: pins.collect(), ..self.head.prefix.clone() },
            id: to.clone(),
            title: title.or_else(|| self.head.title.clone()),
            title_from: if is_named { Some(TitleFrom::Client) } else { self.head.title_from },
            origin: Origin::Branch,
            waits: false,
            carried: self.head.carried.branched(),
            parent: Some(self.head.id.clone()),
            cuts: self.transcript.cuts(),
            created_at: now,
            updated_at: now,
            ..self.head.clone()
        };
        let mut writes = vec![Write::Head(Box::new(head))];
        let kept = self.transcript.range(Ordinal(0), end).iter().filter(|message| message.ord < end);
        let mut newest = None;
        for message in kept {
            let turn = self.transcript.turn_at(message.ord).unwrap_or_default();
            let at = u32::try_from(turn).unwrap_or(u32::MAX);
            if newest != Some(turn) {
                newest = Some(turn);
                let row = self.turns.get(turn).cloned();
                writes.extend(row.map(|row| {
                    let status = match row.status {
                        TurnStatus::Running => TurnStatus::Cancelled,
                        ended => ended,
                    };
                    Write::Turn(TurnRow {
                        id: TurnId::new(id(row.id.as_str())),
                        status,
                        decided: Vec::new(),
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
        let whole = self.transcript.compactions().iter().filter(|record| record.newest_named() < Some(end));
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
}
