//! Deletion of sessions from stores.

use super::event::{DeletionOutcome, HostEvent, HostEventKind};
use crate::server::client::replies::Replies;
use crate::server::mailbox::Mailbox;
use crate::server::stores::Stores;
use engine::id::SessionId;
use protocol::error::{ErrorData, ProtocolError};
use session::input::ReplyTo;
use std::collections::VecDeque;
use store::Workspaces;
use store::worker::Handle;

/// Asks the first store to delete a session that is not open here; the others in `left` are asked if it has
/// none.
pub(in crate::server) fn next(
    (stores, replies): (&mut Stores, &mut Replies),
    mailbox: &Mailbox<HostEvent>,
    id: &SessionId,
    to: ReplyTo,
    mut left: VecDeque<String>,
) -> Result<(), ProtocolError> {
    let name = left.pop_front().ok_or_else(|| nothing(id))?;
    let store = stores.of(Some(&name))?;
    submit(replies, mailbox, id, to, (&store, Some(stores.meant(None))), left);
    Ok(())
}

/// Asks a store to delete a session; one that is not open here must belong to a folder that the client may mean.
pub(in crate::server) fn submit(
    replies: &mut Replies,
    mailbox: &Mailbox<HostEvent>,
    id: &SessionId,
    to: ReplyTo,
    (store, meant): (&Handle, Option<Workspaces>),
    left: VecDeque<String>,
) {
    let (pending, asked, session) = (replies.pending(to, mailbox), id.clone(), id.clone());
    store.submit(
        move |store| {
            meant.map_or(Ok(()), |meant| store::of_workspace(store, &asked, &meant))?;
            store.delete(&asked)
        },
        move |done| {
            let what = HostEventKind::Deleted(Box::new(DeletionOutcome { to, left, done }));
            pending.send(HostEvent { session, what });
        },
    );
}

/// The error for a session that no store has.
pub(in crate::server) fn nothing(id: &SessionId) -> ProtocolError {
    let data = ErrorData::UnknownSession { session_id: id.as_str().to_owned() };
    ProtocolError::new(data, format!("unknown session \"{id}\"; nothing was deleted"))
}
