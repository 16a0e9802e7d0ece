//! The message model: the content of a session's message and its weight in tokens, without position or rendering.
//! The serde form is the store's; the wire form is in the protocol.

pub mod about;
pub(crate) mod arguments;
pub mod attachment;
mod block;
pub mod call;
pub mod cut;
mod derived;
pub(crate) mod edits;
mod kind;
mod link;
pub mod meta;
mod opaque;
pub(crate) mod pieces;
pub mod repeats;
mod said;
pub mod source;
pub mod unreadable;
mod usage;

use super::cost::Cost;
use super::id::{MessageId, Ordinal, TurnId};
use super::text::sha256_hex;
use super::tokens::{PER_CALL, PER_IMAGE, PER_MESSAGE, TokenCount};
use about::About;
use attachment::Attachment;
pub use block::{is_note_of_text, is_provider_compaction};
pub use call::{Effect, ToolCall, ToolResult, Verdict, argument_values};
use cut::Cut;
pub use derived::Derived;
pub(crate) use derived::Mention;
pub use kind::{
    BUDGET_EXIT, COMPACTION_DROPPED, COMPACTION_LASTS, CONTINUED, NOT_KEPT, PAUSED, PROCESS_COMPLETED,
    QUESTION, REMOVED, REPAIRED_CALL, REVIEW_UNUSABLE, ROUND_LIMIT, SERVER_FAILED, SYSTEM_IN_HISTORY,
    UNREADABLE, WRAP_UP, joins_answers,
};
pub use link::ResourceLink;
use meta::{AnswerMeta, Meta};
pub use opaque::Thought;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
pub use usage::{RUNS, Usage};

/// Precedes the user's words about a refused call where a prompt shows them without the call.
const USER_SAID: &str = "the user said: ";

/// Text shared between the transcript and every prompt that contains it.
pub type Text = Arc<str>;

/// A message before it is appended; the transcript assigns its identity.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The author's role and the content.
    pub body: Body,
    /// The editor's or the source's own id.
    pub external_id: Option<String>,
    /// `false` for hidden events and compaction reports, which no model ever sees.
    pub visible_to_model: bool,
    /// ISO-8601, UTC, as the source stated it; the engine has no clock.
    pub created_at: Option<String>,
    /// The cut decided for the original of a copied message, so that both are shown alike.
    pub shown: Option<Cut>,
}

impl NewMessage {
    /// Creates a message that is visible to the model, without an external id or a time.
    pub fn new(body: Body) -> Self {
        Self { body, external_id: None, visible_to_model: true, created_at: None, shown: None }
    }

    /// Creates a user message of one text.
    pub fn user(text: &str) -> Self {
        Self::new(Body::User(vec![Content::Text(text.into())]))
    }
}

impl From<&Message> for NewMessage {
    /// Copies the content without its id, position, turn and version.
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
    /// Derived from the session's id and the ordinal.
    pub id: MessageId,
    /// The editor's or the source's own id.
    pub external_id: Option<String>,
    /// The position in the transcript.
    pub ord: Ordinal,
    /// The version; an edit writes a new one.
    pub rev: u32,
    /// The turn that contains the message.
    pub turn: TurnId,
    /// The author's role and the content.
    pub body: Body,
    /// `true` if a model may see the message.
    pub visible_to_model: bool,
    /// ISO-8601, UTC, as the source stated it.
    pub created_at: Option<String>,
    /// The cut of a result that was too large when appended, of an answer shown without its thinking, or of a user
    /// message with parts that an earlier one has; `None` if shown whole.
    pub shown: Option<Cut>,
    /// Raw tokens with the message overhead, counted once, at insertion. Equal to those of [`Message::shown`], but for what
    /// applies only after the turn or only while the prompt shows the same above.
    pub tokens: u32,
    /// [`Body::hash`], computed once, at insertion.
    pub hash: String,
    /// Values derived from the body on first use.
    pub found: Derived,
}

