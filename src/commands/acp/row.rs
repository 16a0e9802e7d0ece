//! Tool calls as editors show them: a title in words, the kind, the places in files, the difference that an edit makes.

use super::content::block;
use crate::commands::tools::{self, Change};
use agent_client_protocol_schema::v1::{
    Diff, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use protocol::message::{Part, texts};
use protocol::tool::ToolKind as Kind;
use serde_json::Value;
use std::path::Path;

/// Characters of a title's argument.
const MOST_TITLE: usize = 120;

/// A call that a model made and that has not begun.
pub(super) fn called(folder: &Path, id: &str, name: &str, arguments: &str) -> ToolCall {
    let input = serde_json::from_str::<Value>(arguments).ok();
    let argument = |key: &str| input.as_ref()?.get(key)?.as_str().map(cut);
    let path = argument("path");
    let title = match (name, &path) {
        ("read_file", Some(path)) => format!("Read {path}"),
        ("list", path) => format!("List {}", path.as_deref().unwrap_or("the folder")),
        ("grep", _) => format!("Search for {}", argument("pattern").unwrap_or_default()),
        ("edit_file", Some(path)) => format!("Edit {path}"),
        ("write_file", Some(path)) => format!("Write {path}"),
        ("run_command", _) => format!("`{}`", argument("command").unwrap_or_default()),
        _ => name.to_owned(),
    };
    let place = path.filter(|_| tools::kind(name).is_some()).map(|path| folder.join(path));
    // As the call has it; the whole difference takes its place once the file was read.
    let text = |key: &str| Some(input.as_ref()?.get(key)?.as_str()?.to_owned());
    let difference = match name {
        "edit_file" => {
            text("new").zip(place.as_ref()).map(|(new, place)| Diff::new(place, new).old_text(text("old")))
        }
        "write_file" => text("text").zip(place.as_ref()).map(|(new, place)| Diff::new(place, new)),
        _ => None,
    };
    ToolCall::new(id.to_owned(), title)
        .name(name.to_owned())
        .kind(kind(name))
        .locations(place.map(ToolCallLocation::new).into_iter().collect())
        .content(difference.map(ToolCallContent::Diff).into_iter().collect())
        .raw_input(input.unwrap_or_else(|| Value::from(arguments)))
}

fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(MOST_TITLE).collect();
    if shown.len() < text.trim_end().len() { shown + " …" } else { shown }
}

fn kind(name: &str) -> ToolKind {
    match tools::kind(name) {
        Some(Kind::Read) => ToolKind::Read,
        Some(Kind::Search) => ToolKind::Search,
        Some(Kind::Edit) => ToolKind::Edit,
        Some(Kind::Execute) => ToolKind::Execute,
        _ if name == "recall" => ToolKind::Search,
        _ if matches!(name, "todo" | "read_scope") => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

/// A call that begins.
pub(super) fn begun(id: &str) -> ToolCallUpdate {
    ToolCallUpdate::new(id.to_owned(), ToolCallUpdateFields::new().status(ToolCallStatus::InProgress))
}

/// The progress of a call, until its result takes its place.
pub(super) fn progressed(id: &str, said: &str) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
    ToolCallUpdate::new(id.to_owned(), fields.content(vec![ToolCallContent::from(said.to_owned())]))
}

/// The change that a call would make.
pub(super) fn difference(folder: &Path, change: &Change) -> ToolCallContent {
    let diff = Diff::new(folder.join(&change.path), change.after.clone()).old_text(change.before.clone());
    ToolCallContent::Diff(diff)
}

/// The end of a call. Content that is given replaces what the row shows, such as the difference of an edit.
pub(super) fn ended(id: &str, content: &[Part], is_error: bool, keeps_content: bool) -> ToolCallUpdate {
    let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let blocks = content.iter().filter_map(block).map(ToolCallContent::from).collect::<Vec<_>>();
    let fields = ToolCallUpdateFields::new().status(status);
    let fields =
        if keeps_content { fields.raw_output(Value::from(texts(content))) } else { fields.content(blocks) };
    ToolCallUpdate::new(id.to_owned(), fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn titles_say_what_a_call_does() {
        let title = |name: &str, arguments: Value| {
            let call = called(Path::new("/w"), "c", name, &arguments.to_string());
            (call.title, call.locations.into_iter().map(|location| location.path).collect::<Vec<_>>())
        };
        assert_eq!(
            title("read_file", json!({ "path": "a/b.rs" })),
            ("Read a/b.rs".into(), vec!["/w/a/b.rs".into()])
        );
        assert_eq!(title("list", json!({})), ("List the folder".into(), vec![]));
        assert_eq!(
            title("run_command", json!({ "command": "cargo test\nls" })),
            ("`cargo test …`".into(), vec![])
        );
        assert_eq!(title("server__tool", json!({ "path": "x" })), ("server__tool".into(), vec![]));
        let broken = called(Path::new("/w"), "c", "grep", "{\"pattern\": ");
        assert_eq!((broken.title.as_str(), broken.raw_input), ("Search for ", Some(json!("{\"pattern\": "))));
    }
}
