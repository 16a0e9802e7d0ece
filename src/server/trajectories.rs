//! Sessions as files of their workspaces (source: 001): when an open session is written, and what becomes of a file that
//! somebody else changed. Reading and writing is `worker`'s, what a file looks like is `transcript_io`'s.

mod compare;
mod worker;

use super::inbox::Event;
use super::main_loop::{MainLoop, NOBODY, Slot};
use super::opening::New;
use super::queued::{Opens, Queued};
use super::transfer::restore_of;
use super::wire_session;
use crate::convert::iso;
use crate::trajectory::saver::Saver;
use crate::trajectory::{FileError, Folder};
use compare::Whose;
use engine::compact::metadata::metadata;
use engine::compact::record::Status;
use engine::id::SessionId;
use import::trajectory::{Content, Trajectory};
use protocol::event::SessionsChangedParams;
use protocol::transfer::{SessionImportParams, TrajectorySummary};
use session::Session;
use session::event::{EventBody, Phase};
use session::input::{Command, Input, ReplyTo, TakeIn, Taken};
use session::settings::Trajectory as Setting;
use session::stored::Write;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Deleted;
pub(super) use worker::Found;
use worker::{Done, News, Refused, Worker};

/// What the owner loop has of trajectories.
#[derive(Debug, Default)]
pub(super) struct Trajectories {
    worker: Option<Worker>,
    /// Folders whose files are followed, by the workspace's name.
    followed: BTreeMap<String, Folder>,
}

/// What an open session has of its file.
#[derive(Debug, Default)]
pub(super) struct Filed {
    saver: Saver,
    /// Whether it was looked at.
    is_looked_at: bool,
    /// What somebody else made of it, with its hash, until the session has time for it.
    changed: Option<(Box<Trajectory>, String)>,
    /// Messages of the session that it holds, where this process brought them there or took them from there.
    known: Option<u32>,
    /// What was said last of why it is not written.
    said: Option<FileError>,
}

impl Filed {
    /// Whether there is something to be done that needs all of the session.
    const fn waits(&self) -> bool {
        self.changed.is_some() || self.saver.is_due()
    }
}

/// What a worker told.
pub(super) enum Told {
    /// Something about a file.
    Done(Done),
    /// What became of the file of a session that was deleted.
    Removed(Removal),
    /// A file that is to become a session was read.
    Read(ReplyTo, Box<SessionImportParams>, Result<Vec<u8>, String>),
}

/// A session that was deleted, and its file.
pub(super) struct Removal {
    session: SessionId,
    /// Who asked.
    to: ReplyTo,
    /// What the store did.
    deleted: Deleted,
    removed: Result<(), FileError>,
}

impl Trajectories {
    /// Ends the thread once all is written.
    pub fn finish(self, done: impl FnOnce() + Send + 'static) {
        match self.worker {
            Some(worker) => worker.finish(done),
            None => done(),
        }
    }
}

impl MainLoop {
    /// The thread that has the files; nothing where there can be none.
    fn files_worker(&mut self) -> Option<&Worker> {
        if self.trajectories.worker.is_none() {
            let inbox = self.inbox.clone();
            let tell = move |done| drop(inbox.send(Event::Trajectory(Box::new(Told::Done(done)))));
            match Worker::start(tell) {
                Ok(worker) => self.trajectories.worker = Some(worker),
                Err(error) => self.warn(format!("trajectories cannot be read or written: {error}")),
            }
        }
        self.trajectories.worker.as_ref()
    }

    /// Does something that waits for the disk, away from this loop.
    pub fn on_files_thread(&mut self, job: impl FnOnce() + Send + 'static) {
        if let Some(worker) = self.files_worker() {
            worker.run(job);
        }
    }

    /// What others do to the trajectories of this workspace is told from now on.
    pub fn follow_trajectories(&mut self, workspace: &str) {
        let Some(folder) = Folder::of(workspace) else { return };
        if self.trajectories.followed.contains_key(workspace) {
            return;
        }
        if let Some(worker) = self.files_worker() {
            worker.follow(folder.clone());
            self.trajectories.followed.insert(workspace.to_owned(), folder);
        }
    }

