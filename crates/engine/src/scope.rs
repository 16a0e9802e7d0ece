//! Data shared by the sessions of a work scope: todos, plan, pins and artifacts. Values and how a patch is
//! applied; permissions and storage are elsewhere.

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
}

/// A task to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
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

/// A change of a scope. Missing fields stay unchanged, present ones replace the whole field; artifacts are
/// merged by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScopePatch {
    /// Replaces the todos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
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
        next.todos = patch.todos.unwrap_or(next.todos);
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
        assert_eq!(scope.todos, [Todo { content: "a".into(), status: TodoStatus::InProgress }]);
        assert!(scope.apply(patch(r#"{"plan":"","todos":[]}"#)));
        assert_eq!((scope.plan.as_deref(), scope.todos.len(), scope.pins.len()), (None, 0, 1));
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
