//! A scope as a model reads it: whole for the tool that reads it, and in brief with a user's request.

use super::{Scope, Todo, TodoStatus};
use crate::text::{head, one_line};

/// The most bytes of a plan or a pin in the brief form.
const BRIEF_BYTES: usize = 4_000;
/// The most todos, pins or artifacts in the brief form.
const BRIEF_ITEMS: usize = 50;
/// The most bytes of a name or a reference.
const LINE_BYTES: usize = 400;

impl Scope {
    /// Returns all of it as text; a line that says so for an empty scope.
    pub fn whole(&self) -> String {
        let all = usize::MAX;
        let parts = [
            self.plan.as_ref().map(|plan| format!("Plan:\n{plan}")),
            (!self.todos.is_empty()).then(|| format!("Todos: {}", todo_list(&self.todos))),
            list("Pins", all, self.pins.iter().map(|pin| format!("- {}: {}", pin.id, pin.text))),
            list("Artifacts", all, self.artifact_lines()),
        ];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        let empty = "[the work scope is empty: no plan, todos, pins or artifacts]";
        if text.is_empty() { empty.to_owned() } else { text }
    }

    /// Returns what bears on a new request: plan, open todos, pins and artifacts, each within bounds. `None` if there
    /// is none of it.
    pub fn brief(&self) -> Option<String> {
        let is_open = |todo: &&Todo| todo.status != TodoStatus::Completed;
        let open: Vec<&Todo> = self.todos.iter().filter(is_open).collect();
        let done = self.todos.len() - open.len();
        let todos = list("Open todos", BRIEF_ITEMS, open.into_iter().map(todo_line));
        let parts = [
            self.plan.as_ref().map(|plan| format!("Plan:\n{}", bounded(plan))),
            todos.or_else(|| (done > 0).then(|| format!("Todos: all {done} completed"))),
            list("Pins", BRIEF_ITEMS, self.pins.iter().map(|pin| format!("- {}", bounded(&pin.text)))),
            list("Artifacts", BRIEF_ITEMS, self.artifact_lines()),
        ];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        (!text.is_empty()).then_some(text)
    }

    fn artifact_lines(&self) -> impl Iterator<Item = String> {
        self.artifacts.iter().map(|artifact| {
            let line = |text: &str| one_line(text, LINE_BYTES);
            let (id, name) = (line(&artifact.id), line(&artifact.name));
            format!("- {id}: {name} ({}), at {}", line(&artifact.kind), line(&artifact.content_ref))
        })
    }
}

/// Returns a list of todos as text, each with the id by which it can be changed.
pub fn todo_list(todos: &[Todo]) -> String {
    let done = todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    let lines = todos.iter().map(|todo| format!("\n{}", todo_line(todo)));
    lines.fold(format!("{done} of {} todos completed", todos.len()), |text, line| text + &line)
}

/// Reads a list as [`todo_list`] writes it: text and status of each todo. `None` for any other text.
pub fn read_todo_list(text: &str) -> Option<Vec<(String, String)>> {
    let mut lines = text.lines();
    let (done, rest) = lines.next()?.split_once(" of ")?;
    let count = rest.strip_suffix(" todos completed")?;
    done.parse::<usize>().ok().zip(count.parse::<usize>().ok())?;
    let todo = |line: &str| {
        let (id, rest) = line.split_once(". ")?;
        let (content, status) = rest.strip_suffix(')')?.rsplit_once(" (")?;
        id.parse::<u32>().ok().map(|_| (content.to_owned(), status.to_owned()))
    };
    Some(lines.map_while(todo).collect())
}

fn todo_line(todo: &Todo) -> String {
    format!("{}. {} ({})", todo.id, todo.content, todo.status.name())
}

/// A heading with at most so many of these lines under it; `None` without any.
fn list(heading: &str, most: usize, lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    let more = lines.len().saturating_sub(most);
    if lines.is_empty() {
        return None;
    }
    let shown = lines.into_iter().take(most).collect::<Vec<_>>().join("\n");
    let rest = if more > 0 { format!("\n[{more} more are not shown]") } else { String::new() };
    Some(format!("{heading}:\n{shown}{rest}"))
}

fn bounded(text: &str) -> String {
    match head(text, BRIEF_BYTES) {
        whole if whole.len() == text.len() => whole.to_owned(),
        start => format!("{start}\n[{} more bytes; read_scope returns all of it]", text.len() - start.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Artifact, Pin, Scope, ScopePatch};
    use super::*;

    fn scope() -> Scope {
        let mut scope = Scope::default();
        let todos = r#"{"plan":"First the lexer.","todos":[{"content":"lex","status":"completed"},{"content":"parse","status":"pending"}]}"#;
        let patch: ScopePatch = serde_json::from_str(todos).unwrap();
        scope.apply(patch);
        scope.pins.push(Pin { id: "p1".into(), text: "Rust 1.90".into() });
        scope.artifacts.push(Artifact {
            id: "a1".into(),
            name: "Grammar".into(),
            kind: "file".into(),
            content_ref: "grammar.pest".into(),
        });
        scope
    }

    #[test]
    fn brief_form_leaves_out_what_is_done() {
        assert_eq!(
            scope().brief().unwrap(),
            "Plan:\nFirst the lexer.\n\nOpen todos:\n2. parse (pending)\n\nPins:\n- Rust 1.90\n\nArtifacts:\n- a1: Grammar (file), \
             at grammar.pest"
        );
        assert_eq!(Scope::default().brief(), None);
        let mut done = Scope::default();
        let todos = r#"{"todos":[{"content":"lex","status":"completed"}]}"#;
        done.apply(serde_json::from_str(todos).unwrap());
        assert_eq!(done.brief().unwrap(), "Todos: all 1 completed");
    }

    #[test]
    fn whole_form_names_ids_and_empty_scope() {
        assert_eq!(
            scope().whole(),
            "Plan:\nFirst the lexer.\n\nTodos: 1 of 2 todos completed\n1. lex (completed)\n2. parse (pending)\n\nPins:\n- p1: \
             Rust 1.90\n\nArtifacts:\n- a1: Grammar (file), at grammar.pest"
        );
        assert!(Scope::default().whole().starts_with("[the work scope is empty"));
    }

    #[test]
    fn list_of_todos_is_read_back() {
        let todos = [("lex", "completed"), ("parse", "pending")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(read_todo_list(&todo_list(&scope().todos)).unwrap(), todos);
        assert_eq!(read_todo_list("the list is empty"), None);
    }

    #[test]
    fn brief_form_is_bounded() {
        let mut scope = scope();
        scope.plan = Some("é".repeat(BRIEF_BYTES).into());
        scope.artifacts = vec![scope.artifacts[0].clone(); BRIEF_ITEMS + 3];
        let text = scope.brief().unwrap();
        assert!(
            text.contains(&format!("[{BRIEF_BYTES} more bytes; read_scope returns all of it]")),
            "{text}"
        );
        assert!(text.ends_with("[3 more are not shown]"), "{text}");
    }
}
