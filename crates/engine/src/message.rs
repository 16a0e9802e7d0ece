//! The message model: what a message of a session can hold and what it weighs. Not where it stands, and not how it
//! is rendered. The wire's form of it is in the protocol; its serde form is the store's.

pub mod about;
pub mod attachment;
pub mod call;
pub mod cut;
mod kind;
mod opaque;
mod said;
pub mod source;

use super::id::{MessageId, Ordinal, TurnId};
use super::text::sha256_hex;
use super::tokens::{PER_CALL, PER_IMAGE, PER_MESSAGE, TokenCount};
use about::About;
use attachment::Attachment;
pub use call::{Effect, ToolCall, ToolResult, Verdict, argument_values};
use cut::Cut;
pub use kind::{
    BUDGET_EXIT, COMPACTION_DROPPED, COMPACTION_LASTS, NOT_KEPT, PROCESS_COMPLETED, QUESTION, REMOVED,
    REVIEW_UNUSABLE, ROUND_LIMIT, SYSTEM_IN_HISTORY, UNREADABLE, WRAP_UP,
};
pub use opaque::Thought;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::{Arc, OnceLock};

/// Text that is shared between the transcript and every prompt that shows it.
pub type Text = Arc<str>;

/// A message as it comes in; the transcript gives it an identity.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// Who says what.
    pub body: Body,
    /// The id that the editor or the source uses for it.
    pub external_id: Option<String>,
    /// Whether a model may ever see it. Hidden events and compaction reports are not for the model.
    pub visible_to_model: bool,
    /// ISO-8601, UTC, as the source had it; never made inside the engine.
    pub created_at: Option<String>,
    /// How a large result is shown, where that was decided before: a copy is shown as its original is.
    pub shown: Option<Cut>,
}

impl NewMessage {
    /// A message that the model may see, without foreign identity or time.
    pub fn new(body: Body) -> Self {
        Self { body, external_id: None, visible_to_model: true, created_at: None, shown: None }
    }

    /// A user message of one text.
    pub fn user(text: &str) -> Self {
        Self::new(Body::User(vec![Content::Text(text.into())]))
    }
}

impl From<&Message> for NewMessage {
    /// The same once more: what is said, without its place.
    fn from(message: &Message) -> Self {
        Self {
            body: message.body.clone(),
            external_id: message.external_id.clone(),
            visible_to_model: message.visible_to_model,
            created_at: message.created_at.clone(),
            shown: message.shown,
        }
    }
}

/// A message of a session. Immutable: an edit writes a new version.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its identity, derived from the session's id and its ordinal.
    pub id: MessageId,
    /// The id that the editor or the source uses for it.
    pub external_id: Option<String>,
    /// Its position.
    pub ord: Ordinal,
    /// Its version; an edit writes a new one.
    pub rev: u32,
    /// The turn it belongs to.
    pub turn: TurnId,
    /// Who says what.
    pub body: Body,
    /// Whether a model may ever see it.
    pub visible_to_model: bool,
    /// ISO-8601, UTC, as the source had it.
    pub created_at: Option<String>,
    /// How a result is shown that was too large when it came, and an answer without its thinking; nothing where it is
    /// shown whole.
    pub shown: Option<Cut>,
    /// Raw tokens of the message with its overhead, as a prompt shows it first without any compaction, counted once, at
    /// insertion. Where [`Message::shown`] is there at once, they are its tokens.
    pub tokens: u32,
    /// [`Body::hash`], taken once, at insertion.
    pub hash: String,
    /// What was found in it, once, when somebody first asked.
    pub found: Found,
}

/// What is found in a message when it is first asked for. It follows from the message, so a copy without it is the same message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// SHA-256 of [`Body::said`].
    pub(crate) said_sha256: OnceLock<Box<str>>,
    /// The identifiers in it.
    pub(crate) mentions: OnceLock<Vec<Mention>>,
    /// What its calls are about, in their order.
    about: OnceLock<Vec<About>>,
    /// Hashes of its pictures, in their order.
    images: OnceLock<Vec<String>>,
}

/// An identifier that a message holds, and the heaviest speaker who used it there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mention {
    /// The identifier.
    pub id: Box<str>,
    /// Who used it: the index's weight.
    pub weight: u8,
    /// The call whose arguments hold it, by position; nothing for what was said.
    pub call: Option<u16>,
}

