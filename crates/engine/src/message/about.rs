//! The subject of a tool call, read from its arguments: files, a command, todos, a notebook cell. The
//! argument names are tables, and the tool itself is not interpreted.

use super::ToolCall;
use crate::text::{json, sha256_hex};
use serde_json::Value;
use shell::Effects;
use std::sync::OnceLock;

/// Argument names for a file's path, the likelier first.
const PATHS: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "absolute_path",
    "filename",
    "file_name",
    "file",
    "notebook_path",
    "notebookUri",
    "target_file",
    "dirPath",
    "uri",
    "paths",
    "filePaths",
];
/// Argument names for a list of changes or files, each with a path of its own.
const PARTS: &[&str] = &["replacements", "edits", "files", "changes"];
/// Argument names for a patch that names its files itself.
const PATCHES: &[&str] = &["input", "patch", "patchText", "diff"];
/// Line prefixes before a path in such a patch.
const PATCHED: &[&str] =
    &["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"];
/// Argument names for a command line.
const COMMANDS: &[&str] = &["command", "cmd", "script", "commands"];
/// Argument names for the folder where a command runs.
const FOLDERS: &[&str] =
    &["workdir", "cwd", "working_directory", "workingDirectory", "working_dir", "dir_path", "directory"];
/// Argument names for the old and the new path of a moved file.
const MOVES: &[(&str, &str)] = &[
    ("source", "destination"),
    ("old_path", "new_path"),
    ("oldPath", "newPath"),
    ("source_path", "destination_path"),
    ("from", "to"),
];
/// Argument names for the whole content of a written file.
const CONTENTS: &[&str] = &["content", "contents", "file_text", "text"];
/// Argument names for a list of todos.
const TODOS: &[&str] = &["todos", "todoList", "plan", "items"];
/// Keys for the text of a todo.
const TODO_TEXTS: &[&str] = &["content", "title", "step", "text", "description"];
/// Argument names for a notebook cell.
const CELLS: &[&str] = &["cellId", "cell_id", "cell", "cellIndex", "cell_index"];

/// The subject of a tool call; empty if the arguments are neither a JSON object nor a patch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// `true` if the arguments were understood; empty text counts as no arguments.
    pub is_readable: bool,
    /// Files in the order of the arguments, without duplicates.
    pub paths: Vec<String>,
    /// The command line; a list of words is joined with spaces.
    pub command: Option<String>,
    /// Todos as (text, status); `None` without a list.
    pub todos: Option<Vec<(String, String)>>,
    /// The notebook cell, by id or index.
    pub cell: Option<String>,
    /// SHA-256 of the whole content given to a tool that writes files.
    pub content_sha256: Option<String>,
    /// The folder where a command runs, if the call names it.
    pub folder: Option<String>,
    /// The old and the new path, if the call names both.
    pub moved: Option<(String, String)>,
    /// The program of a shell, if the call names it.
    shell: Option<String>,
    /// The parts of a command that was given as a list.
    parts: Option<Parts>,
    /// Effects of the command or the patch on files.
    effects: OnceLock<Effects>,
}

/// A command that was given as a list.
#[derive(Debug, Clone, PartialEq)]
enum Parts {
    /// Words of one command.
    Words(Vec<String>),
    /// Several commands.
    Commands(Vec<String>),
}

impl About {
    /// Reads a call's arguments; never fails.
    pub fn of(call: &ToolCall) -> Self {
        if call.arguments.trim().is_empty() {
            return Self { is_readable: true, ..Self::default() };
        }
        let arguments = match json::read::<Value>(&call.arguments) {
            Ok(arguments @ Value::Object(_)) => arguments,
            _ => {
                // Some tools take a bare patch instead of JSON.
                let paths: Vec<String> = patched(&call.arguments).map(normalized).collect();
                let effects = OnceLock::from(shell::effects_of_patch(&call.arguments, None));
                let is_readable = !paths.is_empty();
                let effects = if is_readable { effects } else { OnceLock::new() };
                return Self { is_readable, paths, effects, ..Self::default() };
            }
        };
        let list = TODOS.iter().find_map(|name| arguments.get(name)?.as_array());
        let todos = list.map(|list| list.iter().filter_map(todo).collect());
        let content = CONTENTS.iter().find_map(|name| arguments.get(name)?.as_str());
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let folder = FOLDERS.iter().find_map(|name| text(name)).map(normalized);
        let command = COMMANDS.iter().find_map(|name| command(arguments.get(name)?));
        let effects = match (&command, PATCHES.iter().find_map(|name| text(name))) {
            (None, Some(patch)) => OnceLock::from(shell::effects_of_patch(patch, folder.as_deref())),
            _ => OnceLock::new(),
        };
        Self {
            is_readable: true,
            paths: paths(&arguments),
            command,
            moved: MOVES.iter().find_map(|(old, new)| Some((normalized(text(old)?), normalized(text(new)?)))),
            shell: text("shell").map(str::to_owned),
            parts: COMMANDS.iter().find_map(|name| parts(name, arguments.get(name)?)),
            folder,
            effects,
            todos,
            cell: CELLS.iter().find_map(|name| text_or_number(arguments.get(name)?)),
            content_sha256: content.map(|text| sha256_hex(text.as_bytes())),
        }
    }

