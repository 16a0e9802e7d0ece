//! Session files in workspaces: when an open session is written, and what happens to a file that somebody
//! else changed. `worker` reads and writes; the import crate defines the format.

mod compare;
mod worker;

pub(in crate::server) use compare::Newer;
pub(in crate::server) use worker::{Found, News};

use crate::convert::iso;
use crate::server::client::Client;
use crate::server::client::replies::Replies;
use crate::server::host::SessionHost;
use crate::server::host::filed::FileState;
use crate::server::mailbox::{Mailbox, Pending};
use crate::server::wire::answer::{self, Form};
use crate::trajectory::{FileError, Folder};
use engine::compact::metadata::metadata;
use engine::compact::record::Status;
use engine::id::SessionId;
use import::trajectory::{Content, Trajectory};
use protocol::error::ProtocolError;
use protocol::event::SessionsChangedParams;
use protocol::transfer::{SessionImportParams, TrajectorySummary};
use session::Session;
use session::input::{ReplyTo, Restore};
use session::settings::Trajectory as Setting;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Deleted;
use worker::{Done, Refused, Worker};

/// An event of a session file.
pub(in crate::server) enum FileEvent {
    /// A write ended, with the number of messages or the reason it was refused.
    Written(SessionId, Result<u32, Refused>),
    /// Somebody else wrote or removed a file.
    News(News),
    /// A session has no file yet.
    Missing(Folder, SessionId),
    /// The file of a deleted session was removed, or could not be.
    Removed(Removal),
    /// The conversation of a file to import was read.
    Read(ReplyTo, Box<SessionImportParams>, Box<Result<(Restore, Form), ProtocolError>>),
}

/// The service for session files.
pub(in crate::server) struct Trajectories {
    mailbox: Mailbox<FileEvent>,
    worker: Option<Worker>,
    /// Watched folders, by workspace.
    followed: BTreeMap<String, Folder>,
}

/// The worker thread, about to end.
pub(in crate::server) struct Ending(Option<Worker>);

impl Ending {
    /// Ends the thread after its queued jobs, then calls `done`.
    pub fn finish(self, done: impl FnOnce() + Send + 'static) {
        match self.0 {
            Some(worker) => worker.finish(done),
            None => done(),
        }
    }
}

/// A session that was deleted, and its file.
pub(in crate::server) struct Removal {
    session: SessionId,
    /// The request for the deletion.
    to: ReplyTo,
    /// The store's outcome.
    deleted: Deleted,
    removed: Result<(), FileError>,
}

/// The next step for a session's file.
pub(in crate::server) enum Settled {
    /// Nothing to do but what was begun.
    Done,
    /// The whole session must be loaded first.
    NeedsRest,
    /// Somebody else changed the file; the change must be taken in.
    Changed(Box<Changed>),
}

/// A version of a session's file that somebody else wrote.
pub(in crate::server) struct Changed {
    folder: Folder,
    /// Parsed content of the file.
    pub theirs: Trajectory,
    /// SHA-256 of the file.
    pub hash: String,
}

/// The folder of an open session's file; `None` if the session is not stored or has no file.
fn folder_of(host: &SessionHost) -> Option<Folder> {
    let session = host.session();
    let is_on = host.is_stored() && session.settings().trajectory == Setting::Workspace;
    is_on.then(|| Folder::of(&session.head().workspace)).flatten()
}

impl Trajectories {
    pub fn new(mailbox: Mailbox<FileEvent>) -> Self {
        Self { mailbox, worker: None, followed: BTreeMap::new() }
    }

    /// Takes the worker thread, to end it.
    pub fn end(&mut self) -> Ending {
        self.followed.clear();
        Ending(self.worker.take())
    }

    /// The worker thread, started on first use; `None` if it cannot be started.
    fn worker(&mut self, client: &mut Client) -> Option<&Worker> {
        if self.worker.is_none() {
            let mailbox = self.mailbox.clone();
            let tell = move |done| {
                mailbox.send(match done {
                    Done::Written(id, written) => FileEvent::Written(SessionId::new(id), written),
                    Done::News(news) => FileEvent::News(news),
                    Done::Missing(folder, id) => FileEvent::Missing(folder, SessionId::new(id)),
                });
            };
            match Worker::start(tell) {
                Ok(worker) => self.worker = Some(worker),
                Err(error) => client.warn(format!("trajectories cannot be read or written: {error}")),
            }
        }
        self.worker.as_ref()
    }

    /// Runs a job that blocks on the disk. Without a thread, the job is dropped.
    pub fn run(&mut self, client: &mut Client, job: impl FnOnce() + Send + 'static) {
        if let Some(worker) = self.worker(client) {
            worker.run(job);
        }
    }