/// A message's content by role. Each variant holds only what that role can produce.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// A user's request, byte for byte.
    User(Vec<Content>),
    /// A model's answer: its parts in order, then its tool calls.
    Assistant {
        /// Text, thinking and the provider's own blocks, in order.
        parts: Vec<AssistantPart>,
        /// Requested tool calls, in order.
        calls: Vec<ToolCall>,
        /// Data that accompanies the answer and is not sent to a model.
        #[serde(default, skip_serializing_if = "Beside::is_empty")]
        beside: Beside,
    },
    /// The result of one tool call.
    Tool(ToolResult),
    /// A record of the session that no model sees as a message: a stored system message, a report, a notice.
    Event {
        /// The kind of record, such as `system` or `process_completed`.
        kind: String,
        /// The text shown to the user, or data that depends on the kind.
        text: Text,
    },
}

/// The key in a provider's block for its origin, as `wire/model`. Added by the sidecar and never sent to a provider:
/// a block that one provider signed or encrypted is useless to another.
pub const MADE_BY: &str = "madeBy";

/// A part of a user message or a tool result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Content {
    /// Plain text.
    Text(Text),
    /// An image.
    Image(Image),
    /// A resource with a URI and its text.
    Resource {
        /// The URI.
        uri: String,
        /// The content.
        text: Text,
    },
    /// A file attached to a message as context.
    ContextFile {
        /// The path as the editor stated it.
        path: String,
        /// The content.
        text: Text,
    },
    /// A reference to a resource, without its content.
    ResourceLink(ResourceLink),
    /// Context captured when the message was created. Only in user messages.
    Attachment(Attachment),
    /// Data of a client, which is no content.
    Meta(Meta),
}

/// An image by value or by URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// The MIME type, such as `image/png`. Stores of older builds call it `mediaType`.
    #[serde(alias = "mediaType")]
    pub mime_type: String,
    /// Base64 data, or a URL.
    pub data: Text,
}

/// A part of an assistant message other than its tool calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AssistantPart {
    /// Text for the user.
    Text(Text),
    /// Thinking. A signed block is kept whole or dropped whole, never moved to another message.
    Reasoning {
        /// The thinking; may be empty where the provider gives a signature only.
        text: Text,
        /// The provider's signature, opaque.
        signature: Option<Text>,
        /// Other fields of the provider's block, opaque: its type if not `thinking`, its index, its id, data that
        /// only the provider can read, and [`MADE_BY`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        block: Option<Arc<Map<String, Value>>>,
    },
    /// A block that the provider generated itself, such as a search result, in its own wire format. Sent back to
    /// the provider at the same position.
    Raw(Arc<Value>),
}

/// Data that accompanies an answer and is not sent to a model. Counts neither in the prompt's tokens nor in the
/// hash, because an editor's copy of a message lacks it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Beside {
    /// The answer's citations, each in the provider's own wire format.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<Value>,
    /// The tokens that the provider reported for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The cost of the requests for the answer, at the prices of their time; `None` if it is unknown, as in
    /// most imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Box<Cost>>,
    /// Further keys that a client stores with the answer.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// The weight and origin of the answer's thinking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<Thought>,
    /// Data that a client attached to the answer and its parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<AnswerMeta>>,
}

impl Message {
    /// Returns the subjects of the tool calls, in order.
    pub fn about(&self) -> &[About] {
        self.found.about.get_or_init(|| match &self.body {
            Body::Assistant { calls, .. } => calls.iter().map(About::of).collect(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => Vec::new(),
        })
    }

    /// Returns the SHA-256 of each image's `data` as given, in order.
    pub(crate) fn image_hashes(&self) -> &[String] {
        let hash = |image: &Image| sha256_hex(image.data.as_bytes());
        self.found.images.get_or_init(|| self.body.images().map(hash).collect())
    }

    /// Returns the user's words about a refused call as a message of their own, with its tokens; `None` for any other
    /// message. The result states the words too, so that its tokens are enough for them, unless a prompt shows it cut.
    pub(crate) fn said_of_refusal(&self) -> Option<(String, u32)> {
        let Body::Tool(result) = &self.body else { return None };
        let said = format!("{USER_SAID}{}", result.user_words()?);
        let least = if self.shown.is_some() { u32::try_from(said.len() / 2).unwrap_or(u32::MAX) } else { 0 };
        Some((said, self.tokens.max(least)))
    }

    /// `true` if a user removed the message, or it was not kept after its turn; its position remains.
    pub fn is_removed(&self) -> bool {
        matches!(&self.body, Body::Event { kind, .. } if [REMOVED, NOT_KEPT].contains(&kind.as_str()))
    }

    /// `true` if no model sees the message: an event, one that the caller hid, or one without content.
    pub fn is_hidden(&self) -> bool {
        !self.visible_to_model || matches!(self.body, Body::Event { .. }) || self.body.is_empty()
    }
}

impl Content {
    /// `true` if these parts of a user's message are empty texts, and nothing else is among them.
    pub fn says_nothing(parts: &[Self]) -> bool {
        meta::without(parts).all(|(_, part)| part.text().is_some_and(|text| text.is_empty()))
    }

