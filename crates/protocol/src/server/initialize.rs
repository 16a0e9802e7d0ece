//! What both sides say in `initialize`.

use crate::event::EVENTS;
use crate::methods::{Level, METHODS};
use crate::session::state::State;
use crate::settings::GivenSettings;
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
            protocol_version: crate::VERSION,
            server_version: server_version.to_owned(),
            levels: levels.into_iter().map(|level: Level| level.name().to_owned()).collect(),
            methods: METHODS.iter().map(|method| method.name.to_owned()).collect(),
            events: EVENTS.iter().map(|name| (*name).to_owned()).collect(),
            states: State::ALL.iter().map(|state| state.name().to_owned()).collect(),
        }
    }
}
