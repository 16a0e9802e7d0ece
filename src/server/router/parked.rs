//! Sessions whose inputs waited: for their rest, or for a step that was taken on another thread.

use super::Router;
use crate::server::host::{AwayOutcome, ParkedItem, RestLoaded, RestOutcome, SteppedAway};
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
pub(super) fn stepped_away(router: &mut Router, id: &SessionId, stepped: SteppedAway) {
    router.at_work = Some(id.clone());
    let Some(host) = router.sessions.host_mut(id) else { return };
    match host.stepped_away(stepped) {
        AwayOutcome::Stale => {}
        AwayOutcome::Done(waits) => run(router, id, waits),
        AwayOutcome::Panicked => {
            router.close_panicked(id);
            router.end_if_saved();
        }
    }
}

/// Runs what waited, in order.
fn run(router: &mut Router, id: &SessionId, waits: VecDeque<ParkedItem>) {
    router.is_handing_over = true;
    for wait in waits {
        match wait {
            ParkedItem::Item(item) => router.hand(id, item),
            ParkedItem::Input(input) => router.run_input(id, *input),
        }
    }
    router.is_handing_over = false;
    router.pump(id);
}
