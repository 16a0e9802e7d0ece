//! State that sessions of a workspace share under a name (todos, a plan, pins, artifacts), and the user's permanent
//! approvals there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state that sessions share.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Revision number, which grows with each change; 0 before the first.
    pub revision: u64,
    /// Todos, in order.
    pub todos: Vec<Todo>,
    /// Plan, as text; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Pinned texts.
    pub pins: Vec<Pin>,
    /// Artifacts of the sessions.
    pub artifacts: Vec<Artifact>,
}

/// A todo.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Todo {
    /// Number of the todo in its scope, by which single todos are changed. Given by the sidecar; a todo that is put
    /// without one keeps the number of a known todo of the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Text of the todo.
    pub content: String,
    /// Progress of the todo.
    pub status: TodoStatus,
}

/// The progress of a todo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TodoStatus {
    /// Not started.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
}

/// A pinned text. Unlike the pins of `context/pin`, it is shown with the requests of each session that shares the scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pin {
    /// Id of the pin.
    pub id: String,
    /// Text of the pin.
    pub text: String,
}

/// A result of a session, such as a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Id of the artifact.
    pub id: String,
    /// Name, for people.
    pub name: String,
    /// Kind of the artifact, in the client's words.
    pub kind: String,
    /// Place of the content, such as a path or a URL.
    pub content_ref: String,
}

/// Parameters of `scope/get`. One of `sessionId` and `workScope` is required.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeGetParams {
    /// Session of the scope; one without a work scope has its own. Fails with `UnknownSession` if it is not open here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Name of the scope. Ignored if `sessionId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// Folder of the scope. Ignored if `sessionId` is given. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
}

/// Parameters of `scope/put`. One of `sessionId` and `workScope` is required; other absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopePutParams {
    /// Session of the scope; one without a work scope has its own. Fails with `UnknownSession` if it is not open here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Name of the scope. Ignored if `sessionId` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// Folder of the scope. Ignored if `sessionId` is given. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// All todos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<Vec<Todo>>,
    /// Plan; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// All pins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pins: Option<Vec<Pin>>,
    /// Artifacts to add, or to replace by id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    /// Revision that the scope must have. Fails with `StaleReference` if it has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_revision: Option<u64>,
}

/// Result of `scope/get` and `scope/put`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScopeResult {
    /// Name of the scope.
    pub work_scope: String,
    /// Content of the scope.
    pub scope: Scope,
}

/// Calls of a tool that a user always allows, or always rejects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StandingDecision {
    /// Name of the tool.
    pub tool: String,
    /// Calls that are meant; absent for all calls. `command=git *` matches calls whose argument `command` matches
    /// `git *`, where `*` stands for any characters, in an approval except those with which a shell begins another
    /// command, and `\` escapes the next one. `command^=cargo test` matches command lines by words: an approval if every
    /// command of the line begins as some approval says, a rejection if any does. `=` and arguments as JSON match calls
    /// with exactly these arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// `true` if these calls are rejected. Ignored when they are revoked. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<bool>,
}

/// Parameters of `tool/approvals`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalsParams {
    /// Folder of the decisions. Default: the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Session whose own approvals are meant, those of `allowForSession`, instead of the folder's. It must be open here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Approvals and rejections to revoke before the list is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke: Option<Vec<StandingDecision>>,
    /// Approvals and rejections to add after that. Each replaces one of the same calls. A session has no rejections of its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub add: Option<Vec<StandingDecision>>,
}

/// Result of `tool/approvals`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolApprovalsResult {
    /// Permanent approvals and rejections of the folder, or the approvals of the session.
    pub decisions: Vec<StandingDecision>,
}
