//! Sessions: opening, listing, following, closing and deleting them, and the snapshot that shows one whole.

pub mod edit;
pub mod queue;
pub mod restore;
pub mod scope;
pub mod snapshot;
pub mod stages;
pub mod state;
pub mod task;
pub mod transfer;

use crate::event::SessionEvent;
use crate::message::Message;
use crate::prompt::section::Section;
use crate::session::restore::{Diagnostic, RestoreReport};
use crate::session::snapshot::Snapshot;
use crate::settings::{GivenSettings, Settings};
use crate::tool::Tool;
use crate::turn::Turn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use state::{Driver, Origin, SessionSummary, State};

/// Parameters of `session/open`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpenParams {
    /// The folder that the session belongs to, as a path or a `file:` address.
    pub workspace_folder: String,
    /// The session to resume, or the id that a new one gets. Without it a new session gets a new id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Who runs the loop. Default: `sidecar`. Not read where the session exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is for, in the client's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The session that started it: it runs in the background, and its parent is told when it comes to rest by a message of
    /// the kind `process_completed` that no model sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The name of what it shares with other sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// Settings of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
    /// The tools that the model is told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// What stands before the messages, in this order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// The client's own copy of the turns so far, with the metadata that it persisted. It is matched with the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Turn>>,
    /// Where another process writes the session: read and follow it here, instead of SessionHeldElsewhere. What the other
    /// process commits comes as events, without deltas. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// How many of the newest messages the snapshot holds. A long session is opened faster so: only what they and the next
    /// prompt need is read. `session/messages` gives those before them. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_messages: Option<u32>,
}

/// Parameters of `session/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessagesParams {
    /// The session.
    pub session_id: String,
    /// The folder that it is listed in; where it is missing, the session is looked for where it is open, else in the
    /// client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Only messages whose `ord` is below this. Default: the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// The most that the page holds. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `session/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessagesResult {
    /// In their order, as they are stored. Removed ones are left out.
    pub messages: Vec<Message>,
    /// How many stand before them; it asks for the page before this one. 0 at the beginning.
    pub before: u32,
    /// What of this page could not be read: which message, and why. It is left out, and stays as it is in the store.
    pub unreadable: Vec<String>,
}

/// Result of `session/open`. It subscribes the client to the session's events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpenResult {
    /// The session as it stands.
    pub snapshot: Snapshot,
    /// What was found, brought back, refused.
    pub restore: RestoreReport,
}

/// Parameters of `session/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListParams {
    /// Only sessions of this folder. Default: all that are stored where those of the first folder of `initialize` are,
    /// each with its own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Only sessions whose title, summary or first request has these words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Where the last page ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most that a page holds. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `session/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    /// The newest first.
    pub sessions: Vec<SessionSummary>,
    /// Asks for the next page; missing at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `session/subscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeParams {
    /// The session.
    pub session_id: String,
    /// The stream of the last event that the client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// The number of that event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seq: Option<u64>,
    /// How many of the newest messages a snapshot holds, as in `session/open`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_messages: Option<u32>,
}

/// Result of `session/subscribe`: either the events since then, or a snapshot where they are no longer kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeResult {
    /// The events since then, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<SessionEvent>>,
    /// The session as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Box<Snapshot>>,
}

/// Parameters of `session/takeOver`. The result is that of `session/open`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTakeOverParams {
    /// The session. It must be stored.
    pub session_id: String,
    /// The folder in whose store it is looked for. Default: wherever it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
}

/// Parameters of `session/close`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseParams {
    /// The session.
    pub session_id: String,
}

/// Result of `session/close`: everything is on disk and another process may hold the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseResult {}

/// Parameters of `session/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteParams {
    /// The session.
    pub session_id: String,
}

/// Result of `session/delete`: what is gone for good, of the session and of the copies that rewinds of it left behind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteResult {
    /// Messages.
    pub deleted_messages: u32,
    /// Compaction records.
    pub deleted_compactions: u32,
    /// Large results and pictures that nothing else refers to.
    pub deleted_blobs: u32,
    /// Their size in bytes.
    pub deleted_blob_bytes: u64,
    /// Whether no trace of them is left in the store's file, nor in the session's own in its workspace. Not so while another
    /// process reads the store: the rows are gone then, and their bytes may last until the next deletion. Nor where the
    /// session's own file could not be removed, which the log says; nor where a session stays that was made of
    /// it (a branch, a copy that somebody went on in, one that runs in the background) or that it was made of, for that may
    /// say the same words until it is deleted itself.
    pub scrubbed: bool,
}

/// Parameters of `session/configure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfigureParams {
    /// The session.
    pub session_id: String,
    /// Settings to change; those that are missing stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
    /// Its new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Result of `session/configure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfigureResult {
    /// The settings in force.
    pub settings: Settings,
    /// Names that no setting has, of the kind `unknownSetting`.
    pub diagnostics: Vec<Diagnostic>,
}
