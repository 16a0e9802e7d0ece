//! Files under their different spellings, the lines of them that later changes took away, and the commands that deleted
//! them or left unknown lines in them.

use crate::id::Ordinal;
use crate::message::pieces::{Line, Replaced};
use regex::Regex;
use shell::path::{is_absolute, is_in, joined, matches};
use shell::{Effect, Kind, Reason, Unknown};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A file, whatever the path by which a call names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct FileId(usize);

/// Files with the paths that name them. Two paths name one file if one ends with the other: editors name a file by its
/// absolute path, commands by a relative one.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownFiles {
    known: BTreeMap<String, FileId>,
    /// The newest path of each file.
    newest: Vec<String>,
    /// Files by the last component of their paths.
    named: BTreeMap<String, Vec<FileId>>,
}

impl KnownFiles {
    /// Returns the file of a path that a call names after all others.
    pub fn of(&mut self, path: &str) -> FileId {
        let path = path.trim_start_matches("./");
        if let Some(id) = self.known.get(path) {
            return *id;
        }
        let same = self.named.entry(last(path).to_owned()).or_default();
        let known = same.iter().rev().find(|id| {
            let other = self.newest.get(id.0).map_or("", String::as_str);
            ends_with(path, other) || ends_with(other, path)
        });
        let id = known.copied().unwrap_or(FileId(self.newest.len()));
        match self.newest.get_mut(id.0) {
            // The longer path stands for the file: it says which one of several is meant.
            Some(newest) if newest.len() < path.len() => path.clone_into(newest),
            Some(_) => {}
            None => {
                self.newest.push(path.to_owned());
                same.push(id);
            }
        }
        self.known.insert(path.to_owned(), id);
        id
    }

    /// All files with the paths that stand for them.
    pub fn all(&self) -> impl Iterator<Item = (FileId, &str)> {
        self.newest.iter().enumerate().map(|(n, path)| (FileId(n), path.as_str()))
    }

    /// The path that stands for a file.
    pub fn path(&self, id: FileId) -> &str {
        self.newest.get(id.0).map_or("", String::as_str)
    }
}

fn last(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// `true` if the components of `short` are the last ones of `long`.
fn ends_with(long: &str, short: &str) -> bool {
    long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with(['/', '\\']))
}

/// Lines that changes took away.
#[derive(Debug, Clone, Default)]
pub(super) struct Gone<'t> {
    /// The last message that took a line of a file away.
    lines: BTreeMap<(FileId, u64), Ordinal>,
    /// The last content that a file was given as a whole.
    whole: BTreeMap<FileId, (Ordinal, BTreeSet<u64>)>,
    /// Texts within lines that changes replaced, oldest first.
    within: BTreeMap<FileId, Vec<Within<'t>>>,
}

/// A change of a part of a line, or of each line that has this part.
#[derive(Debug, Clone, Copy)]
struct Within<'t> {
    at: Ordinal,
    old: &'t str,
    new: &'t str,
}

impl<'t> Gone<'t> {
    /// Adds a change; changes come in their order.
    pub fn add(&mut self, file: FileId, at: Ordinal, replaced: &'t Replaced) {
        if replaced.is_whole {
            self.whole.insert(file, (at, replaced.lines.iter().copied().collect()));
        } else {
            self.lines.extend(replaced.lines.iter().map(|line| ((file, *line), at)));
        }
        if let Some((old, new)) = &replaced.within {
            self.within.entry(file).or_default().push(Within { at, old, new });
        }
    }

    /// Returns a line that a file had at this message as later changes within it left it, with the new text of the last of
    /// them; `None` if there was no such change.
    pub fn changed(&self, file: FileId, at: Ordinal, line: &Line) -> Option<(Line, &'t str)> {
        let mut changed: Option<(Line, &'t str)> = None;
        for within in self.within.get(&file)?.iter().filter(|within| within.at > at) {
            let now = changed.as_ref().map_or(line, |(line, _)| line);
            if now.print.is_some_and(|print| self.holds(file, at, print)) {
                break;
            }
            if now.text.contains(within.old) {
                changed =
                    Some((Line::new(&now.text.replace(within.old, within.new), now.number), within.new));
            }
        }
        changed
    }

    /// `true` if a line that a file had at this message is not in it any more.
    pub fn holds(&self, file: FileId, at: Ordinal, line: u64) -> bool {
        let is_removed = self.lines.get(&(file, line)).is_some_and(|later| *later > at);
        let whole = self.whole.get(&file).filter(|(later, _)| *later > at);
        is_removed || whole.is_some_and(|(_, lines)| !lines.contains(&line))
    }
}

/// A command that left other lines in a file than the messages before it show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rewrite<'t> {
    /// The message that called it.
    pub at: Ordinal,
    pub command: &'t str,
}

/// What calls did to files without telling the lines that are there now.
#[derive(Debug, Clone, Default)]
pub(super) struct Rewrites<'t> {
    /// Deleted files and folders, oldest first; a path may be a glob.
    deleted: Vec<(Ordinal, Effect)>,
    /// Written files, oldest first; a path may be a glob.
    written: Vec<(Rewrite<'t>, Effect)>,
    /// The last command that may have written any file of the worktree.
    worktree: Option<Rewrite<'t>>,
}

impl<'t> Rewrites<'t> {
    /// Adds a deletion of a path; calls come in their order.
    pub fn deleted(&mut self, at: Ordinal, effects: &[Effect]) {
        let deleted = effects.iter().filter(|effect| effect.kind == Kind::Delete && effect.is_certain);
        self.deleted.extend(deleted.map(|effect| (at, effect.clone())));
    }

