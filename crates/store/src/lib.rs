//! The durable store: what was acknowledged is on disk, one writer per session, and what it gives back. Here stand the
//! trait and its values. How rows lie in a file is in [`sqlite`], the thread that owns a store in [`worker`]. A store
//! decides nothing about prompts and never looks into a message beyond what its columns need.

mod blob;
pub mod error;
pub mod follow;
mod lease;
pub mod list;
#[cfg(any(test, feature = "testing"))]
pub mod model;
pub mod place;
mod schema;
pub mod sqlite;
pub mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod worker;

use engine::id::{Ordinal, SessionId, Time};
use engine::memory::{Memory, MemoryPage, MemoryPatch, MemoryQuery};
use engine::message::{Body, Message};
use engine::scope::{Scope, ScopePatch};
use engine::search::{Found, Query};
use engine::text::head;
use error::StoreError;
use follow::{Mark, News};
use list::{ListQuery, Page};
use session::part::Claims;
use session::stored::{Always, Part, Rest, Stored, Write};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use task::{Task, Waiting};

/// Which holding of a session this is. Each new holder gets a higher one, and a write under an older one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fence(pub u64);

/// Where sessions survive. One thread owns a store and calls it; calls wait for the disk.
pub trait Store: Send + fmt::Debug {
    /// Makes all of these changes, or none; when it returns, they survive a crash.
    ///
    /// A head of a session that is not there makes it. A row that is there already, equal in all it says, is taken as
    /// written before: a step may be tried again after an error.
    ///
    /// # Errors
    /// [`StoreError::FenceLost`] where the session is not held under this fence; [`StoreError::Refused`] where a write
    /// contradicts what is there; the file's own errors.
    fn commit(&mut self, session: &SessionId, fence: Fence, writes: &[Write]) -> Result<(), StoreError>;

    /// A session whole. Rows that cannot be read are set aside and named in it. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn load(&mut self, session: &SessionId) -> Result<Option<Stored>, StoreError>;

    /// What a session's next prompt is made of, with at least so many of its newest messages: rows in a number that does
    /// not grow with the session. Nothing where the whole is to be loaded instead: where no compaction leaves anything out,
    /// or a row that matters cannot be read. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn load_part(&mut self, session: &SessionId, newest: u32) -> Result<Option<Part>, StoreError>;

    /// What a part from there on left out. Nothing before it was changed since.
    ///
    /// # Errors
    /// The file's own.
    fn load_rest(&mut self, session: &SessionId, from: Ordinal) -> Result<Rest, StoreError>;

