//! What was said, found by words and given byte for byte, whatever a prompt shows of it.

use crate::message::Role;
pub use engine::prompt::coverage::Fate as MessageStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `context/recall`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextRecallParams {
    /// The session.
    pub session_id: String,
    /// A message's id, or a tool call's id for its result.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Where to begin, in bytes of the message's text; an offset inside a character is that character's start. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The most to answer, in bytes, above 0; a single character that is longer comes whole. Default: 262,144.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `context/recall`: a part of a message's text, byte for byte. The text of a user message or a result is its
/// parts, a line break between them, files behind their name, pictures named in their place; that of a model's answer
/// is what it said and thought, then a line for each call with its tool and its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextRecallResult {
    /// What was asked for.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The part.
    pub text: String,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// Bytes of the whole text.
    pub total_bytes: u64,
    /// Where the next part begins; missing where this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// SHA-256 of the whole text, lower-case hexadecimal.
    pub sha256: String,
}

/// Parameters of `context/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSearchParams {
    /// The session.
    pub session_id: String,
    /// Words that a message must hold, each of them, in any case, also as a part of something longer. There are no
    /// operators. Of more than 32 different words the first 32 count.
    pub query: String,
    /// Where the page begins: `nextCursor` of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most messages to answer, from 1 to 100. Default: 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A message that holds the words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Its id, under which `context/recall` gives all of it.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its position.
    pub ord: u32,
    /// Who said it.
    pub role: Role,
    /// Its turn.
    pub turn_id: String,
    /// The parts of its text that hold the words, byte for byte, with ` … ` between them.
    pub excerpt: String,
    /// Where the first part begins, in bytes of the text.
    pub offset: u64,
    /// What became of it in the prompt.
    pub status: MessageStatus,
    /// Bytes of its text.
    pub bytes: u64,
}

/// Result of `context/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSearchResult {
    /// What was found, the newest first.
    pub hits: Vec<SearchHit>,
    /// Where the next page begins; missing where this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
