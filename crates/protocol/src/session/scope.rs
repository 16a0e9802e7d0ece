//! What sessions share under a name in one workspace: todos, a plan, pins, artifacts; and what a user approved there once
//! and for all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is shared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Rises with every change; 0 before the first.
    pub revision: u64,
    /// What is to do, in order.
    pub todos: Vec<Todo>,
    /// The plan, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// What is never to be forgotten.
    pub pins: Vec<Pin>,
    /// What was made.
    pub artifacts: Vec<Artifact>,
}

/// Something to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// What.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
}

/// How far a todo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TodoStatus {
    /// Nobody began.
    Pending,
    /// Somebody is at it.
    InProgress,
    /// It is done.
    Completed,
}

/// Something that is never to be forgotten.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Its id.
    pub id: String,
    /// Its words.
    pub text: String,
}

/// Something that a session made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Parameters of `scope/get`. One of `sessionId` and `workScope` must be there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeGetParams {
    /// A session of the scope. One without a work scope has a scope of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The scope's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// The folder that the scope belongs to; the client's first one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
}

/// Parameters of `scope/put`. One of `sessionId` and `workScope` must be there; what else is missing stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopePutParams {
    /// A session of the scope. One without a work scope has a scope of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The scope's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// The folder that the scope belongs to; the client's first one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// All todos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// The plan; an empty one is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// All pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<Vec<Pin>>,
    /// Artifacts: one whose id is there takes its place, others are added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    /// Only where the scope has this revision; another one is the error StaleReference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_revision: Option<u64>,
}

/// Result of `scope/get` and `scope/put`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeResult {
    /// The scope's name.
    pub work_scope: String,
    /// What is shared now.
    pub scope: Scope,
}

/// Calls of a tool that a user approved once and for all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approved {
    /// The tool.
    pub tool: String,
    /// Which calls: `command=git *` are those whose argument `command` looks like `git *`, where `*` stands for any
    /// characters but those with which a shell begins another command, and `\` takes the next one as it is; `=` and
    /// arguments as JSON are those with these arguments exactly. All calls where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
}

/// Parameters of `tool/approvals`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalsParams {
    /// The folder; the client's first one where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Those that are taken back first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke: Option<Vec<Approved>>,
}

/// Result of `tool/approvals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalsResult {
    /// What is approved in this folder.
    pub approved: Vec<Approved>,
}
