//! A turn of an editor's history: its messages and the metadata of its summaries.

use engine::compact::metadata::SummaryEntry;
use engine::message::NewMessage;

/// One turn of an editor's history, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryTurn {
    /// The editor's id of the request.
    pub external_id: Option<String>,
    /// `true` if the turn's rounds were given; otherwise the session's own stay as they are.
    pub detailed: bool,
    /// The request, then the rounds. A round's id is the external id of its assistant message.
    pub messages: Vec<NewMessage>,
    /// Metadata of the summaries that the editor kept with the turn.
    pub metadata: Vec<SummaryEntry>,
}
