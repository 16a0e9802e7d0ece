//! Applies writes to rows, within the transaction of a writer: an error rolls the step back.
//!
//! A commit takes two round trips, whatever it writes. The first one locks the session's lease and asks for all rows that
//! the writes are about; each write is checked against these here, and the statements that follow go with the commit in
//! the second one. A branch asks once more in between, for the messages that its session edited; so does a change of a
//! message that a branch has of its session.

mod blobs;
mod compactions;
pub(super) mod delete;
mod head;
mod known;
mod messages;
pub(super) mod search;
mod segments;
mod waiting;

use super::fault::{Done, Fault, refused};
use super::holder::{Identity, Lease};
use super::leases;
use super::tx::Tx;
use super::value::values;
use crate::Fence;
use crate::blob::{Blob, split};
use crate::error::StoreError;
use engine::id::SessionId;
use known::{Known, Wanted};
use session::stored::Write;
use std::collections::{BTreeMap, BTreeSet};

/// A transaction that changes sessions.
#[derive(Debug)]
struct SessionWriter<'s, 't> {
    tx: &'s mut Tx<'t>,
    /// The sessions that were asked for, or made.
    known: BTreeMap<SessionId, Known>,
    /// Unknown sessions that segments may be named after.
    free: BTreeSet<SessionId>,
    /// Contents that are stored, and stay until the transaction ends.
    contents: BTreeSet<String>,
}

/// A session that must exist.
fn of<'k>(known: &'k mut BTreeMap<SessionId, Known>, session: &SessionId) -> Done<&'k mut Known> {
    known.get_mut(session).ok_or_else(|| refused(session, "unknown session".to_owned()))
}

/// The changes of a session, and the fence under which it is held.
pub(super) type Changes<'w> = (&'w SessionId, Fence, &'w [Write]);