    /// Adds the other effects of a command whose text does not tell the lines that it wrote.
    pub fn written(&mut self, at: Ordinal, command: &'t str, effects: &[Effect], unknown: &[Unknown]) {
        let rewrite = Rewrite { at, command };
        let is_written = |effect: &&Effect| match effect.kind {
            Kind::Delete => !effect.is_certain,
            Kind::Create | Kind::Write => true,
            Kind::Read | Kind::Move | Kind::MakeFolder => false,
        };
        self.written.extend(effects.iter().filter(is_written).map(|effect| (rewrite, effect.clone())));
        if unknown.iter().any(|unknown| unknown.reason == Reason::Worktree) {
            self.worktree = Some(rewrite);
        }
    }

    /// Returns the last deletion of each file that was deleted.
    pub fn deletions(&self, files: &KnownFiles, folder: Option<&str>) -> BTreeMap<FileId, Ordinal> {
        let last = |path: &str| self.deleted.iter().rev().find(|(_, effect)| is_meant(effect, path, folder));
        files.all().filter_map(|(id, path)| Some((id, last(path)?.0))).collect()
    }

    /// Returns the last command that may have left other lines in a file than were shown before it.
    pub fn last(&self, path: &str, folder: Option<&str>) -> Option<Rewrite<'t>> {
        let written = self.written.iter().rev().find(|(_, effect)| is_meant(effect, path, folder));
        let all = [written.map(|(rewrite, _)| *rewrite), self.worktree];
        all.into_iter().flatten().max_by_key(|rewrite| rewrite.at)
    }
}

/// `true` if an effect is one on a file, a folder of it, or a glob that matches it. Relative paths are those below
/// `folder`; without it, they are no absolute ones.
fn is_meant(effect: &Effect, path: &str, folder: Option<&str>) -> bool {
    let whole = |path: &str| match folder {
        Some(folder) if !is_absolute(path) => joined(folder, path),
        _ => joined("", path),
    };
    let (meant, path) = (whole(&effect.path), whole(path));
    meant == path
        || (effect.is_pattern && matches(&meant, &path))
        || (effect.kind == Kind::Delete && !meant.is_empty() && is_in(&path, &meant))
}

/// A command that shows a part of a file, with the file's path.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static SHOWS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?-u:\b)(?:cat|sed -n\s+\S+|head(?:\s+-\S+)*(?:\s+\d+)?|tail(?:\s+-\S+)*(?:\s+\d+)?|nl -ba|less)\s+",
        r#"(?:'([^'\n]+)'|"([^"\n]+)"|([\w./@~+()\[\]-]+\.\w+))"#,
    ))
    .expect("pattern")
});

/// Returns the file that a command shows.
pub(super) fn shown_by(command: &str) -> Option<&str> {
    let found = SHOWS.captures(command)?;
    found.iter().skip(1).flatten().next().map(|path| path.as_str())
}

/// `true` if a command searches or lists.
pub(super) fn searches(command: &str) -> bool {
    const PROGRAMS: [&str; 4] = ["rg", "grep", "find", "ls"];
    let start = crate::text::head(command, 80);
    start.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| PROGRAMS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_and_absolute_paths_name_one_file() {
        let mut files = KnownFiles::default();
        let one = files.of("src/a.rs");
        assert_eq!(files.of("/code/src/a.rs"), one);
        assert_eq!(files.of("./src/a.rs"), one);
        assert_ne!(files.of("/code/other/a.rs"), one);
        assert_ne!(files.of("/code/src/ba.rs"), one);
        assert_eq!(files.path(one), "/code/src/a.rs");
    }

    #[test]
    fn line_is_gone_only_after_the_change() {
        let mut gone = Gone::default();
        let file = KnownFiles::default().of("a");
        let replaced = |lines: &[u64], is_whole| Replaced {
            call: 0,
            file: None,
            lines: lines.to_vec(),
            is_whole,
            within: None,
        };
        let [first, then] = [replaced(&[1], false), replaced(&[2], true)];
        gone.add(file, Ordinal(5), &first);
        assert_eq!([3, 5, 7].map(|at| gone.holds(file, Ordinal(at), 1)), [true, false, false]);
        gone.add(file, Ordinal(9), &then);
        assert_eq!([1, 2].map(|line| gone.holds(file, Ordinal(8), line)), [true, false]);
    }

    #[test]
    fn effects_are_those_on_the_file_its_folder_or_a_glob() {
        let meant = |command: &str, path: &str, folder: Option<&str>| {
            let found = shell::effects(command, None, None);
            found.effects.iter().any(|effect| is_meant(effect, path, folder))
        };
        let code = Some("/code");
        assert!(meant("rm src/a.rs", "/code/src/a.rs", code));
        assert!(meant("rm -r /code/src", "src/a.rs", code));
        assert!(meant("rm src/*.rs", "src/a.rs", None));
        assert!(meant("sed -i s/a/b/ ./src/a.rs", "src/a.rs", None));
        assert!(!meant("rm -r build", "/code/tools/build/a.rs", code));
        assert!(!meant("rm -r build", "/code/build/a.rs", None));
        assert!(!meant("sed -i s/a/b/ src", "src/a.rs", None));
    }

    #[test]
    fn commands_that_show_a_file_name_it() {
        for (command, wanted) in [
            ("cat src/a.rs", Some("src/a.rs")),
            ("cd x && sed -n '1,40p' 'a b.txt'", Some("a b.txt")),
            ("head -n 20 app/[id]/page.tsx", Some("app/[id]/page.tsx")),
            ("cargo test", None),
        ] {
            assert_eq!(shown_by(command), wanted, "{command}");
        }
    }
}
