//! Files of a ledger: one line per file whatever the spelling of its path, with what calls and commands did to it. A
//! deleted file is a line that says so; a moved one is a line under its new path.

use super::reader::{Touch, Touched, in_order};
use crate::id::Ordinal;
use shell::path::{is_absolute, is_in, joined, matches, name};
use shell::{Effect, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// Most folders that commands state, with which spellings of paths are compared.
const MOST_ROOTS: usize = 16;
/// Most spellings of one path that are kept.
const MOST_SPELLINGS: usize = 8;

/// State of a file, as far as the calls tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Read, or named in a command.
    Unchanged,
    /// Made by these calls.
    Created,
    /// Written or renamed; it may have been there before.
    Changed,
    /// Not there any more.
    Deleted,
}

/// An effect that may have happened: the command failed, or it depends on a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Perhaps {
    /// The content may be another.
    Changed,
    /// The file may not be there any more.
    Deleted,
    /// The file may have this path now.
    RenamedTo(String),
    /// The file may have come from this path.
    RenamedFrom(String),
}

/// A file that was changed, read, or named in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// The path: below the workspace folder without that folder, else as first named.
    pub path: String,
    /// The state after all certain effects.
    pub state: FileState,
    /// The path before it was renamed; the first one of several.
    pub renamed_from: Option<String>,
    /// The newest effect that is not certain, if no certain one came later.
    pub perhaps: Option<Perhaps>,
    /// Number of changes, those before it was renamed included.
    pub changed: u32,
    /// SHA-256 after the last change, if a tool reported it or wrote the whole file.
    pub sha256: Option<String>,
    /// Other spellings of the path in calls, and former paths.
    pub spellings: Vec<String>,
    /// Message of the last call that touched it.
    pub last: Ordinal,
}

impl FileLine {
    pub(super) fn new(path: &str, last: Ordinal) -> Self {
        Self {
            path: path.to_owned(),
            state: FileState::Unchanged,
            renamed_from: None,
            perhaps: None,
            changed: 0,
            sha256: None,
            spellings: Vec::new(),
            last,
        }
    }

    /// `true` for a file that is or may be another than before.
    pub fn is_touched(&self) -> bool {
        self.state != FileState::Unchanged || self.perhaps.is_some()
    }

    fn spell(&mut self, path: &str) {
        let is_new = path != self.path && !self.spellings.iter().any(|known| known == path);
        if is_new && self.spellings.len() < MOST_SPELLINGS {
            self.spellings.push(path.to_owned());
        }
    }
}

/// Files under construction.
#[derive(Debug, Clone)]
pub(super) struct Files {
    /// The workspace folder, if it is known.
    folder: Option<String>,
    lines: BTreeMap<String, Touched<FileLine>>,
    /// Absolute folders where commands ran.
    roots: BTreeSet<String>,
    /// Folders that were made.
    folders: BTreeSet<String>,
    /// Paths that files were moved away from.
    gone: BTreeSet<String>,
}

impl Files {
    pub fn new(folder: Option<&str>) -> Self {
        let (lines, roots) = (BTreeMap::new(), BTreeSet::new());
        Self {
            folder: folder.map(str::to_owned),
            lines,
            roots,
            folders: BTreeSet::new(),
            gone: BTreeSet::new(),
        }
    }

    /// All lines, ordered by their last call.
    pub fn done(self) -> Vec<FileLine> {
        in_order(self.lines.into_values())
    }

    /// Notes a folder where a command ran, so that relative and absolute spellings are recognized.
    pub fn ran_in(&mut self, folder: &str) {
        if is_absolute(folder) && self.roots.len() < MOST_ROOTS {
            self.roots.insert(joined("", folder));
        }
    }

    /// The name under which a path has its line.
    fn key(&self, path: &str) -> String {
        let path = joined("", path);
        let below = |folder: &str| {
            let rest = path.strip_prefix(folder).filter(|_| is_in(&path, folder))?;
            Some(rest.trim_start_matches('/').to_owned())
        };
        if let Some(short) = self.folder.as_deref().and_then(below) {
            return short;
        }
        // Without a slash, a name is too common to be compared.
        let known = |short: &String| short.contains('/') && self.lines.contains_key(short);
        let mut others = self.roots.iter().filter_map(|root| match is_absolute(&path) {
            true => below(root).filter(known),
            false => Some(joined(root, &path)).filter(known).filter(|_| path.contains('/')),
        });
        match others.next() {
            Some(other) => other,
            None if path.is_empty() => ".".to_owned(),
            None => path,
        }
    }

