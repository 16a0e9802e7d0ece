//! Requests about a session's context that the user makes by slash commands, in a terminal and in editors.

use super::client::Client;
use protocol::context::{ContextCompactParams, ContextInspectParams, ContextUndoParams};
use protocol::methods::{ContextCompact, ContextInspect, ContextUndo};

/// A request about the context of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// Compacts; the focus of the summary.
    Compact(Option<String>),
    /// Makes the compaction of this id again.
    Again(String),
    /// Undoes the newest compaction.
    Undo,
    /// Reads the prompt's parts, with the newest compaction.
    Inspect,
}

impl About {
    /// Sends the request. Returns its number.
    pub async fn ask(self, client: &mut Client, session: &str) -> i64 {
        let session_id = session.to_owned();
        let (focus, redo) = match self {
            Self::Compact(focus) => (focus, None),
            Self::Again(id) => (None, Some(id)),
            Self::Undo => {
                let params = ContextUndoParams { session_id, compaction_id: None };
                return client.ask::<ContextUndo>(&params).await;
            }
            Self::Inspect => {
                let params = ContextInspectParams { session_id, compactions: Some(1) };
                return client.ask::<ContextInspect>(&params).await;
            }
        };
        let (keep, preview, work_done_token) = (Vec::new(), false, None);
        let params = ContextCompactParams { session_id, focus, redo, keep, preview, work_done_token };
        client.ask::<ContextCompact>(&params).await
    }
}
