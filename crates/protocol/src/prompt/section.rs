//! Sections of a prompt, and what a caller puts into them.

use crate::message::Content;
pub use engine::prompt::item::Channel;
pub use engine::prompt::system::{OnOverflow, Place as SectionChannel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A section that the caller brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Section {
    /// Where it stands. Default: `system`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<SectionChannel>,
    /// Its name in plans and reports.
    pub name: String,
    /// Its text.
    pub content: String,
    /// Its place among what the plan says could be given up, the lowest first; without one it is not among that. No section
    /// is given up by itself: where there is no room, history is compacted. `maxTokens` bounds a section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Its own ceiling in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// What happens above that ceiling. Default: `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_overflow: Option<OnOverflow>,
}

/// A file given as context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextFile {
    /// Its path, as the editor names it.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// What is so when a request is made, such as the open files or the date: background, captured with the message that it
/// first appears in and never changed there. What differs later travels with a later message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// What it is. Of several that wait under one name the newest is shown.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A named value that belongs to a request, such as a selection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Content,
}

/// The state of a notebook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notebook {
    /// Its address.
    pub uri: String,
    /// What it shows.
    pub content: Content,
}

/// The size of a section of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SectionTokens {
    /// How it reaches the model.
    pub channel: Channel,
    /// Its name.
    pub name: String,
    /// Its size in tokens.
    pub tokens: u32,
}
