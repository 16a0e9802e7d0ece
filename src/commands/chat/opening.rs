//! Start of a chat: the handshake, the choice of a session and of a model.

use super::command::Context;
use super::screen::{Form, Screen};
use crate::commands::client::{Client, ClientError, Greeting};
use crate::commands::model::Named;
use crate::commands::report;
use crate::commands::tools;
use lsp_types::DidChangeConfigurationParams;
use lsp_types::notification::DidChangeConfiguration;
use protocol::event::{Event, SessionEvent};
use protocol::methods::{SessionClose, SessionConfigure, SessionList, SessionOpen, TaskList};
use protocol::session::{
    Driver, Origin, SessionCloseParams, SessionConfigureParams, SessionListParams, SessionOpenParams,
    SessionSummary,
};
use protocol::snapshot::Snapshot;
use protocol::task::TaskListParams;
use serde_json::json;
use std::path::{Path, PathBuf};
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
    /// Form of the output.
    pub form: Form,
    /// The model that the user chose; `None` for that of the settings.
    pub model: Option<Named>,
}

/// The session that a chat opens.
#[derive(Debug)]
pub(super) enum Which {
    New,
    Named(String),
    /// The newest of the folder, or a new one if there is none.
    Newest,
}

/// Greets the sidecar.
pub(super) async fn greet(client: &mut Client, storage: Option<&Path>) -> Result<(), ClientError> {
    let capabilities = Some(json!({ "toolInvoke": true, "requestPermission": true, "elicit": true }));
    let greeting = Greeting { name: "threadhold chat", capabilities, storage, ..Greeting::default() };
    client.greet(greeting).await
}

/// Opens a session of a folder. Returns it with the name of its model, for display.
pub(super) async fn open(
    client: &mut Client,
    folder: &str,
    which: Which,
    screen: &mut Screen,
) -> Result<(Snapshot, String), ClientError> {
    let session_id = match which {
        Which::New => None,
        Which::Named(id) => Some(id),
        Which::Newest => newest(client, folder).await?,
    };
    let params = SessionOpenParams {
        session_id,
        driver: Some(Driver::Sidecar),
        tools: Some(tools::tools()),
        // A session of another process is returned with `held_by`, not as an error.
        follow: Some(true),
        ..SessionOpenParams::of(folder.to_owned())
    };
    let opened = opened(client, &params, screen).await?;
    let model = match usable(client, &opened).await {
        Ok(model) => model,
        Err(error) => {
            // Its own client must be able to open it.
            let params = SessionCloseParams { session_id: opened.session_id };
            client.call::<SessionClose>(&params).await?;
            return Err(error);
        }
    };
    // The session is notified of tasks started earlier from now on, and at once of those that it missed.
    let session_id = opened.session_id.clone();
    let params = TaskListParams { workspace_folder: folder.to_owned(), session_id };
    client.ask::<TaskList>(&params).await;
    Ok((opened, model))
}

/// The model of a session that a chat can go on with, for display.
async fn usable(client: &mut Client, opened: &Snapshot) -> Result<String, ClientError> {
    let id = &opened.session_id;
    if opened.driver == Driver::Editor {
        return Err(ClientError::No(format!("session {id} is run by an editor; continue it there")));
    }
    if opened.waits == Some(true) {
        return Err(ClientError::No(format!(
            "session {id} is a task that waits for a `threadhold serve` on this folder; continue it here once it has run"
        )));
    }
    model(client, opened).await
}

/// The id of a session of the folder: by itself, or by its number in the last list.
pub(super) async fn meant(client: &mut Client, about: &Context, which: &str) -> Result<String, ClientError> {
    let number = which.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    if let Some(id) = number.and_then(|at| about.listed.get(at)) {
        return Ok(id.clone());
    }
    match found(client, &about.folder, |session| session.session_id == which).await? {
        Some(id) => Ok(id),
        None => Err(ClientError::No(format!("there is no session {which} in this folder; see /sessions"))),
    }
}

/// A session as the event that shows it whole.
pub(super) fn as_event(opened: Snapshot) -> SessionEvent {
    SessionEvent {
        session_id: opened.session_id.clone(),
        stream: opened.stream.clone(),
        seq: opened.seq,
        event: Event::Snapshot { snapshot: Box::new(opened) },
    }
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
        let Some(held) = &opened.held_by else {
            // The snapshot has the events that came before it.
            client.drop_events();
            return Ok(opened);
        };
        let said = format!("session {} is open in another process ({held})", opened.session_id);
        if Instant::now() >= deadline {
            let session_id = opened.session_id.clone();
            client.call::<SessionClose>(&SessionCloseParams { session_id }).await?;
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
    found(client, folder, |session| {
        session.driver == Driver::Sidecar && matches!(session.origin, Origin::New | Origin::Branch)
    })
    .await
}

/// The newest session of the folder for which this is `true`.
async fn found(
    client: &mut Client,
    folder: &str,
    is_meant: impl Fn(&SessionSummary) -> bool,
) -> Result<Option<String>, ClientError> {
    let mut params =
        SessionListParams { workspace_folder: Some(folder.to_owned()), ..SessionListParams::default() };
    loop {
        let page = client.call::<SessionList>(&params).await?;
        let found = page.sessions.into_iter().find(&is_meant);
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
    if let Some(named) = report::model(&opened.settings) {
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
    report::model(&settings).map(|named| format!("{named} (no model is set; see --model)")).ok_or_else(ours)
}
