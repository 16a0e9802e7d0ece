//! `todo`: reads the list of todos, replaces it, or changes single entries by their ids. A change of entries is applied
//! to the list as it is when it is stored, since several sessions may change one list.

use super::{About, Context, Ran, read, refusal};
use engine::prompt::item::ToolKind;
use engine::scope::{Scope, ScopePatch, Todo, TodoChange, TodoUpdate, todo_list};
use serde::Deserialize;
use serde_json::json;

const EXPECTED: &str = r#"{"todos": [{"content": "the task", "status": "pending" or "inProgress" or "completed"}]} with the complete list, or any of {"add": ["the task"], "update": [{"id": 1, "status": "completed"}], "remove": [1]}, or {} to read"#;

#[derive(Deserialize)]
struct Arguments {
    todos: Option<Vec<Todo>>,
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    update: Vec<TodoUpdate>,
    #[serde(default)]
    remove: Vec<u32>,
}

pub(super) fn about() -> About {
    let status = json!({ "type": "string", "enum": ["pending", "inProgress", "completed"] });
    let id = json!({ "type": "integer", "minimum": 1, "description": "The number before the entry." });
    let item = json!({
        "type": "object",
        "properties": { "content": { "type": "string", "description": "The task." }, "status": status },
        "required": ["content", "status"],
    });
    let update = json!({
        "type": "object",
        "properties": { "id": id, "content": { "type": "string", "description": "The new text." }, "status": status },
        "required": ["id"],
    });
    let (ids, texts) = (json!({ "type": "integer", "minimum": 1 }), json!({ "type": "string" }));
    About {
        description: "Reads or changes the todo list, and returns it as it is then. Without arguments it only reads. `add`, \
                      `update` and `remove` change single entries; `todos` replaces the whole list and excludes them.",
        properties: json!({
            "todos": { "type": "array", "items": item, "description": "The complete list, in order." },
            "add": { "type": "array", "items": texts, "description": "Tasks to append, pending." },
            "update": { "type": "array", "items": update, "description": "Changes of single entries." },
            "remove": { "type": "array", "items": ids, "description": "Ids of entries to remove." },
        }),
        required: &[],
        kind: ToolKind::Todo,
        guidelines: Some(
            "Track work of several steps with the tool todo: keep exactly one item in progress, and mark an item as \
             completed as soon as it is done.",
        ),
    }
}

pub(super) fn run(arguments: &str, context: Context<'_>) -> Result<Ran, String> {
    let list = |why: String| format!("{why}\n{}", todo_list(&context.scope.todos));
    let wrong = |why: &str| list(refusal(why, EXPECTED));
    let Arguments { todos, add, update, remove } = read(arguments, EXPECTED).map_err(list)?;
    let texts = todos.iter().flatten().map(|todo| &todo.content).chain(&add);
    let texts = texts.chain(update.iter().filter_map(|update| update.content.as_ref()));
    if texts.into_iter().any(|text| text.trim().is_empty()) {
        return Err(wrong("a todo has no content"));
    }
    let ids = update.iter().map(|update| update.id).chain(remove.iter().copied());
    let is_known = |id: &u32| context.scope.todos.iter().any(|todo| todo.id == *id);
    if let Some(unknown) = ids.into_iter().find(|id| !is_known(id)) {
        return Err(wrong(&format!("no todo has the id {unknown}")));
    }
    let change = TodoChange { add, update, remove };
    let changes = change != TodoChange::default();
    let patch = match todos {
        Some(_) if changes => return Err(wrong("`todos` excludes `add`, `update` and `remove`")),
        Some(todos) => ScopePatch { todos: Some(todos), ..ScopePatch::default() },
        None if changes => ScopePatch { todo_change: Some(change), ..ScopePatch::default() },
        None => return Ok(Ran::says([todo_list(&context.scope.todos)])),
    };
    let mut after: Scope = context.scope.clone();
    after.apply(patch.clone());
    Ok(Ran { patch: Some(patch), ..Ran::says([todo_list(&after.todos)]) })
}
