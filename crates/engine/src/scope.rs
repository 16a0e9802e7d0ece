//! Data shared by the sessions of a work scope: todos, plan, pins and artifacts. Values and how a patch is
//! applied; `shown` has their text for models. Permissions and storage are elsewhere.

mod shown;

pub use shown::{read_todo_list, todo_list};

use super::message::Text;
use serde::{Deserialize, Serialize};

/// A work scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scope {
    /// Incremented by each change.
    pub revision: u64,
    /// Todos in order.
    pub todos: Vec<Todo>,
    /// The plan, if any.
    pub plan: Option<Text>,
    /// Texts that stay in every prompt.
    pub pins: Vec<Pin>,
    /// Results of the work.
    pub artifacts: Vec<Artifact>,
    /// The highest id that a todo ever had, so that no id comes to mean another todo.
    #[serde(skip_serializing_if = "is_zero")]
    pub numbered: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A task to do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// The number of the todo in its scope, from 1; 0 for one that has none yet.
    #[serde(default)]
    pub id: u32,
    /// The task's text.
    pub content: String,
    /// The progress.
    pub status: TodoStatus,
}

/// The progress of a todo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TodoStatus {
    /// Not yet begun.
    #[default]
    Pending,
    /// In progress. Models also write it with an underscore.
    #[serde(alias = "in_progress")]
    InProgress,
    /// Completed.
    Completed,
}

/// A text that stays in every prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Unique in the scope.
    pub id: String,
    /// The text, verbatim.
    pub text: Text,
}

/// A result of the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique in the scope.
    pub id: String,
    /// The name, for people.
    pub name: String,
    /// The kind, in its author's words.
    pub kind: String,
    /// The location of the content: a message's id, a path or a URI.
    pub content_ref: String,
}

/// A change of single todos. Each is applied to the list as it is then, so that sessions do not undo each other's
/// changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TodoChange {
    /// Texts of todos to append. A text that an open todo has is not added again.
    pub add: Vec<String>,
    /// Changes of known todos. Unknown ids are skipped.
    pub update: Vec<TodoUpdate>,
    /// Ids of todos to remove.
    pub remove: Vec<u32>,
}

/// The new values of a todo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TodoUpdate {
    /// The id of the todo.
    pub id: u32,
    /// The new text; `None` keeps it.
    #[serde(default)]
    pub content: Option<String>,
    /// The new progress; `None` keeps it.
    #[serde(default)]
    pub status: Option<TodoStatus>,
}

/// A change of a scope. Missing fields stay unchanged, present ones replace the whole field; artifacts are
/// merged by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScopePatch {
    /// Replaces the todos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// Changes single todos, after the replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todo_change: Option<TodoChange>,
    /// Replaces the plan; an empty text removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Text>,
    /// Replaces the pins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pins: Option<Vec<Pin>>,
    /// Replaces artifacts of the same id and appends others, because several sessions create them concurrently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
}

impl From<Scope> for ScopePatch {
    /// Replaces everything that a scope has by what this one has.
    fn from(scope: Scope) -> Self {
        Self {
            todos: Some(scope.todos),
            plan: scope.plan,
            pins: Some(scope.pins),
            artifacts: Some(scope.artifacts),
            ..Self::default()
        }
    }
}

impl TodoStatus {
    /// Returns the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "inProgress",
            Self::Completed => "completed",
        }
    }
}

impl Scope {
    /// Applies a patch and returns `true` if anything changed; only then the revision is incremented.
    pub fn apply(&mut self, patch: ScopePatch) -> bool {
        let mut next = self.clone();
        if let Some(todos) = patch.todos {
            next.replace_todos(todos);
        }
        if let Some(change) = patch.todo_change {
            next.change_todos(change);
        }
        next.number_todos();
        next.plan = patch.plan.or(next.plan).filter(|plan| !plan.is_empty());
        next.pins = patch.pins.unwrap_or(next.pins);
        for artifact in patch.artifacts.into_iter().flatten() {
            match next.artifacts.iter_mut().find(|known| known.id == artifact.id) {
                Some(known) => *known = artifact,
                None => next.artifacts.push(artifact),
            }
        }
        let is_changed = next != *self;
        next.revision = self.revision.saturating_add(u64::from(is_changed));
        *self = next;
        is_changed
    }

    /// Replaces all todos. One without an id keeps the id of a known todo of the same text.
    fn replace_todos(&mut self, todos: Vec<Todo>) {
        let mut known = std::mem::replace(&mut self.todos, todos);
        let given: Vec<u32> = self.todos.iter().map(|todo| todo.id).collect();
        known.retain(|todo| !given.contains(&todo.id));
        for todo in self.todos.iter_mut().filter(|todo| todo.id == 0) {
            if let Some(at) = known.iter().position(|known| known.content == todo.content) {
                todo.id = known.swap_remove(at).id;
            }
        }
    }

