//! Sessions as files of their workspaces (source: 001): when an open session is written, and what becomes of a file that
//! somebody else changed. Reading and writing is `worker`'s, what a file looks like is `transcript_io`'s.

mod worker;

use super::inbox::Event;
use super::main_loop::{MainLoop, NOBODY, Slot};
use super::opening::New;
use super::queued::{Opens, Queued};
use super::transfer::restore_of;
use crate::engine::compact::metadata::metadata;
use crate::engine::compact::record::Status;
use crate::engine::id::SessionId;
use crate::engine::message::Message;
use crate::engine::session::Session;
use crate::engine::session::event::{EventBody, Phase};
use crate::engine::session::input::{Command, Input, TakeIn, Taken};
use crate::engine::session::settings::Trajectory as Setting;
use crate::protocol::convert::iso;
use crate::protocol::event::SessionsChangedParams;
use crate::protocol::settings::Settings;
use crate::protocol::transfer::{SessionImportParams, TrajectorySummary};
use crate::trajectory::saver::Saver;
use crate::trajectory::{FileError, Folder};
use crate::transcript_io::trajectory::{Content, Trajectory};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
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

/// What a worker told.
pub(super) enum Told {
    /// Something about a file.
    Done(Done),
    /// A file that is to become a session was read.
    Read(crate::engine::session::input::ReplyTo, Box<SessionImportParams>, Result<Vec<u8>, String>),
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
        let is_due = live.file.saver.is_dirty() && live.session.is_at_rest() && live.unwritten.is_empty();
        if is_due && !live.session.transcript().messages().is_empty() {
            let content = content(&live.session);
            if let Some(worker) = self.files_worker() {
                worker.write(folder, content);
            }
        }
    }

    /// A session was deleted: its file goes with it, wherever sessions are written into files.
    pub fn remove_file(&mut self, id: &SessionId) {
        let followed: Vec<Folder> = self
            .trajectories
            .followed
            .iter()
            .filter(|(workspace, _)| {
                let settings = self.layers.effective(workspace, &Settings::default());
                settings.is_ok_and(|settings| settings.trajectory == Setting::Workspace)
            })
            .map(|(_, folder)| folder.clone())
            .collect();
        let folders: BTreeSet<Folder> = followed.into_iter().chain(self.folder_of(id)).collect();
        for folder in folders {
            if let Some(worker) = self.files_worker() {
                worker.remove(folder, id.as_str());
            }
        }
    }

    /// The thread told something.
    pub fn trajectory_told(&mut self, told: Told) {
        match told {
            Told::Done(Done::Written(id, written)) => self.written(&SessionId::new(id), written),
            Told::Done(Done::News(news)) => self.file_news(news),
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

    /// Takes in what somebody made of a session's file. The session is at rest.
    fn take_changed(&mut self, id: &SessionId, folder: Folder, theirs: Trajectory, hash: String) {
        let Some(Slot::Live(live)) = self.sessions.get_mut(id) else { return };
        for skipped in &theirs.skipped {
            tracing::warn!(session = %id, place = skipped.place, reason = skipped.reason, "not read from its file");
        }
        let known = live.file.known;
        let taken = whose(&live.session, &theirs, known);
        live.file.known = Some(u32::try_from(theirs.messages.len()).unwrap_or(u32::MAX));
        let skipped = theirs.skipped.len();
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
            }
            Whose::Both => self.keep_apart(id, theirs, &hash),
        }
        if skipped > 0 {
            self.warn(format!(
                "the file of session {id}: {skipped} of its messages or parts could not be read; they stay in the file, \
                 under \"unreadable\""
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

/// Who has the newer state.
#[derive(Debug, PartialEq, Eq)]
enum Whose {
    /// The session: the file says nothing that it does not.
    Ours,
    /// The file; so many messages of the session were in it once, and what is more came later.
    Theirs(u32),
    /// Each has something that the other has not, and the session is the newer.
    Both,
}

/// Compares a session with a file. `known` says how many of its messages this process last knew to be there.
fn whose(session: &Session, theirs: &Trajectory, known: Option<u32>) -> Whose {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    if let Some(known) = known {
        return Whose::Theirs(known);
    }
    if !theirs.is_as_written {
        return Whose::Theirs(theirs.saved.unwrap_or(u32::MAX));
    }
    // A sidecar wrote it, and nobody changed it since: it is older, or from a process with another store.
    let ours: Vec<&Message> =
        session.transcript().messages().iter().map(|m| &**m).filter(|m| !m.is_source_keys()).collect();
    let same = theirs.messages.iter().zip(&ours).take_while(|(theirs, ours)| {
        theirs.message.body.hash() == ours.hash && theirs.message.visible_to_model == ours.visible_to_model
    });
    let same = same.count();
    if same == theirs.messages.len() {
        return Whose::Ours;
    }
    let is_newer = theirs.updated_at.as_deref() > Some(iso(session.head().updated_at).as_str());
    match same == ours.len() || is_newer {
        true => Whose::Theirs(count(theirs.messages.len())),
        false => Whose::Both,
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
