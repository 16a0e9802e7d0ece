//! Loops: stages that run in sequence in the background, each as a session of its own, in one work scope.

use crate::message::Content;
use crate::prompt::section::Section;
use crate::settings::GivenSettings;
use crate::tool::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `loop/start`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStartParams {
    /// Folder of the stages, as a path or a `file:` URL.
    pub workspace_folder: String,
    /// Stages in order, at least one. Each run of a stage is a session of its own.
    pub stages: Vec<Stage>,
    /// Session that the stages run for. It gets a message of kind `process_completed` whenever one comes to rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Name of the scope that the stages share. Default: the loop's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// Conditions that end the loop. Default: the default of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<LoopUntil>,
}

/// A stage of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Request of the stage. Must not be empty.
    pub content: Content,
    /// Title of the stage's sessions. Default: made from `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Tools to offer to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Sections before the messages, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// Settings of the stage's sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
}

/// The conditions that end a loop. A stage that fails or is cancelled ends it too; one that asks the user pauses it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopUntil {
    /// Tool that ends a turn and with it the loop. Default: `agent_finish`; an empty name stands for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// `true` ends the loop when there are todos and all are completed. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos_done: Option<bool>,
    /// Largest number of passes over all stages. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
}

/// Result of `loop/start`. Progress follows as `loop/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStartResult {
    /// Id of the loop, which lasts as long as this process. Its sessions are kept.
    pub loop_id: String,
    /// Name of the scope that the stages share.
    pub work_scope: String,
}

/// Parameters of `loop/stop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStopParams {
    /// Id of the loop. Fails with `StaleReference` if it does not run here.
    pub loop_id: String,
}

/// Result of `loop/stop`: the running stage is cancelled.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStopResult {}

/// Parameters of `loop/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopUpdatedParams {
    /// Id of the loop.
    pub loop_id: String,
    /// Status of the loop.
    pub status: LoopStatus,
    /// Index of the stage that runs or ran last, from 0.
    pub stage: u32,
    /// Number of its pass, from 1.
    pub pass: u32,
    /// Id of the stage's session.
    pub session_id: String,
}

/// The status of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LoopStatus {
    /// A stage runs.
    Running,
    /// A stage asks the user and continues with the answer.
    Waiting,
    /// Ended: a stage called the tool named in `until`.
    EndedByTool,
    /// Ended: all todos are completed.
    TodosDone,
    /// Ended: all passes are done.
    PassesDone,
    /// Ended: the loop or one of its stages was cancelled.
    Cancelled,
    /// Ended: a stage failed.
    Failed,
}