/// Applies the changes of sessions that this store holds. Returns the outcome of each.
pub(super) async fn commit(
    tx: &mut Tx<'_>,
    commits: &[Changes<'_>],
    me: &Identity,
) -> Done<Vec<Result<(), StoreError>>> {
    let mut wanted: BTreeMap<&SessionId, Wanted> = BTreeMap::new();
    let mut hashes: BTreeSet<String> = BTreeSet::new();
    for (session, _, writes) in commits {
        wanted.entry(session).or_default().add(writes);
        contents_of(writes, &mut hashes);
    }
    let sessions: Vec<String> = wanted.keys().map(|session| session.as_str().to_owned()).collect();
    let mut asked = vec![leases::locked(tx, &sessions)];
    for (session, wanted) in &wanted {
        asked.extend(known::ask(tx, session, wanted));
    }
    let hashes: Vec<String> = hashes.into_iter().collect();
    asked.push(blobs::kept(tx, &hashes));
    let mut answers = tx.queries(asked).await?.into_iter();
    let held = answers.next().unwrap_or_default();
    let held: BTreeMap<SessionId, _> = held.iter().map(leases::read).collect::<Result<_, _>>()?;
    let (mut known, mut free) = (BTreeMap::new(), BTreeSet::new());
    for (session, wanted) in &wanted {
        match Known::read(session, wanted, &mut answers)? {
            Ok(of) => drop(known.insert((*session).clone(), of)),
            Err(is_free) => free.extend(is_free.then(|| (*session).clone())),
        }
    }
    let contents = blobs::hashes(&answers.next().unwrap_or_default())?.into_iter().collect();
    let mut writer = SessionWriter { tx, known, free, contents };
    let mut outcomes = Vec::new();
    for (session, fence, writes) in commits {
        let is_group = commits.len() > 1;
        let before = is_group.then(|| (writer.tx.mark(), writer.known.clone(), writer.contents.clone()));
        match writer.apply_all(session, (*fence, held.get(*session), me), writes).await {
            Ok(()) => outcomes.push(Ok(())),
            // Nothing of it was sent, so the others of the group go on without it.
            Err(Fault::Store(error)) => match before {
                Some((mark, known, contents)) if writer.tx.drop_behind(mark) => {
                    (writer.known, writer.contents) = (known, contents);
                    outcomes.push(Err(error));
                }
                _ => return Err(error.into()),
            },
            Err(fault) => return Err(fault),
        }
    }
    Ok(outcomes)
}

impl SessionWriter<'_, '_> {
    async fn apply_all(
        &mut self,
        session: &SessionId,
        (fence, lease, me): (Fence, Option<&Lease>, &Identity),
        writes: &[Write],
    ) -> Done {
        leases::held(session, fence, lease, me)?;
        if let Some(known) = self.known.get(session).filter(|known| known.is_revision) {
            let of = known.parent.clone().map_or_else(|| session.clone(), SessionId::new);
            return Err(StoreError::IsRevision { session: session.clone(), of }.into());
        }
        for write in writes {
            self.apply(session, write).await?;
        }
        // Followers look for new pieces of an answer by themselves.
        if !writes.iter().all(|write| matches!(write, Write::Streamed(_))) {
            of(&mut self.known, session)?.change.commits += 1;
        }
        self.write_counts();
        Ok(())
    }

    async fn apply(&mut self, session: &SessionId, write: &Write) -> Done {
        if let Write::Head(head) = write {
            return match head.id == *session {
                true => head::write(self, head),
                false => Err(refused(session, format!("the head is of session {}", head.id))),
            };
        }
        of(&mut self.known, session)?;
        match write {
            Write::Head(_) => Ok(()),
            Write::Message { turn, message } => messages::append(self, session, *turn, message).await,
            Write::Turn(turn) => messages::write_turn(self, session, turn).await,
            Write::Compaction(compaction) => compactions::record(self, session, compaction).await,
            Write::CompactionStatus { id, status } => {
                compactions::set_status(self, session, id, *status).await
            }
            Write::Revision(revision) => head::keep(self, session, revision).await,
            Write::LetGo { turn, messages } => {
                for message in messages {
                    messages::replace(self, session, *turn, message).await?;
                }
                Ok(())
            }
            Write::Truncate { from, turns } => messages::truncate(self, session, *from, *turns),
            Write::Branch { to, inherited, writes } => {
                Box::pin(head::branch(self, session, (to, inherited), writes)).await
            }
            Write::Enqueue(item) => waiting::enqueue(self, session, item).await,
            Write::Dequeue(item) => waiting::dequeue(self, session, item.as_str()).await,
            Write::Key { key, accepted } => waiting::remember(self, session, key, accepted),
            Write::Draft(draft) => {
                waiting::keep_draft(self, session, draft.as_deref());
                Ok(())
            }
            Write::Streamed(piece) => waiting::keep_piece(self, session, piece),
            Write::StreamEnded => {
                waiting::forget_pieces(self, session);
                Ok(())
            }
        }
    }

    /// Writes the changes of counts that were collected.
    fn write_counts(&mut self) {
        for known in self.known.values_mut() {
            let change = std::mem::take(&mut known.change);
            if change != known::Change::default() {
                self.tx.push(
                    "UPDATE chat_activity SET messages = messages + $3, turns = turns + $4, commits = commits + $5,
                         rewrites = rewrites + $6 WHERE tenant = $1 AND session = $2",
                    values![known.id.as_str(), change.messages, change.turns, change.commits, change.rewrites],
                );
            }
        }
    }
}

/// The hashes of large contents in these writes.
fn contents_of(writes: &[Write], hashes: &mut BTreeSet<String>) {
    let mut add = |split: serde_json::Result<(String, Vec<Blob>)>| {
        hashes.extend(split.into_iter().flat_map(|(_, blobs)| blobs).map(|blob| blob.hash));
    };
    for write in writes {
        match write {
            Write::Head(head) => add(head::prefix(head).map(|prefix| (String::new(), vec![prefix]))),
            Write::Message { message, .. } => add(split(&message.body)),
            Write::LetGo { messages, .. } => messages.iter().for_each(|message| add(split(&message.body))),
            Write::Enqueue(item) => add(split(item)),
            _ => {}
        }
    }
}