    /// Takes the folder between a relative and an absolute path that end alike for the one where commands run, if no call
    /// tells one: editors name a file by its absolute path, commands by a relative one.
    fn find_root(&mut self, path: &str) {
        let path = joined("", path);
        let is_told = self.folder.is_some() || !self.roots.is_empty();
        if is_told || !path.contains('/') || self.lines.contains_key(&path) {
            return;
        }
        let root = |whole: &str, short: &str| {
            let root = whole.strip_suffix(short)?.strip_suffix('/')?;
            (short.contains('/') && !root.is_empty()).then(|| root.to_owned())
        };
        let roots: BTreeSet<String> = match is_absolute(&path) {
            true => {
                let relative = self.lines.keys().filter(|known| !is_absolute(known));
                relative.filter_map(|short| root(&path, short)).collect()
            }
            false => {
                let absolute = self.lines.keys().filter(|known| is_absolute(known));
                absolute.filter_map(|whole| root(whole, &path)).collect()
            }
        };
        // Of several, none is certain.
        if roots.len() == 1 {
            self.roots = roots;
        }
    }

    /// The line of a path, touched now.
    fn line(&mut self, path: &str, now: Touch) -> &mut FileLine {
        self.find_root(path);
        let key = self.key(path);
        let new = || (now, FileLine::new(&key, now.1));
        let (last, line) = self.lines.entry(key.clone()).or_insert_with(new);
        (*last, line.last) = (now, now.1);
        line.spell(path);
        line
    }

    /// A file was read.
    pub fn read(&mut self, path: &str, now: Touch) {
        self.line(path, now);
    }

    /// A file was named in a command; a former path of a moved file is no file.
    pub fn named(&mut self, path: &str, now: Touch) {
        if !self.gone.contains(&self.key(path)) {
            self.line(path, now);
        }
    }

    /// A file was written whole, with this content.
    pub fn whole(&mut self, path: &str, sha256: &str, now: Touch) {
        self.line(path, now).sha256 = Some(sha256.to_owned());
    }

    /// A tool reported the content of a file after its call, which began with the touch after `before`.
    pub fn reported(&mut self, path: &str, sha256: &str, before: Touch, now: Touch) {
        let known = self.lines.get(&self.key(path));
        let is_there = |line: &FileLine| !matches!(line.state, FileState::Unchanged | FileState::Deleted);
        if !known.is_some_and(|(last, line)| *last > before && is_there(line)) {
            self.changed(path, FileState::Changed, now);
        }
        let line = self.line(path, now);
        (line.sha256, line.perhaps) = (Some(sha256.to_owned()), None);
    }

    /// Applies effects of a call. `is_done` is `false` if the call is not known to have succeeded.
    pub fn apply(&mut self, effects: &[Effect], is_done: bool, now: Touch) {
        for effect in effects {
            let is_certain = is_done && effect.is_certain;
            let path = &*effect.path;
            match (effect.kind, &effect.from) {
                (Kind::Read, _) if effect.is_pattern => {}
                (Kind::Read, _) => self.read(path, now),
                (Kind::MakeFolder, _) if is_certain => drop(self.folders.insert(self.key(path))),
                (Kind::MakeFolder, _) => {}
                (Kind::Move, Some(from)) => self.moved(from, effect, is_certain, now),
                (Kind::Delete, _) => self.each(effect, |files, path| files.deleted(path, is_certain, now)),
                (kind, _) => {
                    let state = if kind == Kind::Create { FileState::Created } else { FileState::Changed };
                    let target = self.target(effect, "").0;
                    let effect = Effect { path: target, ..effect.clone() };
                    self.each(&effect, |files, path| match is_certain {
                        true => files.changed(path, state, now),
                        false => files.line(path, now).perhaps = Some(Perhaps::Changed),
                    });
                }
            }
        }
    }

    /// Applies an effect to its path, and to the known files that a glob matches.
    fn each(&mut self, effect: &Effect, apply: impl Fn(&mut Self, &str)) {
        if effect.is_pattern {
            self.matching(&effect.path).iter().for_each(|path| apply(self, path));
        }
        // Beside the known files, others may match.
        apply(self, &effect.path);
    }

    /// The files with a line that a glob matches.
    fn matching(&self, pattern: &str) -> Vec<String> {
        let pattern = self.key(pattern);
        self.lines.keys().filter(|path| **path != pattern && matches(&pattern, path)).cloned().collect()
    }

