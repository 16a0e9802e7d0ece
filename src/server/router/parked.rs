//! Sessions whose inputs waited: for their rest, or for a step that was taken on another thread.

use super::Router;
use crate::server::client::replies::NOBODY;
use crate::server::given::own_settings;
use crate::server::host::{ParkedItem, RestLoaded, RestOutcome, StepDone, StepOutcome};
use crate::server::stores;
use crate::server::wire::refused;
use engine::id::SessionId;
use std::collections::VecDeque;

/// Handles the answer about a partly loaded session, and runs what waited.
pub(super) fn rest_came(router: &mut Router, id: &SessionId, came: RestLoaded) {
    router.at_work = Some(id.clone());
    let Some(host) = router.sessions.host_mut(id) else { return };
    let waits = match host.rest_came(came) {
        RestOutcome::Stale => return,
        RestOutcome::Done(waits) => waits,
        RestOutcome::Differs => {
            // Its messages are stored; it is loaded whole from now on.
            tracing::error!(session = %id, "the rest of this session did not fit what was made of its part");
            router.sessions.open_whole(id);
            router.close_with_error(id, &refused::defect());
            return router.end_if_saved();
        }
        RestOutcome::Failed(error) => {
            router.close_with_error(id, &stores::error(&error));
            return router.end_if_saved();
        }
    };
    run(router, id, waits);
}

/// Handles the outcome of a step that was taken on another thread, and runs what waited.
pub(super) fn step_done(router: &mut Router, id: &SessionId, stepped: StepDone) {
    router.at_work = Some(id.clone());
    let Some(host) = router.sessions.host_mut(id) else { return };
    match host.step_done(stepped) {
        StepOutcome::Stale => {}
        StepOutcome::Done(waits) => run(router, id, waits),
        StepOutcome::Panicked => {
            router.close_panicked(id);
            router.end_if_saved();
        }
    }
}

/// Runs what waited, in order.
fn run(router: &mut Router, id: &SessionId, waits: VecDeque<ParkedItem>) {
    router.is_handing_over = true;
    for wait in waits {
        // Cancelled, or answered because the session ended over one before it.
        if wait.to().is_some_and(|to| to != NOBODY && !router.replies.is_waiting(to)) {
            continue;
        }
        match wait {
            ParkedItem::Item(item) => router.hand(id, item),
            ParkedItem::Input(input) => router.run_input(id, *input),
            ParkedItem::Expired(expired) => {
                let host = router.sessions.host_mut(id);
                if let Some(input) = host.and_then(|host| host.expired(expired)) {
                    router.run_input(id, input);
                }
            }
        }
    }
    router.is_handing_over = false;
    take_deferred_settings(router, id);
    router.pump(id);
}

/// Applies settings that changed while inputs of a session waited, by its own settings of now.
fn take_deferred_settings(router: &mut Router, id: &SessionId) {
    let Some(host) = router.sessions.host_mut(id) else { return };
    if !host.take_deferred_settings() {
        return;
    }
    let (session, head) = (host.session(), host.session().head());
    match router.config.effective(&head.workspace, &own_settings(&head.settings)) {
        Ok(settings) if settings != *session.settings() => {
            router.config.follow_policy(settings.policy_file.as_deref());
            router.settings_changed(vec![(id.clone(), settings)]);
        }
        Ok(_) => {}
        Err(error) => router.client.warn(format!(
            "session \"{id}\": its settings conflict with others that changed; they stay as they were: {error}"
        )),
    }
}