    /// Registers a request that waits for a job on a file.
    pub fn pending(&self, replies: &mut Replies, to: ReplyTo) -> Pending<FileEvent> {
        replies.pending(to, &self.mailbox)
    }

    /// Reports other processes' changes of this workspace's trajectories from now on.
    pub fn follow(&mut self, client: &mut Client, workspace: &str) {
        let Some(folder) = Folder::of(workspace) else { return };
        if self.followed.contains_key(workspace) {
            return;
        }
        if let Some(worker) = self.worker(client) {
            worker.follow(folder.clone());
            self.followed.insert(workspace.to_owned(), folder);
        }
    }

    /// Checks the files of these sessions: the system may have missed a change.
    pub fn check<'a>(&mut self, client: &mut Client, hosts: impl Iterator<Item = &'a SessionHost>) {
        for host in hosts.filter(|host| host.is_filed()) {
            if let Some(folder) = folder_of(host)
                && let Some(worker) = self.worker(client)
            {
                worker.check(folder, host.session().id().as_str());
            }
        }
    }

    /// Brings a session's file up to date at rest: another's change is taken in, then the session is written.
    pub fn settle(&mut self, client: &mut Client, host: &mut SessionHost) -> Settled {
        let Some(folder) = folder_of(host) else { return Settled::Done };
        let id = host.session().id().clone();
        if host.file().1.look() {
            let workspace = host.session().head().workspace.clone();
            match folder.file(id.as_str()) {
                Ok(_) => {
                    self.follow(client, &workspace);
                    if let Some(worker) = self.worker(client) {
                        worker.look(folder.clone(), id.as_str());
                    }
                }
                Err(error) => say_unwritten(client, host, &error),
            }
        }
        let is_at_rest = host.session().is_at_rest() && host.is_settled();
        if folder.file(id.as_str()).is_err() || !is_at_rest {
            return Settled::Done;
        }
        let is_part = host.is_part();
        let (session, file) = host.file();
        if is_part {
            // A part is neither compared nor written: the messages before it are not loaded.
            return if file.waits() { Settled::NeedsRest } else { Settled::Done };
        }
        if let Some((theirs, hash)) = file.take_changed() {
            return Settled::Changed(Box::new(Changed { folder, theirs: *theirs, hash }));
        }
        if file.begins(session)
            && let Some(worker) = self.worker(client)
        {
            worker.write(folder, content(session));
        }
        Settled::Done
    }

    /// Writes what the file lacks before the session is closed.
    pub fn write_last(&mut self, client: &mut Client, host: &mut SessionHost) {
        let Some(folder) = folder_of(host) else { return };
        let is_whole = host.is_whole_and_stored();
        let (session, file) = host.file();
        let is_due = file.is_dirty() && session.is_at_rest() && is_whole;
        if is_due
            && !session.transcript().messages().is_empty()
            && let Some(worker) = self.worker(client)
        {
            worker.write(folder, content(session));
        }
    }

    /// Removes the file of a deleted session, whatever its settings are now, then the files of its copies.
    /// The request is answered after that.
    pub fn remove(
        &mut self,
        (client, replies): (&mut Client, &mut Replies),
        id: &SessionId,
        to: ReplyTo,
        deleted: Deleted,
    ) {
        // The request now waits for the file, no longer for the session.
        replies.set_session(to, None);
        let Some(folder) = Folder::of(&deleted.workspace) else {
            return replies.answer(client, to, answer::deleted(&deleted));
        };
        let (pending, session) = (self.pending(replies, to), id.clone());
        match self.worker(client) {
            Some(worker) => worker.remove(folder, id.as_str(), move |removed| {
                pending.send(FileEvent::Removed(Removal { session, to, deleted, removed }));
            }),
            None => replies.answer(client, to, answer::deleted(&Deleted { scrubbed: false, ..deleted })),
        }
    }

    /// Continues a deletion after the removal of a file.
    pub fn removed(&mut self, (client, replies): (&mut Client, &mut Replies), removal: Removal) {
        let Removal { session, to, mut deleted, removed } = removal;
        if let Err(error) = removed {
            deleted.scrubbed = false;
            client.warn(format!(
                "session \"{session}\" was deleted, but its file in the workspace could not be removed: {error}; remove it by \
                 hand, or opening the session again restores its content"
            ));
        }
        match deleted.copies.pop() {
            Some(copy) => self.remove((client, replies), &copy, to, deleted),
            None => replies.answer(client, to, answer::deleted(&deleted)),
        }
    }

    /// Notifies clients that list trajectories of another's change.
    pub fn tell(&self, client: &mut Client, News { folder, id, found }: &News) {
        for (workspace, _) in self.followed.iter().filter(|(_, known)| *known == folder) {
            let mut changed = SessionsChangedParams::default();
            match found {
                Some(found) => changed.trajectories.push(summary(workspace, id, found)),
                None => changed.trajectories_gone.push(id.clone()),
            }
            client.sessions_changed(changed);
        }
    }

    /// Lets a file be overwritten whose version was taken in.
    pub fn accept(&mut self, client: &mut Client, id: &SessionId, changed: Changed) {
        if let Some(worker) = self.worker(client) {
            worker.accept(changed.folder, id.as_str(), changed.hash);
        }
    }
}

