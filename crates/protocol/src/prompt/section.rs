//! Sections of a prompt, and the content that a client puts into them.

use crate::message::Content;
pub use engine::prompt::item::Channel;
pub use engine::prompt::system::{OnOverflow, Place as SectionChannel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A section of the prompt that the client provides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// Place of the section. Default: `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<SectionChannel>,
    /// Name in plans and reports. Must not be empty.
    pub name: String,
    /// Text of the section.
    pub content: String,
    /// Order in which the plan lists sections that could be given up, the lowest first. No section is given up
    /// automatically: history is compacted instead, and only `maxTokens` bounds a section. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Largest size of the section, in tokens. Default: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Treatment of a section larger than `maxTokens`. Default: `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_overflow: Option<OnOverflow>,
}

/// A file given as context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextFile {
    /// Path of the file, as the editor names it. A `file:` URI is accepted too and becomes its path.
    pub path: String,
    /// Text of the file.
    pub text: String,
}

/// Background of a request, such as the open files or the date. Captured with the message in which it first appears and
/// never changed there; later changes come with a later message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// Name of the attachment. Of several pending ones with one name, only the newest is shown.
    pub name: String,
    /// Text of the attachment.
    pub text: String,
}

/// A named value of a request, such as a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Name of the value.
    pub name: String,
    /// Content of the value.
    pub value: Content,
}

/// The state of a notebook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notebook {
    /// URI of the notebook.
    pub uri: String,
    /// Content of the notebook.
    pub content: Content,
}

/// The size of a section of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionTokens {
    /// Channel of the section.
    pub channel: Channel,
    /// Name of the section.
    pub name: String,
    /// Size of the section, in tokens.
    pub tokens: u32,
}
