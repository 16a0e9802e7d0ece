//! Files whose changes matter: read without trusting them, and watched by a thread of their own with the system's means.
//! What comes at once is gathered, what did not change is not told, and nothing is looked at again and again. What a
//! file means is said by `files`.

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// What a file held when it was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// There is none.
    Missing,
    /// Text, the first of it where there is more.
    Text {
        /// The text.
        text: String,
        /// Bytes of the whole file.
        bytes: u64,
    },
    /// Something that is not read; why.
    Unusable(String),
}

/// How a file is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// The file.
    pub file: PathBuf,
    /// A folder that exists as a rule; the file is below it.
    pub base: PathBuf,
    /// True if a link may lead out of that folder.
    pub may_leave: bool,
    /// Bytes that are read at most.
    pub most: u64,
}

impl Look {
    /// Looks.
    pub fn now(&self) -> Found {
        match self.read() {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Found::Missing
            }
            Err(error) => Found::Unusable(format!("it cannot be read: {}", error.kind())),
        }
    }

    fn read(&self) -> std::io::Result<Found> {
        let about = fs::metadata(&self.file)?;
        // Before it is opened: a pipe would be waited for.
        if !about.is_file() {
            return Ok(Found::Unusable("it is no file".to_owned()));
        }
        if !self.may_leave && !fs::canonicalize(&self.file)?.starts_with(fs::canonicalize(&self.base)?) {
            return Ok(Found::Unusable("it is a link to a place outside of the workspace".to_owned()));
        }
        let mut bytes = Vec::new();
        fs::File::open(&self.file)?.take(self.most).read_to_end(&mut bytes)?;
        let is_cut = about.len() > self.most;
        if let Err(error) = std::str::from_utf8(&bytes) {
            // The last character may be the one that was cut.
            if error.error_len().is_some() || !is_cut {
                return Ok(Found::Unusable("it is not UTF-8".to_owned()));
            }
            bytes.truncate(error.valid_up_to());
        }
        let text = String::from_utf8(bytes).unwrap_or_default();
        let bytes = about.len().max(text.len() as u64);
        Ok(Found::Text { text, bytes })
    }
}

/// The thread that watches. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watch<W> {
    words: Sender<Word<W>>,
}

#[derive(Debug)]
enum Word<W> {
    /// A file is to be watched.
    Add(Wanted<W>),
    /// Something happened at these places; anywhere, where there is none.
    Stirred(Vec<PathBuf>),
    End,
}

/// A file that is watched.
#[derive(Debug)]
struct Wanted<W> {
    which: W,
    look: Look,
    known: Found,
}

/// Quiet for so long, and what came belongs together.
pub(super) const QUIET: Duration = Duration::from_millis(40);
/// Words that are gathered at most before it is looked all the same.
const MOST_GATHERED: usize = 1000;

impl<W: Clone + Send + 'static> Watch<W> {
    /// Starts the thread. `tell` is called on it with each file that is another than before.
    ///
    /// # Errors
    /// When the thread, or what the system watches with, cannot be made.
    pub fn start(tell: impl Fn(W, Found) + Send + 'static) -> notify::Result<Self> {
        let (words, heard) = channel();
        let stirs = words.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let places = match event {
                // Reading changes nothing; our own reading would stir us again.
                Ok(event) if matches!(event.kind, EventKind::Access(_)) => return,
                Ok(event) => event.paths,
                Err(_) => Vec::new(),
            };
            drop(stirs.send(Word::Stirred(places)));
        })?;
        let watching = Watching { watcher, wanted: Vec::new(), tell };
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || watching.run(&heard))?;
        Ok(Self { words })
    }

    /// Watches one more file; what it is known to hold is not told.
    pub fn add(&self, which: W, look: Look, known: Found) {
        drop(self.words.send(Word::Add(Wanted { which, look, known })));
    }
}

impl<W> Drop for Watch<W> {
    fn drop(&mut self) {
        drop(self.words.send(Word::End));
    }
}

struct Watching<W, T> {
    watcher: RecommendedWatcher,
    wanted: Vec<Wanted<W>>,
    tell: T,
}

impl<W: Clone, T: Fn(W, Found)> Watching<W, T> {
    fn run(mut self, words: &Receiver<Word<W>>) {
        while let Ok(mut word) = words.recv() {
            let mut is_due = false;
            for _ in 0..MOST_GATHERED {
                match word {
                    Word::End => return,
                    Word::Add(wanted) => {
                        self.wanted.push(wanted);
                        is_due = true;
                    }
                    Word::Stirred(places) => is_due |= self.is_about(&places),
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

    /// Returns whether what happened there may have changed a file of ours, or a folder on the way to it.
    fn is_about(&self, places: &[PathBuf]) -> bool {
        let is_on_way =
            |place: &PathBuf| self.wanted.iter().any(|wanted| wanted.look.file.starts_with(place));
        places.is_empty() || places.iter().any(is_on_way)
    }

    fn look(&mut self) {
        for wanted in &mut self.wanted {
            // Anew each time: a folder may have come, or be another one of the same name. Before the file is looked at,
            // so that nothing can happen between the two unseen.
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

/// Watches what lies in a folder, where there is one.
pub(super) fn watch(watcher: &mut RecommendedWatcher, folder: &Path) {
    if !folder.is_dir() {
        return;
    }
    if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
        tracing::warn!(folder = %folder.display(), %error, "a folder cannot be watched; its changes are seen at the next start");
    }
}
