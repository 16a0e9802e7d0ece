//! What cannot be read of a session. A message has a stand-in, so that the positions behind it stay; other parts are the
//! default.

use engine::id::{MessageId, Ordinal, SessionId, TurnId};
use engine::message::Message;
use engine::message::unreadable::unreadable;
use session::renaming::Renaming;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A message with the index of its turn, or what is left of its row.
pub(super) type FoundOrLost = Result<(u32, Arc<Message>), Lost>;

/// An unreadable row of a message. Any of its columns may be the damaged one.
pub(super) struct Lost {
    reason: String,
    /// The index of its turn, as the row states it.
    turn: Option<u32>,
    stand_in: Message,
}

impl Lost {
    /// The remains of a row of this session, with these columns as far as they can be read.
    pub fn of(session: &SessionId, (ord, rev): (i64, i64), left: Left<'_>, reason: String) -> Self {
        let whole = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        let (turn, ord) = (left.turn, whole(ord));
        let id = left.message_id.map_or_else(|| format!("{session}/m{ord}"), str::to_owned);
        let of_turn = left.turn_id.map_or_else(|| format!("{session}/t{}", turn.unwrap_or(0)), str::to_owned);
        let role = left.role.unwrap_or_default();
        let stand_in = unreadable(role, MessageId::new(id), Ordinal(ord), whole(rev), TurnId::new(of_turn));
        let stand_in = Message {
            external_id: left.external_id.map(str::to_owned),
            visible_to_model: stand_in.visible_to_model && left.visible,
            created_at: left.created_at.map(str::to_owned),
            ..stand_in
        };
        Self { reason, turn, stand_in }
    }

    pub fn renamed(self, renaming: Option<&Renaming>) -> Self {
        match renaming {
            Some(renaming) => Self { stand_in: renaming.message(self.stand_in), ..self },
            None => self,
        }
    }

    /// The stand-in with the index of its turn, between what is `before` it and the turn of what is `behind` it; `None` if
    /// only the row itself vouches for its position: positions are filled up to a message.
    fn placed(
        self,
        start: Ordinal,
        before: Option<(u32, Ordinal)>,
        behind: Option<u32>,
    ) -> Option<(u32, Arc<Message>)> {
        let ord = self.stand_in.ord;
        let is_next = before.map_or(start, |(_, before)| before.next()) == ord;
        if !is_next && behind.is_none() {
            return None;
        }
        let (first, last) = match (before, behind) {
            (Some((turn, _)), behind) => (turn, turn.saturating_add(1).min(behind.unwrap_or(u32::MAX))),
            // Every turn has a message.
            (None, behind) => (0, ord.0.min(behind.unwrap_or(u32::MAX))),
        };
        let turn = self.turn.unwrap_or(first).clamp(first, last.max(first));
        Some((turn, Arc::new(self.stand_in)))
    }
}

/// The columns of an unreadable row, as far as they can be read.
pub(super) struct Left<'a> {
    pub turn: Option<u32>,
    pub role: Option<&'a str>,
    pub external_id: Option<&'a str>,
    pub message_id: Option<&'a str>,
    pub turn_id: Option<&'a str>,
    pub visible: bool,
    pub created_at: Option<&'a str>,
}

/// The newest versions of messages by position, with a stand-in for each unreadable one, which is added to
/// `unreadable`.
pub(super) fn in_order(
    found: BTreeMap<i64, (i64, FoundOrLost)>,
    start: Ordinal,
    unreadable: &mut Vec<String>,
) -> Vec<(u32, Arc<Message>)> {
    let mut behind: Vec<Option<u32>> = found
        .values()
        .rev()
        .scan(None, |turn: &mut Option<u32>, (_, found)| {
            *turn = found.as_ref().map_or(*turn, |(turn, _)| Some(*turn));
            Some(*turn)
        })
        .collect();
    behind.reverse();
    let mut messages: Vec<(u32, Arc<Message>)> = Vec::with_capacity(found.len());
    for ((ord, (_, message)), behind) in found.into_iter().zip(behind) {
        match message {
            Ok(message) => messages.push(message),
            Err(lost) => {
                unreadable.push(format!("message {ord}: {}", lost.reason));
                let before = messages.last().map(|(turn, message)| (*turn, message.ord));
                messages.extend(lost.placed(start, before, behind));
            }
        }
    }
    messages
}

/// Collects the reasons of unreadable parts.
pub(super) struct Parts<'a> {
    pub unreadable: &'a mut Vec<String>,
}

impl Parts<'_> {
    /// A part; if it cannot be read, the default.
    pub fn part<T: Default>(&mut self, name: &str, found: Result<T, String>) -> T {
        found.unwrap_or_else(|reason| {
            self.unreadable.push(format!("{name} of the session: {reason}"));
            T::default()
        })
    }
}
