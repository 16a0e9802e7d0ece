//! Tasks: requests that one process stores and a process that serves the folder carries out, each as a background
//! session.

use crate::message::Content;
use crate::settings::GivenSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `task/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStartParams {
    /// Folder of the task, as a path or a `file:` URL.
    pub workspace_folder: String,
    /// Id of the session that the task runs for. At the end it gets a message of kind `process_completed`.
    pub session_id: String,
    /// Request of the task.
    pub content: Content,
    /// Settings of the task's session. Default model: the folder's, as set when the task begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
}

/// Result of `task/start`, sent once the task is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStartResult {
    /// Id of the task's session.
    pub session_id: String,
}

/// Parameters of `task/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskListParams {
    /// Folder of the session.
    pub workspace_folder: String,
    /// Id of the session that the tasks run for.
    pub session_id: String,
}

/// Result of `task/list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskListResult {
    /// Background sessions of the session that have a request, oldest first.
    pub tasks: Vec<Task>,
}

/// A stored background session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Id of the session.
    pub session_id: String,
    /// Title; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// State of the task.
    pub state: TaskState,
    /// Time of creation, ISO-8601, UTC.
    pub created_at: String,
}

/// The state of a background session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TaskState {
    /// Waits for a process that serves the folder and can ask the task's model.
    Waiting,
    /// A turn runs, or waits for a user.
    Running,
    /// The process that ran the turn has ended. The task is not restarted by itself.
    Interrupted,
    /// The turn ended.
    Completed,
    /// The turn was cancelled.
    Cancelled,
    /// The turn failed.
    Failed,
}
