//! The pieces of a prompt: items, tools, and the messages that an item shows. Values only; the sibling
//! modules assemble them.

pub use crate::approval::Approval;
use crate::approval::Rule;
use crate::id::{CallId, Ordinal};
use crate::message::{AssistantPart, Content, Text, is_provider_compaction, meta};
use crate::tokens::{PER_TOOL, TokenCount};
use serde::de::Error;
use serde::de::value::{self, StrDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The five channels through which content reaches a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Channel {
    /// System text and tools.
    System,
    /// Memories.
    Memory,
    /// The block of a compaction.
    Summary,
    /// Past messages, and user messages kept from a compacted span.
    History,
    /// The current request and its rounds.
    Input,
}

/// The role of a message of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PromptRole"))]
pub enum Role {
    /// System text, and a summary placed directly after it.
    System,
    /// The user, memories and the summary.
    User,
    /// The model.
    Assistant,
    /// A tool: exactly one `toolResult`.
    Tool,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The role on the wire.
    pub role: Role,
    /// Texts, images, thinking and provider's blocks, in order.
    pub parts: Vec<ItemPart>,
    /// The calls of an assistant item.
    pub calls: Vec<ItemCall>,
    /// The call that a tool item answers.
    pub call_id: Option<CallId>,
    /// The messages that the item shows; empty for system text, the compaction block and placeholders.
    pub sources: Vec<ItemSource>,
    /// Tokens with overhead.
    pub tokens: u32,
}

/// A part of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemPart {
    /// Text of a user, a tool or a model, or an image.
    Content(Content),
    /// A model's thinking.
    Reasoning {
        /// The text; may be empty.
        text: Text,
        /// The provider's signature.
        signature: Option<Text>,
        /// Other fields of the provider's block.
        block: Option<Arc<Map<String, Value>>>,
    },
    /// A provider's own block.
    Raw(Arc<Value>),
}

/// A call as a prompt shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemCall {
    /// Unique in the prompt.
    pub id: CallId,
    /// The tool's name.
    pub name: Text,
    /// The arguments as JSON text.
    pub arguments: Text,
}

/// A message that an item shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemSource {
    /// The message's position.
    pub ord: Ordinal,
    /// The form in which it is shown.
    pub shown: Shown,
}

/// The form in which an item shows a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Whole, in its position.
    Raw,
    /// By head and tail.
    Shortened,
    /// Whole, as a user message kept from the covered span.
    Kept,
    /// Whole, as a pin.
    Pinned,
}

/// A section's name and size, for finding what is too large.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SectionSize {
    /// The section's name.
    pub name: String,
    /// Tokens of the section.
    pub tokens: u32,
}

/// A tool definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// The name by which the model calls it.
    pub name: String,
    /// The purpose of the tool, for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// The tool's effect, if the caller declared it.
    #[serde(default, deserialize_with = "stored_kind")]
    pub kind: Option<ToolKind>,
    /// Text for the system block.
    pub guidelines: Option<String>,
    /// The decision on a call by default.
    #[serde(default)]
    pub approval: Approval,
    /// Decisions for calls whose arguments match a pattern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The state in which a successful call ends the turn; `None` if it does not.
    #[serde(default)]
    pub ends_turn: Option<EndsTurn>,
    /// Hash of the definition of the server that runs the tool, for a tool of a server. What the user approves for good is
    /// approved of the tool of this server only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// The state in which a tool ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EndsTurn {
    /// The work is done.
    Completed,
    /// The user must reply.
    WaitingUserInput,
}

impl EndsTurn {
    /// Returns the default for tools of well-known names, used unless the caller states otherwise.
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "task_done" | "agent_finish" => Some(Self::Completed),
            "ask_questions" | "wait_agents" => Some(Self::WaitingUserInput),
            _ => None,
        }
    }
}

/// The effect of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToolKind {
    /// Shows a file.
    Read,
    /// Changes a file, or makes one.
    Edit,
    /// Deletes a file.
    Delete,
    /// Moves or renames a file.
    Move,
    /// Searches for something.
    Search,
    /// Runs a command.
    Execute,
    /// Thinks, and does nothing else.
    Think,
    /// Fetches something from outside.
    Fetch,
    /// Maintains the todo list.
    Todo,
    /// Asks the user.
    Ask,
    /// Anything else.
    Other,
}

