//! Taking a snapshot: our index is brought up to the files as they are, and written as a tree. A repository that is
//! nested in the folder is a tree of its own, since git stores only its name.

use crate::MOST_FILE_BYTES;
use crate::error::Unavailable;
use crate::git::{Git, GitError, REPOSITORY, joined, split, staged};
use crate::place::Place;
use crate::repository::Repository;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::path::Path;
use std::time::{Instant, SystemTime};

/// Files that one snapshot may have to store.
const MOST_FILES: usize = 60_000;
/// Bytes that one snapshot may have to store.
const MOST_BYTES: u64 = 400_000_000;
/// Nested repositories that are looked at.
const MOST_REPOSITORIES: usize = 32;

/// The files of a folder at one time.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The time when it was begun.
    pub begun: SystemTime,
    /// By the path of a repository from the folder on, with a slash at its end unless it is empty.
    pub trees: BTreeMap<String, Tree>,
}

/// The files of one repository at one time.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Git's name of the tree.
    pub id: String,
    /// Files that are too large to be stored or cannot be read, by path: size and time of writing tell whether they changed.
    pub large: BTreeMap<String, (u64, Option<SystemTime>)>,
}

/// The files and bytes that may still be stored for a snapshot.
struct Budget {
    files: usize,
    bytes: u64,
}

/// Takes a snapshot of the folder and of the repositories in it.
pub(crate) fn take(
    folder: &Path,
    place: &Place,
    repositories: &mut BTreeMap<String, Repository>,
    deadline: Instant,
) -> Result<Snapshot, Unavailable> {
    let mut budget = Budget { files: MOST_FILES, bytes: MOST_BYTES };
    let (begun, mut trees) = (SystemTime::now(), BTreeMap::new());
    let mut left = vec![String::new()];
    while let Some(prefix) = left.pop() {
        if trees.len() >= MOST_REPOSITORIES {
            return Err(Unavailable::Repositories(MOST_REPOSITORIES));
        }
        let number = repositories.len();
        let repository = match repositories.entry(prefix.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                free.insert(Repository::find(&folder.join(&prefix), place, number, deadline)?)
            }
        };
        repository.unlock();
        let git = repository.git(place, deadline);
        let (tree, nested) = take_one(&git, repository, &mut budget)?;
        left.extend(nested.into_iter().map(|path| format!("{prefix}{path}/")));
        trees.insert(prefix, tree);
    }
    Ok(Snapshot { begun, trees })
}

/// The tree of one repository, and the paths of those nested in it.
fn take_one(
    git: &Git,
    repository: &Repository,
    budget: &mut Budget,
) -> Result<(Tree, BTreeSet<String>), Unavailable> {
    let mut asked =
        vec!["ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-per-directory=.gitignore"];
    asked.extend(repository.left_out());
    let listed = git.run(&asked, b"")?;
    let (mut added, mut removed): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    let (mut large, mut nested): (BTreeMap<_, _>, BTreeSet<_>) = Default::default();
    let mut links = BTreeMap::new();
    for path in split(&listed) {
        if is_behind_a_link(path, repository.folder(), &mut links) {
            removed.insert(path);
            continue;
        }
        if let Some(folder) = path.strip_suffix('/') {
            nested.insert(folder.to_owned());
            continue;
        }
        let on_disk = repository.folder().join(path);
        match fs::symlink_metadata(&on_disk) {
            // A link to another repository whose head has moved.
            Ok(found) if found.is_dir() => drop(nested.insert(path.to_owned())),
            Ok(found) if found.len() <= MOST_FILE_BYTES && is_readable(&found, &on_disk) => {
                if added.insert(path) {
                    budget.spend(&found)?;
                }
            }
            // Not stored, which is not the same as gone.
            Ok(found) => {
                large.insert(path.to_owned(), (found.len(), found.modified().ok()));
                removed.insert(path);
            }
            Err(_) => drop(removed.insert(path)),
        }
    }
    if !removed.is_empty() {
        git.run(&["update-index", "-z", "--force-remove", "--stdin"], &joined(removed))?;
    }
    if !added.is_empty() {
        git.run(&["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], &joined(added))?;
    }
    let listed = git.list_staged()?;
    let mut entries = staged(&listed).peekable();
    let is_empty = entries.peek().is_none();
    let repositories = entries.filter(|entry| entry.mode == REPOSITORY).map(|entry| entry.path);
    let is_checked_out = |path: &&str| repository.folder().join(path).join(".git").exists();
    nested.extend(repositories.filter(is_checked_out).map(str::to_owned));
    Ok((Tree { id: write(git, repository.within(), is_empty)?, large }, nested))
}

/// Writes the index as a tree, or the empty tree: git knows no tree for a folder without files.
fn write(git: &Git, within: &str, is_empty: bool) -> Result<String, GitError> {
    let prefix = format!("--prefix={within}");
    match (is_empty, within) {
        (true, _) => git.empty_tree(),
        (false, "") => git.line(&["write-tree", "--missing-ok"]),
        (false, _) => git.line(&["write-tree", "--missing-ok", &prefix]),
    }
}

/// `true` if a folder of the path has been replaced by a link: git stores the link.
fn is_behind_a_link<'a>(path: &'a str, folder: &Path, known: &mut BTreeMap<&'a str, bool>) -> bool {
    let mut parents = path.match_indices('/').filter_map(|(end, _)| path.get(..end));
    parents.any(|parent| {
        *known
            .entry(parent)
            .or_insert_with(|| folder.join(parent).symlink_metadata().is_ok_and(|found| found.is_symlink()))
    })
}

/// A file that git can store: one that may be read, or a link, which is stored as what it says.
fn is_readable(found: &Metadata, path: &Path) -> bool {
    found.is_symlink() || found.is_file() && File::open(path).is_ok()
}

impl Budget {
    fn spend(&mut self, found: &Metadata) -> Result<(), Unavailable> {
        self.files = self.files.checked_sub(1).ok_or(Unavailable::Files(MOST_FILES))?;
        self.bytes = self.bytes.checked_sub(found.len()).ok_or(Unavailable::Bytes(MOST_BYTES))?;
        Ok(())
    }
}