/// Notes another's change of a session's file. Returns `true` if the session must be settled.
pub(in crate::server) fn take_news(client: &mut Client, host: &mut SessionHost, news: News) -> bool {
    if folder_of(host).as_ref() != Some(&news.folder) {
        return false;
    }
    match news.found {
        None => false,
        Some(Found { trajectory: Err(error), .. }) => {
            say_unwritten(client, host, &error);
            false
        }
        Some(Found { trajectory: Ok(trajectory), hash, .. }) => {
            host.file().1.set_changed(trajectory, hash);
            true
        }
    }
}

/// Notes that a session has no file in `folder`. Returns `true` if one must be written.
pub(in crate::server) fn is_missing(host: &mut SessionHost, folder: &Folder) -> bool {
    let is_its = folder_of(host).as_ref() == Some(folder);
    if is_its {
        host.file().1.is_behind();
    }
    is_its
}

/// Notes the outcome of a write.
pub(in crate::server) fn written(client: &mut Client, host: &mut SessionHost, written: Result<u32, Refused>) {
    host.file().1.written(written.as_ref().ok().copied());
    if let Err(Refused::File(error)) = written {
        say_unwritten(client, host, &error);
    }
}

/// Warns that the last write of a closed session failed.
pub(in crate::server) fn not_written_last(
    client: &mut Client,
    id: &SessionId,
    written: Result<u32, Refused>,
) {
    if let Err(Refused::File(error)) = written {
        client.warn(format!("session \"{id}\" was not written to its file: {error}"));
    }
}

/// Warns, once per error, that a session's file is left as it is.
fn say_unwritten(client: &mut Client, host: &mut SessionHost, error: &FileError) {
    if host.file().1.says(error) {
        let id = host.session().id();
        client.warn(format!(
            "session \"{id}\" is not written to its workspace: {error}; the file there is unchanged; the store has all of \
             the session"
        ));
    }
}

/// Decides which side is newer, and prepares `theirs` and `file` for it.
pub(in crate::server) fn compare(session: &Session, file: &mut FileState, theirs: &mut Trajectory) -> Newer {
    for skipped in &theirs.skipped {
        tracing::warn!(session = %session.id(), place = skipped.place, reason = skipped.reason, "not read from its file");
    }
    compare::fill_gaps(session, theirs);
    let whose = compare::whose(session, theirs, file.known());
    file.set_known(theirs.messages.len());
    let is_behind = whose == Newer::Ours && compare::is_behind(session, theirs);
    if is_behind || !theirs.skipped.is_empty() {
        // Outdated, or not written by a sidecar: rewritten now, without waiting for the next message.
        file.is_behind();
    }
    whose
}

/// The content to write for a session. Messages are shared, not copied.
pub(in crate::server) fn content(session: &Session) -> Content {
    let (head, transcript) = (session.head(), session.transcript());
    let in_force = transcript.compactions().iter().filter(|record| record.status == Status::InForce);
    Content {
        id: head.id.as_str().to_owned(),
        title: head.title.clone(),
        created_at: iso(head.created_at),
        updated_at: iso(head.updated_at),
        messages: transcript.messages().iter().map(Arc::clone).collect(),
        summaries: in_force.map(|record| metadata(transcript, record)).collect(),
    }
}

/// The list entry of a file.
pub(in crate::server) fn summary(workspace: &str, id: &str, found: &Found) -> TrajectorySummary {
    let summary = TrajectorySummary {
        chat_id: id.to_owned(),
        workspace_folder: workspace.to_owned(),
        bytes: found.bytes,
        ..TrajectorySummary::default()
    };
    match &found.trajectory {
        Err(error) => TrajectorySummary { fault: Some(error.to_string()), ..summary },
        Ok(trajectory) => TrajectorySummary {
            title: trajectory.title.clone(),
            version: trajectory.version,
            messages: u32::try_from(trajectory.messages.len()).unwrap_or(u32::MAX),
            created_at: trajectory.created_at.clone(),
            updated_at: trajectory.updated_at.clone(),
            ..summary
        },
    }
}
