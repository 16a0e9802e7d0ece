//! Durable storage: acknowledged writes are on disk, and a session has one writer. This file has the trait
//! and its values; [`sqlite`] is the file format, [`postgres`] the database of a team, [`worker`] the thread
//! that owns a store. A store knows nothing about prompts and reads no more of a message than its columns
//! need.

mod blob;
pub mod copy;
pub mod error;
pub mod follow;
pub mod keyed;
mod lease;
pub mod list;
mod lost;
#[cfg(any(test, feature = "testing"))]
pub mod model;
pub mod place;
pub mod postgres;
mod row;
mod schema;
pub mod session_search;
pub mod sqlite;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod worker;

use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::{Body, Message};
use engine::scope::{Scope, ScopePatch};
use engine::search::{Query, SearchPage};
use engine::text::head;
use error::StoreError;
use follow::{FollowState, Mark};
use list::{ListQuery, Page, RevisionPage};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use task::{Task, Waiting};

/// The number of a session's lease. Each new holder gets a higher one; writes under an older one fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// Changes of a session, all of which are applied or none.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The session.
    pub session: SessionId,
    /// The fence under which it is held.
    pub fence: Fence,
    /// The changes, in order.
    pub writes: Arc<Vec<Write>>,
}

impl Commit {
    /// Bytes of its texts, about.
    fn size(&self) -> usize {
        fn texts(write: &Write) -> usize {
            let json = |written: serde_json::Result<Vec<u8>>| written.map_or(0, |bytes| bytes.len());
            match write {
                Write::Message { message, .. } => json(serde_json::to_vec(&message.body)),
                Write::LetGo { messages, .. } => {
                    messages.iter().map(|message| json(serde_json::to_vec(&message.body))).sum()
                }
                Write::Compaction(record) => json(serde_json::to_vec(record)),
                Write::Enqueue(item) => json(serde_json::to_vec(item)),
                Write::Streamed(piece) => json(serde_json::to_vec(piece)),
                Write::Draft(draft) => draft.as_ref().map_or(0, |draft| draft.len()),
                Write::Branch { writes, .. } => writes.iter().map(texts).sum(),
                _ => 0,
            }
        }
        // Rows have more than their texts.
        const EACH: usize = 256;
        self.writes.iter().map(|write| EACH + texts(write)).sum()
    }
}

/// Commits each of these by itself.
fn one_by_one(store: &mut (impl Store + ?Sized), commits: &[Commit]) -> Vec<Result<(), StoreError>> {
    let each = commits.iter();
    each.map(|Commit { session, fence, writes }| store.commit(session, *fence, writes)).collect()
}

/// Storage of sessions. One thread owns a store and calls it; calls block on the disk.
pub trait Store: Send + fmt::Debug {
    /// Applies all of these changes or none; on return they survive a crash.
    ///
    /// The head of an unknown session creates it. A row that exists already with equal content counts as
    /// written: a step may be repeated after an error.
    ///
    /// # Errors
    /// [`StoreError::FenceLost`] if the session is not held under this fence; [`StoreError::Refused`] if a
    /// write contradicts the stored rows; errors of the file.
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError>;

    /// Commits several groups of changes in order, with one wait for the disk where the store can. Returns the outcome
    /// of each, as [`Store::commit`] has it: one that fails does not affect the others.
    fn commit_all(&mut self, commits: &[Commit]) -> Vec<Result<(), StoreError>> {
        one_by_one(self, commits)
    }

    /// Loads a whole session. Unreadable rows are left out and named in `unreadable`. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError>;

    /// Loads the rows of a session's next prompt, and at least the `newest` messages: a number of rows that
    /// does not grow with the session. Returns `None` if the whole must be loaded instead: no compaction
    /// covers the rest, or a needed row is unreadable. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError>;

    /// Loads the rows that a part from `from` on left out. No message before `from` may have changed since.
    ///
    /// # Errors
    /// Errors of the file.
    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError>;

    /// Loads at most `limit` messages, in order: the newest, or the newest before `before`. Returns `None`
    /// for an unknown session. Unreadable rows are left out. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError>;

    /// Loads the older versions of a session's messages, in order of position and version, each with the index of its
    /// turn. Unreadable ones are left out. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn older_versions(&mut self, session: &SessionId) -> Result<Vec<(u32, Arc<Message>)>, StoreError>;

    /// Does maintenance, such as a checkpoint of the log, when the store is idle. With `is_late`, does only
    /// what has been postponed for too long. Returns `true` if there is more to do as long as the store is idle; each
    /// piece of it is small, because the next job waits for it.
    ///
    /// # Errors
    /// Errors of the file.
    fn tidy(&mut self, is_late: bool) -> Result<bool, StoreError>;