    /// Returns the text; `None` for an image, a link, and an attachment, which is context and not part of the request.
    pub fn text(&self) -> Option<&Text> {
        match self {
            Content::Text(text) | Content::Resource { text, .. } | Content::ContextFile { text, .. } => {
                Some(text)
            }
            Content::Image(_) | Content::ResourceLink(_) | Content::Attachment(_) | Content::Meta(_) => None,
        }
    }

    /// Counts raw tokens, with an overhead for images and named files.
    pub fn tokens(&self, counter: &dyn TokenCount) -> u32 {
        match self {
            Content::Text(text) => counter.count(text),
            Content::Resource { uri: name, text } | Content::ContextFile { path: name, text } => {
                counter.count(name) + counter.count(text) + PER_MESSAGE
            }
            Content::Image(_) => PER_IMAGE,
            Content::ResourceLink(link) => counter.count(&link.framed()),
            Content::Attachment(attachment) => counter.count(&attachment.framed()),
            Content::Meta(_) => 0,
        }
    }
}

impl AssistantPart {
    /// Returns the text; `None` for a provider's own block.
    pub fn text(&self) -> Option<&Text> {
        match self {
            AssistantPart::Text(text) | AssistantPart::Reasoning { text, .. } => Some(text),
            AssistantPart::Raw(_) => None,
        }
    }

    /// Bytes of JSON beyond the part's text.
    fn opaque_bytes(&self) -> usize {
        match self {
            AssistantPart::Text(_) | AssistantPart::Reasoning { block: None, .. } => 0,
            AssistantPart::Reasoning { block: Some(block), .. } => json(&**block).len(),
            AssistantPart::Raw(wire) => json(&**wire).len(),
        }
    }
}

/// Serializes to compact JSON. Cannot fail for the types used here.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Beside {
    /// `true` if no field is set.
    pub fn is_empty(&self) -> bool {
        let Self { citations, usage, cost, extra, thought, meta } = self;
        let is_plain = citations.is_empty() && usage.is_none() && cost.is_none() && extra.is_empty();
        is_plain && thought.is_none() && meta.is_none()
    }

    /// Returns the length of its JSON in bytes; 0 if empty.
    pub fn bytes(&self) -> usize {
        if self.is_empty() { 0 } else { json(self).len() }
    }

    /// Merges a later report; see [`Usage::merge`].
    pub fn merge_usage(&mut self, later: Option<Usage>) {
        if let Some(later) = later {
            self.usage.get_or_insert_default().merge(later);
        }
    }
}

impl Body {
    /// Iterates over the attachments of a user message.
    pub fn attachments(&self) -> impl Iterator<Item = &Attachment> {
        let parts = if let Body::User(parts) = self { &parts[..] } else { &[] };
        parts.iter().filter_map(|part| {
            if let Content::Attachment(attachment) = part { Some(attachment) } else { None }
        })
    }

    /// Creates an assistant message of one text, none if empty, and tool calls.
    pub fn assistant(text: &str, calls: Vec<ToolCall>) -> Self {
        let parts = if text.is_empty() { Vec::new() } else { vec![AssistantPart::Text(text.into())] };
        Body::Assistant { parts, calls, beside: Beside::default() }
    }

    /// Creates a tool result of one text.
    pub fn result(call: &str, text: &str) -> Self {
        Body::Tool(ToolResult {
            call: call.into(),
            content: vec![Content::Text(text.into())],
            ..ToolResult::default()
        })
    }

