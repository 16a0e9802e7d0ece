//! What background sessions share (source: 000): todos, a plan, pins and artifacts, under one name in one workspace.
//! Values and how they change; where they are kept is a store's.

use super::message::Text;
use serde::{Deserialize, Serialize};

/// What is shared under one name. A session without a work scope has one of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Rises with every change; 0 before the first.
    pub revision: u64,
    /// What is to do, in order.
    pub todos: Vec<Todo>,
    /// The plan, in words.
    pub plan: Option<Text>,
    /// What is never to be forgotten.
    pub pins: Vec<Pin>,
    /// What was made.
    pub artifacts: Vec<Artifact>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a todo is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TodoStatus {
    /// Nobody began.
    #[default]
    Pending,
    /// Somebody is at it.
    InProgress,
    /// It is done.
    Completed,
}

/// Something that is never to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Its id.
    pub id: String,
    /// Its words.
    pub text: Text,
}

/// Something that a session made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its id.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    /// What it is, in the client's words.
    pub kind: String,
    /// Where its content is, such as a path or an address.
    pub content_ref: String,
}

/// A change of a scope: what is not there stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopePatch {
    /// All todos.
    pub todos: Option<Vec<Todo>>,
    /// The plan; an empty one is none.
    pub plan: Option<Text>,
    /// All pins.
    pub pins: Option<Vec<Pin>>,
    /// Artifacts: one whose id is there takes its place, others are added.
    pub artifacts: Option<Vec<Artifact>>,
}

impl Scope {
    /// Takes a change in. Nothing happens where it says nothing new.
    pub fn apply(&mut self, patch: ScopePatch) {
        let before = self.clone();
        if let Some(todos) = patch.todos {
            self.todos = todos;
        }
        if let Some(plan) = patch.plan {
            self.plan = Some(plan).filter(|plan| !plan.is_empty());
        }
        if let Some(pins) = patch.pins {
            self.pins = pins;
        }
        for artifact in patch.artifacts.into_iter().flatten() {
            match self.artifacts.iter_mut().find(|known| known.id == artifact.id) {
                Some(known) => *known = artifact,
                None => self.artifacts.push(artifact),
            }
        }
        if *self != before {
            self.revision += 1;
        }
    }

    /// Whether there is something to do and all of it is done.
    pub fn is_done(&self) -> bool {
        !self.todos.is_empty() && self.todos.iter().all(|todo| todo.status == TodoStatus::Completed)
    }
}