    /// `true` if the key was accepted before, or a user message before `from` has the external id.
    ///
    /// # Errors
    /// Errors of the file.
    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError>;

    /// Finds the session of this workspace with most of these external ids among its user messages; of
    /// equals, the most recently used.
    ///
    /// # Errors
    /// Errors of the file.
    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError>;

    /// Returns the workspace of a session; `None` for an unknown one.
    ///
    /// # Errors
    /// Errors of the file.
    fn workspace(&mut self, session: &SessionId) -> Result<Option<String>, StoreError>;

    /// Lists the revisions of a session, the newest first: at most `limit` with a number below `before`. Returns
    /// `None` for an unknown session. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn revisions(
        &mut self,
        session: &SessionId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Option<RevisionPage>, StoreError>;

    /// Lists sessions without their revisions, the most recently used first.
    ///
    /// # Errors
    /// Errors of the file.
    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError>;

    /// Searches a session for the words of a query. First extends an incomplete index by one slice. Needs no
    /// lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn search(&mut self, session: &SessionId, query: &Query) -> Result<SearchPage, StoreError>;

    /// Makes this store the session's only writer, from `since` on. The session may not exist yet. The lease
    /// of an ended process does not count. A repeated call returns the same fence.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another store holds it; [`StoreError::IsRevision`]; errors of the file.
    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError>;

    /// Makes this store the session's only writer even if another store holds it; that one's later writes
    /// fail. A repeated call returns the same fence.
    ///
    /// # Errors
    /// [`StoreError::IsRevision`]; errors of the file.
    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError>;

    /// Checks that the session is still held under this fence.
    ///
    /// # Errors
    /// [`StoreError::FenceLost`] if it is not; errors of the file.
    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError>;

    /// Releases the session for other stores, if it is held under this fence.
    ///
    /// # Errors
    /// Errors of the file.
    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError>;

    /// Returns the sessions of this workspace that wait for a process to run them and that no other store
    /// holds, oldest first. The cost depends on waiting sessions alone. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError>;

    /// Returns the background sessions of this session that have a turn or wait for one, oldest first. Needs
    /// no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError>;

    /// Returns a number that changes whenever another store commits anything. Reads no table, so it can be
    /// polled.
    ///
    /// # Errors
    /// Errors of the file.
    fn pulse(&mut self) -> Result<u64, StoreError>;

    /// Returns the changes of a session since `known`, or all of it; `None` for an unknown session. Costs one
    /// row if nothing was committed, and only new messages if nothing else was. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn follow(
        &mut self,
        session: &SessionId,
        known: Option<&Mark>,
    ) -> Result<Option<FollowState>, StoreError>;

    /// Deletes a session: its rows, contents that only it refers to, and their traces in the file and its
    /// log; with it, its revisions, and the copies that rewinds of earlier versions left behind, and theirs.
    /// Branches stay: a user made them, and they share no row with it. A scope is deleted with its last session;
    /// one named after a session's id belongs to that session. Neither the session nor its copies may be held by
    /// another store. Returns `None` for an unknown session.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another store holds one of them, and nothing is deleted;
    /// [`StoreError::IsRevision`]; errors of the file.
    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError>;

    /// Returns the scope that sessions of this workspace share under this name; empty at revision 0 if it was
    /// never written. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError>;

    /// Changes a scope and returns the result. The revision rises if the content changes. Needs no lease:
    /// with `if_revision`, the change is made only at that revision.
    ///
    /// # Errors
    /// [`StoreError::StaleScope`] at another revision; errors of the file.
    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError>;

    /// Returns this workspace's standing approvals and rejections, ordered by name. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError>;

    /// Adds a standing approval or rejection, in place of the opposite for the same calls; idempotent.
    ///
    /// # Errors
    /// Errors of the file.
    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError>;

    /// Removes a standing approval or rejection of these calls, if it exists.
    ///
    /// # Errors
    /// Errors of the file.
    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError>;

    /// Returns the memories of this workspace. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError>;

    /// Changes or creates the memory of this id, and returns the result; `None` if it does not exist and the
    /// change has no text. Needs no lease.
    ///
    /// # Errors
    /// Errors of the file.
    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError>;

    /// Deletes the memory of this id. Returns `true` if it existed.
    ///
    /// # Errors
    /// Errors of the file.
    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError>;

    /// Returns facts about the store, for people.
    ///
    /// # Errors
    /// Errors of the file.
    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError>;

    /// Releases all sessions and tidies the file. Later calls fail.
    ///
    /// # Errors
    /// Errors of the file. Committed changes are kept even then.
    fn close(&mut self) -> Result<(), StoreError>;
}

