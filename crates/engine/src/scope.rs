//! What sessions of one work scope share: todos, plan text, pins and artifacts. Values and how a change is
//! applied; who may change them and where they are stored is told elsewhere.

use super::message::Text;
use serde::{Deserialize, Serialize};

/// A work scope.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Scope {
    /// Rises with each change.
    pub revision: u64,
    /// What is to do, in order.
    pub todos: Vec<Todo>,
    /// The plan, where there is one.
    pub plan: Option<Text>,
    /// Texts that stay in every prompt.
    pub pins: Vec<Pin>,
    /// What was made.
    pub artifacts: Vec<Artifact>,
}

/// Something that is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a todo is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TodoStatus {
    /// Nobody began.
    #[default]
    Pending,
    /// Somebody is at it. Models write it with an underscore, too.
    #[serde(alias = "in_progress")]
    InProgress,
    /// It is done.
    Completed,
}

/// A text that stays in every prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Its id.
    pub id: String,
    /// The text.
    pub text: Text,
}

/// Something that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its id.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it is, in the words of who made it.
    pub kind: String,
    /// Where its content is: a message's id, a path or an address.
    pub content_ref: String,
}

/// A change of a scope: what is not named stays, what is named is replaced whole, but for artifacts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScopePatch {
    /// Other todos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// Another plan; an empty one takes it away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Text>,
    /// Other pins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pins: Option<Vec<Pin>>,
    /// Artifacts: one whose id is there takes its place, others are added. Several sessions make them side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
}

impl TodoStatus {
    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "inProgress",
            Self::Completed => "completed",
        }
    }
}

impl Scope {
    /// Applies a change; whether anything is another than before. Only then the revision rises.
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

    /// Whether there is something to do and all of it is done.
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
    fn a_patch_replaces_what_it_names_and_the_revision_rises_with_a_change_only() {
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
    fn a_scope_and_a_patch_survive_their_json() {
        let mut scope = Scope::default();
        let change = patch(r#"{"plan":"","todos":[{"content":"a","status":"completed"}]}"#);
        scope.apply(change.clone());
        let json = serde_json::to_string(&scope).unwrap();
        assert_eq!(serde_json::from_str::<Scope>(&json).unwrap(), scope);
        assert_eq!(serde_json::from_str::<Scope>("{}").unwrap(), Scope::default());
        assert_eq!(patch(&serde_json::to_string(&change).unwrap()), change);
    }
}
