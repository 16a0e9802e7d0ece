//! The process itself: what both sides say in `initialize`, and how it is doing.

pub mod initialize;
pub mod progress;

use crate::session::state::{Driver, State};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use initialize::{
    ClientCapabilities, ClientInfo, InitializeOptions, ServerCapabilities, StorageBackend, StorageOptions,
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
    /// The version of the program.
    pub server_version: String,
    /// The version of the protocol.
    pub protocol_version: u32,
    /// The process.
    pub pid: u32,
    /// Who counts tokens.
    pub estimator: String,
    /// The stores that are open.
    pub storage: Vec<StorageInfo>,
    /// The sessions that are open.
    pub sessions: Vec<OpenSession>,
    /// Requests of the client that have no answer yet.
    pub requests_in_flight: u32,
    /// The most that there may be.
    pub request_limit: u32,
    /// Requests to the client that have no answer yet.
    pub asked_of_client: u32,
}

/// A store that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageInfo {
    /// The folder whose sessions it keeps.
    pub workspace_folder: String,
    /// How.
    pub backend: StorageBackend,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The version of its tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<u32>,
    /// Why it cannot be used at the moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// A session that is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenSession {
    /// The session.
    pub session_id: String,
    /// Its state.
    pub state: State,
    /// Who runs its loop.
    pub driver: Driver,
    /// Number of messages.
    pub messages: u32,
    /// Requests that wait in its queue.
    pub queued: u32,
}
