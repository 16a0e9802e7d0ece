//! A repository of the user, or a folder without one, as it is read for snapshots: where its files, its index and its
//! objects are, and what it ignores.

use crate::error::{Unavailable, at};
use crate::git::Git;
use crate::place::Place;
use crate::seed;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// One repository, or a folder without one.
#[derive(Debug)]
pub(crate) struct Repository {
    /// The folder that paths are relative to.
    folder: PathBuf,
    /// The root of the worktree, which is the folder or above it.
    top: PathBuf,
    /// The folder from the root on, with a slash at its end unless it is empty.
    within: String,
    /// Our index of it.
    index: PathBuf,
    /// The user's objects.
    objects: Option<PathBuf>,
    /// Options of `ls-files` for what is left out beside `.gitignore`.
    left_out: Vec<String>,
}

/// The folder with its links resolved.
///
/// # Errors
/// If there is none, or it is too wide.
pub(crate) fn usable(folder: &Path) -> Result<PathBuf, Unavailable> {
    let real = folder.canonicalize().map_err(|_| Unavailable::NoFolder(folder.to_owned()))?;
    if !real.is_dir() {
        return Err(Unavailable::NoFolder(folder.to_owned()));
    }
    let home = env::home_dir().and_then(|home| home.canonicalize().ok());
    if real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real)) {
        return Err(Unavailable::TooWide);
    }
    Ok(real)
}

impl Repository {
    /// Finds out about the repository that a folder is in, and seeds our index of it from the user's.
    pub fn find(folder: &Path, place: &Place, number: usize, deadline: Instant) -> Result<Self, Unavailable> {
        let index = place.index(number);
        let user = Git::of_user(folder, deadline);
        let Some(found) = UserRepository::of(&user) else {
            let (folder, top) = (folder.to_owned(), folder.to_owned());
            let left_out = left_out(of_all_repositories(&user), place.ours(&top));
            return Ok(Self { folder, top, within: String::new(), index, objects: None, left_out });
        };
        let UserRepository { top, within, user_index, objects, exclude } = found;
        let files = [Some(exclude), of_all_repositories(&user)];
        let left_out = left_out(files.into_iter().flatten(), place.ours(&top));
        let (folder, objects) = (folder.to_owned(), Some(objects));
        let repository = Self { folder, top, within, index, objects, left_out };
        let git = repository.git(place, deadline).within(&repository.top);
        let user = user.within(&repository.top);
        seed::seed((&git, &user), (&user_index, &repository.index), (&repository.top, &repository.within))
            .map_err(at(&repository.index))?;
        Ok(repository)
    }

    /// Git in the folder, on our index and this worktree.
    pub fn git(&self, place: &Place, deadline: Instant) -> Git {
        let git = place.git(&self.folder, deadline);
        let git = git.with("GIT_INDEX_FILE", &self.index).with("GIT_WORK_TREE", &self.top);
        git.alternates(self.objects().into_iter())
    }

    /// Removes the lock of our index that a run of git left which was ended. Nobody else uses that index.
    pub fn unlock(&self) {
        let mut lock = self.index.clone();
        lock.set_extension("lock");
        let _ = fs::remove_file(lock);
    }

    /// The folder that its paths are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder from the root of the worktree on, with a slash at its end unless it is empty.
    pub fn within(&self) -> &str {
        &self.within
    }

    /// The user's objects.
    pub fn objects(&self) -> Option<&Path> {
        self.objects.as_deref()
    }

    /// Options of `ls-files` for what is left out beside `.gitignore`.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        self.left_out.iter().map(String::as_str)
    }
}

/// Git's answers about a folder.
struct UserRepository {
    top: PathBuf,
    within: String,
    user_index: PathBuf,
    objects: PathBuf,
    exclude: PathBuf,
}

impl UserRepository {
    /// `None` if the folder is in no repository, if its repository ignores it, and if ours cannot read its objects.
    fn of(user: &Git) -> Option<Self> {
        let asked = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-path",
            "index",
            "--git-path",
            "objects",
            "--git-path",
            "info/exclude",
            "--show-object-format",
            "--show-prefix",
        ];
        let said = String::from_utf8(user.run(&asked, b"").ok()?).ok()?;
        let mut lines = said.lines();
        let mut path = || lines.next().map(PathBuf::from);
        let (top, user_index, objects, exclude) = (path()?, path()?, path()?, path()?);
        let (format, within) = (lines.next()?, lines.next().unwrap_or_default().to_owned());
        let is_ignored = !within.is_empty() && user.run(&["check-ignore", "--quiet", "."], b"").is_ok();
        (format == "sha1" && !is_ignored).then_some(Self { top, within, user_index, objects, exclude })
    }
}

/// Options for files with patterns, and the pattern of what is ours.
fn left_out(files: impl IntoIterator<Item = PathBuf>, ours: Option<String>) -> Vec<String> {
    let files = files.into_iter().filter(|path| path.is_file());
    ours.into_iter().chain(files.map(|path| format!("--exclude-from={}", path.display()))).collect()
}

/// The file with patterns of what the user ignores in all repositories.
fn of_all_repositories(user: &Git) -> Option<PathBuf> {
    let set = user.run(&["config", "--path", "--get", "core.excludesFile"], b"").ok();
    let set = set.and_then(|said| String::from_utf8(said).ok()).map(|said| PathBuf::from(said.trim_end()));
    let usual = || {
        let settings = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        Some(settings.or_else(|| Some(env::home_dir()?.join(".config")))?.join("git/ignore"))
    };
    set.or_else(usual).filter(|path| path.is_file())
}
