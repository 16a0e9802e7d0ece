//! Changes between two snapshots, with the contents before.

use crate::MOST_FILE_BYTES;
use crate::error::{ChangesError, Unavailable};
use crate::git::{Git, REPOSITORY, split};
use crate::snapshot::{Snapshot, Tree};
use engine::text::sha256_hex;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Changes of a page.
const MOST_CHANGES: usize = 1_000;
/// Bytes of earlier contents in a page; one file more may go over it.
const MOST_PAGE_BYTES: usize = 8_000_000;
/// Coarseness of the times of files.
const SLACK: Duration = Duration::from_millis(50);
/// Objects that are read at a time.
const AT_ONCE: usize = 64;

/// Changes between two snapshots in the order of their paths.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The changes of this page.
    pub changes: Vec<Change>,
    /// Path behind which the next page begins; `None` if this is the last one.
    pub next: Option<String>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path from the folder on, with slashes.
    pub path: String,
    /// Existence of the file before and after.
    pub kind: ChangeKind,
    /// The former content; `None` if nothing was there.
    pub before: Option<Before>,
    /// SHA-256 of the contents afterwards; `None` if nothing is there, or they were not stored.
    pub after: Option<String>,
}

/// Existence of a file before and after a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// The file is new.
    Created,
    /// The file was there and is there.
    Modified,
    /// The file is gone.
    Deleted,
}

/// The former content of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// A file with these bytes.
    File {
        /// Its contents.
        bytes: Vec<u8>,
        /// `true` if it may be executed.
        is_executable: bool,
    },
    /// A link.
    Link,
    /// A file that was too large to be stored, or whose contents the user's repository no longer has.
    NotKept,
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Side {
    Nothing,
    Stored { mode: String, object: String },
    Large,
}

/// Reads the changes behind the path `after`.
pub(crate) fn page(
    (git, folder): (&Git, &Path),
    from: &Snapshot,
    to: &Snapshot,
    after: Option<&str>,
) -> Result<Page, ChangesError> {
    let mut sides = BTreeMap::new();
    let prefixes: BTreeSet<&String> = from.trees.keys().chain(to.trees.keys()).collect();
    let none = Tree::default();
    for prefix in prefixes {
        let (one, other) = (from.trees.get(prefix).unwrap_or(&none), to.trees.get(prefix).unwrap_or(&none));
        compare(git, prefix, (one, other), &mut sides)?;
    }
    let is_new = |path: &str| changed_at(&folder.join(path)).is_none_or(|at| at + SLACK >= from.begun);
    let mut left = sides
        .into_iter()
        .filter(|(path, _)| after.is_none_or(|after| path.as_str() > after))
        // A file that git ignored before, and ignores no longer, was there.
        .filter(|(path, (from, _))| *from != Side::Nothing || is_new(path))
        .peekable();
    let (mut page, mut bytes) = (Page::default(), 0);
    while left.peek().is_some() {
        if page.changes.len() >= MOST_CHANGES || bytes >= MOST_PAGE_BYTES {
            page.next = page.changes.last().map(|change| change.path.clone());
            break;
        }
        let some: Vec<(String, (Side, Side))> = left.by_ref().take(AT_ONCE).collect();
        for change in read(git, some)? {
            if let Some(Before::File { bytes: kept, .. }) = &change.before {
                bytes += kept.len();
            }
            page.changes.push(change);
        }
    }
    Ok(page)
}

/// The time when a file was created, moved to its place, or changed last; `None` if that is not known.
fn changed_at(path: &Path) -> Option<SystemTime> {
    let found = path.symlink_metadata().ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let seconds = u64::try_from(found.ctime()).ok()?;
        let nanoseconds = u32::try_from(found.ctime_nsec()).ok()?;
        Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds))
    }
    #[cfg(not(unix))]
    found.created().ok()
}

