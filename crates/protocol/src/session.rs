//! Sessions: opening, listing, following, configuring, closing and deleting them.

pub mod agent;
pub mod asking_agent;
pub mod edit;
pub mod queue;
pub mod restore;
pub mod scope;
pub mod search;
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
use crate::tool::server::McpServer;
use crate::turn::Turn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use state::{Driver, Origin, SessionSummary, State};

/// Parameters of `session/open`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpenParams {
    /// Folder of the session, as a path or a `file:` URL.
    pub workspace_folder: String,
    /// Session to resume or create: 1 to 128 letters, digits and `-_.~:`. Default: a new session with a new id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Side that runs the loop. Default: `sidecar`. Ignored if the session exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// Title from now on. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Purpose of the session, in the client's words. Ignored if the session exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Id of the session that starts this one to run in the background. Whenever this one comes to rest, the parent
    /// gets a message of kind `process_completed`, which no model sees. Ignored if the session exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// Name of the scope that the session shares with others. Ignored if the session exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_scope: Option<String>,
    /// Settings of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
    /// Tools to offer to the model. Default: unchanged; none in a new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// Servers of the Model Context Protocol for this session, by name, beside those of `mcp.servers`; one of the same
    /// name replaces it. Held while the session is open here and not stored, so that values may be secrets. Sessions with
    /// the driver `editor` use none. Default: unchanged; none in a session that is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<BTreeMap<String, McpServer>>,
    /// Sections before the messages, in this order. Default: unchanged; none in a new session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<Section>>,
    /// Client's own copy of the turns so far, with its persisted metadata. The sidecar matches it with the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Turn>>,
    /// If another process writes the session: `true` follows it, false fails with `SessionHeldElsewhere`. A follower
    /// gets the other process's commits as events, without deltas. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// Number of newest messages in the snapshot; `session/messages` returns earlier ones. A limit makes opening a long
    /// session faster, because only what these messages and the next prompt need is read. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_messages: Option<u32>,
}

impl SessionOpenParams {
    /// Creates a session of this folder and leaves everything else as it is by default.
    pub fn of(workspace_folder: String) -> Self {
        Self {
            workspace_folder,
            session_id: None,
            driver: None,
            title: None,
            kind: None,
            parent_id: None,
            work_scope: None,
            settings: None,
            tools: None,
            mcp_servers: None,
            sections: None,
            history: None,
            follow: None,
            snapshot_messages: None,
        }
    }
}

/// Parameters of `session/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessagesParams {
    /// Id of the session.
    pub session_id: String,
    /// Folder whose store has the session; ignored while the session is open. Default: the folder where it was last
    /// open, or the client's first folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Returns only messages whose `ord` is below this. Default: the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// Largest number of messages on the page, at most 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `session/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessagesResult {
    /// Messages in order, as stored. Removed ones are left out.
    pub messages: Vec<Message>,
    /// Value of `before` that requests the preceding page; 0 at the beginning of the session.
    pub before: u32,
    /// Messages of this page that cannot be read, each with the reason. They stay in the store unchanged.
    pub unreadable: Vec<String>,
}

/// Result of `session/open`, which also subscribes the client to the session's events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOpenResult {
    /// The session.
    pub snapshot: Snapshot,
    /// Report of what was found, restored and rejected.
    pub restore: RestoreReport,
}

/// Parameters of `session/list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListParams {
    /// Lists only sessions of this folder. Default: all sessions in the store of the client's first folder, each with
    /// its own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
    /// Text that the title, the summary or the first request must contain, in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// `nextCursor` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Largest number of sessions on the page, at most 500. Default: 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Result of `session/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    /// Sessions, the most recently used first.
    pub sessions: Vec<SessionSummary>,
    /// `cursor` of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `session/subscribe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeParams {
    /// Id of the session.
    pub session_id: String,
    /// Stream of the last event that the client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Number of that event. Without `stream` and `sinceSeq` the result is a snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_seq: Option<u64>,
    /// Number of newest messages in a snapshot, as in `session/open`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_messages: Option<u32>,
}

/// Result of `session/subscribe`: the events since then, or a snapshot if they are no longer available.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeResult {
    /// Events since then, in order; absent if `snapshot` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<SessionEvent>>,
    /// The session; absent if `events` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Box<Snapshot>>,
}

/// Parameters of `session/takeOver`. The result is that of `session/open`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTakeOverParams {
    /// Id of the session. It must be stored.
    pub session_id: String,
    /// Folder whose store has the session. Default: all stores in use, beginning with the one where it was last open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_folder: Option<String>,
}

/// Parameters of `session/close`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseParams {
    /// Id of the session. Fails with `UnknownSession` if it is not open here.
    pub session_id: String,
}

/// Result of `session/close`: everything is on disk, and another process may open the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCloseResult {}

/// Parameters of `session/delete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteParams {
    /// Id of the session, open or not. Fails with `UnknownSession` if no store has it, and for a revision.
    pub session_id: String,
}

/// Result of `session/delete`: counts of what was deleted, including all revisions of the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeleteResult {
    /// Number of deleted messages.
    pub deleted_messages: u32,
    /// Number of deleted revisions.
    pub deleted_revisions: u32,
    /// Number of deleted compaction records.
    pub deleted_compactions: u32,
    /// Number of deleted large results and pictures; those still in use elsewhere stay.
    pub deleted_blobs: u32,
    /// Size of these results and pictures, in bytes.
    pub deleted_blob_bytes: u64,
    /// `true` if no trace of them is left in the store's file or the session's own file in its workspace. False
    /// while another process reads the store, and for a large store: the rows are deleted, and their bytes are
    /// overwritten when the store is next idle and nobody else reads it. False if the session's own file could not
    /// be removed (the log has the reason). False if a related session stays that may hold the same text until it
    /// is deleted itself: the one that this was made of, a fork, or one that runs in the
    /// background.
    pub scrubbed: bool,
    /// Ids of the session's forks (`session/fork`). They stay, with everything that they share with the session.
    pub forks: Vec<String>,
}

/// Parameters of `session/configure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfigureParams {
    /// Id of the session. Fails with `UnknownSession` if it is not open here.
    pub session_id: String,
    /// Settings to change; absent ones stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
    /// New title. Default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// `true` drops the limits that were learned from the provider's rejections, as `context/inspect` shows them. The next
    /// rejection teaches anew. Default: `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forget_learned_limits: Option<bool>,
}

/// Result of `session/configure`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfigureResult {
    /// Settings in force.
    pub settings: Settings,
    /// Unknown setting names, each as a diagnostic of kind `unknownSetting`.
    pub diagnostics: Vec<Diagnostic>,
}
