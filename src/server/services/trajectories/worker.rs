//! The thread that has the trajectories: it writes them, reads them, and is told by the system when others did. All of it
//! in one order, so that what it wrote itself is never news: a file is known by the hash of what it holds, never by its
//! time. What is done about news is the owner loop's.

mod replaced;

use crate::server::watch::{QUIET, watch};
use crate::trajectory::{FileError, Folder, Held, Staged};
use import::trajectory::{Content, Trajectory, write};
use notify::{EventKind, RecommendedWatcher};
use replaced::{Replaced, Unchanged};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::SystemTime;

/// What became of a file.
#[derive(Debug)]
pub(in crate::server) enum Done {
    /// A session was written, so many messages of it; or not, and why.
    Written(String, Result<u32, Refused>),
    /// A file is another one than this process knows.
    News(News),
    /// A session's file was to be looked at, and there is none.
    Missing(Folder, String),
}

/// Why a session was not written. Its file is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Refused {
    /// Somebody changed the file; that is told as news.
    Changed,
    /// It cannot be, or must not be.
    File(FileError),
}

/// A file that others wrote, changed or removed.
#[derive(Debug, Clone)]
pub(in crate::server) struct News {
    /// Where it lies.
    pub folder: Folder,
    /// Whose it is, by its name.
    pub id: String,
    /// What it holds; nothing where it is gone.
    pub found: Option<Found>,
}

/// What a file holds.
#[derive(Debug, Clone)]
pub(in crate::server) struct Found {
    /// Its hash; empty where it could not be read.
    pub hash: String,
    /// Its size.
    pub bytes: u64,
    /// It, or why it cannot be used.
    pub trajectory: Result<Box<Trajectory>, FileError>,
}

impl Found {
    /// What a reading came to; nothing where there is no file.
    pub fn of(id: &str, read: Result<Option<Held>, FileError>) -> Option<Self> {
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
    /// What happens in this folder is told from now on.
    Follow(Folder),
    /// A session is written, unless somebody changed its file.
    Write(Folder, Box<Content>),
    /// What the session has of its file is looked at; it is told as news where it was not seen before.
    Look(Folder, String),
    /// It is looked whether a file is another one, though no word of that came.
    Check(Folder, String),
    /// What the file of this hash says is in the session: it may be written over.
    Accept(Folder, String, String),
    /// A session's file goes with it; who is told.
    Remove(Folder, String, Box<dyn FnOnce(Result<(), FileError>) + Send>),
    /// Something else that waits for the disk.
    Run(Call),
    /// Something happened at these places; anywhere, where there is none.
    Stirred(Vec<PathBuf>),
    /// It ends, and says so.
    End(Call),
}

/// The way to the thread.
#[derive(Debug)]
pub(in crate::server) struct Worker {
    jobs: Sender<Job>,
}

impl Worker {
    /// Starts the thread. `tell` is called on it.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(tell: impl Fn(Done) + Send + 'static) -> std::io::Result<Self> {
        let (jobs, heard) = channel();
        let stirs = jobs.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let places = match event {
                // Reading changes nothing; our own reading would stir us again.
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

    /// Looks at a file whose change the system may have told nobody. It is read only where its size, its time or its
    /// identity is another one.
    pub fn check(&self, folder: Folder, id: &str) {
        drop(self.jobs.send(Job::Check(folder, id.to_owned())));
    }

    pub fn accept(&self, folder: Folder, id: &str, hash: String) {
        drop(self.jobs.send(Job::Accept(folder, id.to_owned(), hash)));
    }

    /// Removes a session's file with all that was left of its writing. Who tells of it is called on the thread.
    pub fn remove(
        &self,
        folder: Folder,
        id: &str,
        tell: impl FnOnce(Result<(), FileError>) + Send + 'static,
    ) {
        drop(self.jobs.send(Job::Remove(folder, id.to_owned(), Box::new(tell))));
    }

    /// Does something that waits for the disk, after all that was asked before.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) {
        drop(self.jobs.send(Job::Run(Box::new(job))));
    }

