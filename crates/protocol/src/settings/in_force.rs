//! A setting in force, with who set it. What settings there are is in the file above.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where the value of a setting comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SettingSource {
    /// Nobody set it.
    BuiltIn,
    /// The policy.
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
    /// Its name, such as `roundLimit` or `triggers.messages`.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Who set it.
    pub source: SettingSource,
    /// The file, the variable or the flag that it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}
