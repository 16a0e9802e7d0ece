//! Messages and their parts, as both sides send them. Not how a prompt is made of them.

use crate::unknown::unknown;
pub use engine::message::Usage;
pub use engine::search::Speaker as Role;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// What a client gives as content: a text, or a list of parts. It is always given back as a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Content(pub Vec<Part>);

impl Content {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::Text { text: text.into() }])
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a text or a list of parts")]
        enum Given {
            Text(String),
            Parts(Vec<Part>),
        }
        Ok(match Given::deserialize(from)? {
            Given::Text(text) => Self::text(text),
            Given::Parts(parts) => Self(parts),
        })
    }
}

impl JsonSchema for Content {
    fn schema_name() -> Cow<'static, str> {
        "Content".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a client gives as content: a text, or a list of parts. It is always given back as a list.",
            "anyOf": [{ "type": "string" }, generator.subschema_for::<Vec<Part>>()]
        })
    }
}

/// The kinds of [`Part`].
pub const PARTS: &[&str] =
    &["text", "image", "resource", "contextFile", "attachment", "reasoning", "toolCall", "toolResult", "raw"];

/// A part of a message. A receiver ignores kinds that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text, byte for byte.
        text: String,
    },
    /// A picture.
    Image {
        /// Such as `image/png`.
        media_type: String,
        /// Base64 data, or an address.
        data: String,
    },
    /// Something with an address, given with its text.
    Resource {
        /// Its address.
        uri: String,
        /// Its text.
        text: String,
    },
    /// A file that stands beside a message as context.
    ContextFile {
        /// Its path, as the editor names it.
        path: String,
        /// Its text.
        text: String,
    },
    /// What was so when a user's message was made, such as the open files or the date. A prompt shows it as text.
    Attachment {
        /// What it is.
        name: String,
        /// Its text.
        text: String,
    },
    /// A model's thinking. Only in assistant messages.
    Reasoning {
        /// The thinking; may be empty where the provider gives a signature only.
        text: String,
        /// The provider's signature, opaque.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// What else the provider's block holds, as it came: its type where it is not `thinking`, its index, its id,
        /// data that only the provider can read. `madeBy` is the sidecar's own: the wire and the model that the block is
        /// from, for no other one can use it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<Map<String, Value>>,
    },
    /// A model's request to run a tool. Only in assistant messages.
    ToolCall {
        /// Unique in the session; the sidecar changes an id that was used before.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as JSON text.
        arguments: Arguments,
        /// The id in its source, where the sidecar changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_id: Option<String>,
    },
    /// What a tool answered. Only in tool messages.
    ToolResult {
        /// The call that it answers.
        tool_call_id: String,
        /// What the tool said.
        content: Content,
        /// Whether the tool failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// The exit code, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Files that it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effects: Option<Vec<Effect>>,
    },
    /// A block that a provider made by itself, in the form of its own wire. Only in assistant messages.
    Raw {
        /// The block as the provider had it. `madeBy` is the sidecar's own: the wire and the model that it is from.
        wire: Value,
    },
    /// A kind that is not known here.
    #[serde(untagged)]
    Unknown(UnknownPart),
}

unknown! {
    /// A part of a kind that is not known here, as it came.
    UnknownPart, "type", PARTS
}

/// The arguments of a call: JSON text as the model wrote it, which may be broken. An object is taken too and becomes
/// its compact text.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Arguments(pub String);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::String(text) => Ok(Self(text)),
            object @ Value::Object(_) => Ok(Self(object.to_string())),
            _ => Err(Error::custom("expected JSON text or an object")),
        }
    }
}

impl JsonSchema for Arguments {
    fn schema_name() -> Cow<'static, str> {
        "Arguments".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The arguments of a call: JSON text as the model wrote it, which may be broken. An object is taken too; what the sidecar sends is always text.",
            "anyOf": [{ "type": "string" }, { "type": "object", "additionalProperties": true }]
        })
    }
}

/// A file that a tool changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// Its path.
    pub path: String,
    /// SHA-256 of its content after the change, lower-case hexadecimal.
    pub sha256: String,
}

/// A message of a session, as the sidecar shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its id, made by the sidecar.
    pub id: String,
    /// The id that the editor or the source uses for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Its position in the session, from 0; never used again for another message.
    pub ord: u32,
    /// Its version; a change makes a new one.
    pub rev: u32,
    /// The turn it belongs to.
    pub turn_id: String,
    /// Who says it.
    pub role: Role,
    /// What it says. A tool message holds exactly one `toolResult`.
    pub parts: Vec<Part>,
    /// What a message of role `event` records, such as `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether a model may ever see it.
    #[serde(default = "yes")]
    pub visible_to_model: bool,
    /// When it was said, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// How much of a large result the model sees; missing where it sees all of it. The parts here are whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// Its size in tokens, with the overhead of a message, as a prompt shows it that nothing compacted.
    pub tokens: u32,
    /// What a model's answer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where a model's answer has its words from, each in the form of the provider's own wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// What a client keeps with a model's answer. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// How much of a large result a model sees: its head and its tail, with a line between them that says how the rest is
/// fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// Bytes of the head.
    pub head_bytes: u32,
    /// Bytes of the tail.
    pub tail_bytes: u32,
}

/// A message as a client gives it. Every [`Message`] is one; ids and sizes of the sidecar are not read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageInput {
    /// The id that the editor or the source uses for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Who says it.
    pub role: Role,
    /// What it says. A tool message may hold several `toolResult` parts; each becomes a message of its own.
    #[serde(alias = "content")]
    pub parts: Content,
    /// What a message of role `event` records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether a model may ever see it. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_to_model: Option<bool>,
    /// When it was said, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// What the model's answer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where the model's answer has its words from, each in the form of the provider's own wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// What the client keeps with the model's answer. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// What a model answered, as a client gives it within a round. A whole message of role `assistant` is one too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantInput {
    /// The id that the editor uses for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Text, thinking and tool calls in their order. `content` is taken as its name too.
    #[serde(alias = "content")]
    pub parts: Content,
    /// When it was said, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// What the model's answer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Where the model's answer has its words from, each in the form of the provider's own wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// What the client keeps with the model's answer. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

fn yes() -> bool {
    true
}
