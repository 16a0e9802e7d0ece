//! Tasks: requests that one process takes in and a process that serves the folder carries out, each as a background
//! session.

use crate::message::Content;
use crate::settings::GivenSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `task/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStartParams {
    /// The folder that the task belongs to, as a path or a `file:` address.
    pub workspace_folder: String,
    /// The session that it runs for; it is told of the end by a message of the kind `process_completed`.
    pub session_id: String,
    /// What is asked.
    pub content: Content,
    /// Settings of the task's session. Without a model here the folder's holds, as it is when the task begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
}

/// Result of `task/start`: it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStartResult {
    /// The task's session.
    pub session_id: String,
}

/// Parameters of `task/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskListParams {
    /// The folder that the session belongs to.
    pub workspace_folder: String,
    /// The session that they run for.
    pub session_id: String,
}

/// Result of `task/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskListResult {
    /// All background sessions of that one in which something was asked, the oldest first.
    pub tasks: Vec<Task>,
}

/// A background session, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// The session.
    pub session_id: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// How it stands.
    pub state: TaskState,
    /// When it was made, ISO-8601, UTC.
    pub created_at: String,
}

/// How a background session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    /// It waits for a process that serves its folder and can ask its model.
    Waiting,
    /// Its turn runs, or waits for a user.
    Running,
    /// The process that ran its turn is gone. It is not run again by itself.
    Interrupted,
    /// Its turn ended.
    Completed,
    /// Somebody stopped its turn.
    Cancelled,
    /// Its turn could not go on.
    Failed,
}
