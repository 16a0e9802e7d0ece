//! The worker thread for trajectories: writes them, reads them and receives the system's change events. All
//! in one order, so that its own writes are never reported: a file is identified by the hash of its content,
//! never by its time. The router acts on the reports.

mod replaced;

use crate::server::watch::{QUIET, watch};
use crate::trajectory::{FileContent, FileError, Folder, Staged};
use import::trajectory::{Content, Trajectory, write};
use notify::{EventKind, RecommendedWatcher};
use replaced::{Replaced, Unchanged};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::SystemTime;

/// A report of the worker.
#[derive(Debug)]
pub(in crate::server) enum Done {
    /// A session was written, with its number of messages; or not, and why.
    Written(String, Result<u32, Refused>),
    /// A file differs from the one that this process knows.
    News(News),
    /// A session's file was looked for, and there is none.
    Missing(Folder, String),
}

/// The reason that a session was not written. Its file is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Refused {
    /// Somebody else changed the file; reported as news.
    Changed,
    /// The file cannot be written, or must not be.
    File(FileError),
}

/// A file that others wrote, changed or removed.
#[derive(Debug, Clone)]
pub(in crate::server) struct News {
    /// The folder of the file.
    pub folder: Folder,
    /// Session id in the file name.
    pub id: String,
    /// The content; `None` if the file was removed.
    pub found: Option<Found>,
}

/// Content of a file.
#[derive(Debug, Clone)]
pub(in crate::server) struct Found {
    /// SHA-256 of the content; empty if it could not be read.
    pub hash: String,
    /// Size of the content.
    pub bytes: u64,
    /// The parsed content, or why it cannot be used.
    pub trajectory: Result<Box<Trajectory>, FileError>,
}

impl Found {
    /// Converts a read; `None` if there is no file.
    pub fn of(id: &str, read: Result<Option<FileContent>, FileError>) -> Option<Self> {
        match read.transpose()? {
            Ok(held) => Some(Self {
                bytes: held.bytes.len() as u64,
                trajectory: held.trajectory(id).map(Box::new),
                hash: held.hash,
            }),
            Err(error) => Some(Self { hash: String::new(), bytes: 0, trajectory: Err(error) }),
        }
    }
}

type Call = Box<dyn FnOnce() + Send>;

enum Job {
    /// Reports changes in this folder from now on.
    Follow(Folder),
    /// Writes a session, unless somebody changed its file.
    Write(Folder, Box<Content>),
    /// Reads a session's file, and reports it unless the session has its content.
    Look(Folder, String),
    /// Checks a file for a change that the system may not have reported.
    Check(Folder, String),
    /// Allows overwriting the file while it has this hash: its content is in the session.
    Accept(Folder, String, String),
    /// Removes a session's file, and reports the outcome.
    Remove(Folder, String, Box<dyn FnOnce(Result<(), FileError>) + Send>),
    /// Runs another job that blocks on the disk.
    Run(Call),
    /// Paths that changed; empty if the system cannot name them.
    Stirred(Vec<PathBuf>),
    /// Ends the thread, and reports that.
    End(Call),
}

/// Handle of the worker thread.
#[derive(Debug)]
pub(in crate::server) struct Worker {
    jobs: Sender<Job>,
}

