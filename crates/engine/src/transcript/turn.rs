//! Turns and rounds: what the messages of a transcript form.

use crate::id::{Ordinal, RoundId, TurnId};
use crate::message::{Body, NOT_KEPT, REMOVED};

/// A user request and everything up to the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// Derived from the session's id and a counter.
    pub id: TurnId,
    /// The position of the first message.
    pub first: Ordinal,
    /// The user messages: the request, and those injected while the turn ran.
    pub requests: Vec<Ordinal>,
    /// `true` if a model answered in it; the next user message then starts another turn.
    pub(super) ran: bool,
}

/// An assistant message with the results of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// The editor's id of the assistant message, else derived from the session's id and a counter.
    pub id: RoundId,
    /// The index in [`Transcript::turns`].
    pub turn: usize,
    /// The position of the assistant message.
    pub assistant: Ordinal,
    /// The position of each call's result, in the order of the calls; `None` while unanswered.
    pub results: Vec<Option<Ordinal>>,
    /// The position of the last message.
    pub last: Ordinal,
}

/// The text of an event that replaces a round's assistant message.
pub(super) const REMOVED_ROUND: &str = "round";

/// `true` for an event that replaces a round's assistant message.
pub(super) fn is_removed_round(body: &Body) -> bool {
    let Body::Event { kind, text } = body else { return false };
    [REMOVED, NOT_KEPT].contains(&kind.as_str()) && &**text == REMOVED_ROUND
}

/// `true` for what stands only in turns in which a model answered: its answers, and what is left of them.
pub(super) fn says_that_it_ran(body: &Body) -> bool {
    match body {
        Body::Assistant { .. } => true,
        Body::Event { kind, .. } => kind == NOT_KEPT,
        Body::User(_) | Body::Tool(_) => false,
    }
}
