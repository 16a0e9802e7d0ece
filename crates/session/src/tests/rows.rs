//! Rows of sessions in maps, as a store keeps them. Writes that contradict existing rows are refused.

use crate::part::Claims;
use crate::queue::{Accepted, QueueItem};
use crate::renaming::Renaming;
use crate::stored::{
    Carried, Head, Inherited, KEPT_KEYS, Origin, Part, Rest, Revision, Stored, Streamed, TurnRow, Write,
};
use engine::compact::record::Compaction;
use engine::id::{Ordinal, SessionId};
use engine::message::{Message, Text};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
pub struct Rows(BTreeMap<SessionId, Kept>);

/// The rows of one session.
#[derive(Clone)]
struct Kept {
    head: Head,
    turns: BTreeMap<u32, TurnRow>,
    /// By position and version; each with the index of its turn.
    messages: BTreeMap<(Ordinal, u32), (u32, Arc<Message>)>,
    compactions: Vec<Compaction>,
    /// In the order of acceptance.
    queue: Vec<QueueItem>,
    /// Oldest first.
    keys: Vec<(String, Accepted)>,
    draft: Option<Text>,
    streamed: Vec<Streamed>,
}

impl Rows {
    /// Applies all of these changes, or none.
    pub fn commit(&mut self, session: &SessionId, writes: &[Write]) -> Result<(), String> {
        let mut changed = self.0.clone();
        writes.iter().try_for_each(|write| apply(&mut changed, session, write))?;
        self.0 = changed;
        Ok(())
    }

    /// Loads a whole session, with the newest version of each message.
    pub fn load(&self, session: &SessionId) -> Option<Stored> {
        self.0.get(session).map(Kept::stored)
    }

    /// Loads the part that a session's next prompt needs.
    pub fn load_part(&self, session: &SessionId, newest: u32) -> Option<Part> {
        Part::of(&self.load(session)?, newest)
    }

    /// Loads what a part from `from` on leaves out.
    pub fn load_rest(&self, session: &SessionId, from: Ordinal) -> Rest {
        self.load(session).map_or_else(Rest::default, |stored| Rest {
            messages: stored.messages.into_iter().filter(|(_, message)| message.ord < from).collect(),
            turns: stored.turns,
            compactions: stored.compactions,
            keys: stored.keys,
            unreadable: stored.unreadable,
        })
    }

    /// Returns `true` if one of these is known; ids of requests count only before `from`.
    pub fn is_known(&self, session: &SessionId, claims: &Claims, from: Ordinal) -> bool {
        let Some(stored) = self.load(session) else { return false };
        let id = claims.external_id.as_deref();
        let mut before = stored.messages.iter().filter(|(_, message)| message.ord < from);
        let is_said = before.any(|(_, message)| id.is_some() && message.external_id.as_deref() == id);
        is_said || stored.keys.iter().any(|(key, _)| Some(key) == claims.key.as_ref())
    }
}

impl Kept {
    fn new(head: Head) -> Self {
        Self {
            head,
            turns: BTreeMap::new(),
            messages: BTreeMap::new(),
            compactions: Vec::new(),
            queue: Vec::new(),
            keys: Vec::new(),
            draft: None,
            streamed: Vec::new(),
        }
    }

    fn append(&mut self, turn: u32, message: &Arc<Message>) -> Result<(), String> {
        let place = (message.ord, message.rev);
        if let Some((there_in, there)) = self.messages.get(&place) {
            if *there_in == turn && is_same(there, message) {
                return Ok(());
            }
            // The editor's id of a message may become known later.
            if there.external_id.is_some() || there.hash != message.hash {
                return Err(format!(
                    "message {} (revision {}) exists with other content",
                    message.ord, message.rev
                ));
            }
        }
        self.messages.insert(place, (turn, Arc::clone(message)));
        Ok(())
    }

    /// Replaces all versions of the message at its position.
    fn let_go(&mut self, turn: u32, message: &Arc<Message>) -> Result<(), String> {
        let before = self.messages.len();
        self.messages.retain(|(ord, _), _| *ord != message.ord);
        if self.messages.len() == before {
            return Err(format!("no message at position {}", message.ord));
        }
        self.messages.insert((message.ord, message.rev), (turn, Arc::clone(message)));
        Ok(())
    }

    fn record(&mut self, record: &Compaction) -> Result<(), String> {
        let Some(there) = self.compactions.iter().find(|there| there.id == record.id) else {
            self.compactions.push(record.clone());
            return Ok(());
        };
        let same = *there == Compaction { status: there.status, ..record.clone() };
        if same { Ok(()) } else { Err(format!("compaction {} exists with other content", record.id)) }
    }

    fn enqueue(&mut self, item: &QueueItem) -> Result<(), String> {
        let Some(there) = self.queue.iter().find(|there| there.id == item.id) else {
            self.queue.push(item.clone());
            return Ok(());
        };
        if there == item {
            Ok(())
        } else {
            Err(format!("queued command {} exists with other content", item.id))
        }
    }

    fn remember(&mut self, key: &str, accepted: &Accepted) {
        if self.keys.iter().any(|(there, answer)| there == key && answer == accepted) {
            return;
        }
        self.keys.retain(|(there, _)| there != key);
        self.keys.push((key.to_owned(), accepted.clone()));
        self.keys.drain(..self.keys.len().saturating_sub(KEPT_KEYS));
    }

