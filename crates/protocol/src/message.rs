//! Messages and their parts, as both sides send them. The engine renders them into prompts.

use crate::unknown::unknown;
pub use engine::message::Usage;
pub use engine::search::Speaker as Role;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Data that a client attaches to a message or a part, under names of its own. It comes back with it.
pub type Meta = Map<String, Value>;

/// Content as a client gives it: a string, or a list of parts. The sidecar always sends a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Content(pub Vec<Part>);

impl Content {
    /// Creates content of a single text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::text(text)])
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected a string or a list of parts")]
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

/// The known kinds of [`Part`].
pub const PARTS: &[&str] = &[
    "text",
    "image",
    "resource",
    "resourceLink",
    "contextFile",
    "attachment",
    "reasoning",
    "toolCall",
    "toolResult",
    "raw",
];

/// A part of a message. Ignore parts of an unknown kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Part {
    /// Plain text.
    Text {
        /// Text, byte for byte.
        text: String,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// A picture.
    Image {
        /// MIME type, such as `image/png`.
        mime_type: String,
        /// Base64 data, or a URL.
        data: String,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// The text of a resource with a URI.
    Resource {
        /// URI of the resource.
        uri: String,
        /// Text of the resource.
        text: String,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// A reference to a resource, without its content. Prompts show it as a line of text.
    ResourceLink {
        /// URI of the resource.
        uri: String,
        /// Name of the resource.
        name: String,
        /// Title for people. Default: the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// Content of the resource in a few words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// MIME type of the content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// Size of the content, in bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<u64>,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// A file given with a message as context.
    ContextFile {
        /// Path of the file, as the editor names it. A `file:` URI is accepted too and becomes its path.
        path: String,
        /// Text of the file.
        text: String,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// Background captured with a user's message, such as the open files or the date. Prompts show it as text.
    Attachment {
        /// Name of the attachment.
        name: String,
        /// Text of the attachment.
        text: String,
    },
    /// A model's thinking. Only in assistant messages.
    Reasoning {
        /// Text of the thinking; may be empty if the provider gives only a signature.
        text: String,
        /// Provider's signature, opaque.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// Rest of the provider's block as received: its type if that is not `thinking`, its index, its id, data that
        /// only the provider can read. The sidecar adds `madeBy`: the wire and model of the block, since no other can
        /// use it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<Map<String, Value>>,
    },
    /// A model's request to run a tool. Only in assistant messages.
    ToolCall {
        /// Id, unique in the session. The sidecar replaces an id that was used before.
        id: String,
        /// Name of the tool.
        name: String,
        /// Arguments as JSON text.
        arguments: Arguments,
        /// Original id, if the sidecar replaced it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source_id: Option<String>,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// The result of a tool call. Only in tool messages.
    ToolResult {
        /// Id of the call.
        tool_call_id: String,
        /// Content of the result.
        content: Content,
        /// `true` if the tool failed. Default: false.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// Exit code, if the tool has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Files that the tool changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effects: Option<Vec<Effect>>,
        /// Arguments with which the call ran, where the user changed those of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Arguments>,
        /// Data that a client attached. No model sees it.
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// A block that the provider made itself, such as a search result, in its wire's form. Only in assistant messages.
    Raw {
        /// Block as the provider sent it. The sidecar adds `madeBy`: the wire and model of the block.
        wire: Value,
    },
    /// A part of an unknown kind.
    #[serde(untagged)]
    Unknown(UnknownPart),
}

/// The text in parts of a message, without what stands between them.
pub fn texts(parts: &[Part]) -> String {
    let text = |part: &Part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    parts.iter().filter_map(text).collect()
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), meta: None }
    }

    /// Returns the data that a client attached to the part.
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Text { meta, .. }
            | Self::Image { meta, .. }
            | Self::Resource { meta, .. }
            | Self::ResourceLink { meta, .. }
            | Self::ContextFile { meta, .. }
            | Self::ToolCall { meta, .. }
            | Self::ToolResult { meta, .. } => meta.as_ref(),
            Self::Attachment { .. } | Self::Reasoning { .. } | Self::Raw { .. } | Self::Unknown(_) => None,
        }
    }
}

unknown! {
    /// A part of an unknown kind, as received.
    UnknownPart, "type", PARTS
}

/// The arguments of a call: JSON text as the model wrote it, possibly invalid. An object is accepted too and becomes
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
    /// Path of the file. A `file:` URI is accepted too and becomes its path.
    pub path: String,
    /// SHA-256 of the content after the change, in lower-case hexadecimal.
    pub sha256: String,
}

/// A message of a session, as the sidecar sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Id, assigned by the sidecar and unique in the session.
    pub id: String,
    /// Id that the editor or the source of an import uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Position in the session, from 0. Removed messages keep theirs; positions freed by a cut are assigned again.
    pub ord: u32,
    /// Version of the message, which grows with each change.
    pub rev: u32,
    /// Id of the turn.
    pub turn_id: String,
    /// Id of the round, of an answer and of the results of its calls. Absent in `session/messages`, and of a result whose
    /// answer is before the first of the newest messages that a snapshot was limited to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_id: Option<String>,
    /// Author of the message.
    pub role: Role,
    /// Content. A tool message holds exactly one `toolResult`.
    pub parts: Vec<Part>,
    /// Subject of a message of role `event`, such as `system`; absent for other roles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `true` if a model may see the message. Default: true.
    #[serde(default = "yes")]
    pub visible_to_model: bool,
    /// Time of the message, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Excerpt that the model sees of a large result in `parts`; absent if it sees all of it. Both sizes are 0 for an
    /// answer whose thinking prompts leave out, and for a request with files or attachments that an earlier one has
    /// unchanged: where a prompt shows those above, it shows a reference to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// Size in an uncompacted prompt, in tokens, with the overhead of a message.
    pub tokens: u32,
    /// Tokens that the model used for this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Sources of the answer, each in the form of the provider's wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// Data that a client keeps with the answer. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// The excerpt of a large result that a model sees: head and tail, with a line between them that says how to fetch the
/// rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// Size of the head, in bytes.
    pub head_bytes: u32,
    /// Size of the tail, in bytes.
    pub tail_bytes: u32,
}

/// A message as a client gives it. Every [`Message`] is accepted; ids and sizes of the sidecar are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageInput {
    /// Id that the editor or the source of an import uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Author of the message.
    pub role: Role,
    /// Content, also under the name `content`. Each `toolResult` of a tool message becomes a message of its own.
    #[serde(alias = "content")]
    pub parts: Content,
    /// Subject of a message of role `event`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// `true` if a model may see the message. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visible_to_model: Option<bool>,
    /// Time of the message, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Tokens that the model used for this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Sources of the answer, each in the form of the provider's wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// Data that the client keeps with the answer. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A model's answer within a round, as a client gives it. A whole message of role `assistant` is accepted too.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssistantInput {
    /// Id that the editor uses for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// Text, thinking and tool calls in their order. `content` is accepted as its name too.
    #[serde(alias = "content")]
    pub parts: Content,
    /// Time of the answer, ISO-8601, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// Tokens that the model used for this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Sources of the answer, each in the form of the provider's wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub citations: Option<Vec<Value>>,
    /// Data that the client keeps with the answer. No model sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
    /// Data that a client attached. No model sees it.
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

fn yes() -> bool {
    true
}
