//! Changes made in the same step as a compaction, beside its own record: the record that it replaces, and
//! messages that the user wants to keep.

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

/// Changes beside a compaction's own record.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Again {
    /// The record that goes out of force.
    pub replaces: Option<CompactionId>,
    /// Messages to pin.
    pub keep: Vec<Pinned>,
    /// The record to redo, if it is out of force already.
    pub gone: Option<CompactionId>,
}

impl Again {
    /// Checks what the user asked for. Fails if `redo` is neither in force nor undone, or a message cannot be pinned.
    pub fn of(
        conversation: &Conversation,
        redo: Option<CompactionId>,
        keep: Vec<MessageId>,
        counter: &dyn TokenCount,
    ) -> Result<Self, Refusal> {
        let status = redo.as_ref().and_then(|id| conversation.record(id)).map(|record| record.status);
        let (replaces, gone) = match (redo, status) {
            // A record that was undone needs no other change to be made again.
            (gone, Some(Status::Undone)) => (None, gone),
            (None, _) => (None, None),
            (Some(id), _) => (Some(meant(conversation, Some(&id))?.id.clone()), None),
        };
        let keep: Vec<Pinned> = keep.into_iter().map(Pinned::Message).collect();
        check_pins(conversation, &keep, counter)?;
        Ok(Self { replaces, keep, gone })
    }

    /// `true` if nothing changes beside the record.
    pub fn is_plain(&self) -> bool {
        self.replaces.is_none() && self.keep.is_empty()
    }

    /// Transcript and prefix with these changes, for the ladder to work on; `None` if there are none.
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
