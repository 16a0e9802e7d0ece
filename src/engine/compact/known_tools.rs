//! What each tool did, from data: a declared kind, else this table of tools that real transcripts use, else nothing.
//! No guess from a name's sound.

use crate::engine::message::ToolCall;
use crate::engine::prompt::item::{Tool, ToolKind};
use serde_json::Value;

/// A tool that editors and agents are known to have.
struct Known {
    /// Its name in lower case, without a server's prefix.
    name: &'static str,
    kind: ToolKind,
}

const fn known(name: &'static str, kind: ToolKind) -> Known {
    Known { name, kind }
}

const TABLE: &[Known] = &[
    known("apply_patch", ToolKind::Write),
    known("ask_questions", ToolKind::Ask),
    known("askuserquestion", ToolKind::Ask),
    known("bash", ToolKind::Run),
    known("codebase_search", ToolKind::Search),
    known("copilot_readfile", ToolKind::Read),
    known("create", ToolKind::Write),
    known("create_directory", ToolKind::Write),
    known("create_file", ToolKind::Write),
    known("edit", ToolKind::Write),
    known("edit_file", ToolKind::Write),
    known("exec", ToolKind::Run),
    known("exec_command", ToolKind::Run),
    known("execute_command", ToolKind::Run),
    known("file_search", ToolKind::Search),
    known("find", ToolKind::Search),
    known("find_file", ToolKind::Search),
    known("glob", ToolKind::Search),
    known("grep", ToolKind::Search),
    known("grep_search", ToolKind::Search),
    known("insert", ToolKind::Write),
    known("insert_edit_into_file", ToolKind::Write),
    known("list", ToolKind::Search),
    known("list_dir", ToolKind::Search),
    known("list_files", ToolKind::Search),
    known("ls", ToolKind::Search),
    known("manage_todo_list", ToolKind::Todo),
    known("multi_replace_string_in_file", ToolKind::Write),
    known("multiedit", ToolKind::Write),
    known("notebookedit", ToolKind::Write),
    known("open", ToolKind::Read),
    known("read", ToolKind::Read),
    known("read_file", ToolKind::Read),
    known("replace_in_file", ToolKind::Write),
    known("replace_string_in_file", ToolKind::Write),
    known("run_in_terminal", ToolKind::Run),
    known("run_terminal_cmd", ToolKind::Run),
    known("search", ToolKind::Search),
    known("search_dir", ToolKind::Search),
    known("search_file", ToolKind::Search),
    known("semantic_search", ToolKind::Search),
    known("shell", ToolKind::Run),
    known("str_replace", ToolKind::Write),
    known("terminal", ToolKind::Run),
    known("todo", ToolKind::Todo),
    known("todowrite", ToolKind::Todo),
    known("update_plan", ToolKind::Todo),
    known("view", ToolKind::Read),
    known("write", ToolKind::Write),
    known("write_file", ToolKind::Write),
    known("write_to_file", ToolKind::Write),
];

/// Argument names under which a file's path stands, the likelier first.
const PATHS: &[&str] =
    &["path", "file_path", "filePath", "filename", "file", "notebook_path", "target_file", "uri"];
/// Argument names under which a command stands.
const COMMANDS: &[&str] = &["command", "cmd", "script"];
/// Argument names under which a list of todos stands, and the names of an entry's text.
const TODOS: &[&str] = &["todos", "todoList", "plan", "items"];
const TODO_TEXTS: &[&str] = &["content", "title", "step", "text", "description"];

/// What the tool of this name does: as declared, else as the table says, else `Other`.
pub fn kind_of(name: &str, declared: &[Tool]) -> ToolKind {
    if let Some(kind) = declared.iter().find(|tool| tool.name == name).and_then(|tool| tool.kind) {
        return kind;
    }
    let lower = name.to_lowercase();
    let plain = lower.rsplit("__").next().unwrap_or(&lower);
    TABLE
        .binary_search_by(|known| known.name.cmp(plain))
        .ok()
        .and_then(|at| TABLE.get(at))
        .map_or(ToolKind::Other, |known| known.kind)
}

/// What a call was about, read from its arguments. Arguments that are no JSON are about nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct About {
    /// The file.
    pub path: Option<String>,
    /// The command.
    pub command: Option<String>,
    /// Todos as (text, status).
    pub todos: Vec<(String, String)>,
}

/// Reads a call's arguments.
pub fn about(call: &ToolCall) -> About {
    let Ok(arguments) = serde_json::from_str::<Value>(&call.arguments) else { return About::default() };
    let text = |names: &[&str]| {
        names.iter().find_map(|name| match arguments.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
            Some(Value::Array(words)) if !words.is_empty() => {
                let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
                words.map(|words| words.join(" "))
            }
            _ => None,
        })
    };
    let list = TODOS.iter().find_map(|name| arguments.get(name)?.as_array());
    let todos = list.into_iter().flatten().filter_map(|entry| {
        let text = TODO_TEXTS.iter().find_map(|name| entry.get(name)?.as_str())?;
        let status = entry.get("status").and_then(Value::as_str).unwrap_or("open");
        Some((text.to_owned(), status.to_owned()))
    });
    About { path: text(PATHS), command: text(COMMANDS), todos: todos.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_looking_up_works() {
        assert!(TABLE.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn a_declared_kind_wins_and_an_unknown_tool_is_other() {
        let tool = Tool {
            rules: Vec::new(),
            name: "bash".into(),
            description: String::new(),
            input_schema: Value::Null,
            kind: Some(ToolKind::Read),
            guidelines: None,
            approval: Default::default(),
            ends_turn: None,
        };
        assert_eq!(kind_of("bash", &[]), ToolKind::Run);
        assert_eq!(kind_of("Bash", &[]), ToolKind::Run);
        assert_eq!(kind_of("mcp__fs__read_file", &[]), ToolKind::Read);
        assert_eq!(kind_of("bash", &[tool]), ToolKind::Read);
        assert_eq!(kind_of("bashful", &[]), ToolKind::Other);
    }

    #[test]
    fn arguments_that_are_broken_or_strange_are_about_nothing() {
        for arguments in ["", "{", "[]", "null", "{\"path\":7}", "{\"command\":[1]}", "{\"todos\":{}}"] {
            assert_eq!(about(&ToolCall::new("c", "bash", arguments)), About::default(), "{arguments}");
        }
        let words = about(&ToolCall::new("c", "shell", r#"{"command":["ls","-l"]}"#));
        assert_eq!(words.command.as_deref(), Some("ls -l"));
    }
}
