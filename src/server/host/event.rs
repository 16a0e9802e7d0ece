//! Events for a session from its store or from a tool of ours.

use super::loading::Loaded;
use super::offload::StepDone;
use super::part::RestLoaded;
use crate::server::services::loops::Start;
use engine::id::{CallId, SessionId};
use engine::search::SearchPage;
use mcp::Sign;
use session::effect::InvokeTool;
use session::input::{Command, ModelCallId, ReplyTo, ToolOutcome};
use std::collections::VecDeque;
use store::error::StoreError;
use store::{Deleted, Fence};

/// An event for one session.
pub(in crate::server) struct HostEvent {
    /// The session.
    pub session: SessionId,
    /// The event.
    pub what: HostEventKind,
}

/// The kinds of [`HostEvent`].
pub(in crate::server) enum HostEventKind {
    /// The store loaded it, or has none with this id.
    Loaded(Box<Result<Loaded, StoreError>>),
    /// The rest was loaded and the whole session made, or the store found that claims are new.
    Rest(Box<RestLoaded>),
    /// A step was taken on another thread.
    StepDone(Box<StepDone>),
    /// The store committed a step, or did not.
    Committed(Result<(), StoreError>),
    /// The store deleted it, or did not.
    Deleted(Box<DeletionOutcome>),
    /// The store loaded a revision of it, which this command restores.
    RevisionLoaded(ReplyTo, Box<Command>),
    /// It is a session of the folder of this loop, which is to report to it.
    ParentFound(ReplyTo, Box<Start>),
    /// The store searched it for a client.
    Searched(ReplyTo, Result<SearchPage, StoreError>),
    /// The store searched it for a call of a tool of ours.
    SearchedForTool(InvokeTool, Result<SearchPage, StoreError>),
    /// A server says something about a call.
    Said(CallId, ServerSign),
    /// A server no longer waits for the answer to the request of this number.
    Withdrawn(i64),
    /// A tool of ours ran.
    Ran(CallId, ToolOutcome),
    /// The delay before the next attempt of a call to the client's model is over.
    AskAgain(ModelCallId),
    /// The store checked whether we still hold the lease, before a takeover.
    Confirmed(Box<Confirmed>),
}

/// A message of a server about a call.
pub(in crate::server) struct ServerSign {
    /// The user's name for the server.
    pub server: String,
    /// Its sign.
    pub sign: Sign,
}

/// A store's answer to a deletion.
pub(in crate::server) struct DeletionOutcome {
    /// The request to answer.
    pub to: ReplyTo,
    /// Stores to ask next if this one has no such session.
    pub left: VecDeque<String>,
    /// The store's outcome.
    pub done: Result<Option<Deleted>, StoreError>,
}

/// A store's answer about a session that is open here and is to be taken over.
pub(in crate::server) struct Confirmed {
    /// The fence under which it was open.
    pub fence: Fence,
    /// The request.
    pub to: ReplyTo,
    /// The folder that the request named.
    pub folder: Option<String>,
    /// The store's answer.
    pub done: Result<(), StoreError>,
}
