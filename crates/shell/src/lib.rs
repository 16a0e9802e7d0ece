//! Effects of shell commands on files, read from their text: no IO, and nothing is run. Written for POSIX shells and
//! bash; other shells are recognized and not read. What only running a command would tell is listed as unknown.
//!
//! [`read`] walks the tree of a command and keeps the working directory, variables and certainty; [`expand`] makes words;
//! [`command`] strips prefixes such as `sudo` and finds the program; [`files`], [`edit`], [`git`], [`patch`] know
//! programs with effects on named files, and [`known`] those without and those whose effects cannot be told.
//! [`simple`] tells exactly which commands a line runs, where it can; [`beginning`] compares them with rules.

pub mod beginning;
mod command;
mod dialect;
mod edit;
mod expand;
mod files;
mod git;
mod known;
mod options;
mod patch;
pub mod path;
mod read;
pub mod simple;
mod sink;
mod word;

#[cfg(test)]
mod tests;

use sink::Sink;

/// Largest command that is read, in bytes.
pub const MOST_BYTES: usize = 64 * 1024;

/// Kind of an effect on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The content is read.
    Read,
    /// A file is made that was not there before.
    Create,
    /// The content is written; the file may be new.
    Write,
    /// A file, or a folder with its content, is removed.
    Delete,
    /// A file or folder gets another path.
    Move,
    /// A folder is made.
    MakeFolder,
}

/// An effect of a command on a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The kind.
    pub kind: Kind,
    /// The path, joined to the working directory as far as that is known. A leading `~` is the user's home.
    pub path: String,
    /// The former path of [`Kind::Move`].
    pub from: Option<String>,
    /// The path that is meant instead if `path` is an existing folder: `mv a b` may write `b/a`.
    pub if_folder: Option<String>,
    /// `true` if the shell expands `path` or `from` as a glob.
    pub is_pattern: bool,
    /// `false` if the effect depends on a condition. A command that fails may have no effect at all.
    pub is_certain: bool,
}

/// Part of a command whose effects cannot be told from its text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    /// The part on one line, cut; the whole command's beginning if it was not read.
    pub part: String,
    /// The reason.
    pub reason: Reason,
}

/// Reason why effects are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The program may change files that its arguments do not name.
    Program,
    /// A git command that may change any file of the worktree.
    Worktree,
    /// A path comes from a variable, a substitution or an unknown working directory.
    Path,
    /// The program's name, or the text that it runs, comes from a variable or a substitution.
    Dynamic,
    /// A syntax error.
    Syntax,
    /// Written for a shell that is not read, such as cmd.exe or PowerShell.
    Shell,
    /// Longer, deeper or more repetitive than the limits.
    Limit,
}

/// Effects of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    /// Effects on paths in the order of the text, each once.
    pub effects: Vec<Effect>,
    /// Parts with unknown effects, each once.
    pub unknown: Vec<Unknown>,
    /// Programs that are run, without their folders, each once; those behind `sudo`, `xargs` and the like included.
    pub programs: Vec<String>,
    /// Absolute folders that it changes to with `cd`, each once.
    pub folders: Vec<String>,
}

/// Reads a command. `cwd` is the folder where it starts; without one, paths stay relative to it. `shell` is the name
/// or path of the shell that runs it; without one, cmd.exe and PowerShell are recognized by the text.
pub fn effects(command: &str, cwd: Option<&str>, shell: Option<&str>) -> Effects {
    let mut sink = Sink::new(cwd);
    if command.len() > MOST_BYTES {
        sink.unknown(command, Reason::Limit);
    } else if shell.is_some_and(|shell| !dialect::is_posix(shell)) {
        sink.unknown(command, Reason::Shell);
    } else {
        read::read(command, &mut sink, shell.is_some());
    }
    sink.done()
}

/// Reads a command that is given as a list of words, none of which a shell expands.
pub fn effects_of_words<W: AsRef<str>>(words: &[W], cwd: Option<&str>) -> Effects {
    let mut sink = Sink::new(cwd);
    if words.iter().map(|word| word.as_ref().len()).sum::<usize>() > MOST_BYTES {
        let first = words.first().map_or("", AsRef::as_ref);
        sink.unknown(first, Reason::Limit);
    } else {
        read::read_words(words.iter().map(AsRef::as_ref), &mut sink);
    }
    sink.done()
}

/// Reads a patch in the format of `apply_patch`; other text has no effects.
pub fn effects_of_patch(patch: &str, cwd: Option<&str>) -> Effects {
    let mut sink = Sink::new(cwd);
    patch::read(patch, &mut sink);
    sink.done()
}