/// Who says what. The variants carry only what that speaker can say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// A user's request, byte for byte.
    User(Vec<Content>),
    /// A model's answer: what it said in its order, then its tool calls.
    Assistant {
        /// What it said.
        parts: Vec<AssistantPart>,
        /// What it asked for, in its order.
        calls: Vec<ToolCall>,
        /// What came with it and is not sent to a model.
        #[serde(default, skip_serializing_if = "Beside::is_empty")]
        beside: Beside,
    },
    /// The result of one tool call.
    Tool(ToolResult),
    /// A record of the session that no model sees as a message: a stored system message, a report, a notice.
    Event {
        /// What it records, such as `system` or `process_completed`.
        kind: String,
        /// Its text.
        text: Text,
    },
}

/// The key under which a provider's block says which wire and model it is from, as `wire/model`. Ours, and never sent
/// to a provider: what one of them signed or encrypted is of no use to another.
pub const MADE_BY: &str = "madeBy";

/// What a user message or a tool result can hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// Plain text.
    Text(Text),
    /// A picture.
    Image(Image),
    /// Something with an address, given with its text.
    Resource {
        /// Its address.
        uri: String,
        /// Its text.
        text: Text,
    },
    /// A file that was put beside a message as context.
    ContextFile {
        /// Its path as the editor named it.
        path: String,
        /// Its text.
        text: Text,
    },
    /// What was so when the message was made. Only in user messages.
    Attachment(Attachment),
}

/// A picture by value or by address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// Base64 data, or an address.
    pub data: Text,
}

/// What an assistant message can hold beside its calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AssistantPart {
    /// Text for the user.
    Text(Text),
    /// Thinking. A signed one is kept whole or dropped whole, never moved to another message.
    Reasoning {
        /// The thinking; may be empty where the provider gives a signature only.
        text: Text,
        /// The provider's signature, opaque.
        signature: Option<Text>,
        /// What else the provider's block holds, opaque: its type where it is another one than `thinking`, its index,
        /// its id, data that only the provider can read, and [`MADE_BY`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<Arc<Map<String, Value>>>,
    },
    /// A block that the provider made by itself, such as the result of a search, in the form of its own wire. It goes
    /// back to the provider where it stood.
    Raw(Arc<Value>),
}

/// What comes with an answer and is not sent to a model. It has no weight in a prompt and no part in the hash: an
/// editor's copy of a message does not have it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    /// Where the answer has its words from, each in the form of the provider's own wire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Value>,
    /// What the answer used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whatever else a client wants to keep with the answer.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// What is known of the thinking in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<Thought>,
}

/// What a model used, in tokens, as its provider reported it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Tokens read, those from a cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u32>,
    /// Tokens written, thinking included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Tokens of the input that came from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u32>,
    /// Tokens of the input that a cache took in, for the next request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u32>,
    /// Tokens of the output that are thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u32>,
}

impl Message {
    /// What its calls are about, in their order.
    pub fn about(&self) -> &[About] {
        self.found.about.get_or_init(|| match &self.body {
            Body::Assistant { calls, .. } => calls.iter().map(About::of).collect(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => Vec::new(),
        })
    }

    /// SHA-256 of the data of its pictures as they were given, in their order.
    pub(crate) fn image_hashes(&self) -> &[String] {
        let hash = |image: &Image| sha256_hex(image.data.as_bytes());
        self.found.images.get_or_init(|| self.body.images().map(hash).collect())
    }

    /// Whether a user took it out, or it was not kept; its place stays.
    pub fn is_removed(&self) -> bool {
        matches!(&self.body, Body::Event { kind, .. } if [REMOVED, NOT_KEPT].contains(&kind.as_str()))
    }

    /// Whether it is not for the model: an event, what the caller hid, or a message without content.
    pub fn is_hidden(&self) -> bool {
        !self.visible_to_model || matches!(self.body, Body::Event { .. }) || self.body.is_empty()
    }
}

impl Content {
    /// The text of this part; nothing for a picture, and nothing for an attachment, which nobody said.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Content::Text(text) | Content::Resource { text, .. } | Content::ContextFile { text, .. } => {
                Some(text)
            }
            Content::Image(_) | Content::Attachment(_) => None,
        }
    }

    /// Tokens of this part.
    pub fn tokens(&self, counter: &dyn TokenCount) -> u32 {
        match self {
            Content::Text(text) => counter.count(text),
            Content::Resource { uri: name, text } | Content::ContextFile { path: name, text } => {
                counter.count(name) + counter.count(text) + PER_MESSAGE
            }
            Content::Image(_) => PER_IMAGE,
            Content::Attachment(attachment) => counter.count(&attachment.framed()),
        }
    }
}

