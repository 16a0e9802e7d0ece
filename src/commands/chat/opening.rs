//! Start of a chat: the handshake, the choice of a session and of a model.

use super::client::{Client, ClientError};
use super::terminal::Screen;
use super::tools;
use lsp_types::notification::{DidChangeConfiguration, Initialized};
use lsp_types::request::{Initialize, Request};
use lsp_types::{DidChangeConfigurationParams, InitializedParams};
use protocol::VERSION;
use protocol::methods::{SessionConfigure, SessionList, SessionOpen, TaskList};
use protocol::session::{Driver, Origin, SessionConfigureParams, SessionListParams, SessionOpenParams};
use protocol::settings::{GivenSettings, Settings};
use protocol::snapshot::Snapshot;
use protocol::task::TaskListParams;
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// Longest wait for a session that another process writes.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Interval between attempts.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

/// Parameters of a chat.
#[derive(Debug)]
pub(super) struct Begin {
    /// Absolute path of the workspace folder.
    pub folder: PathBuf,
    /// The session to open.
    pub which: Which,
    /// The storage folder; `None` for the platform's.
    pub storage: Option<PathBuf>,
    /// Settings of tasks created in the session.
    pub task: Option<GivenSettings>,
}

/// The session that a chat opens.
#[derive(Debug)]
pub(super) enum Which {
    New,
    Named(String),
    /// The newest of the folder, or a new one if there is none.
    Newest,
}

/// Opens the session. Returns it with the name of its model, for display.
pub(super) async fn open(
    mut client: Client,
    begin: Begin,
    screen: &mut Screen,
) -> Result<(Client, Snapshot, String), ClientError> {
    let folder = begin.folder.display().to_string();
    let storage = begin.storage.map(|path| json!({ "path": path }));
    let ours = json!({
        "protocolVersion": VERSION,
        "client": { "name": "threadhold chat", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": { "toolInvoke": true, "requestPermission": true },
        "storage": storage,
    });
    let hello = json!({ "capabilities": {}, "initializationOptions": { "threadhold": ours } });
    client.call_named(Initialize::METHOD, &hello).await?;
    client.notify::<Initialized>(InitializedParams {}).await;
    let session_id = match begin.which {
        Which::New => None,
        Which::Named(id) => Some(id),
        Which::Newest => newest(&mut client, &folder).await?,
    };
    let params = SessionOpenParams {
        snapshot_messages: None,
        workspace_folder: folder.clone(),
        session_id,
        driver: Some(Driver::Sidecar),
        title: None,
        kind: None,
        parent_id: None,
        work_scope: None,
        settings: None,
        tools: Some(tools::tools()),
        sections: None,
        history: None,
        // A session of another process is returned with `held_by`, not as an error.
        follow: Some(true),
    };
    let opened = opened(&mut client, &params, screen).await?;
    if opened.driver == Driver::Editor {
        let said = format!("session {} is run by an editor; continue it there", opened.session_id);
        return Err(ClientError::No(said));
    }
    if opened.waits == Some(true) {
        let id = &opened.session_id;
        let said = format!(
            "session {id} is a task that waits for a `threadhold serve` on this folder; continue it here once it has run"
        );
        return Err(ClientError::No(said));
    }
    let model = model(&mut client, &opened).await?;
    // The session is notified of tasks started earlier from now on, and at once of those that it missed.
    let session_id = opened.session_id.clone();
    client.ask::<TaskList>(&TaskListParams { workspace_folder: folder, session_id }).await;
    Ok((client, opened, model))
}

/// Opens a session. Waits for one that another process writes: that may be about to close it.
async fn opened(
    client: &mut Client,
    params: &SessionOpenParams,
    screen: &mut Screen,
) -> Result<Snapshot, ClientError> {
    let deadline = Instant::now() + LONGEST_WAIT;
    let mut is_told = false;
    loop {
        let opened = client.call::<SessionOpen>(params).await?.snapshot;
        let Some(held) = &opened.held_by else { return Ok(opened) };
        let said = format!("session {} is open in another process (pid {})", opened.session_id, held.pid);
        if Instant::now() >= deadline {
            return Err(ClientError::No(format!(
                "{said}; nothing was changed; close it there, then try again"
            )));
        }
        if !std::mem::replace(&mut is_told, true) {
            screen.note(&format!("({said}; waiting for it to close there; press Ctrl-C to leave)"));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
        // The next response has the current state.
        client.drop_events();
    }
}

/// The newest session of the folder that a user chats in.
async fn newest(client: &mut Client, folder: &str) -> Result<Option<String>, ClientError> {
    let mut params =
        SessionListParams { workspace_folder: Some(folder.to_owned()), ..SessionListParams::default() };
    loop {
        let page = client.call::<SessionList>(&params).await?;
        let mut sessions = page.sessions.into_iter();
        let found = sessions.find(|session| {
            session.driver == Driver::Sidecar && matches!(session.origin, Origin::New | Origin::Branch)
        });
        match (found, page.next_cursor) {
            (Some(found), _) => return Ok(Some(found.session_id)),
            (None, None) => return Ok(None),
            (None, cursor) => params.cursor = cursor,
        }
    }
}

/// Name of the session's model, for display. Without one, a scripted model answers; that is not stored, so
/// the session is unchanged when it is opened again.
async fn model(client: &mut Client, opened: &Snapshot) -> Result<String, ClientError> {
    if let Some(named) = named(&opened.settings) {
        return Ok(named);
    }
    let settings = json!({ "threadhold": { "model": { "wire": "scripted" } } });
    client.notify::<DidChangeConfiguration>(DidChangeConfigurationParams { settings }).await;
    let session_id = opened.session_id.clone();
    let params =
        SessionConfigureParams { session_id, settings: None, title: None, forget_learned_limits: None };
    let settings = client.call::<SessionConfigure>(&params).await?.settings;
    let ours = || {
        ClientError::No("the session's model belongs to the editor; choose another one with --model".into())
    };
    named(&settings).map(|named| format!("{named} (no model is set; see --model)")).ok_or_else(ours)
}

fn named(settings: &Settings) -> Option<String> {
    let model = settings.model.as_ref()?;
    let wire = serde_json::to_value(model.wire?).ok()?;
    let wire = wire.as_str().filter(|wire| *wire != "editor")?;
    let name = model.name.as_deref().or(model.base_url.as_deref());
    Some(name.map_or_else(|| wire.to_owned(), |name| format!("{wire}:{name}")))
}