    /// At most so many of a session's messages, in order: the newest, or the newest of those before one. Nothing where
    /// there is no such session. Rows that cannot be read are left out. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn messages(
        &mut self,
        session: &SessionId,
        before: Option<Ordinal>,
        limit: u32,
    ) -> Result<Option<MessagePage>, StoreError>;

    /// Does what can wait, such as moving the log into the file: called when nobody waits for the store, or `is_late`,
    /// when it could not be for long.
    ///
    /// # Errors
    /// The file's own.
    fn tidy(&mut self, is_late: bool) -> Result<(), StoreError>;

    /// Whether one of these was heard in the session before; of requests only those before `from` count.
    ///
    /// # Errors
    /// The file's own.
    fn is_known(&mut self, session: &SessionId, claims: &Claims, from: Ordinal) -> Result<bool, StoreError>;

    /// The session of this workspace that holds most of these external ids as user messages; among equals the one
    /// that was last used.
    ///
    /// # Errors
    /// The file's own.
    fn find(&mut self, external_ids: &[String], workspace: &str) -> Result<Option<SessionId>, StoreError>;

    /// Sessions, the one that was last used first.
    ///
    /// # Errors
    /// The file's own.
    fn list(&mut self, query: &ListQuery) -> Result<Page, StoreError>;

    /// What in a session holds the words of a query. Where its index is behind it catches up by a part first, whoever asks.
    /// Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn search(&mut self, session: &SessionId, query: &Query) -> Result<Found, StoreError>;

    /// Makes this store the session's only writer, from `since` on. The session need not be there yet. A holder whose
    /// process is gone holds nothing. Asking again gives the same fence.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another store holds it; the file's own.
    fn acquire(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError>;

    /// Makes this store the session's only writer also where another one holds it: what that one would write from now on is
    /// refused. Asking again gives the same fence.
    ///
    /// # Errors
    /// The file's own.
    fn take_over(&mut self, session: &SessionId, since: Time) -> Result<Fence, StoreError>;

    /// Looks whether the session is still held under this fence.
    ///
    /// # Errors
    /// [`StoreError::FenceLost`] where it is not; the file's own.
    fn holds(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError>;

    /// Lets another store write the session. Nothing happens where it is not held under this fence.
    ///
    /// # Errors
    /// The file's own.
    fn release(&mut self, session: &SessionId, fence: Fence) -> Result<(), StoreError>;

    /// Sessions of this workspace that wait for a process that serves it and that no other store holds; the oldest first.
    /// Costs nothing of those that do not wait. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn waiting(&mut self, workspace: &str) -> Result<Vec<Waiting>, StoreError>;

    /// The background sessions of this one in which something was asked, the oldest first, each with how it stands.
    /// Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn tasks(&mut self, parent: &SessionId) -> Result<Vec<Task>, StoreError>;

    /// A number that changes when another store commits something, of whatever session. It reads no table, so that it can
    /// be asked often.
    ///
    /// # Errors
    /// The file's own.
    fn pulse(&mut self) -> Result<u64, StoreError>;

    /// What became of a session since `known`, or all of it; nothing where there is no such session. Costs one row where
    /// nothing was committed in it, and only new messages where only such were. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn follow(&mut self, session: &SessionId, known: Option<&Mark>) -> Result<Option<News>, StoreError>;

    /// Destroys a session: rows, what only it refers to, and their traces in the file and its log; with it the copies that
    /// rewinds of it left behind, and theirs. Branches stay: a user made them. A scope goes with the last session that is in it; one under a session's id is that session's own. The session
    /// and its copies may be held by this store or by nobody. Nothing where there is no such session.
    ///
    /// # Errors
    /// [`StoreError::Held`] while another store holds one of them, and nothing is gone; the file's own.
    fn delete(&mut self, session: &SessionId) -> Result<Option<Deleted>, StoreError>;

    /// What sessions of this workspace share under this name; nothing at revision 0 where nobody put anything there.
    /// Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn scope(&mut self, workspace: &str, name: &str) -> Result<Scope, StoreError>;

    /// Changes what is shared under this name, and gives it as it is then. Its revision rises where the change says
    /// something new. Needs no lease: with `if_revision` only a change of what the caller saw is made.
    ///
    /// # Errors
    /// [`StoreError::StaleScope`] where it is at another revision; the file's own.
    fn put_scope(
        &mut self,
        workspace: &str,
        name: &str,
        patch: &ScopePatch,
        if_revision: Option<u64>,
    ) -> Result<Scope, StoreError>;

    /// What was approved once and for all in this workspace, in the order of names. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn approvals(&mut self, workspace: &str) -> Result<Vec<Always>, StoreError>;

    /// Approves once and for all; twice is once.
    ///
    /// # Errors
    /// The file's own.
    fn approve(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError>;

    /// Takes an approval back, if it is there.
    ///
    /// # Errors
    /// The file's own.
    fn revoke(&mut self, workspace: &str, always: &Always) -> Result<(), StoreError>;

    /// What is remembered for this workspace. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn memories(&mut self, workspace: &str, query: &MemoryQuery) -> Result<MemoryPage, StoreError>;

    /// Changes what is remembered under this id, or remembers it, and gives it as it is then; nothing where there is none
    /// and the change has no text. Needs no lease.
    ///
    /// # Errors
    /// The file's own.
    fn put_memory(
        &mut self,
        workspace: &str,
        id: &str,
        patch: MemoryPatch,
        now: Time,
    ) -> Result<Option<Memory>, StoreError>;

    /// Forgets what is remembered under this id; whether there was something.
    ///
    /// # Errors
    /// The file's own.
    fn delete_memory(&mut self, workspace: &str, id: &str) -> Result<bool, StoreError>;

    /// What people need to know about it.
    ///
    /// # Errors
    /// The file's own.
    fn diagnostics(&mut self) -> Result<StoreDiagnostics, StoreError>;

    /// Lets go of every session and puts the file in order. Calls after it are refused.
    ///
    /// # Errors
    /// The file's own. What was committed is there all the same.
    fn close(&mut self) -> Result<(), StoreError>;
}

/// What a deletion took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deleted {
    /// The workspace that the session belonged to: what else there is of it lies there.
    pub workspace: String,
    /// Message rows, older versions among them.
    pub messages: u32,
    /// Turns.
    pub turns: u32,
    /// Compaction records.
    pub compactions: u32,
    /// Large contents that nobody else refers to.
    pub blobs: u32,
    /// Bytes of these contents.
    pub blob_bytes: u64,
    /// The copies that went with it.
    pub copies: Vec<SessionId>,
    /// Whether no trace is left in the file and its log. Not so while another process reads them, the disk is full, or
    /// the file is a large one: the rows are gone then, and their bytes when the store is next at rest. Nor where a branch
    /// of what is gone stays, which says the same words.
    pub scrubbed: bool,
}

/// Some of a session's messages, in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessagePage {
    /// Those that can be read.
    pub messages: Vec<Arc<Message>>,
    /// The others: where, and why not.
    pub unreadable: Vec<String>,
}

/// What people need to know about a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreDiagnostics {
    /// `sqlite` or `memory`.
    pub backend: &'static str,
    /// The file, where there is one.
    pub path: Option<PathBuf>,
    /// The version of the tables, where there are any.
    pub schema_version: u32,
    /// Sessions in it.
    pub sessions: u64,
    /// Messages in it.
    pub messages: u64,
    /// Bytes on disk, the log included.
    pub bytes: u64,
    /// How writes reach the disk, such as `wal, synchronous full`.
    pub journal: String,
}

/// The role column of a message.
fn role_of(body: &Body) -> &'static str {
    match body {
        Body::User(_) => "user",
        Body::Assistant { .. } => "assistant",
        Body::Tool(_) => "tool",
        Body::Event { .. } => "event",
    }
}

/// Bytes of a session's first request that lists show and search.
const FIRST_REQUEST_BYTES: usize = 1024;

/// The beginning of what a user asked, for lists; nothing for any other message.
fn request_of(message: &Message) -> Option<String> {
    let is_request = matches!(message.body, Body::User(_)) && message.visible_to_model;
    let texts: Vec<&str> = message.body.texts().into_iter().map(|text| &**text).collect();
    is_request.then(|| head(&texts.join("\n"), FIRST_REQUEST_BYTES).to_owned())
}

/// Changes a scope, where the caller saw it as it is.
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

#[cfg(test)]
mod tests;