    /// Has the files of open sessions looked at: the system may not have told of a change.
    pub fn check_files(&mut self) {
        let is_filed = |slot: &Slot| matches!(slot, Slot::Live(live) if live.file.is_looked_at);
        let filed = self.sessions.iter().filter(|(_, slot)| is_filed(slot)).map(|(id, _)| id.clone());
        for id in filed.collect::<Vec<_>>() {
            if let Some(folder) = self.folder_of(&id)
                && let Some(worker) = self.files_worker()
            {
                worker.check(folder, id.as_str());
            }
        }
    }

    /// The folder of an open session's file, where it has one.
    fn folder_of(&self, id: &SessionId) -> Option<Folder> {
        let Some(Slot::Live(live)) = self.sessions.get(id).filter(|slot| slot.is_stored()) else {
            return None;
        };
        let is_on = live.session.settings().trajectory == Setting::Workspace;
        is_on.then(|| Folder::of(&live.session.head().workspace)).flatten()
    }

    /// An event says something that the file is to say too.
    pub fn file_is_behind(&mut self, id: &SessionId, body: &EventBody) {
        let is_said = match body {
            EventBody::MessageAdded(_)
            | EventBody::MessageUpdated(_)
            | EventBody::MessageRemoved { .. }
            | EventBody::MessagesTruncated { .. }
            | EventBody::ThreadUpdated { .. } => true,
            EventBody::CompactionUpdated(update) => {
                matches!(update.phase, Phase::Accepted | Phase::Undone | Phase::Voided)
            }
            _ => false,
        };
        if is_said && let Some(Slot::Live(live)) = self.sessions.get_mut(id) {
            live.file.saver.changed();
        }
    }

    /// A session has done what there was to do: at rest it takes in what somebody made of its file, and is written.
    pub fn settle_file(&mut self, id: &SessionId) {
        let Some(folder) = self.folder_of(id) else { return };
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        if !std::mem::replace(&mut live.file.is_looked_at, true) {
            let workspace = live.session.head().workspace.clone();
            match folder.file(id.as_str()) {
                Ok(_) => {
                    self.follow_trajectories(&workspace);
                    if let Some(worker) = self.files_worker() {
                        worker.look(folder.clone(), id.as_str());
                    }
                }
                Err(error) => self.say_unwritten(id, error),
            }
        }
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        if folder.file(id.as_str()).is_err() || !live.session.is_at_rest() || !live.is_settled() {
            return;
        }
        if live.part.is_some() {
            // Neither compared nor written before all of it is here: in a part's front nothing is said.
            if live.file.waits() {
                self.want_rest(id);
            }
            return;
        }
        if let Some((changed, hash)) = live.file.changed.take() {
            return self.take_changed(id, folder, *changed, hash);
        }
        // A chat in which nothing was ever said needs no file.
        let is_empty = live.session.transcript().messages().is_empty() && live.file.known.is_none();
        if !is_empty && live.file.saver.begins() {
            let content = content(&live.session);
            if let Some(worker) = self.files_worker() {
                worker.write(folder, content);
            }
        }
    }

    /// A session leaves this process: what its file does not say yet is written.
    pub fn write_last(&mut self, id: &SessionId) {
        let Some(folder) = self.folder_of(id) else { return };
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        let is_whole = live.part.is_none() && live.unwritten.is_empty();
        let is_due = live.file.saver.is_dirty() && live.session.is_at_rest() && is_whole;
        if is_due && !live.session.transcript().messages().is_empty() {
            let content = content(&live.session);
            if let Some(worker) = self.files_worker() {
                worker.write(folder, content);
            }
        }
    }

