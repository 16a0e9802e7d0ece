//! `server/diagnostics`: what a person who looks for a fault wants to see first.

use super::listed::summary;
use super::main_loop::{MainLoop, Slot, wire};
use protocol::VERSION;
use protocol::error::ProtocolError;
use protocol::server::{OpenSession, ServerDiagnosticsResult, StorageBackend, StorageInfo};
use session::input::ReplyTo;
use std::sync::{Arc, Mutex};
use store::StoreDiagnostics;
use store::error::StoreError;

/// Requests that may wait for an answer at once.
pub(super) const REQUEST_LIMIT: usize = 256;

/// Asks every store that is in use, and answers when the last one has said something.
pub(super) fn answer(main: &mut MainLoop, to: ReplyTo) -> Result<(), ProtocolError> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let open = main.sessions.values().filter_map(|slot| match slot {
        Slot::Live(live) => Some(summary(&live.session)),
        Slot::Opening(_) => None,
    });
    let sessions = open.map(|session| OpenSession {
        session_id: session.session_id,
        state: session.state.unwrap_or_default(),
        driver: session.driver,
        messages: session.messages,
        queued: 0,
    });
    let found = ServerDiagnosticsResult {
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
        protocol_version: VERSION,
        pid: std::process::id(),
        estimator: main.counter.name().to_owned(),
        storage: Vec::new(),
        sessions: sessions.collect(),
        requests_in_flight: count(main.waiting.len()),
        request_limit: count(REQUEST_LIMIT),
        asked_of_client: count(main.asked.len()),
    };
    let stores: Vec<_> = main.stores.all().map(|(folder, store)| (folder.clone(), store.clone())).collect();
    if stores.is_empty() {
        let value = wire(&found);
        main.answer(to, value);
        return Ok(());
    }
    let gathered = Arc::new(Mutex::new((found, stores.len(), Some(main.pending(to)))));
    for (folder, store) in stores {
        let gathered = gathered.clone();
        store.submit(
            |store| store.diagnostics(),
            move |told| {
                let Ok(mut gathered) = gathered.lock() else { return };
                gathered.0.storage.push(info(folder, told));
                gathered.1 -= 1;
                if gathered.1 == 0
                    && let Some(pending) = gathered.2.take()
                {
                    pending.answer(wire(&gathered.0));
                }
            },
        );
    }
    Ok(())
}

fn info(folder: String, told: Result<StoreDiagnostics, StoreError>) -> StorageInfo {
    let mut info = StorageInfo {
        workspace_folder: folder,
        backend: StorageBackend::Sqlite,
        location: None,
        schema_version: None,
        fault: None,
    };
    match told {
        Ok(told) => {
            if told.backend == "memory" {
                info.backend = StorageBackend::Memory;
            }
            info.location = told.path.map(|path| path.display().to_string());
            info.schema_version = Some(told.schema_version);
        }
        Err(error) => info.fault = Some(error.to_string()),
    }
    info
}
