//! A setting in force and the place that its value comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The place that a setting's value comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SettingSource {
    /// Built in: not set anywhere.
    BuiltIn,
    /// The policy of compaction.
    Policy,
    /// The user's file.
    UserFile,
    /// The workspace's file.
    WorkspaceFile,
    /// The environment.
    Environment,
    /// `initialize`.
    Initialize,
    /// `workspace/didChangeConfiguration`.
    DidChangeConfiguration,
    /// `session/open` or `session/configure`.
    Session,
    /// A flag of the command line.
    Flag,
    /// The request itself.
    Request,
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingInForce {
    /// Name of the setting, such as `roundLimit` or `triggers.messages`.
    pub name: String,
    /// Value of the setting.
    pub value: Value,
    /// Place that the value comes from.
    pub source: SettingSource,
    /// File, variable or flag that sets the value; absent for other places.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}
