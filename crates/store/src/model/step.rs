//! The model store's sessions, and steps that change them: on copies, which replace the originals once the
//! whole step has succeeded.

use crate::error::StoreError;
use crate::follow::{Change, FollowState, Holder, Mark};
use crate::list::{RevisionRow, SessionRow};
use crate::request_of;
use engine::compact::record::{Compaction, Status};
use engine::id::{Ordinal, SessionId};
use engine::message::{Message, Text};
use session::queue::{Accepted, QueueItem};
use session::renaming::Renaming;
use session::stored::{
    Carried, Head, Inherited, KEPT_KEYS, Origin, Revision, Stored, Streamed, TurnRow, Write,
};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// The state of a session.
#[derive(Debug, Clone)]
pub(super) struct StoredSession {
    /// The session's own row.
    pub head: Head,
    /// `None` if this is a session.
    pub revision: Option<Revision>,
    pub turns: BTreeMap<u32, TurnRow>,
    /// By position and version, with the index of the turn.
    pub messages: BTreeMap<(Ordinal, u32), (u32, Arc<Message>)>,
    pub compactions: Vec<Compaction>,
    /// In the order of acceptance.
    queue: Vec<QueueItem>,
    /// Oldest first.
    keys: Vec<(String, Accepted)>,
    draft: Option<Text>,
    streamed: Vec<Streamed>,
    /// See `Mark`.
    pub commits: u64,
    pub rewrites: u64,
}

/// A step in progress: the changed sessions, over those that exist.
pub(super) struct PendingStep<'a> {
    sessions: &'a BTreeMap<SessionId, StoredSession>,
    changed: BTreeMap<SessionId, StoredSession>,
}

impl StoredSession {
    fn new(head: Head) -> Self {
        Self {
            head,
            revision: None,
            turns: BTreeMap::new(),
            messages: BTreeMap::new(),
            compactions: Vec::new(),
            queue: Vec::new(),
            keys: Vec::new(),
            draft: None,
            streamed: Vec::new(),
            commits: 0,
            rewrites: 0,
        }
    }

    fn append(&mut self, turn: u32, message: &Arc<Message>) -> Result<(), String> {
        let place = (message.ord, message.rev);
        if let Some((there_in, there)) = self.messages.get(&place) {
            let same = *there_in == turn && is_same(there, message);
            // The editor's id of a message may become known later.
            if !same && there.external_id.is_none() && there.hash == message.hash {
                self.rewrites += 1;
                self.messages.insert(place, (turn, Arc::clone(message)));
                return Ok(());
            }
            let other =
                || format!("message {} (revision {}) exists with other content", message.ord, message.rev);
            return if same { Ok(()) } else { Err(other()) };
        }
        let versions = self.messages.range((message.ord, 0)..=(message.ord, u32::MAX));
        self.rewrites += u64::from(versions.count() > 0);
        self.messages.insert(place, (turn, Arc::clone(message)));
        Ok(())
    }

