//! A turn as an editor hands it over: its messages and what the editor persisted with it. How it is matched with what
//! a session knows is told where sessions are restored.

use crate::engine::message::NewMessage;

/// A turn of an editor's history. The editor's id of a request stands on its user message too, and the id of a round
/// on the round's assistant message.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryTurn {
    /// The editor's id of the request.
    pub external_id: Option<String>,
    /// Whether rounds or messages were given. Without them there is no more than a request and a final answer, and what
    /// a session knows of the turn is better.
    pub detailed: bool,
    /// What was said, in its order.
    pub messages: Vec<NewMessage>,
    /// The summaries that the editor persisted, oldest first.
    pub metadata: Vec<SummaryEntry>,
}

/// A summary that an editor persisted (source: 003). Both id and text empty: it marks one that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SummaryEntry {
    /// The round that it annotates.
    pub round_id: String,
    /// The exact block.
    pub text: String,
    /// Our own part, opaque here; older editors have none.
    pub own: Option<String>,
}
