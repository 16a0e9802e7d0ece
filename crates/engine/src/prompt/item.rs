//! The pieces of a prompt: items, tools, where an item came from. Values only; how they are put together is told in
//! the files beside this one.

pub use crate::approval::Approval;
use crate::approval::Rule;
use crate::id::{CallId, Ordinal};
use crate::message::{AssistantPart, Content, Text};
use crate::tokens::{PER_TOOL, TokenCount};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The five channels through which anything reaches a model.
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
    /// Messages of the past, and user messages kept of what was compacted.
    History,
    /// The current request and its rounds.
    Input,
}

/// The role of a message of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PromptRole"))]
pub enum Role {
    /// The one system message.
    System,
    /// The user, memories, and the summary.
    User,
    /// The model.
    Assistant,
    /// A tool: exactly one `toolResult`.
    Tool,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its role.
    pub role: Role,
    /// What it says.
    pub parts: Vec<ItemPart>,
    /// The calls of an assistant item.
    pub calls: Vec<ItemCall>,
    /// The call that a tool item answers.
    pub call_id: Option<CallId>,
    /// The messages that it shows; none for system text, the compaction block and stand-ins.
    pub sources: Vec<ItemSource>,
    /// Tokens with overhead.
    pub tokens: u32,
}

/// A part of an item.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemPart {
    /// Text of a user, a tool or a model, or a picture.
    Content(Content),
    /// A model's thinking.
    Reasoning {
        /// The thinking.
        text: Text,
        /// The provider's signature.
        signature: Option<Text>,
        /// What else the provider's block holds.
        block: Option<Arc<Map<String, Value>>>,
    },
    /// A provider's own block.
    Raw(Arc<Value>),
}

/// A call as a prompt shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemCall {
    /// Its id.
    pub id: CallId,
    /// The tool's name.
    pub name: Text,
    /// The arguments as JSON text.
    pub arguments: Text,
}

/// Where an item came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemSource {
    /// The message.
    pub ord: Ordinal,
    /// How much of it is shown.
    pub shown: Shown,
}

/// How much of a message an item shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of it, in its place.
    Raw,
    /// Head and tail.
    Shortened,
    /// All of it, a user message taken out of the covered span.
    Kept,
    /// All of it, as a pin.
    Pinned,
}

/// A section's name and size, for people who must find what is too large.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SectionSize {
    /// The section.
    pub name: String,
    /// Its tokens.
    pub tokens: u32,
}

/// A tool definition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
    /// What it does to the world, where the caller declared it.
    pub kind: Option<ToolKind>,
    /// Text for the system block.
    pub guidelines: Option<String>,
    /// Whether a call of it runs at once, waits for a decision, or never runs.
    #[serde(default)]
    pub approval: Approval,
    /// What holds for calls whose arguments look a certain way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// Whether the turn ends with a call of it that did not fail.
    #[serde(default)]
    pub ends_turn: Option<EndsTurn>,
}

/// The state in which a tool ends a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EndsTurn {
    /// The work is done.
    Completed,
    /// The user has to say something.
    WaitingUserInput,
}

impl EndsTurn {
    /// How a tool of this name ends the turn where nobody says otherwise: the names that agents know.
    pub fn built_in(name: &str) -> Option<Self> {
        match name {
            "task_done" | "agent_finish" => Some(Self::Completed),
            "ask_questions" | "wait_agents" => Some(Self::WaitingUserInput),
            _ => None,
        }
    }
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ToolKind {
    /// Shows a file.
    Read,
    /// Changes a file.
    Write,
    /// Runs a command.
    Run,
    /// Looks for something.
    Search,
    /// Keeps the list of what is to do.
    Todo,
    /// Asks the user.
    Ask,
    /// Anything else.
    Other,
}

impl ItemPart {
    /// A text part.
    pub fn text(text: impl Into<Text>) -> Self {
        ItemPart::Content(Content::Text(text.into()))
    }

    /// The text of this part; nothing for a picture and for a provider's own block.
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
    /// An item of one text that shows no message.
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

    /// Every text in it, arguments included, in order.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.parts.iter().filter_map(ItemPart::as_text).chain(self.calls.iter().map(|call| &call.arguments))
    }

    /// Whether it shows thinking.
    pub fn thinks(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, ItemPart::Reasoning { .. }))
    }

    /// Bytes of text in it.
    pub fn text_bytes(&self) -> usize {
        self.texts().map(|text| text.len()).sum()
    }
}

impl Tool {
    /// Tokens of the definition: name, description, schema.
    pub fn tokens(&self, counter: &dyn TokenCount) -> u32 {
        let schema = self.input_schema.to_string();
        counter.count(&self.name) + counter.count(&self.description) + counter.count(&schema) + PER_TOOL
    }
}