    /// A session was deleted: its file goes with it, whatever the settings say now, and then those of its copies. Who asked
    /// is answered after that.
    pub fn remove_file(&mut self, id: &SessionId, to: ReplyTo, deleted: Deleted) {
        if let Some(waiting) = self.waiting.get_mut(&to) {
            // It waits for its file, no longer for the session.
            waiting.session = None;
        }
        let Some(folder) = Folder::of(&deleted.workspace) else {
            return self.answer(to, wire_session::deleted(&deleted));
        };
        let (pending, session) = (self.pending(to), id.clone());
        match self.files_worker() {
            Some(worker) => worker.remove(folder, id.as_str(), move |removed| {
                let told = Told::Removed(Removal { session, to, deleted, removed });
                pending.send(Event::Trajectory(Box::new(told)));
            }),
            None => self.answer(to, wire_session::deleted(&Deleted { scrubbed: false, ..deleted })),
        }
    }

    /// The file of a session that was deleted is gone, or is not.
    fn file_removed(&mut self, removal: Removal) {
        let Removal { session, to, mut deleted, removed } = removal;
        if let Err(error) = removed {
            deleted.scrubbed = false;
            self.warn(format!(
                "session {session} was deleted, and its file in the workspace could not be removed: {error}. Remove it by \
                 hand: whoever opens the session again gets back what it says"
            ));
        }
        match deleted.copies.pop() {
            Some(copy) => self.remove_file(&copy, to, deleted),
            None => self.answer(to, wire_session::deleted(&deleted)),
        }
    }

    /// The thread told something.
    pub fn trajectory_told(&mut self, told: Told) {
        match told {
            Told::Done(Done::Written(id, written)) => self.written(&SessionId::new(id), written),
            Told::Done(Done::News(news)) => self.file_news(news),
            Told::Done(Done::Missing(folder, id)) => self.file_missing(&folder, &SessionId::new(id)),
            Told::Removed(removal) => self.file_removed(removal),
            Told::Read(to, params, read) => self.file_read(to, *params, read),
        }
    }

    fn written(&mut self, id: &SessionId, written: Result<u32, Refused>) {
        self.at_work = Some(id.clone());
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else {
            if let Err(Refused::File(error)) = written {
                self.warn(format!("session {id} is not in its file: {error}"));
            }
            return;
        };
        live.file.saver.done(written.is_ok());
        match written {
            Ok(known) => {
                live.file.known = Some(known);
                live.file.said = None;
            }
            Err(Refused::Changed) => {}
            Err(Refused::File(error)) => self.say_unwritten(id, error),
        }
        self.settle_file(id);
    }

