//! The shell that a command is written for. Only POSIX shells and bash are read: in others, paths and options look
//! like something else.

use tree_sitter::{Node, TreeCursor};

/// Shells that are read.
const POSIX: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh", "zsh"];
/// Commands of cmd.exe that take options such as `/s`.
const OF_CMD: &[&str] = &[
    "copy", "del", "dir", "erase", "findstr", "move", "rd", "ren", "rmdir", "robocopy", "tasklist", "type",
    "xcopy",
];
/// Commands that only cmd.exe has.
const ONLY_CMD: &[&str] = &["cls", "findstr", "robocopy", "tasklist", "xcopy"];
/// Verbs of PowerShell's commands, which are named `Verb-Noun`.
const VERBS: &[&str] = &[
    "Add",
    "Clear",
    "Compare",
    "Convert",
    "ConvertFrom",
    "ConvertTo",
    "Copy",
    "Expand",
    "Export",
    "ForEach",
    "Format",
    "Get",
    "Import",
    "Install",
    "Invoke",
    "Join",
    "Measure",
    "Move",
    "New",
    "Out",
    "Read",
    "Remove",
    "Rename",
    "Resolve",
    "Select",
    "Set",
    "Sort",
    "Split",
    "Start",
    "Stop",
    "Test",
    "Where",
    "Write",
];
/// Most nodes that are looked at.
const MOST_NODES: usize = 100_000;

/// `true` if a shell with this name or path is read.
pub(crate) fn is_posix(shell: &str) -> bool {
    let name = shell.rsplit(['/', '\\']).next().unwrap_or(shell).to_ascii_lowercase();
    POSIX.contains(&name.strip_suffix(".exe").unwrap_or(&name))
}

/// `true` if the text is for cmd.exe or PowerShell. Quoted text and heredocs do not count.
pub(crate) fn is_foreign(root: Node<'_>, source: &str) -> bool {
    let mut cursor = root.walk();
    for _ in 0..MOST_NODES {
        let node = cursor.node();
        let text = source.get(node.byte_range()).unwrap_or_default();
        let is_inside = match node.kind() {
            "command_name" if is_foreign_name(text) => return true,
            "command" if is_of_cmd(node, source) => return true,
            "file_redirect" if is_nul(node, source) => return true,
            "word" if has_drive(text) => return true,
            "string" | "raw_string" | "ansi_c_string" | "heredoc_body" | "comment" => false,
            // `$env:NAME`
            "simple_expansion"
                if text.eq_ignore_ascii_case("$env")
                    && source.get(node.end_byte()..).is_some_and(|after| after.starts_with(':')) =>
            {
                return true;
            }
            _ => true,
        };
        let is_deeper = is_inside && cursor.goto_first_child();
        if !is_deeper && !goes_on(&mut cursor) {
            return false;
        }
    }
    false
}

/// Goes to the next node that is not inside the present one.
fn goes_on(cursor: &mut TreeCursor<'_>) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
    }
    true
}

fn is_foreign_name(name: &str) -> bool {
    let is_noun = |noun: &str| noun.starts_with(|c: char| c.is_ascii_uppercase());
    let is_command = name.split_once('-').is_some_and(|(verb, noun)| VERBS.contains(&verb) && is_noun(noun));
    is_command || ONLY_CMD.contains(&name)
}

/// `true` for a command such as `del /f`: one of cmd.exe's with an option of a slash and one or two letters.
fn is_of_cmd(node: Node<'_>, source: &str) -> bool {
    let text = |node: Node<'_>| source.get(node.byte_range()).unwrap_or_default();
    let name = node.child_by_field_name("name").map_or("", text).to_ascii_lowercase();
    let is_option = |word: &str| {
        word.strip_prefix('/').is_some_and(|rest| {
            (1..=2).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphabetic())
        })
    };
    OF_CMD.contains(&name.as_str())
        && node.children_by_field_name("argument", &mut node.walk()).any(|argument| is_option(text(argument)))
}

/// `true` for `>nul`, which would be a file in any other shell.
fn is_nul(node: Node<'_>, source: &str) -> bool {
    let target = node.child_by_field_name("destination").and_then(|target| source.get(target.byte_range()));
    target.is_some_and(|target| target.eq_ignore_ascii_case("nul"))
}

/// `true` for an unquoted path such as `C:\code`: a backslash behind a drive would be lost in any other shell.
fn has_drive(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.windows(3).next().is_some_and(|start| start[0].is_ascii_alphabetic() && &start[1..] == b":\\")
        && bytes.get(3) != Some(&b'\\')
}
