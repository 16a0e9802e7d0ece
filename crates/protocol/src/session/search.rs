//! Search over the sessions of a folder, in all that was said in them.

use crate::message::Role;
use crate::session::SessionSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `session/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSearchParams {
    /// Searches only sessions of this folder. Default: all sessions in the store of the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Words to look for, in any case. A session is found if its title, its summary, its first request and its
    /// messages contain them all, each anywhere. A name matches by its parts, too: `pendingMessages` finds
    /// `updatePendingMessages`. A query without words finds nothing.
    pub query: String,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of sessions on the page, at most 100. Default: 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A message of a session that contains words of the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHit {
    /// Id of the message.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Position of the message.
    pub ord: u32,
    /// Author of the message.
    pub role: Role,
    /// Id of the turn.
    pub turn_id: String,
    /// The part of the text that matched with what is next to it, at most 2700 bytes, byte for byte.
    pub excerpt: String,
    /// Start of the excerpt, in bytes of the text.
    pub offset: u64,
}

/// A session that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundSession {
    /// The session, as in a list.
    pub session: SessionSummary,
    /// At most three messages, the best first. Empty if title, summary or first request alone contain the words.
    pub hits: Vec<SessionHit>,
}

/// Result of `session/search`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSearchResult {
    /// Sessions that were found, the most recently used first. A page may have fewer than asked for, even none, and
    /// still have a successor: the number of messages that one request searches is bounded.
    pub sessions: Vec<FoundSession>,
    /// `cursor` of the next page; absent once all sessions were searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
