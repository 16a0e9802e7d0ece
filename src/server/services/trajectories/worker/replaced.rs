//! Files that ours replaced. A process that writes in place has such a file open, where no path leads to it.

use crate::trajectory::{FileContent, FileError, Folder};
use std::fs::File;
use std::io::{Read, Seek};

/// Looks at a replaced file before it is dropped. A writer that takes longer counts as one that never ends.
const MOST_LOOKS: u32 = 20;

/// The files replaced at one path since somebody else last put one there.
pub(super) struct Replaced {
    /// Oldest first.
    old: Vec<Old>,
    /// Hash of our file that replaced the newest.
    new: String,
}

struct Old {
    file: File,
    /// Hash of the content when it was replaced.
    hash: String,
    looks: u32,
}

/// Treatment of replaced files that are unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unchanged {
    LetGo,
    /// Used before our next write, which may follow the last one within moments.
    Kept,
}

/// State of a replaced file.
enum Now {
    Unchanged,
    /// Changed, but incomplete: its writer may be halfway.
    Unfinished,
    Whole(FileContent),
}

impl Old {
    fn now(&mut self, id: &str) -> std::io::Result<Now> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        let held = FileContent::of(bytes);
        Ok(match held.hash == self.hash {
            true => Now::Unchanged,
            false if held.trajectory(id).is_err() => Now::Unfinished,
            false => Now::Whole(held),
        })
    }
}

impl Replaced {
    /// Adds `file`, with the content hash `before`, which our file with the hash `new` replaced.
    pub fn add(known: Option<Self>, file: File, before: String, new: String) -> Self {
        // Files replaced before somebody else's version are older than that one.
        let mut old = known.filter(|known| known.new == before).map_or_else(Vec::new, |known| known.old);
        old.push(Old { file, hash: before, looks: 0 });
        Self { old, new }
    }

    pub const fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    /// Takes what was written into a replaced file; the newest, if there are several.
    pub fn look(&mut self, id: &str, unchanged: Unchanged) -> Option<FileContent> {
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

    /// Puts `held` in place of our file. Returns `false` if ours is not there any more.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written.
    pub fn put_back(&self, folder: &Folder, id: &str, held: &FileContent) -> Result<bool, FileError> {
        let staged = folder.stage(id, &held.bytes)?;
        // A third version there is newer than this one.
        let is_ours = folder.read(id)?.is_some_and(|now| now.hash == self.new);
        if is_ours {
            staged.place()?;
        }
        Ok(is_ours)
    }
}
