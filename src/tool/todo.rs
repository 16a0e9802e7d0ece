//! `todo`: the list of todos, always passed whole, so that it never depends on what a model remembers.

use super::{About, Context, Ran, read, refusal};
use engine::prompt::item::ToolKind;
use engine::scope::{Todo, TodoStatus};
use serde::Deserialize;
use serde_json::json;

const EXPECTED: &str = r#"{"todos": [{"content": "the task", "status": "pending" or "inProgress" or "completed"}]} with the complete list"#;

#[derive(Deserialize)]
struct Arguments {
    todos: Vec<Todo>,
}

pub(super) fn about() -> About {
    let status = json!({ "type": "string", "enum": ["pending", "inProgress", "completed"] });
    let item = json!({
        "type": "object",
        "properties": { "content": { "type": "string", "description": "The task." }, "status": status },
        "required": ["content", "status"],
    });
    About {
        description: "Replaces the todo list with the given one and returns it. The list must be complete.",
        properties: json!({
            "todos": { "type": "array", "items": item, "description": "The complete list, in order." },
        }),
        required: &["todos"],
        kind: ToolKind::Todo,
        guidelines: Some(
            "Track work of several steps with the tool todo: pass the complete list each time, keep exactly one item in \
             progress, and mark an item as completed as soon as it is done.",
        ),
    }
}

pub(super) fn run(arguments: &str, context: Context<'_>) -> Result<Ran, String> {
    let Arguments { todos } = read(arguments, EXPECTED).map_err(|why| with_list(why, context.todos))?;
    if todos.iter().any(|todo| todo.content.trim().is_empty()) {
        return Err(with_list(refusal("a todo has no content", EXPECTED), context.todos));
    }
    let text = list(&todos);
    Ok(Ran { todos: Some(todos), ..Ran::says([text]) })
}

/// An error, followed by the unchanged list.
fn with_list(why: String, todos: &[Todo]) -> String {
    format!("{why}\n{}", list(todos))
}

fn list(todos: &[Todo]) -> String {
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let mut text = format!("{done} of {} todos completed", todos.len());
    for (at, Todo { content, status }) in todos.iter().enumerate() {
        text.push_str(&format!("\n{}. {content} ({})", at + 1, status.name()));
    }
    text
}
