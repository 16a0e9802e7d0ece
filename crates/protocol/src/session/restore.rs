//! What a client persists with a turn and hands back, and what became of it: metadata in all the forms that document
//! 003 and its successors wrote, and the report.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Metadata of a turn. Persist all of it, unknown keys too, and hand it back unchanged with the turn. It is read
/// leniently: what cannot be read is reported by the restore and is never an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-lenient" = true))]
pub struct TurnMetadata {
    /// The newest summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryMetadata>,
    /// All summaries of the turn, oldest first. They are read before `summary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summaries: Option<Vec<SummaryMetadata>>,
    /// What the sidecar needs of compactions that annotate no round, because they only shortened results or dropped rounds,
    /// as one JSON list: opaque. Lists of several answers for one turn are joined into one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadhold: Option<String>,
    /// Keys of others, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A summary that stands for a round and everything before it. Without `toolCallRoundId` and `text` it marks a
/// summary that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-lenient" = true))]
pub struct SummaryMetadata {
    /// The round that it annotates.
    #[serde(default)]
    pub tool_call_round_id: String,
    /// The exact text that stands in the prompt.
    #[serde(default)]
    pub text: String,
    /// What the sidecar needs to render the same bytes again, as one JSON text: opaque.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threadhold: Option<String>,
    /// Keys of others, kept.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The key under which a value of the wrong kind is kept.
const UNREADABLE: &str = "unreadable";

impl TurnMetadata {
    /// Whether it came as something that is no metadata at all.
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

/// Takes a text out of an object; an absent one is nothing, another value stays where it is.
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

/// Our part, where somebody keeps it parsed.
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

impl From<Value> for TurnMetadata {
    fn from(value: Value) -> Self {
        let mut extra = object(value);
        let mut take = |key: &str| extra.shift_remove(key).filter(|value| !value.is_null());
        let summary = take("summary").map(SummaryMetadata::from);
        let summaries = take("summaries").map(|value| match value {
            Value::Array(list) => list.into_iter().map(SummaryMetadata::from).collect(),
            one => vec![SummaryMetadata::from(one)],
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

/// Where a session came from when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RestoreSource {
    /// There was nothing: it is new.
    New,
    /// The sidecar's own store.
    Store,
    /// The client's history.
    History,
    /// Both, matched.
    Both,
}

/// A summary that was not applied, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreEntry {
    /// The round that it names; empty where it names none.
    pub tool_call_round_id: String,
    /// Why, for people and logs.
    pub reason: String,
}

/// What opening a session did with what was there. Nothing fails in silence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreReport {
    /// Where the session came from.
    pub source: RestoreSource,
    /// Compactions that the client's metadata brought back, by id.
    pub restored: Vec<String>,
    /// Compactions that were there already.
    pub already: Vec<String>,
    /// Summaries whose source has changed since.
    pub stale: Vec<RestoreEntry>,
    /// Summaries of rounds that are not in the session.
    pub orphans: Vec<RestoreEntry>,
    /// Summaries that were given more than once.
    pub duplicates: Vec<RestoreEntry>,
    /// Entries that mark a failed summary, or that cannot be read.
    pub failures: Vec<RestoreEntry>,
    /// The session that keeps what the client's history no longer has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// Messages that left the session for the fork.
    pub truncated_messages: u32,
    /// Messages that the client's history brought.
    pub appended_messages: u32,
    /// Rows of the store that cannot be read: where they stood, and why. The rest is here.
    pub unreadable: Vec<String>,
    /// Everything else that a person may want to know.
    pub diagnostics: Vec<Diagnostic>,
}

/// Something that went otherwise than asked, and is no error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// A word for programs, such as `ignoredPart`.
    pub kind: String,
    /// What happened, for people.
    pub message: String,
}
