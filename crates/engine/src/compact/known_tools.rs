//! Kinds of tools: by the policy's name patterns, else as declared, else by a table of tools from real transcripts,
//! else `Other`. Unknown names are not guessed.

use crate::message::about::About;
use crate::prompt::item::{Tool, ToolKind};
use crate::text::looks_like;
use shell::Effect;
use std::borrow::Cow;

/// A tool of known editors and agents.
struct Known {
    /// Lower case, without a server's prefix.
    name: &'static str,
    kind: ToolKind,
}

const fn known(name: &'static str, kind: ToolKind) -> Known {
    Known { name, kind }
}

const TABLE: &[Known] = &[
    known("apply_patch", ToolKind::Edit),
    known("ask_followup_question", ToolKind::Ask),
    known("ask_questions", ToolKind::Ask),
    known("askuserquestion", ToolKind::Ask),
    known("bash", ToolKind::Execute),
    known("codebase_search", ToolKind::Search),
    known("copilot_applypatch", ToolKind::Edit),
    known("copilot_createfile", ToolKind::Edit),
    known("copilot_findfiles", ToolKind::Search),
    known("copilot_findtextinfiles", ToolKind::Search),
    known("copilot_insertedit", ToolKind::Edit),
    known("copilot_readfile", ToolKind::Read),
    known("copilot_replacestring", ToolKind::Edit),
    known("copilot_runinterminal", ToolKind::Execute),
    known("copilot_runnotebookcell", ToolKind::Execute),
    known("create", ToolKind::Edit),
    known("create_directory", ToolKind::Edit),
    known("create_file", ToolKind::Edit),
    known("delete_file", ToolKind::Delete),
    known("edit", ToolKind::Edit),
    known("edit_file", ToolKind::Edit),
    known("edit_notebook_file", ToolKind::Edit),
    known("editor", ToolKind::Edit),
    known("exec", ToolKind::Execute),
    known("exec_command", ToolKind::Execute),
    known("execute_bash", ToolKind::Execute),
    known("execute_command", ToolKind::Execute),
    known("file_search", ToolKind::Search),
    known("find", ToolKind::Search),
    known("find_file", ToolKind::Search),
    known("glob", ToolKind::Search),
    known("grep", ToolKind::Search),
    known("grep_search", ToolKind::Search),
    known("insert", ToolKind::Edit),
    known("insert_edit_into_file", ToolKind::Edit),
    known("list", ToolKind::Search),
    known("list_dir", ToolKind::Search),
    known("list_directory", ToolKind::Search),
    known("list_files", ToolKind::Search),
    known("local_shell", ToolKind::Execute),
    known("ls", ToolKind::Search),
    known("manage_todo_list", ToolKind::Todo),
    known("move_file", ToolKind::Move),
    known("multi_replace_string_in_file", ToolKind::Edit),
    known("multiedit", ToolKind::Edit),
    known("notebookedit", ToolKind::Edit),
    known("open", ToolKind::Read),
    known("read", ToolKind::Read),
    known("read_file", ToolKind::Read),
    known("read_files", ToolKind::Read),
    known("read_text_file", ToolKind::Read),
    known("remove_file", ToolKind::Delete),
    known("rename_file", ToolKind::Move),
    known("replace_in_file", ToolKind::Edit),
    known("replace_string_in_file", ToolKind::Edit),
    known("run_commands", ToolKind::Execute),
    known("run_in_terminal", ToolKind::Execute),
    known("run_notebook_cell", ToolKind::Execute),
    known("run_shell_command", ToolKind::Execute),
    known("run_terminal_cmd", ToolKind::Execute),
    known("runnotebookcell", ToolKind::Execute),
    known("search", ToolKind::Search),
    known("search_dir", ToolKind::Search),
    known("search_file", ToolKind::Search),
    known("search_files", ToolKind::Search),
    known("semantic_search", ToolKind::Search),
    known("shell", ToolKind::Execute),
    known("str_replace", ToolKind::Edit),
    known("str_replace_based_edit_tool", ToolKind::Edit),
    known("str_replace_editor", ToolKind::Edit),
    known("terminal", ToolKind::Execute),
    known("todo", ToolKind::Todo),
    known("todowrite", ToolKind::Todo),
    known("update_plan", ToolKind::Todo),
    known("view", ToolKind::Read),
    known("write", ToolKind::Edit),
    known("write_file", ToolKind::Edit),
    known("write_to_file", ToolKind::Edit),
];