    /// The path that an effect writes, and whether that is certain: a target that is known to be a folder gets the file.
    fn target(&self, effect: &Effect, from: &str) -> (String, bool) {
        let Some(inside) = &effect.if_folder else { return (effect.path.clone(), true) };
        let target = self.key(&effect.path);
        if self.folders.contains(&target) || !self.inside(&target).is_empty() {
            return (inside.clone(), true);
        }
        if self.lines.contains_key(&target) || !self.inside(&self.key(from)).is_empty() {
            return (effect.path.clone(), true);
        }
        // A file with an extension and a name without one: rather a folder.
        let is_likely = |path: &str| name(path).trim_start_matches('.').contains('.');
        let path = if is_likely(inside) && !is_likely(&target) { inside } else { &effect.path };
        (path.clone(), false)
    }

    /// The files with a line in a folder.
    fn inside(&self, folder: &str) -> Vec<String> {
        let start = format!("{folder}/");
        let after = self.lines.range(start.clone()..).take_while(|(path, _)| path.starts_with(&start));
        after.map(|(path, _)| path.clone()).collect()
    }

    fn changed(&mut self, path: &str, state: FileState, now: Touch) {
        let key = self.key(path);
        self.gone.remove(&key);
        let line = self.line(path, now);
        line.state = match (line.state, state) {
            (FileState::Created, _) => FileState::Created,
            (FileState::Unchanged, state) => state,
            (FileState::Changed | FileState::Deleted, _) => FileState::Changed,
        };
        line.changed += 1;
        (line.sha256, line.perhaps) = (None, None);
    }

    fn deleted(&mut self, path: &str, is_certain: bool, now: Touch) {
        let key = self.key(path);
        let inside = self.inside(&key);
        if !is_certain {
            for path in inside.iter().chain([&key]) {
                self.line(path, now).perhaps = Some(Perhaps::Deleted);
            }
            return;
        }
        self.folders.remove(&key);
        // The folder's line stands for the files in it.
        inside.iter().for_each(|path| drop(self.lines.remove(path)));
        self.gone.extend(inside);
        let line = self.line(path, now);
        line.changed += 1;
        line.state = FileState::Deleted;
        (line.sha256, line.perhaps, line.renamed_from) = (None, None, None);
    }

    fn moved(&mut self, from: &str, effect: &Effect, is_certain: bool, now: Touch) {
        if effect.is_pattern {
            for path in self.matching(from) {
                let to = matched(&self.key(from), &self.key(&effect.path), &path);
                self.renamed(&path, &to, is_certain, now);
            }
        }
        let (to, is_told) = self.target(effect, from);
        self.renamed(from, &to, is_certain, now);
        if !is_told && is_certain {
            let line = self.line(&to, now);
            line.perhaps = line.renamed_from.take().map(Perhaps::RenamedFrom);
        }
    }

    fn renamed(&mut self, from: &str, to: &str, is_certain: bool, now: Touch) {
        let (old, new) = (self.key(from), self.key(to));
        if old == new {
            return;
        }
        if !is_certain {
            self.line(from, now).perhaps = Some(Perhaps::RenamedTo(new));
            return;
        }
        for path in self.inside(&old) {
            let rest = path.strip_prefix(&old).unwrap_or_default();
            self.rekey(&path, &format!("{new}{rest}"));
        }
        if self.folders.remove(&old) {
            self.folders.insert(new.clone());
        }
        self.line(from, now);
        self.rekey(&old, &new);
        let line = self.line(to, now);
        line.state = if line.state == FileState::Created { line.state } else { FileState::Changed };
        line.changed += 1;
        line.perhaps = None;
        line.renamed_from = line.renamed_from.take().or(Some(old)).filter(|from| *from != new);
    }

    /// Gives a line another path; the old one remains a spelling, so that names from the file stay with it.
    fn rekey(&mut self, old: &str, new: &str) {
        let Some((last, mut line)) = self.lines.remove(old) else { return };
        line.path = new.to_owned();
        line.spell(old);
        self.gone.insert(old.to_owned());
        self.gone.remove(new);
        self.lines.insert(new.to_owned(), (last, line));
    }
}

/// The path that a file gets which one glob matches and another names: `*.js` to `*.ts`, `*.log` to `old/*.log`.
fn matched(from: &str, to: &str, path: &str) -> String {
    let folder = to.strip_suffix(name(to)).unwrap_or_default();
    if name(from) == name(to) {
        return format!("{folder}{}", name(path));
    }
    let star = |pattern: &str| pattern.split_once('*').map(|(start, end)| (start.to_owned(), end.to_owned()));
    let meant = star(from).zip(star(to)).and_then(|((start, end), (new_start, new_end))| {
        let middle = path.strip_prefix(start.as_str())?.strip_suffix(end.as_str())?;
        Some(format!("{new_start}{middle}{new_end}"))
    });
    meant.unwrap_or_else(|| to.to_owned())
}
