//! A turn as an editor hands it back: what was said, and the metadata of the summaries that hung in it. Values only.

use engine::compact::metadata::SummaryEntry;
use engine::message::NewMessage;

/// One turn of an editor's history, oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryTurn {
    /// The editor's id of the request.
    pub external_id: Option<String>,
    /// Whether its rounds were given. Where not, our own stay as they are.
    pub detailed: bool,
    /// The request first, then what followed. A round's id is its assistant message's external id.
    pub messages: Vec<NewMessage>,
    /// The summaries that the editor kept with it.
    pub metadata: Vec<SummaryEntry>,
}
