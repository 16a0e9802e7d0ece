//! Watched files: read without trusting them, and watched by a thread of their own with the system's means.
//! Changes in quick succession are gathered, unchanged files are not reported, and nothing is polled.
//! `config` knows what a file means.

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Content of a file when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// There is no file.
    Missing,
    /// Text, cut to the limit.
    Text {
        /// The text.
        text: String,
        /// Size of the whole file.
        bytes: u64,
    },
    /// Not readable, and why.
    Unusable(String),
}

/// Rules for reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// The file.
    pub file: PathBuf,
    /// A folder above the file that usually exists.
    pub base: PathBuf,
    /// `true` if a link may lead out of that folder.
    pub may_leave: bool,
    /// Most bytes that are read.
    pub most: u64,
}

impl Look {
    /// Reads the file.
    pub fn now(&self) -> Found {
        match self.read() {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Found::Missing
            }
            Err(error) => Found::Unusable(format!("cannot be read: {}", error.kind())),
        }
    }

    fn read(&self) -> std::io::Result<Found> {
        let about = fs::metadata(&self.file)?;
        // Before it is opened: a pipe would block.
        if !about.is_file() {
            return Ok(Found::Unusable("not a file".to_owned()));
        }
        if !self.may_leave && !fs::canonicalize(&self.file)?.starts_with(fs::canonicalize(&self.base)?) {
            return Ok(Found::Unusable("a link to a place outside of the workspace".to_owned()));
        }
        let mut bytes = Vec::new();
        fs::File::open(&self.file)?.take(self.most).read_to_end(&mut bytes)?;
        let is_cut = about.len() > self.most;
        if let Err(error) = std::str::from_utf8(&bytes) {
            // The cut may have split the last character.
            if error.error_len().is_some() || !is_cut {
                return Ok(Found::Unusable("not UTF-8".to_owned()));
            }
            bytes.truncate(error.valid_up_to());
        }
        let text = String::from_utf8(bytes).unwrap_or_default();
        let bytes = about.len().max(text.len() as u64);
        Ok(Found::Text { text, bytes })
    }
}

/// Handle of the watching thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch<W> {
    words: Sender<Message<W>>,
}

#[derive(Debug)]
enum Message<W> {
    /// Watches one more file.
    Add(WatchedFile<W>),
    /// Paths that changed; empty if the system cannot name them.
    Stirred(Vec<PathBuf>),
    End,
}

/// A watched file.
#[derive(Debug)]
struct WatchedFile<W> {
    which: W,
    look: Look,
    known: Found,
}

/// Changes are gathered until it is quiet for this long.
pub(super) const QUIET: Duration = Duration::from_millis(40);
/// Number of gathered messages that triggers a look before it is quiet.
const MOST_GATHERED: usize = 1000;

impl<W: Clone + Send + 'static> Watch<W> {
    /// Starts the thread, on which `tell` is called with each file that changed.
    ///
    /// # Errors
    /// Fails if the thread or the system's watcher cannot be created.
    pub fn start(tell: impl Fn(W, Found) + Send + 'static) -> notify::Result<Self> {
        let (words, heard) = channel();
        let stirs = words.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let places = match event {
                // Reads change nothing, and our own would trigger another look.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) => event.paths,
                Err(_) => Vec::new(),
            };
            drop(stirs.send(Message::Stirred(places)));
        })?;
        let watching = Watching { watcher, wanted: Vec::new(), tell };
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || watching.run(&heard))?;
        Ok(Self { words })
    }

    /// Watches one more file; the content `known` is not reported.
    pub fn add(&self, which: W, look: Look, known: Found) {
        drop(self.words.send(Message::Add(WatchedFile { which, look, known })));
    }
}

impl<W> Drop for Watch<W> {
    fn drop(&mut self) {
        drop(self.words.send(Message::End));
    }
}

struct Watching<W, T> {
    watcher: RecommendedWatcher,
    wanted: Vec<WatchedFile<W>>,
    tell: T,
}

impl<W: Clone, T: Fn(W, Found)> Watching<W, T> {
    fn run(mut self, words: &Receiver<Message<W>>) {
        while let Ok(mut word) = words.recv() {
            let mut is_due = false;
            for _ in 0..MOST_GATHERED {
                match word {
                    Message::End => return,
                    Message::Add(wanted) => {
                        self.wanted.push(wanted);
                        is_due = true;
                    }
                    Message::Stirred(places) => is_due |= self.is_about(&places),
                }
                if !is_due {
                    break;
                }
                word = match words.recv_timeout(QUIET) {
                    Ok(next) => next,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
            }
            if is_due {
                self.look();
            }
        }
    }

    /// `true` if a change there may concern a watched file or a folder above it.
    fn is_about(&self, places: &[PathBuf]) -> bool {
        let is_on_way =
            |place: &PathBuf| self.wanted.iter().any(|wanted| wanted.look.file.starts_with(place));
        places.is_empty() || places.iter().any(is_on_way)
    }

    fn look(&mut self) {
        for wanted in &mut self.wanted {
            // Each time: a folder may be new, or another one of the same name. Before the look, so that no
            // change between them is missed.
            let above = wanted.look.file.ancestors().skip(1);
            for folder in above.take_while(|folder| folder.starts_with(&wanted.look.base)) {
                watch(&mut self.watcher, folder);
            }
            let found = wanted.look.now();
            if found != wanted.known {
                wanted.known = found.clone();
                (self.tell)(wanted.which.clone(), found);
            }
        }
    }
}

/// Watches the entries of a folder, if it exists.
pub(super) fn watch(watcher: &mut RecommendedWatcher, folder: &Path) {
    if !folder.is_dir() {
        return;
    }
    if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
        tracing::warn!(folder = %folder.display(), %error, "a folder cannot be watched; its changes are seen at the next start");
    }
}
