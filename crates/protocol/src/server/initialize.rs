//! The protocol's part of `initialize`, in both directions.

use crate::event::EVENTS;
use crate::methods::{Level, METHODS};
use crate::session::state::State;
use crate::settings::GivenSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A client's `initializationOptions.threadhold` of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeOptions {
    /// Protocol version that the client speaks: 1. Any other fails with `UnsupportedVersion`.
    pub protocol_version: u32,
    /// Place where sessions are stored. Default: the platform's data folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageOptions>,
    /// Name and version of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientInfo>,
    /// Requests that the client answers. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<ClientCapabilities>,
    /// Settings of all sessions. Invalid values are left out and logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<GivenSettings>,
}

/// The place where sessions are stored. What a client leaves out comes from the environment
/// (`THREADHOLD_STORAGE_BACKEND`, `THREADHOLD_STORAGE_URL` and so on), then from the table `storage` of the user's
/// settings file; a workspace's file cannot name it. Options that cannot be used fail with `InvalidParams`. A server that
/// cannot be reached does not: requests that need it fail with `StorageError`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageOptions {
    /// Kind of store. Default: `sqlite` with a `path`, `postgres` with a `url`, else `sqlite`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<StorageBackend>,
    /// Folder of one store for all workspaces. A session's id is unique in it: a request reaches sessions of the folder
    /// that it names, otherwise those of the folders that the client named before. Default: a store for each workspace in
    /// the platform's data folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// URL of a PostgreSQL database, `postgres://user@host/database`, without a password. TLS is demanded unless the
    /// server is on this machine or `sslmode` says otherwise. Only the URL in the environment may have a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Name of the key that is the password, never the password itself: one that the client gave with `model/key`,
    /// otherwise an environment variable. Default: `PGPASSWORD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// Tenant whose sessions are read and written in that database: 1 to 64 letters, digits, `_` and `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Naming of a folder's sessions in that database, where other machines have the folder under another path.
    /// Default: `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_by: Option<WorkspaceBy>,
    /// Name under which the sessions of the client's folder are stored in that database, in place of its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_key: Option<String>,
    /// Name of this machine, as others see it where a session is open. Default: the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Use of the database's notifications about changes by other machines. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<StorageNotifications>,
}

/// The name of a folder in a database that several machines use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorkspaceBy {
    /// Its path.
    #[default]
    Path,
    /// The address of its repository's remote `origin`, without user and password; the path if there is none, or if
    /// another folder that this process serves has the same.
    Remote,
}

/// How a sidecar learns what others write to the database.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StorageNotifications {
    /// By `LISTEN`, unless the server has none or a pooler is noticed.
    #[default]
    Auto,
    /// By looking, four times a second while a session is open or a list is shown: for a pooler in transaction mode.
    Off,
}

/// The kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum StorageBackend {
    /// An SQLite file.
    Sqlite,
    /// A PostgreSQL database, version 15 or newer, which several machines can use.
    Postgres,
    /// Memory only; sessions end with the process.
    Memory,
}

/// The name and version of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name of the client.
    pub name: String,
    /// Version of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// The requests that a client answers. The sidecar sends no others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCapabilities {
    /// `true` if the client answers `model/complete`.
    pub model_complete: bool,
    /// `true` if the client answers `model/countTokens`.
    pub count_tokens: bool,
    /// `true` if the client answers `tool/invoke`.
    pub tool_invoke: bool,
    /// `true` if the client answers `tool/requestPermission`.
    pub request_permission: bool,
    /// `true` if the client answers `compaction/review`.
    pub compaction_review: bool,
    /// `true` if the client answers `mcp/elicit`. Without it, servers are told that nobody can be asked.
    pub elicit: bool,
}

/// The sidecar's `capabilities.experimental.threadhold` of `initialize`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Version of the protocol.
    pub protocol_version: u32,
    /// Version of the program.
    pub server_version: String,
    /// Levels of the protocol that are fully supported. `methods` may list methods of other levels.
    pub levels: Vec<String>,
    /// Names of the supported methods and notifications, in both directions.
    pub methods: Vec<String>,
    /// Types of `session/event`.
    pub events: Vec<String>,
    /// States of a session.
    pub states: Vec<String>,
}

impl ServerCapabilities {
    /// Returns the capabilities of this build.
    pub fn of_this_build(server_version: &str) -> Self {
        let levels: BTreeSet<Level> = METHODS.iter().map(|method| method.level).collect();
        Self {
            protocol_version: crate::VERSION,
            server_version: server_version.to_owned(),
            levels: levels.into_iter().map(|level: Level| level.name().to_owned()).collect(),
            methods: METHODS.iter().map(|method| method.name.to_owned()).collect(),
            events: EVENTS.iter().map(|name| (*name).to_owned()).collect(),
            states: State::ALL.iter().map(|state| state.name().to_owned()).collect(),
        }
    }
}
