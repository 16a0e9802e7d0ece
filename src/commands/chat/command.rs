//! Commands that are typed with a slash: what people are told of them. What they do is the sidecar's.

use crate::protocol::methods::{ContextCompact, ContextUndo, Method, read_result};
use serde_json::Value;

/// What `/help` says.
pub(super) const HELP: &str = "/compact [WORDS]  sum up what was said so far; WORDS say what must not be lost
/undo             take the last compaction back
/help             this
/quit             leave, as Ctrl-D does; the session is kept
Ctrl-C stops an answer and keeps what was said of it; once more, at the prompt, leaves.";

/// A command whose answer is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Command {
    /// A compaction is made.
    Compact,
    /// The newest one is taken back.
    Undo,
}

impl Command {
    /// What came of it, for people.
    pub fn said(self, value: Value) -> Result<String, String> {
        fn result<M: Method>(value: Value) -> Result<M::Result, String> {
            read_result::<M>(value).map_err(|error| error.message)
        }
        Ok(match self {
            // One that was made is told by its event.
            Self::Compact => match result::<ContextCompact>(value)?.reason {
                Some(reason) => format!("(nothing was compacted: {reason})"),
                None => "(done; /undo takes it back)".into(),
            },
            Self::Undo => {
                result::<ContextUndo>(value)?;
                "(taken back: the originals are in the prompt again)".into()
            }
        })
    }
}
