//! What comes back for a session from its store, or from a tool of ours.

use super::loading::Loaded;
use super::part::RestCame;
use engine::id::{CallId, SessionId};
use engine::search::Found;
use session::effect::InvokeTool;
use session::input::{ReplyTo, ToolOutcome};
use std::collections::VecDeque;
use store::error::StoreError;
use store::{Deleted, Fence};

/// Something for one session.
pub(in crate::server) struct HostEvent {
    /// The session.
    pub session: SessionId,
    /// The event.
    pub what: Came,
}

/// See [`HostEvent`].
pub(in crate::server) enum Came {
    /// The store has it, or has none of that id.
    Loaded(Box<Result<Loaded, StoreError>>),
    /// The store has the rest of it, or said that something is new to it.
    Rest(Box<RestCame>),
    /// The store took a batch, or did not.
    Committed(Result<(), StoreError>),
    /// The store destroyed it, or did not.
    Deleted(Box<Gone>),
    /// The store searched it for a client.
    Searched(ReplyTo, Result<Found, StoreError>),
    /// The store searched it for a call of a tool of ours.
    Looked(InvokeTool, Result<Found, StoreError>),
    /// A tool of ours ran.
    Ran(CallId, ToolOutcome),
    /// The store said whether it still holds it for us, which is to be taken over.
    Confirmed(Box<Confirmed>),
}

/// A store's answer to a deletion.
pub(in crate::server) struct Gone {
    /// The request.
    pub to: ReplyTo,
    /// Stores that may have it if this one has not.
    pub left: VecDeque<String>,
    /// The store's outcome.
    pub done: Result<Option<Deleted>, StoreError>,
}

/// A store's answer about a session that is open here and is to be taken over.
pub(in crate::server) struct Confirmed {
    /// The right under which it was open.
    pub fence: Fence,
    /// The request.
    pub to: ReplyTo,
    /// The folder that was named.
    pub folder: Option<String>,
    /// The store's answer.
    pub done: Result<(), StoreError>,
}