/// Finds the paths of one repository that differ.
fn compare(
    git: &Git,
    prefix: &str,
    (from, to): (&Tree, &Tree),
    sides: &mut BTreeMap<String, (Side, Side)>,
) -> Result<(), Unavailable> {
    if from.id != to.id {
        // A repository that is not there at one of the two times.
        let id = |tree: &Tree| if tree.id.is_empty() { git.empty_tree() } else { Ok(tree.id.clone()) };
        let asked = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", &id(from)?, &id(to)?];
        let listed = git.run(&asked, b"")?;
        let mut words = split(&listed);
        while let (Some(facts), Some(path)) = (words.next(), words.next()) {
            let facts: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
            let [old_mode, new_mode, old, new, _] = facts.as_slice() else { continue };
            let side = |mode: &str, object: &str| match mode {
                "000000" | REPOSITORY => Side::Nothing,
                _ => Side::Stored { mode: mode.to_owned(), object: object.to_owned() },
            };
            sides.insert(format!("{prefix}{path}"), (side(old_mode, old), side(new_mode, new)));
        }
    }
    for path in from.large.keys().chain(to.large.keys()) {
        let (old, new) = (from.large.get(path), to.large.get(path));
        if old == new {
            continue;
        }
        let found = sides.entry(format!("{prefix}{path}")).or_insert((Side::Nothing, Side::Nothing));
        if old.is_some() {
            found.0 = Side::Large;
        }
        if new.is_some() {
            found.1 = Side::Large;
        }
    }
    sides.retain(|_, (from, to)| *from != Side::Nothing || *to != Side::Nothing);
    Ok(())
}

fn read(git: &Git, some: Vec<(String, (Side, Side))>) -> Result<Vec<Change>, Unavailable> {
    let objects = some.iter().flat_map(|(_, (from, to))| [from, to]);
    let contents = contents(
        git,
        objects.filter_map(|side| match side {
            Side::Stored { object, .. } => Some(object.as_str()),
            Side::Nothing | Side::Large => None,
        }),
    )?;
    let change = |(path, (from, to)): (String, (Side, Side))| {
        let kind = match (&from, &to) {
            (Side::Nothing, _) => ChangeKind::Created,
            (_, Side::Nothing) => ChangeKind::Deleted,
            _ => ChangeKind::Modified,
        };
        let before = match &from {
            Side::Nothing => None,
            Side::Large => Some(Before::NotKept),
            Side::Stored { mode, .. } if mode == "120000" => Some(Before::Link),
            Side::Stored { mode, object } => Some(match contents.get(object) {
                Some(bytes) => Before::File { bytes: bytes.clone(), is_executable: mode == "100755" },
                None => Before::NotKept,
            }),
        };
        let after = match &to {
            Side::Stored { mode, object } if mode != "120000" => {
                contents.get(object).map(|bytes| sha256_hex(bytes))
            }
            _ => None,
        };
        Change { path, kind, before, after }
    };
    Ok(some.into_iter().map(change).collect())
}

/// The contents of objects by their names, without those that are missing or too large.
fn contents<'a>(
    git: &Git,
    objects: impl Iterator<Item = &'a str>,
) -> Result<HashMap<String, Vec<u8>>, Unavailable> {
    let names: BTreeSet<&str> = objects.collect();
    let lines = |names: &mut dyn Iterator<Item = &str>| {
        names.flat_map(|name| [name.as_bytes(), b"\n"].concat()).collect::<Vec<u8>>()
    };
    let sizes = git.run(&["cat-file", "--batch-check"], &lines(&mut names.iter().copied()))?;
    let sizes = String::from_utf8_lossy(&sizes).into_owned();
    let kept: Vec<&str> = sizes
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(' ')?;
            let size: u64 = rest.strip_prefix("blob ")?.parse().ok()?;
            (size <= MOST_FILE_BYTES).then_some(name)
        })
        .collect();
    let printed = git.run(&["cat-file", "--batch"], &lines(&mut kept.into_iter()))?;
    let mut found = HashMap::new();
    let mut rest = printed.as_slice();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let mut words = head.split(' ');
        let (Some(name), Some(_), Some(Ok(size))) =
            (words.next(), words.next(), words.next().map(str::parse::<usize>))
        else {
            break;
        };
        let begin = end + 1;
        let Some(bytes) = rest.get(begin..begin + size) else { break };
        found.insert(name.to_owned(), bytes.to_vec());
        rest = rest.get(begin + size + 1..).unwrap_or_default();
    }
    Ok(found)
}
