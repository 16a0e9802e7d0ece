//! Search in a session's messages and recall of their text, byte for byte, whatever a prompt shows of it.

use crate::message::Role;
pub use engine::prompt::coverage::MessageStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `context/recall`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextRecallParams {
    /// Id of the session.
    pub session_id: String,
    /// Id of a message, id of a tool call for its result, or `section:` and a section's name. Else `StaleReference`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Start in bytes of the text, rounded down to the start of a character. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Largest number of bytes to return, above 0. A single longer character is returned whole. Default: 262,144.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// Result of `context/recall`: a part of a message's text, byte for byte. The text of a user message or a result is
/// that of its parts, separated by line breaks, with files after their name and pictures named in their place. The text
/// of a model's answer is its text and thinking, then a line for each call with its tool and arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextRecallResult {
    /// The requested reference.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Text of the part.
    pub text: String,
    /// Start of the part, in bytes.
    pub offset: u64,
    /// Size of the whole text, in bytes.
    pub total_bytes: u64,
    /// `offset` of the next part; absent in the last part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// SHA-256 of the whole text, in lower-case hexadecimal.
    pub sha256: String,
}

/// Parameters of `context/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSearchParams {
    /// Id of the session.
    pub session_id: String,
    /// Words to look for, in any case. Any of them may be missing; rare words, and several of them close together,
    /// rank first (BM25). A name matches by its parts, too: `pendingMessages` finds `updatePendingMessages`. If no word
    /// occurs anywhere, messages that contain all words inside longer words are returned, the newest first. There are
    /// no operators. Only the first 32 different words count; a query without words finds nothing.
    pub query: String,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of hits on the page, at most 100. Default: 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A message that contains the words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// Id of the message; `context/recall` returns its whole text.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Position of the message.
    pub ord: u32,
    /// Author of the message.
    pub role: Role,
    /// Id of the turn.
    pub turn_id: String,
    /// The part of the text that matched with what is next to it, at most 2700 bytes, byte for byte; in the arguments
    /// of a call, JSON escapes are resolved. A message may be found in several parts, each a hit of its own.
    pub excerpt: String,
    /// Start of the excerpt, in bytes of the text.
    pub offset: u64,
    /// Status of the message in the prompt.
    pub status: MessageStatus,
    /// Size of the text, in bytes.
    pub bytes: u64,
}

/// Result of `context/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSearchResult {
    /// Parts of messages found, the best first and of equals the newest. Repeated text is one hit. At most 256 are
    /// ranked. Messages that a harness wrote in the user's name are not searched.
    pub hits: Vec<SearchHit>,
    /// `cursor` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