/// Reads a kind also under the name that stores of older builds have.
fn stored_kind<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ToolKind>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    let kind = |name: String| {
        ToolKind::stored_as(&name).ok_or_else(|| Error::custom(format!("unknown kind of a tool {name:?}")))
    };
    name.map(kind).transpose()
}

impl ToolKind {
    /// Returns the kind of this name, as settings, files and stores say it; those of older builds say `write` and `run`.
    pub fn stored_as(name: &str) -> Option<Self> {
        match name {
            "write" => Some(Self::Edit),
            "run" => Some(Self::Execute),
            name => Self::deserialize(StrDeserializer::<value::Error>::new(name)).ok(),
        }
    }

    /// `true` if a successful call changes files by what its arguments say.
    pub fn changes_files(self) -> bool {
        matches!(self, Self::Edit | Self::Delete | Self::Move)
    }

    /// `true` if a call reads or changes the files that its arguments name.
    pub fn names_files(self) -> bool {
        matches!(self, Self::Read | Self::Execute) || self.changes_files()
    }
}

impl ItemPart {
    /// Creates a text part.
    pub fn text(text: impl Into<Text>) -> Self {
        ItemPart::Content(Content::Text(text.into()))
    }

    /// Creates the parts that a model sees of a message's content.
    pub(crate) fn of(content: &[Content]) -> Vec<Self> {
        meta::without(content).map(|(_, part)| ItemPart::Content(part.clone())).collect()
    }

    /// Returns the text; `None` for an image and for a provider's own block.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            ItemPart::Content(content) => content.text(),
            ItemPart::Reasoning { text, .. } => Some(text),
            ItemPart::Raw(_) => None,
        }
    }
}

impl From<&AssistantPart> for ItemPart {
    fn from(part: &AssistantPart) -> Self {
        match part {
            AssistantPart::Text(text) => ItemPart::text(text.clone()),
            AssistantPart::Reasoning { text, signature, block } => {
                ItemPart::Reasoning { text: text.clone(), signature: signature.clone(), block: block.clone() }
            }
            AssistantPart::Raw(wire) => ItemPart::Raw(wire.clone()),
        }
    }
}

impl Item {
    /// Creates an item of one text that shows no message.
    pub fn made(role: Role, text: impl Into<Text>, tokens: u32) -> Self {
        Self {
            role,
            parts: vec![ItemPart::text(text)],
            calls: Vec::new(),
            call_id: None,
            sources: Vec::new(),
            tokens,
        }
    }

    /// Iterates over every text, in order, arguments included.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.parts.iter().filter_map(ItemPart::as_text).chain(self.calls.iter().map(|call| &call.arguments))
    }

    /// `true` if the item contains thinking.
    pub fn thinks(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ItemPart::Reasoning { .. }))
    }

    /// `true` if the item contains a compaction that the provider made on its own.
    pub fn is_compacted_by_provider(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ItemPart::Raw(wire) if is_provider_compaction(wire)))
    }

    /// Returns the bytes of all texts.
    pub fn text_bytes(&self) -> usize {
        self.texts().map(|text| text.len()).sum()
    }
}

impl Tool {
    /// Counts the tokens of the definition: name, description, schema.
    pub fn tokens(&self, counter: &dyn TokenCount) -> u32 {
        let schema = self.input_schema.to_string();
        counter.count(&self.name) + counter.count(&self.description) + counter.count(&schema) + PER_TOOL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_tool_keeps_its_kind_under_older_names() {
        let kind = |kind: &str| {
            let tool = format!(r#"{{"name":"t","description":"","inputSchema":{{}}{kind}}}"#);
            serde_json::from_str::<Tool>(&tool).map(|tool| tool.kind).ok()
        };
        assert_eq!(kind(r#","kind":"write""#), Some(Some(ToolKind::Edit)));
        assert_eq!(kind(r#","kind":"run""#), Some(Some(ToolKind::Execute)));
        assert_eq!(kind(r#","kind":"fetch""#), Some(Some(ToolKind::Fetch)));
        assert_eq!(kind(r#","kind":null"#), Some(None));
        assert_eq!(kind(""), Some(None));
        assert_eq!(kind(r#","kind":"think harder""#), None);
    }
}