impl AssistantPart {
    /// The text of this part; nothing for a provider's own block.
    pub fn text(&self) -> Option<&Text> {
        match self {
            AssistantPart::Text(text) | AssistantPart::Reasoning { text, .. } => Some(text),
            AssistantPart::Raw(_) => None,
        }
    }

    /// Bytes of what no text shows.
    fn opaque_bytes(&self) -> usize {
        match self {
            AssistantPart::Text(_) | AssistantPart::Reasoning { block: None, .. } => 0,
            AssistantPart::Reasoning { block: Some(block), .. } => json(&**block).len(),
            AssistantPart::Raw(wire) => json(&**wire).len(),
        }
    }
}

/// Compact JSON text. A JSON value can always be written.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Beside {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        let Self { citations, usage, extra, thought } = self;
        citations.is_empty() && usage.is_none() && extra.is_empty() && thought.is_none()
    }

    /// About as many bytes as its JSON has.
    pub fn bytes(&self) -> usize {
        if self.is_empty() { 0 } else { json(self).len() }
    }

    /// Takes in what a later report says.
    pub fn merge_usage(&mut self, later: Option<Usage>) {
        if let Some(later) = later {
            self.usage.get_or_insert_default().merge(later);
        }
    }
}

impl Usage {
    /// Takes in a later report. Some providers repeat their counters, some count up, and some begin again at a part of
    /// an answer: a counter never goes back.
    pub fn merge(&mut self, later: Usage) {
        // Nothing is less than any number.
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cached_input_tokens = self.cached_input_tokens.max(later.cached_input_tokens);
        self.cache_write_input_tokens = self.cache_write_input_tokens.max(later.cache_write_input_tokens);
        self.reasoning_tokens = self.reasoning_tokens.max(later.reasoning_tokens);
    }
}

