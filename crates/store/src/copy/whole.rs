//! A session with all that a copy must have: its revisions, the older versions of messages; and hashes of these.

use super::PAGE;
use crate::Store;
use crate::error::StoreError;
use crate::list::RevisionRow;
use crate::row::MessageRow;
use engine::id::{Ordinal, SessionId};
use engine::message::Message;
use engine::text::sha256_hex;
use session::stored::{Head, Stored, Write};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// Messages, each with the index of its turn.
type Messages = Vec<(u32, Arc<Message>)>;

/// A session, whole.
#[derive(Debug)]
pub(super) struct Whole {
    pub stored: Stored,
    /// The older versions of its messages, in order of position and version.
    pub older: Messages,
    /// The oldest first.
    pub revisions: Vec<(RevisionRow, Stored, Messages)>,
}

/// The hash of each part of a session and its revisions, in order.
pub(super) type Hashes = Vec<(&'static str, String)>;

/// The first part in which two sessions differ.
pub(super) fn difference(one: &Hashes, other: &Hashes) -> Option<&'static str> {
    let parts = one.iter().zip(other).find(|(one, other)| one != other).map(|((part, _), _)| *part);
    parts.or((one.len() != other.len()).then_some("revisions"))
}

impl Whole {
    /// Loads a session; `None` if there is none.
    pub fn load(store: &mut dyn Store, id: &SessionId) -> Result<Option<Self>, StoreError> {
        let Some(stored) = store.load(id)? else { return Ok(None) };
        let older = store.older_versions(id)?;
        let (mut revisions, mut before) = (Vec::new(), None);
        while let Some(page) = store.revisions(id, before, PAGE)? {
            for row in page.revisions {
                let Some(stored) = store.load(&row.revision.id)? else { continue };
                let older = store.older_versions(&row.revision.id)?;
                revisions.push((row, stored, older));
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        revisions.reverse();
        Ok(Some(Self { stored, older, revisions }))
    }

    /// The number of messages in it, those of revisions included.
    pub fn messages(&self) -> usize {
        let of_revisions = self.revisions.iter().map(|(_, stored, _)| stored.messages.len());
        self.stored.messages.len() + of_revisions.sum::<usize>()
    }

    /// `true` if all of it could be read.
    pub fn is_readable(&self) -> bool {
        let mut revisions = self.revisions.iter();
        self.stored.unreadable.is_empty() && revisions.all(|(_, stored, _)| stored.unreadable.is_empty())
    }

    /// Without the places that could not be read.
    pub fn readable(mut self) -> Self {
        self.stored.unreadable.clear();
        self.revisions.iter_mut().for_each(|(_, stored, _)| stored.unreadable.clear());
        self
    }

    pub fn hashes(&self) -> Hashes {
        let listed: Vec<_> = self.revisions.iter().map(|(row, ..)| &row.revision).collect();
        let mut hashes = vec![("revisions", hash(&listed))];
        hashes.extend(hashes_of(&self.stored, &self.older));
        for (_, stored, older) in &self.revisions {
            hashes.extend(hashes_of(stored, older));
        }
        hashes
    }

    /// The writes that make this session: each revision as the session once was, then the session.
    pub fn writes(&self) -> Vec<Write> {
        let mut writes = Vec::new();
        let mut before: Option<&Stored> = None;
        for (row, stored, older) in &self.revisions {
            let mut head = Head { id: self.stored.head.id.clone(), ..stored.head.clone() };
            head.origin = self.stored.head.origin;
            head.parent.clone_from(&self.stored.head.parent);
            writes.extend(step(before, (stored, older), head));
            writes.push(Write::Revision(row.revision.clone()));
            before = Some(stored);
        }
        let Stored { queue, keys, draft, streamed, .. } = &self.stored;
        writes.extend(step(before, (&self.stored, &self.older), self.stored.head.clone()));
        writes.extend(queue.iter().cloned().map(|item| Write::Enqueue(Box::new(item))));
        let keys = keys.iter().cloned();
        writes.extend(keys.map(|(key, accepted)| Write::Key { key, accepted }));
        writes.extend(draft.iter().cloned().map(|draft| Write::Draft(Some(draft))));
        writes.extend(streamed.iter().cloned().map(Write::Streamed));
        writes
    }
}

/// A hash of all that a value shows of itself. Maps in stored values are ordered.
fn hash(value: &impl Debug) -> String {
    sha256_hex(format!("{value:?}").as_bytes())
}

fn hash_of_messages(messages: &[(u32, Arc<Message>)]) -> String {
    let mut hashes = String::new();
    for (turn, message) in messages {
        let body = serde_json::to_string(&message.body).unwrap_or_default();
        hashes += &hash(&MessageRow::of(*turn, message, &body));
    }
    sha256_hex(hashes.as_bytes())
}

fn hashes_of(stored: &Stored, older: &[(u32, Arc<Message>)]) -> Hashes {
    let Stored { head, turns, messages, compactions, queue, keys, draft, streamed, unreadable } = stored;
    vec![
        ("head", hash(head)),
        ("messages", hash_of_messages(messages)),
        ("older versions", hash_of_messages(older)),
        ("turns", hash(turns)),
        ("compactions", hash(compactions)),
        ("queue", hash(queue)),
        ("keys", hash(keys)),
        ("draft", hash(draft)),
        ("unfinished answer", hash(streamed)),
        ("unreadable rows", hash(unreadable)),
    ]
}

/// The writes that turn one state of a session into a later one.
fn step(before: Option<&Stored>, (after, older): (&Stored, &Messages), head: Head) -> Vec<Write> {
    let mut versions: BTreeMap<Ordinal, Messages> = BTreeMap::new();
    for (turn, message) in older {
        versions.entry(message.ord).or_default().push((*turn, message.clone()));
    }
    let older_of = |message: &Message| versions.get(&message.ord).map(Vec::as_slice).unwrap_or_default();
    let mut writes = vec![Write::Head(Box::new(head))];
    let known = before.map(|before| before.messages.as_slice()).unwrap_or_default();
    // A message that was edited has its earlier state among its versions.
    let is_kept =
        |was: &(u32, Arc<Message>), is: &(u32, Arc<Message>)| was == is || older_of(&is.1).contains(was);
    let kept = known.iter().zip(&after.messages).take_while(|(was, is)| is_kept(was, is)).count();
    if kept < known.len() {
        let from = known.get(kept).map_or(Ordinal(0), |(_, message)| message.ord);
        let turns = after.messages.get(..kept).and_then(<[_]>::last).map_or(0, |(turn, _)| turn + 1);
        writes.push(Write::Truncate { from, turns });
    }
    writes.extend(after.turns.iter().cloned().map(Write::Turn));
    for (at, newest) in after.messages.iter().enumerate() {
        let was = known.get(at).filter(|_| at < kept).map(|(_, was)| was.rev);
        let versions = older_of(&newest.1).iter().chain([newest]);
        for (turn, message) in versions.filter(|(_, message)| was.is_none_or(|was| message.rev > was)) {
            writes.push(Write::Message { turn: *turn, message: message.clone() });
        }
    }
    let known = before.map(|before| before.compactions.as_slice()).unwrap_or_default();
    for compaction in &after.compactions {
        match known.iter().find(|known| known.id == compaction.id) {
            Some(known) if known == compaction => {}
            Some(_) => {
                let (id, status) = (compaction.id.clone(), compaction.status);
                writes.push(Write::CompactionStatus { id, status });
            }
            None => writes.push(Write::Compaction(Box::new(compaction.clone()))),
        }
    }
    writes
}
