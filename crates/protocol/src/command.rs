//! Shell commands: what their text tells about files, and what they changed.

pub mod worktree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `command/effects`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEffectsParams {
    /// Command as a shell gets it, at most 64 kB.
    pub command: String,
    /// Folder where it runs. Without one, paths in the result are relative to that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Name or path of the shell. Without one, cmd.exe and PowerShell are recognized by the text; their commands are
    /// not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
}

/// Result of `command/effects`. Nothing is run, and no file is looked at. The text of a command can hide what it does,
/// so the result may add a warning, but must not allow a command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEffectsResult {
    /// Effects on files, in the order of the text, each once.
    pub effects: Vec<CommandEffect>,
    /// Parts whose effects cannot be told, each once; syntax errors are among them.
    pub unknown: Vec<CommandUnknown>,
    /// Programs that it runs, without their folders, each once.
    pub programs: Vec<String>,
}

/// Part of a command whose effects cannot be told from its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandUnknown {
    /// The part on one line, cut; the beginning of the command if it was not read.
    pub part: String,
    /// Reason why its effects are unknown.
    pub reason: CommandUnknownReason,
}

/// Reason why the effects of a part of a command are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandUnknownReason {
    /// The program may change files that its arguments do not name.
    Program,
    /// A git command that may change any file of the worktree.
    Worktree,
    /// A path comes from a variable, a substitution or an unknown folder.
    Path,
    /// The program's name, or the text that it runs, comes from a variable or a substitution.
    Dynamic,
    /// There is a syntax error near the part.
    Syntax,
    /// The part is written for a shell that is not read, such as cmd.exe or PowerShell.
    Shell,
    /// The command is too long, too deeply nested or too repetitive to be read whole.
    Limit,
}

/// Kind of an effect on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum CommandEffectKind {
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

/// An effect of a command on a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandEffect {
    /// Kind of the effect.
    pub kind: CommandEffectKind,
    /// Path, joined to `cwd`; a leading `~` is the user's home.
    pub path: String,
    /// Former path of a moved file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Path that is meant instead if `path` is an existing folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_folder: Option<String>,
    /// `true` if the shell expands `path` or `from` as a glob.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pattern: bool,
    /// `false` if the effect depends on a condition.
    pub certain: bool,
}