impl Worker {
    /// Starts the thread, on which `tell` is called.
    ///
    /// # Errors
    /// Fails if the thread cannot be spawned.
    pub fn start(tell: impl Fn(Done) + Send + 'static) -> std::io::Result<Self> {
        let (jobs, heard) = channel();
        let stirs = jobs.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let places = match event {
                // Reads change nothing, and our own would trigger another look.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) => event.paths,
                Err(_) => Vec::new(),
            };
            drop(stirs.send(Job::Stirred(places)));
        });
        let watcher = watcher
            .inspect_err(|error| tracing::warn!(%error, "trajectories cannot be watched; changes are seen at the next write"))
            .ok();
        let files = Files {
            watcher,
            followed: BTreeSet::new(),
            seen: BTreeMap::new(),
            ours: BTreeMap::new(),
            replaced: BTreeMap::new(),
            tell,
        };
        std::thread::Builder::new().name("trajectories".to_owned()).spawn(move || files.run(&heard))?;
        Ok(Self { jobs })
    }

    pub fn follow(&self, folder: Folder) {
        drop(self.jobs.send(Job::Follow(folder)));
    }

    pub fn write(&self, folder: Folder, content: Content) {
        drop(self.jobs.send(Job::Write(folder, Box::new(content))));
    }

    pub fn look(&self, folder: Folder, id: &str) {
        drop(self.jobs.send(Job::Look(folder, id.to_owned())));
    }

    /// Checks a file for a change that the system may not have reported. It is read only if its size, time or
    /// inode differs.
    pub fn check(&self, folder: Folder, id: &str) {
        drop(self.jobs.send(Job::Check(folder, id.to_owned())));
    }

    pub fn accept(&self, folder: Folder, id: &str, hash: String) {
        drop(self.jobs.send(Job::Accept(folder, id.to_owned(), hash)));
    }

    /// Removes a session's file and its temporary files. `tell` is called on the thread.
    pub fn remove(
        &self,
        folder: Folder,
        id: &str,
        tell: impl FnOnce(Result<(), FileError>) + Send + 'static,
    ) {
        drop(self.jobs.send(Job::Remove(folder, id.to_owned(), Box::new(tell))));
    }

    /// Runs a job that blocks on the disk, after all jobs queued before.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        drop(self.jobs.send(Job::Run(Box::new(job))));
    }

    /// Ends the thread after its queued jobs, then calls `done`.
    pub fn finish(self, done: impl FnOnce() + Send + 'static) {
        if let Err(unsent) = self.jobs.send(Job::End(Box::new(done)))
            && let Job::End(done) = unsent.0
        {
            // The thread has ended already.
            done();
        }
    }
}

/// Metadata that shows a change of a file before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    modified: Option<SystemTime>,
    /// 0 where files have none.
    inode: u64,
    /// Hash of the content; `None` if it was not read, empty if it could not be.
    hash: Option<String>,
}

impl Seen {
    fn of(about: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(about);
        #[cfg(not(unix))]
        let inode = 0;
        Self { bytes: about.len(), modified: about.modified().ok(), inode, hash: None }
    }

    fn is_alike(&self, other: &Self) -> bool {
        (self.bytes, self.modified, self.inode) == (other.bytes, other.modified, other.inode)
    }
}

/// A file of ours that is staged and not in its place.
struct Prepared {
    file: PathBuf,
    staged: Staged,
    /// Hash of the file to replace, if there is one.
    before: Option<String>,
    /// Hash of the new file.
    hash: String,
    /// Number of messages in it.
    said: u32,
}

struct Files<T> {
    watcher: Option<RecommendedWatcher>,
    followed: BTreeSet<Folder>,
    /// Last known state of each file.
    seen: BTreeMap<PathBuf, Seen>,
    /// Hashes of the files whose content is in their session: these may be overwritten.
    ours: BTreeMap<PathBuf, String>,
    /// Files that ours replaced: another process may have one open and write into it.
    replaced: BTreeMap<PathBuf, Replaced>,
    tell: T,
}