/// The result of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// The session's workspace, which has the session's files outside of the store.
    pub workspace: String,
    /// Deleted message rows, older versions included. One that a session has with its revisions counts once, and one that a
    /// branch still has does not count; so do turns and compaction records.
    pub messages: u32,
    /// Deleted turns.
    pub turns: u32,
    /// Deleted compaction records.
    pub compactions: u32,
    /// Deleted large contents: those that nothing else referred to.
    pub blobs: u32,
    /// Bytes of these contents.
    pub blob_bytes: u64,
    /// The copies deleted with it, left by rewinds of earlier versions.
    pub copies: Vec<SessionId>,
    /// The revisions deleted with it and with these copies.
    pub revisions: Vec<SessionId>,
    /// The branches of what was deleted. They stay.
    pub branches: Vec<SessionId>,
    /// `true` if no trace is left in the file and its log. `false` while another process reads them, if the
    /// disk is full or the file is large: the rows are deleted, and their bytes are overwritten when the
    /// store is next idle. `false` also if a branch with the same messages stays.
    pub scrubbed: bool,
}

impl Deleted {
    /// Adds the numbers of what else was deleted.
    fn add(&mut self, more: &Self) {
        self.messages += more.messages;
        self.turns += more.turns;
        self.compactions += more.compactions;
        self.blobs += more.blobs;
        self.blob_bytes += more.blob_bytes;
    }
}

/// A page of a session's messages, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessagePage {
    /// The position of the first message that was asked for, readable or not; 0 if the page begins the session.
    pub start: Ordinal,
    /// The readable messages.
    pub messages: Vec<Arc<Message>>,
    /// Unreadable rows, each with its position and the reason.
    pub unreadable: Vec<String>,
}

/// Facts about a store, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreDiagnostics {
    /// `sqlite`, `postgres` or `memory`; `model` in tests.
    pub backend: &'static str,
    /// The file, or the database without credentials; `None` for a store in memory.
    pub path: Option<PathBuf>,
    /// The schema version; 0 for a store in memory.
    pub schema_version: u32,
    /// The number of sessions, without revisions.
    pub sessions: u64,
    /// The number of their messages, without older versions.
    pub messages: u64,
    /// Bytes on disk, the log included.
    pub bytes: u64,
    /// Journal mode and durability, such as `wal, synchronous full`.
    pub journal: String,
}

fn role_of(body: &Body) -> &'static str {
    match body {
        Body::User(_) => "user",
        Body::Assistant { .. } => "assistant",
        Body::Tool(_) => "tool",
        Body::Event { .. } => "event",
    }
}

/// The longest beginning of a first request that lists show and search, in bytes.
const FIRST_REQUEST_BYTES: usize = 1024;

/// The beginning of a user's request, for lists; `None` for any other message.
fn request_of(message: &Message) -> Option<String> {
    let is_request = matches!(message.body, Body::User(_)) && message.visible_to_model;
    let texts: Vec<&str> = message.body.texts().into_iter().map(|text| &**text).collect();
    is_request.then(|| head(&texts.join("\n"), FIRST_REQUEST_BYTES).to_owned())
}

/// Changes a scope. Fails with `StaleScope` if it is not at the expected revision.
fn patch(
    name: &str,
    scope: &mut Scope,
    patch: &ScopePatch,
    if_revision: Option<u64>,
) -> Result<(), StoreError> {
    if let Some(expected) = if_revision.filter(|expected| *expected != scope.revision) {
        return Err(StoreError::StaleScope { scope: name.to_owned(), expected, found: scope.revision });
    }
    scope.apply(patch.clone());
    Ok(())
}

/// The workspaces whose sessions a request may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workspaces {
    /// The workspace that the request names.
    Named(String),
    /// The workspaces that the client named before, as the request names none. Empty for a client that works with all.
    Known(BTreeSet<String>),
}

impl Workspaces {
    fn has(&self, workspace: &str) -> bool {
        match self {
            Self::Named(named) => named == workspace,
            // A damaged row names none, and belongs to whoever finds it.
            Self::Known(known) => known.is_empty() || workspace.is_empty() || known.contains(workspace),
        }
    }
}

/// Fails if a session belongs to another workspace than those that a request may mean. An unknown session belongs to
/// none.
///
/// # Errors
/// [`StoreError::OtherWorkspace`]; errors of the file.
pub fn of_workspace(
    store: &mut dyn Store,
    session: &SessionId,
    meant: &Workspaces,
) -> Result<(), StoreError> {
    match store.workspace(session)? {
        Some(workspace) if !meant.has(&workspace) => {
            Err(StoreError::OtherWorkspace { session: session.clone() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
