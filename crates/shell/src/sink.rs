//! Effects as they are found: joined to the working directory, each once.

use crate::path::{is_absolute, joined, name};
use crate::word::Word;
use crate::{Effect, Effects, Kind, Reason, Unknown};

/// Largest number of effects and of unknown parts that are kept.
const MOST: usize = 1000;
/// Characters kept of a part that is unknown.
const PART: usize = 60;
/// Characters from which a word of such a part is not shown.
const LONG_WORD: usize = 40;

/// Effects found so far, and the state that decides about the next ones.
pub(crate) struct Sink {
    found: Effects,
    /// The working directory; `None` after a `cd` to an unknown folder. Empty is the unnamed folder of the start.
    pub folder: Option<String>,
    /// `false` inside conditions.
    pub is_certain: bool,
    /// The command whose effects are being found, for reasons.
    pub part: String,
}

impl Sink {
    pub fn new(cwd: Option<&str>) -> Self {
        let folder = Some(joined("", cwd.unwrap_or_default()));
        Self { found: Effects::default(), folder, is_certain: true, part: String::new() }
    }

    pub fn done(self) -> Effects {
        self.found
    }

    pub fn program(&mut self, name: &str) {
        if !self.found.programs.iter().any(|known| known == name) && self.found.programs.len() < MOST {
            self.found.programs.push(name.to_owned());
        }
    }

    /// Notes the folder at hand as one that commands run in.
    pub fn entered(&mut self) {
        let absolute = self.folder.iter().filter(|folder| is_absolute(folder));
        let new = absolute.filter(|folder| !self.found.folders.contains(folder)).cloned();
        let new: Vec<String> = new.take(usize::from(self.found.folders.len() < MOST)).collect();
        self.found.folders.extend(new);
    }

    pub fn unknown(&mut self, part: &str, reason: Reason) {
        let unknown = Unknown { part: shortened(part), reason };
        if !self.found.unknown.contains(&unknown) && self.found.unknown.len() < MOST {
            self.found.unknown.push(unknown);
        }
    }

    /// The command at hand has unknown effects.
    pub fn unclear(&mut self, reason: Reason) {
        let part = std::mem::take(&mut self.part);
        self.unknown(&part, reason);
        self.part = part;
    }

    /// Adds an effect on the file that a word names. A device or a stream is no file; a file that is only read may
    /// remain unknown.
    pub fn effect(&mut self, kind: Kind, word: &Word) {
        match self.place(word) {
            Place::File(path) => self.add(kind, path, None, None, word.is_pattern),
            Place::Unknown if kind != Kind::Read => self.unclear(Reason::Path),
            Place::Unknown | Place::None => {}
        }
    }

    /// Adds an effect on a file of this name in the folder that a word names.
    pub fn effect_in(&mut self, kind: Kind, folder: &Word, of: &Word) {
        let (Place::File(folder_path), Place::File(path)) = (self.place(folder), self.place(of)) else {
            return self.unclear(Reason::Path);
        };
        let inside = joined(&folder_path, name(&path));
        self.add(kind, inside, None, None, folder.is_pattern || of.is_pattern);
    }

    /// Adds effects of copying or moving to a target. `is_into` tells whether it is a folder, if that is known.
    pub fn copy_or_move(&mut self, from: &Word, target: &Word, is_into: Option<bool>, is_moved: bool) {
        let source = match self.place(from) {
            Place::File(path) => Some(path),
            Place::Unknown | Place::None => None,
        };
        if !is_moved && let Some(source) = source.clone() {
            self.add(Kind::Read, source, None, None, from.is_pattern);
        }
        let path = match (self.place(target), &source) {
            (Place::File(path), _) => path,
            (Place::None, _) => return,
            (Place::Unknown, source) => {
                if let Some(source) = source.clone().filter(|_| is_moved) {
                    self.add(Kind::Delete, source, None, None, from.is_pattern);
                }
                return self.unclear(Reason::Path);
            }
        };
        let Some(source) = source else {
            // What is copied to a file is written, wherever it comes from.
            if is_into == Some(false) {
                self.add(Kind::Write, path, None, None, target.is_pattern);
            }
            if is_into != Some(false) || is_moved {
                self.unclear(Reason::Path);
            }
            return;
        };
        let inside = joined(&path, name(&source));
        let is_pattern = from.is_pattern || target.is_pattern;
        let (path, if_folder) = match is_into {
            Some(true) => (inside, None),
            Some(false) => (path, None),
            None => (path, Some(inside)),
        };
        let (kind, from) = if is_moved { (Kind::Move, Some(source)) } else { (Kind::Write, None) };
        self.add(kind, path, from, if_folder, is_pattern);
    }

    fn add(
        &mut self,
        kind: Kind,
        path: String,
        from: Option<String>,
        if_folder: Option<String>,
        is_pattern: bool,
    ) {
        let effect = Effect { kind, path, from, if_folder, is_pattern, is_certain: self.is_certain };
        let is_same = |known: &Effect| *known == Effect { is_certain: known.is_certain, ..effect.clone() };
        match self.found.effects.iter().position(is_same) {
            Some(at) => self.found.effects[at].is_certain |= effect.is_certain,
            None if self.found.effects.len() < MOST => self.found.effects.push(effect),
            None => self.unclear(Reason::Limit),
        }
    }

    fn place(&self, word: &Word) -> Place {
        let text = word.text.as_str();
        if word.is_process || is_device(text) || (word.is_known && text.is_empty()) {
            return Place::None;
        }
        let folder = self.folder.as_deref().or(is_absolute(text).then_some(""));
        match folder.filter(|_| word.is_known).map(|folder| joined(folder, text)) {
            // The folder of the start has no name of its own.
            Some(path) if path.is_empty() => Place::File(".".to_owned()),
            Some(path) => Place::File(path),
            None => Place::Unknown,
        }
    }
}

/// The thing that a word names.
enum Place {
    /// A file or a folder.
    File(String),
    /// A path that cannot be told.
    Unknown,
    /// A device, a stream or nothing.
    None,
}

/// `true` for a path that stands for a device, a stream or nothing.
fn is_device(path: &str) -> bool {
    path == "-"
        || ["/dev/", "/proc/self/fd/"].iter().any(|folder| path.starts_with(folder))
            && !path.starts_with("/dev/shm/")
}

/// A command on one line, cut, with an ellipsis for long words.
fn shortened(part: &str) -> String {
    let mut text = String::new();
    for word in part.split_whitespace() {
        let is_long = word.chars().nth(LONG_WORD).is_some();
        if text.chars().count() + word.chars().count().min(LONG_WORD) > PART || (is_long && !text.is_empty())
        {
            text.push_str(" …");
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.extend(word.chars().take(PART));
        if word.chars().nth(PART).is_some() {
            text.push('…');
        }
    }
    text
}