    fn change_todos(&mut self, change: TodoChange) {
        for update in change.update {
            if let Some(todo) = self.todos.iter_mut().find(|todo| todo.id == update.id) {
                todo.content = update.content.unwrap_or_else(|| std::mem::take(&mut todo.content));
                todo.status = update.status.unwrap_or(todo.status);
            }
        }
        self.todos.retain(|todo| !change.remove.contains(&todo.id));
        for content in change.add {
            let is_there = |todo: &Todo| todo.content == content && todo.status != TodoStatus::Completed;
            if !self.todos.iter().any(is_there) {
                self.todos.push(Todo { content, ..Todo::default() });
                self.number_todos();
            }
        }
    }

    /// Gives each todo an id of its own: those stored by older versions and new ones have none.
    pub fn number_todos(&mut self) {
        let mut taken: Vec<u32> = Vec::new();
        let highest = self.todos.iter().map(|todo| todo.id).max().unwrap_or_default();
        self.numbered = self.numbered.max(highest);
        for todo in &mut self.todos {
            if todo.id == 0 || taken.contains(&todo.id) {
                self.numbered = self.numbered.saturating_add(1);
                todo.id = self.numbered;
            }
            taken.push(todo.id);
        }
    }

    /// `true` if there are todos and all of them are completed.
    pub fn is_done(&self) -> bool {
        !self.todos.is_empty() && self.todos.iter().all(|todo| todo.status == TodoStatus::Completed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(json: &str) -> ScopePatch {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn only_effective_patches_increment_the_revision() {
        let mut scope = Scope::default();
        assert!(scope.apply(patch(
            r#"{"todos":[{"content":"a","status":"in_progress"}],"plan":"p","pins":[{"id":"1","text":"t"}]}"#
        )));
        let artifacts = r#"{"artifacts":[{"id":"x","name":"n","kind":"report","contentRef":"s/m1"}]}"#;
        assert!(scope.apply(patch(artifacts)));
        assert!(!scope.apply(patch(artifacts)));
        assert!(!scope.apply(patch("{}")));
        assert_eq!(scope.revision, 2);
        assert_eq!(scope.todos, [Todo { id: 1, content: "a".into(), status: TodoStatus::InProgress }]);
        assert!(scope.apply(patch(r#"{"plan":"","todos":[]}"#)));
        assert_eq!((scope.plan.as_deref(), scope.todos.len(), scope.pins.len()), (None, 0, 1));
    }

    #[test]
    fn single_todos_change_without_the_rest_of_the_list() {
        let mut scope = Scope::default();
        let said = |scope: &Scope| -> Vec<String> {
            let todos = scope.todos.iter();
            todos.map(|todo| format!("{} {} {}", todo.id, todo.content, todo.status.name())).collect()
        };
        assert!(scope.apply(patch(r#"{"todoChange":{"add":["a","b","c"]}}"#)));
        assert!(scope.apply(patch(
            r#"{"todoChange":{"update":[{"id":2,"status":"completed"},{"id":9,"content":"x"}],"remove":[1],"add":["c","b"]}}"#
        )));
        // An open todo is not added twice, and no id is used for another todo.
        assert_eq!(said(&scope), ["2 b completed", "3 c pending", "4 b pending"]);
        assert!(scope.apply(patch(r#"{"todoChange":{"update":[{"id":3,"content":"d"}]}}"#)));
        assert_eq!(said(&scope), ["2 b completed", "3 d pending", "4 b pending"]);
        assert!(!scope.apply(patch(r#"{"todoChange":{"add":["d"],"remove":[7]}}"#)));
        assert!(scope.apply(patch(
            r#"{"todos":[{"content":"e","status":"pending"},{"content":"d","status":"inProgress"}]}"#
        )));
        assert_eq!(said(&scope), ["5 e pending", "3 d inProgress"]);
    }

    #[test]
    fn scope_and_patch_survive_json_round_trip() {
        let mut scope = Scope::default();
        let change = patch(r#"{"plan":"","todos":[{"content":"a","status":"completed"}]}"#);
        scope.apply(change.clone());
        let json = serde_json::to_string(&scope).unwrap();
        assert_eq!(serde_json::from_str::<Scope>(&json).unwrap(), scope);
        assert_eq!(serde_json::from_str::<Scope>("{}").unwrap(), Scope::default());
        assert_eq!(patch(&serde_json::to_string(&change).unwrap()), change);
    }
}
