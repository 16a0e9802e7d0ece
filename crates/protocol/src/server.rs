//! The process itself: what both sides say in `initialize`, and how it is doing.

use super::event::EVENTS;
use super::methods::{Level, METHODS};
use super::session::{Driver, State};
use super::settings::GivenSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a client puts into `initializationOptions.threadhold` of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeOptions {
    /// The version of the protocol that the client speaks: 1.
    pub protocol_version: u32,
    /// Where sessions are kept. Default: the platform's folder for data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageOptions>,
    /// Who the client is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientInfo>,
    /// What the client can be asked for. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ClientCapabilities>,
    /// Settings of all sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
}

/// Where sessions are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageOptions {
    /// How. Default: `sqlite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<StorageBackend>,
    /// The folder that holds a file for each workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The address of a database, for backends that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// How sessions are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StorageBackend {
    /// A file for each workspace.
    Sqlite,
    /// A database on a server.
    Postgres,
    /// Not beyond the process.
    Memory,
}

/// Who a client is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a client can be asked for. It is never asked for anything else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    /// `model/complete`.
    pub model_complete: bool,
    /// `model/countTokens`.
    pub count_tokens: bool,
    /// `tool/invoke`.
    pub tool_invoke: bool,
    /// `tool/requestPermission`.
    pub request_permission: bool,
    /// `compaction/review`.
    pub compaction_review: bool,
}

/// What the sidecar answers as `capabilities.experimental.threadhold` of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// The version of the protocol that it speaks.
    pub protocol_version: u32,
    /// The version of the program.
    pub server_version: String,
    /// The levels of the protocol that it has whole. Methods of other levels are among `methods` as far as they go.
    pub levels: Vec<String>,
    /// The methods and notifications of both sides, by name.
    pub methods: Vec<String>,
    /// The types of `session/event`.
    pub events: Vec<String>,
    /// The states of a session.
    pub states: Vec<String>,
}

impl ServerCapabilities {
    /// What this build can do.
    pub fn of_this_build(server_version: &str) -> Self {
        let levels: BTreeSet<Level> = METHODS.iter().map(|method| method.level).collect();
        Self {
            protocol_version: super::VERSION,
            server_version: server_version.to_owned(),
            levels: levels.into_iter().map(|level: Level| level.name().to_owned()).collect(),
            methods: METHODS.iter().map(|method| method.name.to_owned()).collect(),
            events: EVENTS.iter().map(|name| (*name).to_owned()).collect(),
            states: State::ALL.iter().map(|state| state.name().to_owned()).collect(),
        }
    }
}

/// The name under which `$/progress` reports: what the client gave as `workDoneToken`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgressToken {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

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