    /// Returns the effects of the command or the patch on files, read once.
    pub fn effects(&self) -> &Effects {
        let folder = self.folder.as_deref();
        self.effects.get_or_init(|| match (&self.parts, &self.command) {
            (Some(Parts::Words(words)), _) => shell::effects_of_words(words, folder),
            (Some(Parts::Commands(commands)), _) => {
                shell::effects(&commands.join("\n"), folder, self.shell.as_deref())
            }
            (None, Some(command)) => shell::effects(command, folder, self.shell.as_deref()),
            (None, None) => Effects::default(),
        })
    }

    /// Returns the first of the files.
    pub fn path(&self) -> Option<&str> {
        self.paths.first().map(String::as_str)
    }
}

/// Iterates over the files that a patch changes, by its headers.
pub(crate) fn patched(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| PATCHED.iter().find_map(|mark| line.strip_prefix(mark))).map(str::trim)
}

/// Files named at the top level and in lists of parts; only if there are none, those named in a patch.
fn paths(arguments: &Value) -> Vec<String> {
    let own = own_paths(arguments);
    let parts = PARTS.iter().filter_map(|name| arguments.get(name)?.as_array()).flatten();
    let mut all: Vec<String> = own.into_iter().chain(parts.flat_map(own_paths)).collect();
    if all.is_empty() {
        let patches = PATCHES.iter().filter_map(|name| arguments.get(name)?.as_str());
        all = patches.flat_map(patched).map(normalized).collect();
    }
    let mut seen = std::collections::BTreeSet::new();
    all.retain(|path| !path.is_empty() && seen.insert(path.clone()));
    all
}

fn own_paths(value: &Value) -> Vec<String> {
    let named = PATHS.iter().find_map(|name| match value.get(name)? {
        Value::String(path) if !path.is_empty() => Some(vec![normalized(path)]),
        Value::Array(list) if !list.is_empty() => {
            list.iter().map(|path| path.as_str().map(normalized)).collect::<Option<Vec<_>>>()
        }
        _ => None,
    });
    named.unwrap_or_default()
}

/// Strips `file://` or `./`, so that a file has one name whether given as a URI or relative to the workspace.
fn normalized(path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    path.strip_prefix("./").unwrap_or(path).to_owned()
}

fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

/// The parts of a command that is a list; only under the plural name are they commands.
fn parts(name: &str, value: &Value) -> Option<Parts> {
    let words =
        value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    Some(if name == "commands" { Parts::Commands(words) } else { Parts::Words(words) })
}

fn text_or_number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn todo(entry: &Value) -> Option<(String, String)> {
    let text = TODO_TEXTS.iter().find_map(|name| entry.get(name)?.as_str())?;
    let status = entry.get("status").and_then(Value::as_str).unwrap_or("open");
    Some((text.to_owned(), status.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(arguments: &str) -> About {
        About::of(&ToolCall::new("c", "tool", arguments))
    }

    #[test]
    fn broken_or_unknown_arguments_have_no_subject() {
        for arguments in ["{", "[]", "null", "\"text\"", "{\"path\":\"a", "{\"a\":\"\\x\"}"] {
            assert_eq!(about(arguments), About::default(), "{arguments}");
        }
        for arguments in [
            "",
            " ",
            "{\"path\":7}",
            "{\"path\":[7]}",
            "{\"command\":[1]}",
            "{\"todos\":{}}",
            "{\"cell\":{}}",
        ] {
            assert_eq!(about(arguments), About { is_readable: true, ..About::default() }, "{arguments}");
        }
    }

    #[test]
    fn files_are_found_in_arguments_parts_and_patches() {
        assert_eq!(about(r#"{"path":"./a.rs","edits":[{"oldText":"x"}]}"#).paths, ["a.rs"]);
        assert_eq!(about(r#"{"path":"a\ud800.rs"}"#).paths, ["a\u{fffd}.rs"]);
        assert_eq!(about(r#"{"uri":"file:///code/a.rs"}"#).paths, ["/code/a.rs"]);
        assert_eq!(about(r#"{"paths":["a","b","a"]}"#).paths, ["a", "b"]);
        assert_eq!(about(r#"{"replacements":[{"filePath":"a"},{"filePath":"b"}]}"#).paths, ["a", "b"]);
        let patch = "*** Begin Patch\n*** Update File: a.rs\n*** Move to: b.rs\n-x\n*** Add File: c.rs\n+y\n*** End Patch";
        let call = serde_json::json!({ "input": patch }).to_string();
        assert_eq!(about(&call).paths, ["a.rs", "b.rs", "c.rs"]);
    }

    #[test]
    fn commands_cells_and_contents_are_found() {
        assert_eq!(about(r#"{"command":["ls","-l"]}"#).command.as_deref(), Some("ls -l"));
        assert_eq!(about(r#"{"cell_index":3}"#).cell.as_deref(), Some("3"));
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(about(r#"{"path":"a","content":""}"#).content_sha256.as_deref(), Some(empty));
    }
}