    /// Says once why a session's file is left as it is.
    fn say_unwritten(&mut self, id: &SessionId, error: FileError) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        if live.file.said.as_ref() != Some(&error) {
            live.file.said = Some(error.clone());
            self.warn(format!(
                "session {id} is not written into its workspace, and the file there is left as it is: {error}. The store \
                 has all of the session"
            ));
        }
    }

    /// Somebody else wrote a file, or removed it.
    fn file_news(&mut self, news: News) {
        let News { folder, id, found } = news;
        let workspaces: Vec<String> = self
            .trajectories
            .followed
            .iter()
            .filter(|(_, known)| **known == folder)
            .map(|(workspace, _)| workspace.clone())
            .collect();
        for workspace in workspaces {
            let mut changed = SessionsChangedParams::default();
            match &found {
                Some(found) => changed.trajectories.push(summary(&workspace, &id, found)),
                None => changed.trajectories_gone.push(id.clone()),
            }
            self.tell_sessions(changed);
        }
        let id = SessionId::new(id);
        if self.folder_of(&id).as_ref() != Some(&folder) {
            return;
        }
        let Some(Slot::Live(live)) = self.sessions.get_mut(&id) else { return };
        match found {
            None => {}
            Some(Found { trajectory: Err(error), .. }) => self.say_unwritten(&id, error),
            Some(Found { trajectory: Ok(trajectory), hash, .. }) => {
                live.file.changed = Some((trajectory, hash));
                live.file.said = None;
                self.settle_file(&id);
            }
        }
    }

    /// A session has no file yet. What it says already is written at once.
    fn file_missing(&mut self, folder: &Folder, id: &SessionId) {
        if self.folder_of(id).as_ref() != Some(folder) {
            return;
        }
        if let Some(Slot::Live(live)) = self.sessions.get_mut(id) {
            live.file.saver.changed();
        }
        self.settle_file(id);
    }

    /// Takes in what somebody made of a session's file. The session is at rest.
    fn take_changed(&mut self, id: &SessionId, folder: Folder, mut theirs: Trajectory, hash: String) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        for skipped in &theirs.skipped {
            tracing::warn!(session = %id, place = skipped.place, reason = skipped.reason, "not read from its file");
        }
        let skipped = theirs.skipped.len();
        compare::fill_gaps(&live.session, &mut theirs);
        let taken = compare::whose(&live.session, &theirs, live.file.known);
        live.file.known = Some(u32::try_from(theirs.messages.len()).unwrap_or(u32::MAX));
        let is_behind = taken == Whose::Ours && compare::is_behind(&live.session, &theirs);
        if is_behind || skipped > 0 {
            // Written before the session's last words, or not by us: it is made whole without waiting for more of them.
            live.file.saver.changed();
        }
        let mut fork = None;
        match taken {
            Whose::Ours => {}
            Whose::Theirs(known) => {
                let messages = theirs.begins().map(|(begins, kept)| Taken {
                    id: kept.id.clone(),
                    begins,
                    message: kept.message.clone(),
                });
                let given = TakeIn { title: theirs.title.clone(), messages: messages.collect(), known };
                tracing::info!(session = %id, "its file was changed by somebody else, which is taken in");
                self.run_input(id, Input::Command(NOBODY, Command::TakeIn(Box::new(given))));
                fork = self.fork_made(id);
            }
            Whose::Both => self.keep_apart(id, theirs, &hash),
        }
        if skipped > 0 {
            self.warn(format!(
                "the file of session {id}: {skipped} of its messages or parts could not be read; they stay in the file, \
                 under \"unreadable\""
            ));
        }
        if let Some(fork) = fork {
            self.warn(format!(
                "session {id} says now what somebody made of its file; session {fork} has it as it was before"
            ));
        }
        if let Some(worker) = self.files_worker() {
            worker.accept(folder, id.as_str(), hash);
        }
        if let Some(Slot::Live(live)) = self.sessions.get_mut(id) {
            live.file.saver.try_again();
        }
        self.settle_file(id);
    }

    /// The copy that the step which is being stored makes of a session.
    fn fork_made(&self, id: &SessionId) -> Option<SessionId> {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return None };
        let waiting = live.steps.iter().flat_map(|step| &step.writes);
        live.writing.iter().chain(waiting).find_map(|write| match write {
            Write::Fork { to } => Some(to.clone()),
            _ => None,
        })
    }

    /// Session and file went different ways: the session goes on as it is, and what the file said becomes another one.
    fn keep_apart(&mut self, id: &SessionId, theirs: Trajectory, hash: &str) {
        let Some(Slot::Live(live)) = self.sessions.get(id) else { return };
        let folder = Some(live.session.head().workspace.clone());
        let driver = live.session.head().driver;
        let root: String = id.as_str().chars().take(80).collect();
        let other = SessionId::new(format!("{root}-outside-{:.8}", hash));
        self.warn(format!(
            "session {id} and its file went different ways; the session goes on as it is, and session {other} has what \
             the file said"
        ));
        let command = Command::Restore(Box::new(restore_of(theirs, None)));
        let new = New { driver, parent: Some(id.clone()), ..New::default() };
        let opens = Opens { command, folder, new, settings: None, follow: false };
        self.hand(&other, Queued::Open(NOBODY, Box::new(opens)));
        self.hand(&other, Queued::Close(NOBODY));
    }
}

/// A session as it is written. Messages are shared, not copied.
pub(super) fn content(session: &Session) -> Content {
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

/// A file as a list shows it.
pub(super) fn summary(workspace: &str, id: &str, found: &Found) -> TrajectorySummary {
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
