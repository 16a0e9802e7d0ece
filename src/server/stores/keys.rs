//! The names of folders in a database that several machines use.

use std::path::Path;
use std::process::{Command, Stdio};
use store::keyed::Names;

/// How folders are named in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Naming {
    /// By their path.
    Path,
    /// By the remote of their repository.
    Remote,
    /// The client's folder by this key, others by their path.
    Key(String),
}

impl Naming {
    /// The names by which a store of the client's folder finds sessions; `None` if they are paths.
    pub fn names(&self, home: &str) -> Option<Names> {
        match self {
            Self::Path => None,
            Self::Remote => Some(Names::new(|folder| remote(Path::new(folder)))),
            Self::Key(key) => {
                let (key, home) = (key.clone(), home.to_owned());
                let is_meant = move |folder: &str| folder == home || home.is_empty() && !folder.is_empty();
                Some(Names::new(move |folder| is_meant(folder).then(|| key.clone())))
            }
        }
    }
}

/// The address of a repository's remote `origin`, without credentials; `None` without a repository or a remote.
fn remote(folder: &Path) -> Option<String> {
    if !folder.is_absolute() {
        return None;
    }
    // Reads a file and runs nothing of the repository's.
    let printed = Command::new("git")
        .current_dir(folder)
        .args(["config", "--get", "remote.origin.url"])
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    address(String::from_utf8(printed.stdout).ok()?.trim())
}

/// One spelling of a remote's address, `host/path`, for the forms that git knows.
fn address(remote: &str) -> Option<String> {
    let (authority, path) = match remote.split_once("://") {
        Some((_, behind)) => behind.split_once('/')?,
        // As in `git@host:path`. A path of this machine is no name for others.
        None => remote.split_once(':').filter(|(host, _)| !host.contains('/') && host.len() > 1)?,
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("{host}/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remote_has_one_spelling_without_credentials() {
        for remote in [
            "https://github.example/org/repo.git",
            "https://ann:hunter2@github.example/org/repo",
            "https://token@GitHub.example/org/repo/?token=hunter2",
            "ssh://git@github.example/org/repo.git",
            "git@github.example:org/repo.git",
        ] {
            assert_eq!(address(remote).as_deref(), Some("github.example/org/repo"), "{remote}");
        }
        for remote in ["", "/srv/repo.git", "../repo", "file:///srv/repo.git", "C:/repo", "https://host"] {
            assert_eq!(address(remote), None, "{remote}");
        }
    }
}