impl Body {
    /// What was attached to a user's message.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        let parts = if let Body::User(parts) = self { &parts[..] } else { &[] };
        parts.iter().filter_map(|part| {
            if let Content::Attachment(attachment) = part { Some(attachment) } else { None }
        })
    }

    /// An assistant message of one text and some calls.
    pub fn assistant(text: &str, calls: Vec<ToolCall>) -> Self {
        let parts = if text.is_empty() { Vec::new() } else { vec![AssistantPart::Text(text.into())] };
        Body::Assistant { parts, calls, beside: Beside::default() }
    }

    /// A tool result of one text.
    pub fn result(call: &str, text: &str) -> Self {
        Body::Tool(ToolResult {
            call: call.into(),
            content: vec![Content::Text(text.into())],
            ..ToolResult::default()
        })
    }

    /// Whether there is nothing in it that a wire could carry, as after an abort before the first word.
    pub fn is_empty(&self) -> bool {
        match self {
            Body::User(parts) => parts.iter().all(|p| p.text().is_some_and(|t| t.is_empty())),
            Body::Assistant { parts, calls, .. } => {
                calls.is_empty()
                    && parts.iter().all(|part| match part {
                        AssistantPart::Text(text) => text.trim().is_empty(),
                        AssistantPart::Reasoning { .. } => true,
                        AssistantPart::Raw(_) => false,
                    })
            }
            Body::Tool(_) | Body::Event { .. } => false,
        }
    }

    /// The pictures that a user or a tool put in it, in order.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        let content = match self {
            Body::User(parts) => parts.as_slice(),
            Body::Tool(result) => &result.content,
            Body::Assistant { .. } | Body::Event { .. } => &[],
        };
        content.iter().filter_map(|part| match part {
            Content::Image(image) => Some(image),
            _ => None,
        })
    }

    /// Every text in it, in order: what was said, calls' arguments, results.
    pub fn texts(&self) -> Vec<&Text> {
        match self {
            Body::User(parts) => parts.iter().filter_map(Content::text).collect(),
            Body::Assistant { parts, calls, .. } => parts
                .iter()
                .filter_map(AssistantPart::text)
                .chain(calls.iter().map(|call| &call.arguments))
                .collect(),
            Body::Tool(result) => result.content.iter().filter_map(Content::text).collect(),
            Body::Event { text, .. } => vec![text],
        }
    }

    /// Bytes of all that is said in it, a provider's own blocks as JSON.
    pub fn bytes(&self) -> usize {
        let opaque = match self {
            Body::Assistant { parts, .. } => parts.iter().map(AssistantPart::opaque_bytes).sum(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => 0,
        };
        self.texts().iter().map(|text| text.len()).sum::<usize>() + opaque
    }

    /// SHA-256 of what is said, without any identity: equal in every process and under every id.
    pub fn hash(&self) -> String {
        let mut bytes: Vec<u8> = Vec::new();
        let mut field = |text: &str| {
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        match self {
            Body::User(_) => field("user"),
            Body::Assistant { calls, .. } => {
                field("assistant");
                calls.iter().for_each(|call| field(&call.name));
            }
            Body::Tool(_) => field("tool"),
            Body::Event { kind, .. } => field(kind),
        }
        self.texts().into_iter().for_each(|text| field(text));
        if let Body::Assistant { parts, .. } = self {
            for (at, part) in parts.iter().enumerate() {
                if let AssistantPart::Raw(wire) = part {
                    // With its place, for it is not among the texts above, and behind a length that no text has.
                    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
                    bytes.extend_from_slice(&(at as u64).to_le_bytes());
                    bytes.extend_from_slice(json(&**wire).as_bytes());
                }
            }
        }
        sha256_hex(&bytes)
    }

    /// Raw tokens with the overhead of a message.
    pub fn tokens(&self, counter: &dyn TokenCount) -> u32 {
        let content = match self {
            Body::User(parts) => parts.iter().map(|part| part.tokens(counter)).sum::<u32>(),
            Body::Assistant { parts, calls, beside } => {
                let said: u32 = parts
                    .iter()
                    .map(|part| match part {
                        AssistantPart::Text(text) => counter.count(text),
                        AssistantPart::Reasoning { .. } => 0,
                        AssistantPart::Raw(wire) => opaque::raw_block(wire, counter),
                    })
                    .sum();
                let thought = opaque::thinking(parts, beside.usage, counter);
                let asked: u32 = calls
                    .iter()
                    .map(|call| counter.count(&call.name) + counter.count(&call.arguments) + PER_CALL)
                    .sum();
                said + thought + asked
            }
            Body::Tool(result) => result.content.iter().map(|part| part.tokens(counter)).sum(),
            Body::Event { text, .. } => counter.count(text),
        };
        content + PER_MESSAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::QuarterOfChars;
    use serde_json::json;

    fn answer(parts: Vec<AssistantPart>) -> Body {
        Body::Assistant { parts, calls: Vec::new(), beside: Beside::default() }
    }

    fn text(text: &str) -> AssistantPart {
        AssistantPart::Text(text.into())
    }

    fn raw(wire: Value) -> AssistantPart {
        AssistantPart::Raw(wire.into())
    }

    #[test]
    fn a_providers_block_has_weight_and_place_and_what_stands_beside_has_neither() {
        let plain = answer(vec![text("a"), text("b")]);
        let searched = answer(vec![text("a"), raw(json!({ "found": "x".repeat(80) })), text("b")]);
        let later = answer(vec![text("a"), text("b"), raw(json!({ "found": "x".repeat(80) }))]);
        assert!(searched.tokens(&QuarterOfChars) >= plain.tokens(&QuarterOfChars) + 20);
        assert!(searched.hash() != plain.hash() && searched.hash() != later.hash());
        assert_eq!((searched.bytes() - plain.bytes(), searched.texts().len()), (92, 2));
        assert!(!answer(vec![raw(json!(0))]).is_empty());

        let beside = Beside { citations: vec![json!("x")], ..Beside::default() };
        let cited = Body::Assistant { parts: vec![text("a"), text("b")], calls: Vec::new(), beside };
        assert_eq!(cited.hash(), plain.hash());
        assert_eq!(cited.tokens(&QuarterOfChars), plain.tokens(&QuarterOfChars));
    }

    /// What was stored before there was more to say is what is stored now.
    #[test]
    fn an_answer_without_any_of_it_is_stored_as_it_always_was() {
        let thought = AssistantPart::Reasoning { text: "hm".into(), signature: None, block: None };
        let stored = r#"{"assistant":{"parts":[{"reasoning":{"text":"hm","signature":null}},{"text":"a"}],"calls":[]}}"#;
        let body = answer(vec![thought, text("a")]);
        assert_eq!(serde_json::to_string(&body).unwrap(), stored);
        assert_eq!(serde_json::from_str::<Body>(stored).unwrap(), body);
    }
}
