//! Metadata that a client persists with a turn and hands back, in all forms that earlier versions wrote, and the report
//! of a restore.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Metadata of a turn. Persist all of it with the turn, unknown keys included, and hand it back unchanged. Reading is
/// lenient: unreadable values are reported by the restore and never fail a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-lenient" = true))]
pub struct TurnMetadata {
    /// Newest summary of the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryMetadata>,
    /// All summaries of the turn, oldest first. `summary` is read only if this is absent or empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<Vec<SummaryMetadata>>,
    /// Opaque data of compactions that annotate no round, because they only shortened results or dropped rounds: a JSON
    /// list as text. Join the lists of several answers for one turn into one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadhold: Option<String>,
    /// Keys of other programs, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A summary that stands for a round and everything before it. Without `toolCallRoundId` and `text` it marks a failed
/// summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-lenient" = true))]
pub struct SummaryMetadata {
    /// Id of the round that the summary annotates.
    #[serde(default)]
    pub tool_call_round_id: String,
    /// Exact text in the prompt.
    #[serde(default)]
    pub text: String,
    /// Opaque data from which the sidecar renders the same bytes again: JSON as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadhold: Option<String>,
    /// Keys of other programs, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Key under which a value that is no object is kept.
const UNREADABLE: &str = "unreadable";

impl TurnMetadata {
    /// Returns `true` if the value received was no object.
    pub fn is_unreadable(&self) -> bool {
        self.extra.contains_key(UNREADABLE)
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null => Map::new(),
        other => Map::from_iter([(UNREADABLE.to_owned(), other)]),
    }
}

/// Takes a text out of an object. Null counts as absent; a value of another kind stays where it is.
fn take_text(map: &mut Map<String, Value>, key: &str) -> Option<String> {
    match map.get(key) {
        Some(Value::String(_)) => match map.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        Some(Value::Null) => map.shift_remove(key).and(None),
        _ => None,
    }
}

/// Takes out the sidecar's own data if a client stored it as parsed JSON, and makes it text again.
fn parsed(map: &mut Map<String, Value>) -> Option<String> {
    map.get("threadhold").filter(|value| value.is_object() || value.is_array())?;
    map.shift_remove("threadhold").map(|value| value.to_string())
}

impl From<Value> for SummaryMetadata {
    fn from(value: Value) -> Self {
        let mut extra = object(value);
        Self {
            tool_call_round_id: take_text(&mut extra, "toolCallRoundId").unwrap_or_default(),
            text: take_text(&mut extra, "text").unwrap_or_default(),
            threadhold: take_text(&mut extra, "threadhold").or_else(|| parsed(&mut extra)),
            extra,
        }
    }
}

/// Reads a summary, or an object with the texts of several by the ids of their rounds or turns. Not within a list:
/// there, an object of other keys is the mark of a failed summary.
fn summaries(value: Value) -> Vec<SummaryMetadata> {
    let is_by_id = |map: &Map<String, Value>| {
        let known = ["toolCallRoundId", "text", "threadhold"];
        !map.is_empty()
            && !known.iter().any(|key| map.contains_key(*key))
            && map.values().all(|value| value.is_string())
    };
    match value {
        Value::Object(map) if is_by_id(&map) => map
            .into_iter()
            .map(|(id, text)| SummaryMetadata {
                tool_call_round_id: id,
                text: text.as_str().unwrap_or_default().to_owned(),
                ..SummaryMetadata::default()
            })
            .collect(),
        one => vec![SummaryMetadata::from(one)],
    }
}

impl From<Value> for TurnMetadata {
    fn from(value: Value) -> Self {
        let mut extra = object(value);
        let mut take = |key: &str| extra.shift_remove(key).filter(|value| !value.is_null());
        let summary = take("summary").map(SummaryMetadata::from);
        let summaries = take("summaries").map(|value| match value {
            Value::Array(list) => list.into_iter().map(SummaryMetadata::from).collect(),
            other => summaries(other),
        });
        let threadhold = take_text(&mut extra, "threadhold").or_else(|| parsed(&mut extra));
        Self { summary, summaries, threadhold, extra }
    }
}

impl<'de> Deserialize<'de> for SummaryMetadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}

impl<'de> Deserialize<'de> for TurnMetadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}

/// The origin of an opened session's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RestoreSource {
    /// None: the session is new.
    New,
    /// The sidecar's store.
    Store,
    /// The client's history.
    History,
    /// Both, matched with each other.
    Both,
}

/// A summary that was not applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreEntry {
    /// Id of the round that the summary names; empty if it names none.
    pub tool_call_round_id: String,
    /// Reason, for people and logs.
    pub reason: String,
}

/// The outcome of opening a session: what was restored, and everything that could not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// Origin of the session's content.
    pub source: RestoreSource,
    /// Ids of compactions restored from the client's metadata.
    pub restored: Vec<String>,
    /// Ids of compactions that the session already had.
    pub already: Vec<String>,
    /// Summaries whose source has changed since.
    pub stale: Vec<RestoreEntry>,
    /// Summaries of rounds that are not in the session.
    pub orphans: Vec<RestoreEntry>,
    /// Summaries given more than once, or covered by a newer one.
    pub duplicates: Vec<RestoreEntry>,
    /// Entries that mark a failed summary or cannot be read. One whose `threadhold` alone cannot be read is restored from
    /// its round and text, and is in `restored` too.
    pub failures: Vec<RestoreEntry>,
    /// Id of the revision that keeps what the client's history no longer has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Number of messages that only the revision keeps.
    pub truncated_messages: u32,
    /// Number of messages added from the client's history.
    pub appended_messages: u32,
    /// Rows of the store that cannot be read, each with its place and the reason. The rest is in the session, with a note
    /// in the place of each unreadable message.
    pub unreadable: Vec<String>,
    /// Other remarks for people.
    pub diagnostics: Vec<Diagnostic>,
}

/// A deviation from the request that is not an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Identifier for programs, such as `ignoredPart`.
    pub kind: String,
    /// Explanation for people.
    pub message: String,
}