/// Editors with a single tool, and the values of its argument `command` that only read.
const LOOKING: &[(&str, &[&str])] =
    &[("str_replace_based_edit_tool", &["view"]), ("str_replace_editor", &["view"])];

/// Tools that write whole files, and the values of `command` with which a single-tool editor does.
const WHOLE: &[&str] =
    &["copilot_createfile", "create", "create_file", "write", "write_file", "write_to_file"];
const WHOLE_COMMANDS: &[&str] = &["create"];

/// Tools that make a file that was not there, and those that delete or move one, or make a folder.
const CREATE: &[&str] = &["copilot_createfile", "create_file"];
const DELETE: &[&str] = &["delete_file", "remove_file"];
const MOVE: &[&str] = &["move_file", "rename_file"];
const FOLDER: &[&str] = &["create_directory"];

/// Tools that run a notebook cell.
const RUN_CELLS: &[&str] = &["copilot_runnotebookcell", "run_notebook_cell", "runnotebookcell"];

/// A policy's tool kinds by name pattern: `*` matches any characters, and the longest matching pattern wins.
pub(crate) type ToolKinds = Cow<'static, [(String, ToolKind)]>;

/// Sources of a tool's kind.
#[derive(Debug, Clone, Copy)]
pub struct Kinds<'a> {
    /// Name patterns of the policy.
    pub named: &'a [(String, ToolKind)],
    /// Tools of the session, which may declare a kind.
    pub declared: &'a [Tool],
}

impl Kinds<'_> {
    /// Returns the kind of a tool: from the policy, else as declared, else from the table, else `Other`.
    pub fn of(self, name: &str) -> ToolKind {
        let named = self.named.iter().filter(|(pattern, _)| looks_like(pattern, name, &[]));
        if let Some((_, kind)) = named.max_by_key(|(pattern, _)| pattern.len()) {
            return *kind;
        }
        if let Some(kind) = self.declared.iter().find(|tool| tool.name == name).and_then(|tool| tool.kind) {
            return kind;
        }
        let plain = plain(name);
        let at = TABLE.binary_search_by(|known| known.name.cmp(&plain)).ok();
        at.and_then(|at| TABLE.get(at)).map_or(ToolKind::Other, |known| known.kind)
    }

    /// Returns the kind of a call: `Read` if a single-tool editor only reads, else the kind of the tool.
    pub(crate) fn of_call(self, name: &str, about: &About) -> ToolKind {
        let kind = self.of(name);
        let plain = plain(name);
        let looking = LOOKING.iter().find(|(tool, _)| *tool == plain);
        match (looking, &about.command) {
            (Some((_, words)), Some(word)) if words.contains(&word.as_str()) => ToolKind::Read,
            _ => kind,
        }
    }
}

/// `true` if a successful call of this tool leaves the file with exactly the content in its arguments.
pub(crate) fn writes_whole(name: &str, about: &About) -> bool {
    let plain = plain(name);
    let is_whole_command = || about.command.as_deref().is_some_and(|word| WHOLE_COMMANDS.contains(&word));
    WHOLE.contains(&plain.as_str()) || (LOOKING.iter().any(|(tool, _)| *tool == plain) && is_whole_command())
}

/// Returns what a successful call of a tool of this kind, which changes files, does to its files.
pub(crate) fn changes<'a>(kind: ToolKind, name: &str, about: &'a About) -> Cow<'a, [Effect]> {
    let effect = |kind: shell::Kind, path: &str, from: Option<&String>| Effect {
        kind,
        path: path.to_owned(),
        from: from.cloned(),
        if_folder: None,
        is_pattern: false,
        is_certain: true,
    };
    let kind = change(kind, name, about);
    match (&about.moved, &about.command) {
        (Some((from, to)), _) if kind == shell::Kind::Move => vec![effect(kind, to, Some(from))].into(),
        // A patch says of each file what it does to it.
        (_, None) if !about.effects().effects.is_empty() => about.effects().effects.as_slice().into(),
        _ => about.paths.iter().map(|path| effect(kind, path, None)).collect(),
    }
}

