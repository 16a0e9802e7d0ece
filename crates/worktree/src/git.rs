//! Runs git to its end within a deadline, with only the settings that are given here or are the user's own.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;

/// Bytes of an error message that are kept.
const MOST_SAID: usize = 500;

/// Why a run of git has no result.
#[derive(Debug)]
pub(crate) enum GitError {
    /// The program is not there.
    Missing,
    /// The deadline passed; it was ended.
    TimedOut,
    /// Git failed, with its message.
    Failed(String),
}

/// Git in a folder.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    folder: PathBuf,
    deadline: Instant,
    variables: Vec<(&'static str, OsString)>,
}

impl Git {
    /// Git as the user has it, without what the environment says about a repository.
    pub fn of_user(folder: &Path, deadline: Instant) -> Self {
        Self { folder: folder.to_owned(), deadline, variables: Vec::new() }
    }

    /// Git on a repository whose settings alone hold.
    pub fn of_repository(repository: &Path, folder: &Path, deadline: Instant) -> Self {
        let nothing = if cfg!(windows) { "NUL" } else { "/dev/null" };
        let git = Self::of_user(folder, deadline);
        git.with("GIT_DIR", repository).with("GIT_CONFIG_NOSYSTEM", "1").with("GIT_CONFIG_GLOBAL", nothing)
    }

    /// The same in another folder.
    pub fn within(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self.clone() }
    }

    /// The same with a variable.
    pub fn with(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// The same with these folders of objects, which are only read.
    pub fn alternates<'a>(self, folders: impl Iterator<Item = &'a Path>) -> Self {
        match env::join_paths(folders) {
            Ok(joined) if !joined.is_empty() => self.with("GIT_ALTERNATE_OBJECT_DIRECTORIES", joined),
            // A path with a separator in it: those objects are stored again.
            _ => self,
        }
    }

    /// Runs it to its end and returns what it printed.
    pub fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let mut child = self.start(arguments)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) = pipes else {
            return Err(GitError::Failed("it has no pipes".to_owned()));
        };
        let (over, is_over) = mpsc::channel::<()>();
        let deadline = self.deadline;
        thread::scope(|scope| {
            scope.spawn(move || {
                // It may end before it has read everything; its exit code tells why.
                let _ = stdin.write_all(input);
            });
            let said = scope.spawn(move || {
                let mut said = Vec::new();
                let _ = stderr.take(1 << 20).read_to_end(&mut said);
                said
            });
            let ended = scope.spawn(move || end_by(&mut child, deadline, &is_over));
            let mut printed = Vec::new();
            let read = stdout.read_to_end(&mut printed);
            drop(over);
            let ended = ended.join().map_err(|_| GitError::Failed("its end was not seen".to_owned()))?;
            let said = said.join().unwrap_or_default();
            match ended {
                Some(true) if read.is_ok() => Ok(printed),
                Some(_) => Err(GitError::Failed(first_line(&said, arguments))),
                None => Err(GitError::TimedOut),
            }
        })
    }

    /// Runs it and returns the one line that it prints.
    pub fn line(&self, arguments: &[&str]) -> Result<String, GitError> {
        let printed = self.run(arguments, b"")?;
        Ok(String::from_utf8_lossy(&printed).trim().to_owned())
    }

    /// The name of the tree without files.
    pub fn empty_tree(&self) -> Result<String, GitError> {
        self.line(&["mktree"])
    }

    /// Entries of the index in the folder, as [`staged`] reads them.
    pub fn list_staged(&self) -> Result<Vec<u8>, GitError> {
        self.run(&["ls-files", "--stage", "-z"], b"")
    }

    fn start(&self, arguments: &[&str]) -> Result<Child, GitError> {
        let mut command = Command::new("git");
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("GIT_")) {
                command.env_remove(name);
            }
        }
        command.current_dir(&self.folder).env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
        command.envs(self.variables.iter().map(|(name, value)| (*name, value)));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Failed(error.to_string()),
        })
    }
}

/// Waits for the end, and ends it at the deadline. `Some` if it ended by itself: `true` if it succeeded.
fn end_by(child: &mut Child, deadline: Instant, is_over: &mpsc::Receiver<()>) -> Option<bool> {
    let left = deadline.saturating_duration_since(Instant::now());
    let is_late = is_over.recv_timeout(left) == Err(RecvTimeoutError::Timeout);
    if is_late {
        let _ = child.kill();
    }
    let succeeded = child.wait().is_ok_and(|status| status.success());
    (!is_late).then_some(succeeded)
}

fn first_line(said: &[u8], arguments: &[&str]) -> String {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().map(str::trim).find(|line| !line.is_empty());
    let command = arguments.iter().find(|argument| !argument.starts_with('-')).copied().unwrap_or_default();
    match line {
        Some(line) => line.chars().take(MOST_SAID).collect(),
        None => format!("git {command} failed"),
    }
}

/// An entry of an index.
pub(crate) struct Staged<'a> {
    pub mode: &'a str,
    pub object: &'a str,
    /// 0, or a side of a conflict.
    pub stage: &'a str,
    pub path: &'a str,
}

/// Reads what [`Git::list_staged`] printed.
pub(crate) fn staged(printed: &[u8]) -> impl Iterator<Item = Staged<'_>> {
    split(printed).filter_map(|line| {
        let (facts, path) = line.split_once('\t')?;
        let mut facts = facts.split(' ');
        Some(Staged { mode: facts.next()?, object: facts.next()?, stage: facts.next()?, path })
    })
}

/// The mode of an entry that is a nested repository.
pub(crate) const REPOSITORY: &str = "160000";

/// Joins paths as git reads them from its standard input.
pub(crate) fn joined<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut all = Vec::new();
    for path in paths {
        all.extend_from_slice(path.as_bytes());
        all.push(0);
    }
    all
}

/// The entries of an output that separates them by zero bytes, without those that are not UTF-8.
pub(crate) fn split(printed: &[u8]) -> impl Iterator<Item = &str> {
    let entries = printed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    entries.filter_map(|entry| std::str::from_utf8(entry).ok())
}
