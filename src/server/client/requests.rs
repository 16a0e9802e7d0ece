//! Requests of ours that the client has not answered yet, by number. A number is never reused.

use engine::id::{CallId, SessionId, TurnId};
use protocol::model::ModelPurpose;
use session::input::ModelCallId;
use std::collections::BTreeMap;

/// A request of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct PendingRequest {
    /// The session that wants the answer.
    pub session: SessionId,
    /// The kind of request.
    pub kind: RequestKind,
}

/// The kinds of [`PendingRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum RequestKind {
    /// `model/complete`.
    Model(ModelCallId, Used),
    /// `model/countTokens`.
    Count(Used),
    /// `tool/invoke`.
    Tool(CallId),
    /// `tool/requestPermission`.
    Permission,
    /// `compaction/review`.
    Review,
    /// `mcp/elicit`.
    Elicit,
}

/// A request to a model, as `model/usage` reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) struct Used {
    /// The turn that it is for.
    pub turn: Option<TurnId>,
    /// The purpose of the request.
    pub purpose: ModelPurpose,
    /// Our own count of it, in tokens.
    pub tokens: u32,
}

/// The requests that wait for the client.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pending: BTreeMap<i64, PendingRequest>,
    /// The last number that was given.
    last: i64,
}

impl Requests {
    pub fn insert(&mut self, session: &SessionId, kind: RequestKind) -> i64 {
        self.last += 1;
        self.pending.insert(self.last, PendingRequest { session: session.clone(), kind });
        self.last
    }

    pub fn get(&self, number: i64) -> Option<&PendingRequest> {
        self.pending.get(&number)
    }

    pub fn remove(&mut self, number: i64) -> Option<PendingRequest> {
        self.pending.remove(&number)
    }

    pub fn len(&self) -> usize {
        self.pending.len()
    }
}
