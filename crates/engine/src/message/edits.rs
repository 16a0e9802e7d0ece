//! Changes that a tool call makes to files, read from its arguments: replaced text, patches, whole content. The argument
//! names are tables, and the tool itself is not interpreted.

use super::ToolCall;
use crate::text::json;
use serde_json::Value;

/// Argument names for the text that an edit replaces.
const OLD: &[&str] = &["old_string", "oldText", "old_str", "oldString"];
/// Argument names for the text that replaces it.
const NEW: &[&str] = &["new_string", "newText", "new_str", "newString"];
/// Argument names for a list of edits.
const PARTS: &[&str] = &["edits", "replacements", "changes"];
/// Argument names for a file's path beside such a text.
const PATHS: &[&str] = &["path", "file_path", "filePath"];
/// Argument names for a patch.
const PATCHES: &[&str] = &["input", "patch", "patchText", "diff", "command", "cmd"];
/// Argument names for the whole content of a written file.
const CONTENTS: &[&str] = &["content", "contents", "file_text"];
/// Line prefixes before the path of a file in a patch.
const PATCHED: &[&str] = &["*** Add File: ", "*** Update File: ", "+++ b/"];

/// A change of one place of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Edit {
    /// The file as the edit names it; `None` if only the call does.
    pub file: Option<String>,
    /// The text that is there no more.
    pub old: String,
    /// The text that is there now.
    pub new: String,
    /// `true` if `new` is the whole content of the file.
    pub is_whole: bool,
}

/// Returns the changes of a call, in order; none for a call that changes nothing in a form known here.
pub(crate) fn edits(call: &ToolCall) -> Vec<Edit> {
    let Ok(Value::Object(arguments)) = json::read::<Value>(&call.arguments) else {
        return patch(&call.arguments);
    };
    let arguments = Value::Object(arguments);
    let parts = PARTS.iter().filter_map(|name| arguments.get(name)?.as_array()).flatten();
    let found: Vec<Edit> = std::iter::once(&arguments).chain(parts).filter_map(replaced).collect();
    if !found.is_empty() {
        return found;
    }
    let patches = PATCHES.iter().filter_map(|name| text_of(arguments.get(name)?));
    let found: Vec<Edit> = patches.flat_map(|text| [patch(&text), blocks(&text)].concat()).collect();
    if !found.is_empty() {
        return found;
    }
    let content = CONTENTS.iter().find_map(|name| arguments.get(name)?.as_str());
    let written = content.filter(|_| own_path(&arguments).is_some());
    written.map(|new| Edit { new: new.to_owned(), is_whole: true, ..Edit::default() }).into_iter().collect()
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    }
}

fn own_path(value: &Value) -> Option<&str> {
    PATHS.iter().find_map(|name| value.get(name)?.as_str())
}

fn replaced(value: &Value) -> Option<Edit> {
    let text = |names: &[&str]| names.iter().find_map(|name| value.get(name)?.as_str()).map(str::to_owned);
    let (old, new) = (text(OLD), text(NEW));
    if old.is_none() && new.is_none() {
        return None;
    }
    let file = own_path(value).map(str::to_owned);
    Some(Edit { file, old: old.unwrap_or_default(), new: new.unwrap_or_default(), is_whole: false })
}

/// The hunks of a patch, also of one within a shell command.
fn patch(text: &str) -> Vec<Edit> {
    let mut found = Vec::new();
    if !text.contains("*** Begin Patch") && !text.contains("+++ b/") {
        return found;
    }
    let (mut old, mut new): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut file: Option<&str> = None;
    let mut end = |file: Option<&str>, old: &mut Vec<&str>, new: &mut Vec<&str>| {
        let (old, new) = (std::mem::take(old).join("\n"), std::mem::take(new).join("\n"));
        if file.is_some() && !(old.is_empty() && new.is_empty()) {
            found.push(Edit { file: file.map(str::to_owned), old, new, is_whole: false });
        }
    };
    for line in text.lines() {
        let named = PATCHED.iter().find_map(|mark| line.strip_prefix(mark));
        if named.is_some() || ["@@", "***", "--- ", "diff "].iter().any(|mark| line.starts_with(mark)) {
            end(file, &mut old, &mut new);
            file = named.map(str::trim).or(file);
        } else if let Some(line) = line.strip_prefix('+') {
            new.push(line);
        } else if let Some(line) = line.strip_prefix('-') {
            old.push(line);
        } else if let Some(line) = line.strip_prefix(' ') {
            old.push(line);
            new.push(line);
        }
    }
    end(file, &mut old, &mut new);
    found
}

/// Blocks of old text and new text between marks, as Cline writes them.
fn blocks(text: &str) -> Vec<Edit> {
    let (mut found, mut edit) = (Vec::new(), None::<(Vec<&str>, Option<Vec<&str>>)>);
    for line in text.lines() {
        let is_mark = |mark: &str, word: &str| line.starts_with(mark) && line.trim_end().ends_with(word);
        match &mut edit {
            None if is_mark("-----", "SEARCH") || is_mark("<<<<<", "SEARCH") => {
                edit = Some((Vec::new(), None))
            }
            None => {}
            Some((old, new @ None)) if line.starts_with("=====") => {
                let _ = old;
                *new = Some(Vec::new());
            }
            Some((old, None)) => old.push(line),
            Some((old, Some(new))) if is_mark("+++++", "REPLACE") || is_mark(">>>>>", "REPLACE") => {
                found.push(Edit { old: old.join("\n"), new: new.join("\n"), ..Edit::default() });
                edit = None;
            }
            Some((_, Some(new))) => new.push(line),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &str) -> Vec<Edit> {
        edits(&ToolCall::new("c", "tool", arguments))
    }

    fn edit(file: Option<&str>, old: &str, new: &str) -> Edit {
        Edit { file: file.map(str::to_owned), old: old.into(), new: new.into(), is_whole: false }
    }

    #[test]
    fn replaced_text_is_found_alone_and_in_lists() {
        assert_eq!(of(r#"{"file_path":"a","old_string":"x","new_string":"y"}"#), [edit(Some("a"), "x", "y")]);
        assert_eq!(
            of(r#"{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"z"}]}"#),
            [edit(None, "x", "y"), edit(None, "z", "")]
        );
    }

    #[test]
    fn patches_are_read_by_hunk_also_within_a_command() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n same\n-x\n+y\n@@\n+z\n*** Add File: b\n+w\n*** End Patch";
        let wanted =
            [edit(Some("a"), "same\nx", "same\ny"), edit(Some("a"), "", "z"), edit(Some("b"), "", "w")];
        assert_eq!(of(patch), wanted);
        let command = format!("apply_patch <<'EOF'\n{patch}\nEOF");
        assert_eq!(of(&serde_json::json!({ "command": ["sh", "-c", command] }).to_string()), wanted);
    }

    #[test]
    fn marked_blocks_and_whole_contents_are_found() {
        let diff = "------- SEARCH\nx\n=======\ny\nz\n+++++++ REPLACE\n";
        assert_eq!(
            of(&serde_json::json!({ "path": "a", "diff": diff }).to_string()),
            [edit(None, "x", "y\nz")]
        );
        let whole = Edit { new: "text".into(), is_whole: true, ..Edit::default() };
        assert_eq!(of(r#"{"path":"a","content":"text"}"#), [whole]);
        assert_eq!(of(r#"{"query":"a","content":"text"}"#), []);
        assert_eq!(of("{"), []);
    }
}