fn change(kind: ToolKind, name: &str, about: &About) -> shell::Kind {
    let plain = plain(name);
    let is = |names: &[&str]| names.contains(&plain.as_str());
    let is_editor = LOOKING.iter().any(|(tool, _)| *tool == plain);
    let is_create = about.command.as_deref().is_some_and(|word| WHOLE_COMMANDS.contains(&word));
    match () {
        () if is(CREATE) || (is_editor && is_create) => shell::Kind::Create,
        // A client may declare both to be edits.
        () if kind == ToolKind::Delete || is(DELETE) => shell::Kind::Delete,
        () if kind == ToolKind::Move || is(MOVE) => shell::Kind::Move,
        () if is(FOLDER) => shell::Kind::MakeFolder,
        () => shell::Kind::Write,
    }
}

/// `true` if the tool runs a notebook cell.
pub(crate) fn runs_cells(name: &str) -> bool {
    RUN_CELLS.contains(&plain(name).as_str())
}

/// The name in lower case without a server's prefix, as in the tables.
fn plain(name: &str) -> String {
    let lower = name.to_lowercase();
    lower.rsplit("__").next().unwrap_or(&lower).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCall;
    use serde_json::Value;

    #[test]
    fn tables_are_sorted_and_agree_on_kinds() {
        assert!(TABLE.windows(2).all(|pair| pair[0].name < pair[1].name));
        let none = Kinds { named: &[], declared: &[] };
        assert!(
            WHOLE.iter().chain(LOOKING.iter().map(|(name, _)| name)).all(|n| none.of(n) == ToolKind::Edit)
        );
        assert!(RUN_CELLS.iter().all(|name| none.of(name) == ToolKind::Execute));
    }

    #[test]
    fn policy_outranks_declared_kind_and_unknown_tool_is_other() {
        let tool = Tool {
            rules: Vec::new(),
            name: "bash".into(),
            description: String::new(),
            input_schema: Value::Null,
            kind: Some(ToolKind::Read),
            guidelines: None,
            approval: Default::default(),
            ends_turn: None,
            origin: None,
        };
        let none = Kinds { named: &[], declared: &[] };
        assert_eq!(none.of("bash"), ToolKind::Execute);
        assert_eq!(none.of("Bash"), ToolKind::Execute);
        assert_eq!(none.of("mcp__fs__read_file"), ToolKind::Read);
        assert_eq!(none.of("bashful"), ToolKind::Other);
        let declared = Kinds { declared: &[tool], ..none };
        assert_eq!(declared.of("bash"), ToolKind::Read);
        let named = [("mcp__fs__*".to_owned(), ToolKind::Edit), ("*sh".to_owned(), ToolKind::Search)];
        let both = Kinds { named: &named, ..declared };
        assert_eq!((both.of("mcp__fs__read_file"), both.of("bash")), (ToolKind::Edit, ToolKind::Search));
        assert_eq!(both.of("edit"), ToolKind::Edit);
    }

    #[test]
    fn kind_of_single_tool_editor_follows_its_command() {
        let kinds = Kinds { named: &[], declared: &[] };
        for (command, kind, whole) in [
            ("view", ToolKind::Read, false),
            ("create", ToolKind::Edit, true),
            ("str_replace", ToolKind::Edit, false),
        ] {
            let call =
                ToolCall::new("c", "str_replace_editor", &format!(r#"{{"command":"{command}","path":"a"}}"#));
            let about = About::of(&call);
            assert_eq!(kinds.of_call("str_replace_editor", &about), kind);
            assert_eq!(writes_whole("str_replace_editor", &about), whole);
        }
    }

    #[test]
    fn tool_that_deletes_or_moves_does_so_though_it_is_declared_to_edit() {
        let call = |name, arguments| {
            let about = About::of(&ToolCall::new("c", name, arguments));
            let changes = changes(ToolKind::Edit, name, &about);
            changes.iter().map(|effect| (effect.kind, effect.path.clone())).collect::<Vec<_>>()
        };
        let found = call("mcp__fs__delete_file", r#"{"path":"a.rs"}"#);
        assert_eq!(found, [(shell::Kind::Delete, "a.rs".to_owned())]);
        let found = call("move_file", r#"{"source":"a.rs","destination":"b.rs"}"#);
        assert_eq!(found, [(shell::Kind::Move, "b.rs".to_owned())]);
    }
}
