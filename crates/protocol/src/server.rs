//! The process: `initialize` and diagnostics.

pub mod initialize;
pub mod progress;

use crate::session::state::{Driver, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use initialize::{
    ClientCapabilities, ClientInfo, InitializeOptions, ServerCapabilities, StorageBackend,
    StorageNotifications, StorageOptions, WorkspaceBy,
};
pub use progress::ProgressToken;

/// Parameters of `server/diagnostics`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDiagnosticsParams {}

/// Result of `server/diagnostics`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDiagnosticsResult {
    /// Version of the program.
    pub server_version: String,
    /// Version of the protocol.
    pub protocol_version: u32,
    /// Process id of the sidecar.
    pub pid: u32,
    /// Token counter.
    pub estimator: String,
    /// Open stores.
    pub storage: Vec<StorageInfo>,
    /// Open sessions.
    pub sessions: Vec<OpenSession>,
    /// Number of the client's requests without a response.
    pub requests_in_flight: u32,
    /// Largest number of such requests; one more fails with `Overloaded`.
    pub request_limit: u32,
    /// Number of the sidecar's requests to the client without a response.
    pub asked_of_client: u32,
}

/// An open store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageInfo {
    /// Folder whose sessions the store holds; empty if the client gave one path for all folders.
    pub workspace_folder: String,
    /// Kind of store.
    pub backend: StorageBackend,
    /// Path of the store; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Version of the store's tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// Reason why the store cannot be used at the moment; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Parameters of `storage/updated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageUpdatedParams {
    /// Folder whose sessions the store holds; empty if one store holds those of all folders.
    pub workspace_folder: String,
    /// State of the store.
    pub state: StorageState,
    /// Reason why the store cannot be reached; absent if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The state of a store that could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StorageState {
    /// Changes wait in memory and are tried again. Their requests are answered and their events sent once they are stored;
    /// other requests that need the store fail with `StorageError`.
    Waiting,
    /// All changes that waited are stored, or failed for another reason, and the store takes more.
    Ready,
    /// The store was away for too long: what waited failed with `StorageError`. It stays in memory and is tried again with
    /// the session's next change.
    Failed,
}

/// An open session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenSession {
    /// Id of the session.
    pub session_id: String,
    /// State of the session.
    pub state: State,
    /// Side that runs the loop.
    pub driver: Driver,
    /// Number of messages.
    pub messages: u32,
    /// Number of queued items. Always 0 in this version: see `queue` of the snapshot.
    pub queued: u32,
}