    /// Replaces all versions of the message at this position.
    fn let_go(&mut self, turn: u32, message: &Arc<Message>) -> Result<(), String> {
        let before = self.messages.len();
        self.messages.retain(|(ord, _), _| *ord != message.ord);
        if self.messages.len() == before {
            return Err(format!("no message at position {}", message.ord));
        }
        self.messages.insert((message.ord, message.rev), (turn, Arc::clone(message)));
        self.rewrites += 1;
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
            Write::Turn(turn) => {
                self.turns.insert(turn.index, turn.clone());
            }
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
                self.rewrites += 1;
            }
            Write::Enqueue(item) => return self.enqueue(item),
            Write::Dequeue(item) => self.queue.retain(|there| there.id != *item),
            Write::Key { key, accepted } => self.remember(key, accepted),
            Write::Draft(draft) => self.draft.clone_from(draft),
            Write::Streamed(piece) => self.streamed.push(piece.clone()),
            Write::StreamEnded => self.streamed.clear(),
            // Handled by `PendingStep`: these concern more than one session.
            Write::Head(_) | Write::Revision(_) | Write::Branch { .. } => {}
        }
        Ok(())
    }

    /// Takes over what a branch of `from` has of it.
    fn inherit(&mut self, from: &Self, inherited: &Inherited) {
        let Some(renaming) = Renaming::between(from.head.id.as_str(), self.head.id.as_str()) else { return };
        let records = inherited.compactions.as_ref().and_then(|last| {
            let at = from.compactions.iter().position(|record| record.id == *last);
            at.map(|at| at + 1)
        });
        let records = records.unwrap_or_default();
        for (ord, (turn, message)) in from.newest() {
            if ord < inherited.messages {
                self.messages
                    .insert((ord, message.rev), (*turn, Arc::new(renaming.message((**message).clone()))));
            }
        }
        for (index, row) in from.turns.iter().filter(|(index, _)| **index < inherited.turns) {
            self.turns.insert(*index, renaming.turn(row.clone()));
        }
        let records = from.compactions.iter().take(records).cloned();
        self.compactions.extend(records.map(|record| renaming.compaction(record)));
    }

    /// The newest version of each message.
    pub fn newest(&self) -> BTreeMap<Ordinal, &(u32, Arc<Message>)> {
        self.messages.iter().map(|((ord, _), message)| (*ord, message)).collect()
    }

    /// The other versions.
    pub fn older(&self) -> Vec<(u32, Arc<Message>)> {
        let newest = self.newest();
        let is_older = |message: &&(u32, Arc<Message>)| newest.get(&message.1.ord) != Some(message);
        self.messages.values().filter(is_older).cloned().collect()
    }

    /// The session as stored, without messages before `from`.
    pub fn stored(&self, from: Ordinal) -> Stored {
        let mut queue = self.queue.clone();
        queue.sort_by_key(|item| !item.priority);
        let newest = self.newest().into_iter().filter(|(ord, _)| *ord >= from);
        Stored {
            head: self.head.clone(),
            turns: self.turns.values().cloned().collect(),
            messages: newest.map(|(_, message)| message.clone()).collect(),
            compactions: self.compactions.clone(),
            queue,
            keys: self.keys.clone(),
            draft: self.draft.clone(),
            streamed: self.streamed.clone(),
            unreadable: Vec::new(),
        }
    }

    /// The session's state since a mark; see [`crate::Store::follow`].
    pub fn follow(&self, known: Option<&Mark>, holder: Option<Holder>) -> Option<FollowState> {
        let pieces = |from: u64| (0..).zip(self.streamed.iter().cloned()).skip_while(move |(n, _)| *n < from);
        let Some(from) = Mark::reads_from(known, self.commits, self.rewrites) else {
            return known.map(|mark| FollowState::new(*mark, holder, None, pieces(mark.piece).collect()));
        };
        let stored = Stored { streamed: Vec::new(), ..self.stored(from) };
        let mark = Mark::of(self.commits, self.rewrites, &stored, from);
        Some(FollowState::new(mark, holder, Some(Change { from, stored }), pieces(0).collect()))
    }

    /// The revision's row in the list of its session; `None` for a session.
    pub fn revision_row(&self) -> Option<RevisionRow> {
        let messages = u32::try_from(self.newest().len()).unwrap_or(u32::MAX);
        Some(RevisionRow { revision: self.revision.clone()?, number: self.head.cuts, messages })
    }

    /// The session's row in lists; `is_held`: a process writes it.
    pub fn row(&self, is_held: bool) -> SessionRow {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let in_force = self.compactions.iter().rev().find(|record| record.status == Status::InForce);
        let newest = self.newest();
        SessionRow {
            id: self.head.id.clone(),
            workspace: self.head.workspace.clone(),
            title: self.head.title.clone(),
            driver: self.head.driver,
            kind: self.head.kind.clone(),
            parent: self.head.parent.clone(),
            origin: self.head.origin,
            work_scope: self.head.work_scope.clone(),
            updated_at: self.head.updated_at,
            created_at: self.head.created_at,
            messages: count(newest.len()),
            turns: count(self.turns.len()),
            first_request: newest.values().find_map(|(_, message)| request_of(message)),
            summary: in_force.map(|record| record.block.to_string()).filter(|block| !block.is_empty()),
            summarized_count: in_force.map_or(0, |record| record.resume_at().0),
            state: self.head.carried.seen(is_held),
        }
    }
}

