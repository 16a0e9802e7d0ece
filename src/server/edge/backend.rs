//! tower-lsp's handlers: each parses its parameters, forwards them to the router before its first await, and
//! then awaits its own reply only. They keep no state: the router is notified if a cancelled handler is
//! dropped.

use crate::server::inbox::{Event, Hello};
use crate::server::requests::{self, Asks, Routes};
use crate::server::services::intake::{Asked, Params, is_large};
use crate::server::stores::StorageOutside;
use lsp_types::{
    DidChangeConfigurationParams, DidChangeWorkspaceFoldersParams, InitializeParams, InitializeResult,
    ServerInfo,
};
use protocol::error::{ErrorData, ProtocolError};
use protocol::methods::{self, Named, read, read_params};
use protocol::model::ModelDeltaParams;
use protocol::server::{InitializeOptions, ServerCapabilities};
use protocol::{SUPPORTED_VERSIONS as SUPPORTED, VERSION};
use rpc::parent::Parent;
use rpc::written::WrittenResults;
use serde_json::{Value, json};
use session::input::ReplyTo;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::{LanguageServer, LspService, LspServiceBuilder};

/// The server's methods.
#[derive(Debug)]
pub(in crate::server) struct Backend {
    /// The router's inbox. A send fails only once the router has ended, which handlers notice by their reply.
    pub events: mpsc::UnboundedSender<Event>,
    /// Receives the process to watch.
    pub parents: mpsc::UnboundedSender<Parent>,
    /// Number of requests so far.
    pub requests: AtomicU64,
    /// Takes the results on their way to the client.
    pub written: WrittenResults,
    /// Where sessions are stored, by the environment and the user's file.
    pub storage: StorageOutside,
}

/// Notifies the router if the handler is dropped while it awaits its reply: tower-lsp drops cancelled handlers.
struct AbandonGuard<'a> {
    to: ReplyTo,
    events: &'a mpsc::UnboundedSender<Event>,
}

impl Drop for AbandonGuard<'_> {
    fn drop(&mut self) {
        drop(self.events.send(Event::Abandoned(self.to)));
    }
}

/// Panics in the handler of the method that `THREADHOLD_TEST_DEFECT` names, so that a test can compare what a client gets
/// with the documents. Release builds lack it.
#[cfg(debug_assertions)]
#[allow(clippy::expect_used, reason = "the defect of a test")]
fn defect(method: &str) {
    let is_wanted = std::env::var("THREADHOLD_TEST_DEFECT").is_ok_and(|name| name == method);
    (!is_wanted).then_some(()).expect("no defect is wanted");
}

impl Routes for LspServiceBuilder<Backend> {
    fn route<M: Asks + 'static>(self) -> Self {
        self.custom_method(M::NAME, Backend::forward::<M>)
    }
}

impl Backend {
    /// Registers all methods of the protocol.
    pub fn routed(builder: LspServiceBuilder<Self>) -> LspServiceBuilder<Self> {
        requests::all_routed(builder).custom_method(methods::ModelDelta::NAME, Self::delta)
    }

