//! Loops: stages that run one after the other in the background, each as a session of its own, in one work scope.

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
    /// The folder that the stages belong to, as a path or a `file:` address.
    pub workspace_folder: String,
    /// The stages in their order. Each run of one is a session of its own.
    pub stages: Vec<Stage>,
    /// The session that the stages run for; it is told of each end by a message of the kind `process_completed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The name of what the stages share. Default: the loop's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// When it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<LoopUntil>,
}

/// A stage of a loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// What is asked.
    pub content: Content,
    /// The title of its sessions; made of what is asked where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The tools that its model is told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// What stands before its messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// Settings of its sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
}

/// When a loop is over. A stage that fails or is stopped ends it too; one that asks the user is waited for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopUntil {
    /// A tool that ends a turn and by which a stage ends the loop. Default: `agent_finish`; an empty name is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Whether it is over when something was to do and all of it is done. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos_done: Option<bool>,
    /// How often all stages run at most. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
}

/// Result of `loop/start`. What becomes of it comes as `loop/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStartResult {
    /// The loop. It lives as long as this process does; its sessions are kept.
    pub loop_id: String,
    /// The name of what the stages share.
    pub work_scope: String,
}

/// Parameters of `loop/stop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStopParams {
    /// The loop.
    pub loop_id: String,
}

/// Result of `loop/stop`: the stage that ran was stopped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopStopResult {}

/// Parameters of `loop/updated`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopUpdatedParams {
    /// The loop.
    pub loop_id: String,
    /// How it stands.
    pub status: LoopStatus,
    /// The stage that runs or ran last, from 0.
    pub stage: u32,
    /// The pass that it belongs to, from 1.
    pub pass: u32,
    /// The session of that stage.
    pub session_id: String,
}

/// How a loop stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LoopStatus {
    /// A stage runs.
    Running,
    /// A stage asks the user, and goes on when there is an answer.
    Waiting,
    /// It is over: a stage called the tool that ends it.
    EndedByTool,
    /// It is over: all that was to do is done.
    TodosDone,
    /// It is over: all stages ran as often as they may.
    PassesDone,
    /// It is over: somebody stopped it, or one of its stages.
    Cancelled,
    /// It is over: a stage could not go on.
    Failed,
}
