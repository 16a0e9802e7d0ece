//! What a compaction changes beside its own record, in the same step: the record that it is made again in the place of,
//! and messages that the user wants to keep.

use crate::context::pins::{check_pins, with_pins};
use crate::context::records::meant;
use crate::core::Conversation;
use crate::values::refusal::Refusal;
use engine::compact::record::Status;
use engine::id::{CompactionId, MessageId};
use engine::prompt::pins::{Pinned, Pins};
use engine::prompt::system::Fixed;
use engine::tokens::TokenCount;
use engine::transcript::Transcript;

/// See above.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Again {
    /// The record that goes out of force.
    pub replaces: Option<CompactionId>,
    /// What is pinned.
    pub keep: Vec<Pinned>,
    /// The record that is out of force already: nothing of it has to go.
    pub gone: Option<CompactionId>,
}

impl Again {
    /// This, where the user may want it.
    pub fn of(
        conversation: &Conversation,
        redo: Option<CompactionId>,
        keep: Vec<MessageId>,
        counter: &dyn TokenCount,
    ) -> Result<Self, Refusal> {
        let status = redo.as_ref().and_then(|id| conversation.record(id)).map(|record| record.status);
        let (replaces, gone) = match (redo, status) {
            // What is out of force already needs nothing more to be made again.
            (gone, Some(Status::Undone)) => (None, gone),
            (None, _) => (None, None),
            (Some(id), _) => (Some(meant(conversation, Some(&id))?.id.clone()), None),
        };
        let keep: Vec<Pinned> = keep.into_iter().map(Pinned::Message).collect();
        check_pins(conversation, &keep, counter)?;
        Ok(Self { replaces, keep, gone })
    }

    /// Whether nothing changes beside the record.
    pub fn is_plain(&self) -> bool {
        self.replaces.is_none() && self.keep.is_empty()
    }

    /// The session as it will be, for the ladder to work on.
    pub fn staged(
        &self,
        conversation: &Conversation,
        counter: &dyn TokenCount,
    ) -> Option<(Transcript, Fixed)> {
        if self.is_plain() {
            return None;
        }
        let (mut transcript, mut fixed) = (conversation.transcript().clone(), conversation.fixed().clone());
        if let Some(replaced) = &self.replaces {
            transcript.set_status(replaced, Status::Undone);
        }
        fixed.pins = Pins::new(&with_pins(conversation, &self.keep), &transcript, counter);
        Some((transcript, fixed))
    }
}
