//! Files that our own took the place of. Who writes in place has such a file open, and its words are in no folder.

use crate::trajectory::{FileError, Folder, Held};
use std::fs::File;
use std::io::{Read, Seek};

/// Looks at a file that was replaced. A writer that takes longer is taken for one that never ends.
const MOST_LOOKS: u32 = 20;

/// The files that were replaced at one place, since somebody else last put one there.
pub(super) struct Replaced {
    /// The oldest first.
    old: Vec<Old>,
    /// The hash of our file that took the place of the newest.
    new: String,
}

struct Old {
    file: File,
    /// What it held when it was replaced.
    hash: String,
    looks: u32,
}

/// What a look does with the files that nobody wrote into since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unchanged {
    LetGo,
    /// Before our next write, which may come within moments of the last one.
    Kept,
}

/// What a look at a file that was replaced found.
enum Now {
    Unchanged,
    /// It is another one, and not whole: its writer may be halfway.
    Unfinished,
    Whole(Held),
}

impl Old {
    fn now(&mut self, id: &str) -> std::io::Result<Now> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        let held = Held::of(bytes);
        Ok(match held.hash == self.hash {
            true => Now::Unchanged,
            false if held.trajectory(id).is_err() => Now::Unfinished,
            false => Now::Whole(held),
        })
    }
}

impl Replaced {
    /// With one more: our own file of the hash `new` took the place of `file`, which held what has the hash `before`.
    pub fn add(known: Option<Self>, file: File, before: String, new: String) -> Self {
        // What is behind somebody else's file is older than that.
        let mut old = known.filter(|known| known.new == before).map_or_else(Vec::new, |known| known.old);
        old.push(Old { file, hash: before, looks: 0 });
        Self { old, new }
    }

    pub const fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    /// What was written into one of them since; the newest, where there are several.
    pub fn look(&mut self, id: &str, unchanged: Unchanged) -> Option<Held> {
        let mut found = None;
        self.old.retain_mut(|old| {
            old.looks += 1;
            let is_left = old.looks < MOST_LOOKS;
            match old.now(id) {
                Ok(Now::Unchanged) => unchanged == Unchanged::Kept && is_left,
                Ok(Now::Unfinished) => is_left,
                Ok(Now::Whole(held)) => {
                    found = Some(held);
                    false
                }
                Err(error) => {
                    tracing::debug!(session = id, %error, "a file that was replaced cannot be read");
                    false
                }
            }
        });
        found
    }

    /// Puts what was found in the place of our own file; whether that was still there.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn put_back(&self, folder: &Folder, id: &str, held: &Held) -> Result<bool, FileError> {
        let staged = folder.stage(id, &held.bytes)?;
        // A third version was put there later than this one was opened.
        let is_ours = folder.read(id)?.is_some_and(|now| now.hash == self.new);
        if is_ours {
            staged.place()?;
        }
        Ok(is_ours)
    }
}