    /// `true` if it has nothing to send to a model, as after an abort before the first word. Thinking alone is nothing.
    pub fn is_empty(&self) -> bool {
        match self {
            Body::User(parts) => Content::says_nothing(parts),
            Body::Assistant { parts, calls, .. } => {
                calls.is_empty()
                    && parts.iter().all(|part| match part {
                        AssistantPart::Text(text) => text.trim().is_empty(),
                        AssistantPart::Reasoning { .. } => true,
                        AssistantPart::Raw(wire) => is_note_of_text(wire),
                    })
            }
            Body::Tool(_) | Body::Event { .. } => false,
        }
    }

    /// `true` for a user message with content of the user. One with attachments alone is context that a program wrote:
    /// it starts no turn, is no request, and no compaction keeps it as the user's words.
    pub fn has_user_words(&self) -> bool {
        let Body::User(parts) = self else { return false };
        let mut parts = meta::without(parts).map(|(_, part)| part).peekable();
        parts.peek().is_none() || !parts.all(|part| matches!(part, Content::Attachment(_)))
    }

    /// Iterates over the images of a user message or a tool result, in order.
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

    /// Returns every text, in order: an answer's parts before its calls' arguments.
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

    /// Returns the bytes of all texts, and of the provider's own blocks as JSON.
    pub fn bytes(&self) -> usize {
        let opaque = match self {
            Body::Assistant { parts, .. } => parts.iter().map(AssistantPart::opaque_bytes).sum(),
            Body::User(_) | Body::Tool(_) | Body::Event { .. } => 0,
        };
        self.texts().iter().map(|text| text.len()).sum::<usize>() + opaque
    }

    /// Returns the SHA-256 of role, texts, called tools and the provider's own blocks; images, links, attachments and
    /// ids do not count. Equal in every process.
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
            let is_note =
                |part: &&AssistantPart| matches!(part, AssistantPart::Raw(wire) if is_note_of_text(wire));
            for (at, part) in parts.iter().filter(|part| !is_note(part)).enumerate() {
                if let AssistantPart::Raw(wire) = part {
                    // Marked by a length that no text has; with its index, because it is not among the texts above.
                    bytes.extend_from_slice(&u64::MAX.to_le_bytes());
                    bytes.extend_from_slice(&(at as u64).to_le_bytes());
                    bytes.extend_from_slice(json(&**wire).as_bytes());
                }
            }
        }
        sha256_hex(&bytes)
    }

    /// Counts raw tokens, with the overhead of a message.
    pub fn tokens(&self, counter: &dyn TokenCount) -> u32 {
        let content = match self {
            Body::User(parts) => parts.iter().map(|part| part.tokens(counter)).sum::<u32>(),
            Body::Assistant { parts, calls, beside } => {
                let of_parts: u32 = parts
                    .iter()
                    .map(|part| match part {
                        AssistantPart::Text(text) => counter.count(text),
                        AssistantPart::Reasoning { .. } => 0,
                        AssistantPart::Raw(wire) if is_note_of_text(wire) => 0,
                        AssistantPart::Raw(wire) => opaque::raw_block(wire, counter),
                    })
                    .sum();
                let of_thinking = opaque::thinking(parts, beside.usage, counter);
                let of_calls: u32 = calls
                    .iter()
                    .map(|call| counter.count(&call.name) + counter.count(&call.arguments) + PER_CALL)
                    .sum();
                of_parts + of_thinking + of_calls
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
    fn provider_blocks_have_weight_and_citations_have_none() {
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

    #[test]
    fn picture_of_an_older_store_is_read() {
        let image =
            |key: &str| serde_json::from_str(&format!(r#"{{"{key}":"image/png","data":"AA"}}"#)).unwrap();
        let read: [Image; 2] = ["mediaType", "mimeType"].map(image);
        assert_eq!(read[0], Image { mime_type: "image/png".into(), data: "AA".into() });
        assert_eq!(read[0], read[1]);
    }

    #[test]
    fn answer_without_optional_fields_keeps_its_stored_form() {
        let thought = AssistantPart::Reasoning { text: "hm".into(), signature: None, block: None };
        let stored = r#"{"assistant":{"parts":[{"reasoning":{"text":"hm","signature":null}},{"text":"a"}],"calls":[]}}"#;
        let body = answer(vec![thought, text("a")]);
        assert_eq!(serde_json::to_string(&body).unwrap(), stored);
        assert_eq!(serde_json::from_str::<Body>(stored).unwrap(), body);
    }
}