    async fn forward<M: Asks>(&self, params: Value) -> Result<Value> {
        #[cfg(debug_assertions)]
        defect(M::NAME);
        let session = params.get("sessionId").and_then(Value::as_str).map(str::to_owned);
        let params = if is_large(&params) {
            Params::Large(Box::new(move || read_params::<M>(params).map(M::ask)))
        } else {
            let params = read_params::<M>(params).map_err(|error| jsonrpc(&error))?;
            Params::Read(Box::new(M::ask(params)))
        };
        let to = ReplyTo(self.requests.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        drop(self.events.send(Event::Asked(Asked { to, session, params }, reply)));
        let guard = AbandonGuard { to, events: &self.events };
        let answer = answer.await;
        // Answered: the router needs no notification. Nothing leaks, because the guard owns nothing.
        if answer.is_ok() {
            std::mem::forget(guard);
        }
        match answer {
            Ok(answer) => answer.map(|text| self.written.leave(text)).map_err(|error| jsonrpc(&error)),
            Err(_) => Err(jsonrpc(&ProtocolError::new(
                ErrorData::InternalError {},
                "the server is shutting down; acknowledged changes are stored",
            ))),
        }
    }

    async fn delta(&self, params: Value) {
        match read::<ModelDeltaParams>(params) {
            Ok(delta) => drop(self.events.send(Event::Delta(delta))),
            Err(error) => tracing::warn!(%error, "a model/delta could not be read and was dropped"),
        }
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let ours = params.initialization_options.as_ref().and_then(|options| options.get("threadhold"));
        let mut settings = Value::Null;
        let options: InitializeOptions = match ours {
            Some(options) => {
                unsupported(options).map_or(Ok(()), Err).map_err(|error| jsonrpc(&error))?;
                let mut options = options.clone();
                settings = options.get_mut("settings").map(Value::take).unwrap_or_default();
                read(options).map_err(|error| jsonrpc(&error))?
            }
            // Any client of the base protocol may spawn the server.
            None => InitializeOptions {
                protocol_version: VERSION,
                storage: None,
                client: None,
                capabilities: None,
                settings: None,
            },
        };
        let storage = self.storage.with(options.storage.as_ref()).map_err(|error| jsonrpc(&error))?;
        if let Some(pid) = params.process_id {
            // Before the response: a parent that ended later could not be found any more.
            match Parent::find(pid) {
                Some(parent) => drop(self.parents.send(parent)),
                // A parent that cannot be seen may live outside of our container: its absence says nothing.
                None => tracing::warn!(
                    pid,
                    "the parent process cannot be watched; the end of input tells that it is gone"
                ),
            }
        }
        let named = params.workspace_folders.into_iter().flatten().map(|folder| folder.uri.to_string());
        let mut folders: Vec<String> = named.collect();
        #[allow(deprecated, reason = "older clients know no other field")]
        folders.extend(params.root_uri.map(|uri| uri.to_string()));
        drop(self.events.send(Event::Hello(Box::new(Hello { options, storage, settings, folders }))));
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let capabilities = ServerCapabilities::of_this_build(&version);
        Ok(InitializeResult {
            capabilities: lsp_types::ServerCapabilities {
                experimental: Some(json!({ "threadhold": capabilities })),
                ..Default::default()
            },
            server_info: Some(ServerInfo { name: "threadhold".into(), version: Some(version) }),
        })
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        let ours = match params.settings.get("threadhold") {
            Some(ours) => ours.clone(),
            None => params.settings,
        };
        drop(self.events.send(Event::Configured(ours)));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        // Sessions name their folder; nothing depends on the open folders.
        tracing::info!(
            added = params.event.added.len(),
            removed = params.event.removed.len(),
            "folders changed"
        );
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

/// The error for an unknown version, checked first because the options of another version may have another shape.
fn unsupported(options: &Value) -> Option<ProtocolError> {
    let asked = options.get("protocolVersion")?.as_u64()?;
    let asked = u32::try_from(asked).unwrap_or(u32::MAX);
    if SUPPORTED.contains(&asked) {
        return None;
    }
    let message = format!("unsupported protocol version {asked}; supported: {SUPPORTED:?}");
    Some(ProtocolError::new(ErrorData::UnsupportedVersion { asked, supported: SUPPORTED.to_vec() }, message))
}

/// Converts an error for the wire.
pub(in crate::server) fn jsonrpc(error: &ProtocolError) -> Error {
    Error {
        code: i64::from(error.code()).into(),
        message: error.message.clone().into(),
        data: Some(error.data()),
    }
}

/// The service with all methods.
pub(in crate::server) fn service(
    backend: impl FnOnce(tower_lsp::Client) -> Backend,
) -> (LspService<Backend>, tower_lsp::ClientSocket) {
    Backend::routed(LspService::build(backend)).finish()
}
