//! `server/diagnostics`: the first information to look at in search of a fault.

use crate::server::client::Client;
use crate::server::client::replies::Replies;
use crate::server::host::HostEvent;
use crate::server::host::sessions::Sessions;
use crate::server::mailbox::Mailbox;
use crate::server::stores::Stores;
use crate::server::wire::{listed, to_json};
use protocol::VERSION;
use protocol::server::{OpenSession, ServerDiagnosticsResult, StorageBackend, StorageInfo};
use session::input::ReplyTo;
use std::sync::{Arc, Mutex};
use store::StoreDiagnostics;
use store::error::StoreError;

/// Most requests that may wait for an answer at once.
pub(in crate::server) const REQUEST_LIMIT: usize = 256;

/// The state of the server, without that of its stores.
pub(in crate::server) fn now(
    sessions: &Sessions,
    client: &Client,
    replies: &Replies,
    estimator: &str,
) -> ServerDiagnosticsResult {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let open = sessions.hosts().map(|host| listed::summary(host.session()));
    let sessions = open.map(|session| OpenSession {
        session_id: session.session_id,
        state: session.state.unwrap_or_default(),
        driver: session.driver,
        messages: session.messages,
        queued: 0,
    });
    ServerDiagnosticsResult {
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol_version: VERSION,
        pid: std::process::id(),
        estimator: estimator.to_owned(),
        storage: Vec::new(),
        sessions: sessions.collect(),
        requests_in_flight: count(replies.len()),
        request_limit: count(REQUEST_LIMIT),
        asked_of_client: count(client.requests()),
    }
}

/// Asks every store in use, and answers once all have replied.
pub(in crate::server) fn answer(
    (stores, replies, client): (&Stores, &mut Replies, &mut Client),
    mailbox: &Mailbox<HostEvent>,
    to: ReplyTo,
    found: ServerDiagnosticsResult,
) {
    let backend = stores.backend();
    let stores: Vec<_> = stores.all().map(|(folder, store)| (folder.clone(), store.clone())).collect();
    if stores.is_empty() {
        return replies.answer(client, to, to_json(&found));
    }
    let pending = replies.pending(to, mailbox);
    let gathered = Arc::new(Mutex::new((found, stores.len(), Some(pending))));
    for (folder, store) in stores {
        let gathered = gathered.clone();
        store.submit(
            |store| store.diagnostics(),
            move |told| {
                let Ok(mut gathered) = gathered.lock() else { return };
                gathered.0.storage.push(info(folder, backend, told));
                gathered.1 -= 1;
                if gathered.1 == 0
                    && let Some(pending) = gathered.2.take()
                {
                    pending.answer(to_json(&gathered.0));
                }
            },
        );
    }
}

fn info(folder: String, backend: StorageBackend, told: Result<StoreDiagnostics, StoreError>) -> StorageInfo {
    let mut info =
        StorageInfo { workspace_folder: folder, backend, location: None, schema_version: None, fault: None };
    match told {
        Ok(told) => {
            info.location = told.path.map(|path| path.display().to_string());
            info.schema_version = Some(told.schema_version);
        }
        Err(error) => info.fault = Some(error.to_string()),
    }
    info
}
