//! The ids that a branch gives to what it shares with its session: they begin with its own id instead of the other's.

use crate::values::stored::TurnRow;
use engine::compact::record::Compaction;
use engine::id::{CompactionId, MessageId, RoundId, TurnId};
use engine::message::Message;

/// From the ids of one session to those of another. Ids that do not begin with the session's own stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renaming {
    /// What ids begin with, the slash included.
    from: String,
    /// What they begin with afterwards.
    to: String,
}

impl Renaming {
    /// From the ids of the session `from` to those of the session `to`; `None` if they are the same.
    pub fn between(from: &str, to: &str) -> Option<Self> {
        (from != to).then(|| Self { from: format!("{from}/"), to: format!("{to}/") })
    }

    /// The id in the other session.
    pub fn id(&self, known: &str) -> String {
        exchange(known, &self.from, &self.to)
    }

    /// The id that became this one.
    pub fn original(&self, known: &str) -> String {
        exchange(known, &self.to, &self.from)
    }

    /// The message in the other session.
    pub fn message(&self, message: Message) -> Message {
        Message {
            id: MessageId::new(self.id(message.id.as_str())),
            turn: TurnId::new(self.id(message.turn.as_str())),
            ..message
        }
    }

    /// The turn in the other session, which makes its own decisions.
    pub fn turn(&self, row: TurnRow) -> TurnRow {
        TurnRow { id: TurnId::new(self.id(row.id.as_str())), decided: Vec::new(), ..row }
    }

    /// The record in the other session.
    pub fn compaction(&self, mut record: Compaction) -> Compaction {
        let id = |known: &CompactionId| CompactionId::new(self.id(known.as_str()));
        record.previous = record.previous.as_ref().map(id);
        record.replaces = record.replaces.as_ref().map(id);
        record.id = id(&record.id);
        record.anchor.round_id = RoundId::new(self.id(record.anchor.round_id.as_str()));
        record.turn = record.turn.as_ref().map(|known| TurnId::new(self.id(known.as_str())));
        record
    }
}

fn exchange(known: &str, from: &str, to: &str) -> String {
    known.strip_prefix(from).map_or_else(|| known.to_owned(), |rest| format!("{to}{rest}"))
}