impl<T: Fn(Done)> Files<T> {
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut stirred: Option<Vec<PathBuf>> = None;
        loop {
            let next = match stirred {
                // Changes are gathered until it is quiet.
                Some(_) => jobs.recv_timeout(QUIET),
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(Job::Stirred(places)) => {
                    if self.is_about(&places) {
                        let known = stirred.get_or_insert_default();
                        // An event without a path may concern any.
                        known.extend(if places.is_empty() { vec![PathBuf::new()] } else { places });
                    }
                    if stirred.as_ref().is_some_and(|places| places.len() > MOST_GATHERED) {
                        self.look(&stirred.take().unwrap_or_default());
                    }
                }
                Ok(Job::Follow(folder)) => self.follow(folder),
                Ok(Job::Write(folder, content)) => self.write(&folder, &content),
                Ok(Job::Look(folder, id)) => {
                    self.look_again(&folder, &id);
                    if folder.file(&id).is_ok_and(|file| stamp(&file).is_none()) {
                        (self.tell)(Done::Missing(folder, id));
                    }
                }
                Ok(Job::Check(folder, id)) => self.look_at(&folder, &id, false),
                Ok(Job::Accept(folder, id, hash)) => {
                    self.ours.extend(folder.file(&id).ok().map(|file| (file, hash)));
                }
                Ok(Job::Remove(folder, id, tell)) => tell(self.remove(&folder, &id)),
                // A job that panics answers its request when what it holds is dropped; other jobs still need
                // the thread.
                Ok(Job::Run(job)) => drop(catch_unwind(AssertUnwindSafe(job))),
                Ok(Job::End(done)) => return done(),
                Err(RecvTimeoutError::Timeout) => self.look(&stirred.take().unwrap_or_default()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn write(&mut self, folder: &Folder, content: &Content) {
        let id = &content.id;
        // What somebody wrote into a replaced file comes before this write.
        self.put_back(folder, id, Unchanged::Kept);
        let prepared = self.prepare(folder, content);
        let written = match prepared.and_then(|prepared| self.put(folder, id, prepared)) {
            Err(Refused::Changed) => {
                self.look_again(folder, id);
                Err(Refused::Changed)
            }
            written => written,
        };
        (self.tell)(Done::Written(id.clone(), written));
    }

    /// Stages the new content of a file that may be overwritten.
    fn prepare(&self, folder: &Folder, content: &Content) -> Result<Prepared, Refused> {
        let id = &content.id;
        let file = folder.file(id).map_err(Refused::File)?;
        let now = folder.read(id).map_err(Refused::File)?;
        let before = now.as_ref().map(|held| held.hash.clone());
        let now = match now {
            None => None,
            Some(held) if self.ours.get(&file) == Some(&held.hash) => {
                Some(held.trajectory(id).map_err(Refused::File)?)
            }
            Some(held) => {
                // A file that is no session's is left alone.
                held.trajectory(id).map_err(Refused::File)?;
                return Err(Refused::Changed);
            }
        };
        let new = FileContent::of(write(content, now.as_ref()).into_bytes());
        let staged = folder.stage(id, &new.bytes).map_err(Refused::File)?;
        let said = content.messages.iter().filter(|message| !message.is_source_keys()).count();
        let said = u32::try_from(said).unwrap_or(u32::MAX);
        Ok(Prepared { file, staged, before, hash: new.hash, said })
    }

    /// Moves a staged file into place.
    fn put(&mut self, folder: &Folder, id: &str, prepared: Prepared) -> Result<u32, Refused> {
        let Prepared { file, staged, before, hash, said } = prepared;
        // A write takes long on a busy disk: a change made meanwhile is not overwritten.
        let now = folder.read(id).map_err(Refused::File)?.map(|held| held.hash);
        if now != before {
            return Err(Refused::Changed);
        }
        let old = fs::File::open(&file).ok().zip(before);
        // Taken before the move: afterwards the path may be somebody else's file.
        let seen = staged.about().map(|about| Seen { hash: Some(hash.clone()), ..Seen::of(&about) });
        staged.place().map_err(Refused::File)?;
        self.ours.insert(file.clone(), hash.clone());
        let replaced = self.replaced.remove(&file);
        let replaced = old.map(|(old, before)| Replaced::add(replaced, old, before, hash));
        self.replaced.extend(replaced.map(|replaced| (file.clone(), replaced)));
        self.seen.extend(seen.map(|seen| (file, seen)));
        Ok(said)
    }

    /// Restores what somebody wrote into a replaced file: whoever writes in place still has the old one open.
    fn put_back(&mut self, folder: &Folder, id: &str, unchanged: Unchanged) {
        let Ok(file) = folder.file(id) else { return };
        let Some(replaced) = self.replaced.get_mut(&file) else { return };
        if let Some(held) = replaced.look(id, unchanged) {
            match replaced.put_back(folder, id, &held) {
                Ok(true) => {}
                Ok(false) => {
                    tracing::warn!(file = %file.display(), "a write into the replaced file is older than what is there; it was dropped")
                }
                Err(error) => {
                    tracing::warn!(file = %file.display(), %error, "a write into the replaced file was lost")
                }
            }
        }
        if replaced.is_empty() {
            self.replaced.remove(&file);
        }
    }

    fn remove(&mut self, folder: &Folder, id: &str) -> Result<(), FileError> {
        // An id that cannot be a file name has no file.
        let Ok(file) = folder.file(id) else { return Ok(()) };
        self.seen.remove(&file);
        self.ours.remove(&file);
        self.replaced.remove(&file);
        match folder.remove(id) {
            // The file there is another session's.
            Ok(_) | Err(FileError::OtherId { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn follow(&mut self, folder: Folder) {
        if !self.followed.insert(folder.clone()) {
            return;
        }
        self.watch(&folder);
        // Existing files are not reported.
        for id in folder.ids().unwrap_or_default() {
            if let Ok(file) = folder.file(&id)
                && !self.seen.contains_key(&file)
            {
                self.seen.extend(stamp(&file).map(|seen| (file, seen)));
            }
        }
    }

    fn watch(&mut self, folder: &Folder) {
        if let Some(watcher) = &mut self.watcher {
            // Each time: a folder may be new, or another one of the same name.
            folder.way().iter().for_each(|folder| watch(watcher, folder));
        }
    }

    /// `true` if a change there may concern a session's file or a folder above it.
    fn is_about(&self, places: &[PathBuf]) -> bool {
        places.is_empty() || places.iter().any(|place| self.named(place).is_some() || self.is_on_way(place))
    }

    fn is_on_way(&self, place: &PathBuf) -> bool {
        place.as_os_str().is_empty() || self.followed.iter().any(|folder| folder.way().contains(place))
    }

    /// The session's file at a path.
    fn named(&self, place: &Path) -> Option<(Folder, String)> {
        self.followed.iter().find_map(|folder| Some((folder.clone(), folder.id_of(place)?)))
    }

    fn look(&mut self, places: &[PathBuf]) {
        let named: BTreeSet<(Folder, String)> = places.iter().filter_map(|place| self.named(place)).collect();
        let is_any = places.iter().any(|place| self.is_on_way(place));
        for folder in self.followed.clone() {
            // Watched before the look, so that no change between them is missed.
            self.watch(&folder);
            if is_any {
                let known = self.seen.keys().filter_map(|file| folder.id_of(file));
                let ids: BTreeSet<String> = known.chain(folder.ids().unwrap_or_default()).collect();
                ids.iter().for_each(|id| self.look_at(&folder, id, false));
            }
        }
        named.iter().for_each(|(folder, id)| self.look_at(folder, id, true));
    }

    /// Looks at a file and reports it even if it was reported before.
    fn look_again(&mut self, folder: &Folder, id: &str) {
        if let Some(seen) = folder.file(id).ok().and_then(|file| self.seen.get_mut(&file)) {
            seen.hash = None;
        }
        self.look_at(folder, id, true);
    }

    /// Reports a file that changed. One that no event named is read only if its size, time or inode differs.
    fn look_at(&mut self, folder: &Folder, id: &str, is_named: bool) {
        let Ok(file) = folder.file(id) else { return };
        self.put_back(folder, id, Unchanged::LetGo);
        let before = self.seen.get(&file);
        let now = stamp(&file);
        let Some(mut now) = now else {
            if self.seen.remove(&file).is_some() {
                self.ours.remove(&file);
                (self.tell)(Done::News(News { folder: folder.clone(), id: id.to_owned(), found: None }));
            }
            return;
        };
        if before.is_some_and(|before| before.is_alike(&now)) && !is_named {
            return;
        }
        let Some(found) = Found::of(id, folder.read(id)) else { return };
        let is_known = before.is_some_and(|before| before.hash.as_ref() == Some(&found.hash));
        let is_own = self.ours.get(&file) == Some(&found.hash);
        now.hash = Some(found.hash.clone());
        self.seen.insert(file, now);
        if !is_known && !is_own {
            let news = News { folder: folder.clone(), id: id.to_owned(), found: Some(found) };
            (self.tell)(Done::News(news));
        }
    }
}

/// Number of gathered paths that triggers a look before it is quiet.
const MOST_GATHERED: usize = 1000;

/// Metadata of a file; `None` if there is none.
fn stamp(file: &PathBuf) -> Option<Seen> {
    fs::symlink_metadata(file).ok().as_ref().map(Seen::of)
}

#[cfg(test)]
mod tests;