    fn apply(&mut self, write: &Write) -> Result<(), String> {
        match write {
            Write::Message { turn, message } => return self.append(*turn, message),
            Write::Compaction(record) => return self.record(record),
            Write::Turn(turn) => drop(self.turns.insert(turn.index, turn.clone())),
            Write::CompactionStatus { id, status } => {
                let record = self.compactions.iter_mut().find(|record| record.id == *id);
                record.ok_or_else(|| format!("unknown compaction {id}"))?.status = *status;
            }
            Write::LetGo { turn, messages } => {
                return messages.iter().try_for_each(|message| self.let_go(*turn, message));
            }
            Write::Truncate { from, turns } => {
                self.messages.retain(|(ord, _), _| ord < from);
                self.turns.retain(|index, _| index < turns);
            }
            Write::Enqueue(item) => return self.enqueue(item),
            Write::Dequeue(item) => self.queue.retain(|there| there.id != *item),
            Write::Key { key, accepted } => self.remember(key, accepted),
            Write::Draft(draft) => self.draft.clone_from(draft),
            Write::Streamed(piece) => self.streamed.push(piece.clone()),
            Write::StreamEnded => self.streamed.clear(),
            Write::Head(head) => self.head = (**head).clone(),
            Write::Revision(_) | Write::Branch { .. } => {
                return Err("it changes more than one session".to_owned());
            }
        }
        Ok(())
    }

    /// Takes over what a branch of `from` has of it.
    fn inherit(&mut self, from: &Self, inherited: &Inherited) -> Result<(), String> {
        let renaming = Renaming::between(from.head.id.as_str(), self.head.id.as_str());
        let renaming = renaming.ok_or_else(|| "a branch of itself".to_owned())?;
        let whole = from.compactions.iter().map(|record| &record.id);
        let records = match &inherited.compactions {
            Some(last) => {
                whole.clone().position(|id| id == last).ok_or("an unknown record is inherited")? + 1
            }
            None => 0,
        };
        let newest: BTreeMap<Ordinal, _> =
            from.messages.iter().map(|((ord, _), there)| (*ord, there)).collect();
        for (ord, (turn, message)) in newest.into_iter().filter(|(ord, _)| *ord < inherited.messages) {
            let message = Arc::new(renaming.message((**message).clone()));
            self.messages.insert((ord, message.rev), (*turn, message));
        }
        for (index, row) in from.turns.iter().filter(|(index, _)| **index < inherited.turns) {
            self.turns.insert(*index, renaming.turn(row.clone()));
        }
        let records = from.compactions.iter().take(records).cloned();
        self.compactions.extend(records.map(|record| renaming.compaction(record)));
        Ok(())
    }

    fn stored(&self) -> Stored {
        let mut queue = self.queue.clone();
        queue.sort_by_key(|item| !item.priority);
        let newest: BTreeMap<Ordinal, _> =
            self.messages.iter().map(|((ord, _), message)| (*ord, message.clone())).collect();
        Stored {
            head: self.head.clone(),
            turns: self.turns.values().cloned().collect(),
            messages: newest.into_values().collect(),
            compactions: self.compactions.clone(),
            queue,
            keys: self.keys.clone(),
            draft: self.draft.clone(),
            streamed: self.streamed.clone(),
            unreadable: Vec::new(),
        }
    }
}

fn apply(sessions: &mut BTreeMap<SessionId, Kept>, session: &SessionId, write: &Write) -> Result<(), String> {
    let missing = || format!("there is no session {session}");
    let free = |sessions: &BTreeMap<SessionId, Kept>, to: &SessionId| match sessions.contains_key(to) {
        true => Err(format!("session {to} exists already")),
        false => Ok(()),
    };
    match write {
        Write::Head(head) if head.id != *session => Err(format!("the head is of session {}", head.id)),
        Write::Head(head) if !sessions.contains_key(session) => {
            sessions.insert(session.clone(), Kept::new((**head).clone()));
            Ok(())
        }
        Write::Revision(Revision { id: to, .. }) => {
            let mut copy = sessions.get(session).ok_or_else(missing)?.clone();
            free(sessions, to)?;
            copy.head.id = to.clone();
            copy.head.parent = Some(session.clone());
            copy.head.origin = Origin::Revision;
            copy.head.carried = Carried::default();
            copy.head.waits = false;
            (copy.queue, copy.keys, copy.draft) = (Vec::new(), Vec::new(), None);
            sessions.insert(to.clone(), copy);
            Ok(())
        }
        Write::Branch { to, inherited, writes } => {
            let from = sessions.get(session).ok_or_else(missing)?.clone();
            free(sessions, to)?;
            let Some((begin @ Write::Head(_), rest)) = writes.split_first() else {
                return Err(format!("the branch {to} does not begin with its head"));
            };
            apply(sessions, to, begin)?;
            if let Some(branch) = sessions.get_mut(to) {
                branch.inherit(&from, inherited)?;
            }
            rest.iter().try_for_each(|write| apply(sessions, to, write))
        }
        write => sessions.get_mut(session).ok_or_else(missing)?.apply(write),
    }
}

/// Returns `true` if both messages are the same, apart from `found`.
fn is_same(one: &Message, other: &Message) -> bool {
    let forget = |message: &Message| Message { found: Default::default(), ..message.clone() };
    forget(one) == forget(other)
}