    /// Ends it once all that was asked is done.
    pub fn finish(self, done: impl FnOnce() + Send + 'static) {
        if let Err(unsent) = self.jobs.send(Job::End(Box::new(done)))
            && let Job::End(done) = unsent.0
        {
            // The thread is gone already.
            done();
        }
    }
}

/// What tells that a file may be another one, before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Its number in its file system, where files have one.
    inode: u64,
    /// What it held, where it was read; empty where it could not be.
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

/// A file of ours that is written and not in its place.
struct Prepared {
    file: PathBuf,
    staged: Staged,
    /// The hash of the file that it replaces, where there is one.
    before: Option<String>,
    /// The hash of the new one.
    hash: String,
    /// Messages in it.
    said: u32,
}

struct Files<T> {
    watcher: Option<RecommendedWatcher>,
    followed: BTreeSet<Folder>,
    /// Files as they were told last.
    seen: BTreeMap<PathBuf, Seen>,
    /// Files whose content is in their session, by its hash: these may be written over.
    ours: BTreeMap<PathBuf, String>,
    /// The files that our own took the place of: somebody may have had one open and written into it.
    replaced: BTreeMap<PathBuf, Replaced>,
    tell: T,
}

impl<T: Fn(Done)> Files<T> {
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut stirred: Option<Vec<PathBuf>> = None;
        loop {
            let next = match stirred {
                // What comes at once is looked at once.
                Some(_) => jobs.recv_timeout(QUIET),
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match next {
                Ok(Job::Stirred(places)) => {
                    if self.is_about(&places) {
                        let known = stirred.get_or_insert_default();
                        // Where nobody can say where, it is everywhere.
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
                // Whoever waits for a job that panics is told by what the job held; the others still need this thread.
                Ok(Job::Run(job)) => drop(catch_unwind(AssertUnwindSafe(job))),
                Ok(Job::End(done)) => return done(),
                Err(RecvTimeoutError::Timeout) => self.look(&stirred.take().unwrap_or_default()),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn write(&mut self, folder: &Folder, content: &Content) {
        let id = &content.id;
        // What somebody wrote into a file that was replaced comes before what is written now.
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

    /// Writes what a file is to be, where it may be written over.
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
                // What is no session's is not changed by one.
                held.trajectory(id).map_err(Refused::File)?;
                return Err(Refused::Changed);
            }
        };
        let new = Held::of(write(content, now.as_ref()).into_bytes());
        let staged = folder.stage(id, &new.bytes).map_err(Refused::File)?;
        let said = content.messages.iter().filter(|message| !message.is_source_keys()).count();
        let said = u32::try_from(said).unwrap_or(u32::MAX);
        Ok(Prepared { file, staged, before, hash: new.hash, said })
    }

    /// Puts what was prepared in its place.
    fn put(&mut self, folder: &Folder, id: &str, prepared: Prepared) -> Result<u32, Refused> {
        let Prepared { file, staged, before, hash, said } = prepared;
        // A busy disk takes its time for a write: what somebody put there meanwhile is not written over.
        let now = folder.read(id).map_err(Refused::File)?.map(|held| held.hash);
        if now != before {
            return Err(Refused::Changed);
        }
        let old = fs::File::open(&file).ok().zip(before);
        // Before it is in its place: what is seen of it there may be somebody else's already.
        let seen = staged.about().map(|about| Seen { hash: Some(hash.clone()), ..Seen::of(&about) });
        staged.place().map_err(Refused::File)?;
        self.ours.insert(file.clone(), hash.clone());
        let replaced = self.replaced.remove(&file);
        let replaced = old.map(|(old, before)| Replaced::add(replaced, old, before, hash));
        self.replaced.extend(replaced.map(|replaced| (file.clone(), replaced)));
        self.seen.extend(seen.map(|seen| (file, seen)));
        Ok(said)
    }

    /// Puts back what somebody wrote into a file while ours took its place: who writes in place has the old one open.
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
        // Where no file can be named after it there is none.
        let Ok(file) = folder.file(id) else { return Ok(()) };
        self.seen.remove(&file);
        self.ours.remove(&file);
        self.replaced.remove(&file);
        match folder.remove(id) {
            // What lies there is not this session's.
            Ok(_) | Err(FileError::OtherId { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn follow(&mut self, folder: Folder) {
        if !self.followed.insert(folder.clone()) {
            return;
        }
        self.watch(&folder);
        // What is there now is no news.
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
            // Anew each time: a folder may have come, or be another one of the same name.
            folder.way().iter().for_each(|folder| watch(watcher, folder));
        }
    }

    /// Returns whether what happened there may have changed a file of ours, or a folder on the way to one.
    fn is_about(&self, places: &[PathBuf]) -> bool {
        places.is_empty() || places.iter().any(|place| self.named(place).is_some() || self.is_on_way(place))
    }

    fn is_on_way(&self, place: &PathBuf) -> bool {
        place.as_os_str().is_empty() || self.followed.iter().any(|folder| folder.way().contains(place))
    }

    /// The file that a place is.
    fn named(&self, place: &Path) -> Option<(Folder, String)> {
        self.followed.iter().find_map(|folder| Some((folder.clone(), folder.id_of(place)?)))
    }

    fn look(&mut self, places: &[PathBuf]) {
        let named: BTreeSet<(Folder, String)> = places.iter().filter_map(|place| self.named(place)).collect();
        let is_any = places.iter().any(|place| self.is_on_way(place));
        for folder in self.followed.clone() {
            // Before it is looked: nothing can happen between the two unseen.
            self.watch(&folder);
            if is_any {
                let known = self.seen.keys().filter_map(|file| folder.id_of(file));
                let ids: BTreeSet<String> = known.chain(folder.ids().unwrap_or_default()).collect();
                ids.iter().for_each(|id| self.look_at(&folder, id, false));
            }
        }
        named.iter().for_each(|(folder, id)| self.look_at(folder, id, true));
    }

    /// Looks at a file that may have been told before, to somebody else.
    fn look_again(&mut self, folder: &Folder, id: &str) {
        if let Some(seen) = folder.file(id).ok().and_then(|file| self.seen.get_mut(&file)) {
            seen.hash = None;
        }
        self.look_at(folder, id, true);
    }

    /// Looks whether a file is another one than before, and tells it. One that nobody named is not read where its size,
    /// its time and its identity are the same.
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

/// Places that are gathered at most before it is looked all the same.
const MOST_GATHERED: usize = 1000;

/// What can be seen of a file without reading it.
fn stamp(file: &PathBuf) -> Option<Seen> {
    fs::symlink_metadata(file).ok().as_ref().map(Seen::of)
}

#[cfg(test)]
mod tests;
