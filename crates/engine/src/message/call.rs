//! A request of a model to run a tool, and what came of it: values only. What a call is about is read in `about`.

use super::{Content, Text};
use crate::id::CallId;
use crate::text::json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request of the model to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique in the session.
    pub id: CallId,
    /// The id in its source, where that one was used before.
    pub source_id: Option<String>,
    /// The tool's name.
    pub name: Text,
    /// The arguments as JSON text, as the model gave them; may be broken.
    pub arguments: Text,
}

impl ToolCall {
    /// A call under the id that its source gave it.
    pub fn new(id: &str, name: &str, arguments: &str) -> Self {
        Self { id: CallId::new(id), source_id: None, name: name.into(), arguments: arguments.into() }
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The call that it answers, by the id in its source.
    pub call: String,
    /// What the tool said.
    pub content: Vec<Content>,
    /// Whether the tool said that it failed.
    pub is_error: bool,
    /// The exit code, where the tool stated one.
    pub exit_code: Option<i32>,
    /// Files that it changed, with the SHA-256 of what they hold now.
    pub effects: Vec<Effect>,
    /// What the user decided about the call, where the user was asked. No model is shown it and it has no part in the
    /// hash: an editor's copy of a message does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// What a user decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Whether it may run.
    pub approved: bool,
    /// The user's words about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A file that a tool changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Its path.
    pub path: String,
    /// SHA-256 of its content after the change, lower-case hexadecimal.
    pub sha256: String,
}

/// The values in a call's arguments as plain text, without keys and without JSON's escapes; the text itself where it
/// is no JSON.
pub fn argument_values(arguments: &str) -> String {
    fn walk(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) => out.push(text.clone()),
            Value::Array(list) => list.iter().for_each(|value| walk(value, out)),
            Value::Object(map) => map.values().for_each(|value| walk(value, out)),
            other => out.push(other.to_string()),
        }
    }
    let Ok(value) = json::read(arguments) else { return arguments.to_owned() };
    let mut out = Vec::new();
    walk(&value, &mut out);
    out.join("\n")
}
