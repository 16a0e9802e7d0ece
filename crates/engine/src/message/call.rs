//! Tool calls and their results: values only. `about` reads a call's subject from its arguments.

use super::{Content, Text};
use crate::id::CallId;
use crate::text::json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// A model's request to run a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique in the session.
    pub id: CallId,
    /// The source's own id, if that was empty or already in use and `id` had to be changed.
    pub source_id: Option<String>,
    /// The tool's name, as the model wrote it.
    pub name: Text,
    /// The arguments as JSON text, as the model wrote them; may be malformed.
    pub arguments: Text,
}

impl ToolCall {
    /// Creates a call under the source's id.
    pub fn new(id: &str, name: &str, arguments: &str) -> Self {
        Self { id: CallId::new(id), source_id: None, name: name.into(), arguments: arguments.into() }
    }

    /// The call as it ran: with the user's arguments, where the user changed them.
    pub fn as_run(&self, result: Option<&ToolResult>) -> Cow<'_, Self> {
        match result.and_then(|result| result.verdict.as_ref()?.arguments.clone()) {
            Some(arguments) => Cow::Owned(Self { arguments, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// `true` if the source gave the call an empty id, so that its own one is derived.
    pub fn is_repaired(&self) -> bool {
        self.source_id.as_deref() == Some("")
    }
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    /// The answered call, by the id in its source.
    pub call: String,
    /// Text and images that the tool returned.
    pub content: Vec<Content>,
    /// `true` if the tool reported a failure.
    pub is_error: bool,
    /// The exit code, if the tool stated one.
    pub exit_code: Option<i32>,
    /// Files that the tool changed.
    pub effects: Vec<Effect>,
    /// The user's decision about the call, if the user was asked. Neither shown to a model nor part of the
    /// hash, because an editor's copy of a message lacks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

impl ToolResult {
    /// Returns the user's words about a refused call, if the result states them. They are words of the user as those of
    /// any message are.
    pub fn user_words(&self) -> Option<&str> {
        let verdict = self.verdict.as_ref().filter(|verdict| !verdict.approved)?;
        let note = verdict.note.as_deref().filter(|note| !note.trim().is_empty())?;
        let is_stated = self.content.iter().filter_map(Content::text).any(|text| text.contains(note));
        is_stated.then_some(note)
    }
}

/// A user's decision about a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// `true` if the call may run.
    pub approved: bool,
    /// The user's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The arguments with which the user let it run, where those are not the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Text>,
}

impl Verdict {
    /// Creates a decision about a call as it is.
    pub fn new(approved: bool, note: Option<String>) -> Self {
        Self { approved, note, arguments: None }
    }
}

/// A file that a tool changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The path as the tool stated it.
    pub path: String,
    /// SHA-256 of the content after the change, lower-case hexadecimal.
    pub sha256: String,
}

/// Returns the values in a call's arguments as plain text, one per line, without keys and JSON escapes; the
/// text itself if it is not JSON.
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