impl<'a> PendingStep<'a> {
    /// Applies these writes; returns the changed sessions.
    pub fn make(
        sessions: &'a BTreeMap<SessionId, StoredSession>,
        session: &SessionId,
        writes: &[Write],
    ) -> Result<BTreeMap<SessionId, StoredSession>, StoreError> {
        let mut step = Self { sessions, changed: BTreeMap::new() };
        writes.iter().try_for_each(|write| step.apply(session, write))?;
        Ok(step.changed)
    }

    fn is_there(&self, session: &SessionId) -> bool {
        self.changed.contains_key(session) || self.sessions.contains_key(session)
    }

    /// A copy of a session to change.
    fn kept(&mut self, session: &SessionId) -> Result<&mut StoredSession, StoreError> {
        match self.changed.entry(session.clone()) {
            Entry::Occupied(changed) => Ok(changed.into_mut()),
            Entry::Vacant(place) => match self.sessions.get(session) {
                Some(kept) => Ok(place.insert(kept.clone())),
                None => Err(refused(session, "unknown session")),
            },
        }
    }

    /// Fails if the session `to` exists already.
    fn free(&self, session: &SessionId, to: &SessionId) -> Result<(), StoreError> {
        let taken = || Err(refused(session, format!("session {to} exists already")));
        if self.is_there(to) { taken() } else { Ok(()) }
    }

    fn apply(&mut self, session: &SessionId, write: &Write) -> Result<(), StoreError> {
        match write {
            Write::Head(head) if head.id != *session => {
                Err(refused(session, format!("the head is of session {}", head.id)))
            }
            Write::Head(head) if self.is_there(session) => {
                self.kept(session)?.head = (**head).clone();
                Ok(())
            }
            Write::Head(head) => {
                self.changed.insert(session.clone(), StoredSession::new((**head).clone()));
                Ok(())
            }
            Write::Revision(revision) => {
                let mut copy = self.kept(session)?.clone();
                self.free(session, &revision.id)?;
                copy.head.id = revision.id.clone();
                copy.head.parent = Some(session.clone());
                copy.head.origin = Origin::Revision;
                copy.head.carried = Carried::default();
                copy.head.waits = false;
                (copy.queue, copy.keys, copy.draft, copy.streamed) = Default::default();
                copy.revision = Some(revision.clone());
                self.changed.insert(revision.id.clone(), copy);
                Ok(())
            }
            Write::Branch { to, inherited, writes } => {
                let from = self.kept(session)?.clone();
                self.free(session, to)?;
                let Some((begin @ Write::Head(_), rest)) = writes.split_first() else {
                    return Err(refused(session, format!("the branch {to} does not begin with its head")));
                };
                self.apply(to, begin)?;
                self.kept(to)?.inherit(&from, inherited);
                rest.iter().try_for_each(|write| self.apply(to, write))
            }
            write => self.kept(session)?.apply(write).map_err(|reason| refused(session, reason)),
        }
    }
}

fn refused(session: &SessionId, reason: impl Into<String>) -> StoreError {
    StoreError::Refused { session: session.clone(), reason: reason.into() }
}

/// `true` if both are equal apart from `found`.
fn is_same(one: &Message, other: &Message) -> bool {
    let forget = |message: &Message| Message { found: Default::default(), ..message.clone() };
    forget(one) == forget(other)
}
