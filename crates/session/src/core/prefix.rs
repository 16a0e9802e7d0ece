//! What changes what stands before the messages.

use super::conversation::Conversation;
use super::frozen::{count_pins, freeze};
use super::step::Core;
use crate::values::recall::RECALL;
use crate::values::stored::Prefix;
use engine::compact::record::{Compaction, Status};
use engine::memory::{Memory, remembered};
use engine::message::attachment::Attachment;
use engine::prompt::system::Fixed;

/// What stood before the messages, to be put back where something else does not fit.
pub(crate) struct PrefixBefore {
    prefix: Prefix,
    waiting: Vec<Attachment>,
    fixed: Fixed,
}

impl Core<'_> {
    /// Freezes again what stands before the messages.
    pub fn freeze(&mut self) {
        let counter = self.counter();
        freeze(self.kept, counter);
    }

    /// Results and thinking are shown under the limits of the settings in force.
    pub fn limit_what_is_shown(&mut self) {
        let Conversation { transcript, settings, fixed, .. } = &mut *self.kept;
        transcript.limit_results(Some(settings.most_result()));
        transcript.limit_thinking(settings.thinking);
        transcript.name_results(fixed.tools.iter().any(|tool| tool.name == RECALL));
    }

    /// Counts the pins again.
    pub fn count_pins(&mut self) {
        let counter = self.counter();
        count_pins(self.kept, counter);
    }

    /// What is given there; it is not frozen again.
    pub fn prefix_mut(&mut self) -> &mut Prefix {
        &mut self.kept.head.prefix
    }

    /// Reads again what every prompt shows of the memories: when the session is made, compacted, reset, when a compaction
    /// is undone or the settings for it change. Whether it changed; its head is to be written then.
    pub fn read_memories(&mut self) -> bool {
        let made = self.settings().memory.core.and_then(|budget| {
            // What a summary in force says stands in the history already.
            let is_in_force = |record: &Compaction| record.status == Status::InForce;
            let in_force: Vec<&str> = self
                .transcript()
                .compactions()
                .iter()
                .filter(|record| is_in_force(record))
                .map(|record| record.id.as_str())
                .collect();
            let is_shown =
                |memory: &&Memory| memory.source.as_deref().is_none_or(|source| !in_force.contains(&source));
            remembered(self.memories().iter().filter(is_shown), budget, self.counter())
        });
        let changed = self.head().prefix.remembered != made;
        if changed {
            self.prefix_mut().remembered = made;
            self.freeze();
        }
        changed
    }

    /// What stands before the messages now.
    pub fn prefix_before(&self) -> PrefixBefore {
        PrefixBefore {
            prefix: self.head().prefix.clone(),
            waiting: self.head().carried.attachments.all().to_vec(),
            fixed: self.fixed().clone(),
        }
    }

    /// Puts back what stood there before.
    pub fn restore_prefix(&mut self, before: PrefixBefore) {
        self.kept.head.prefix = before.prefix;
        self.kept.head.carried.attachments.replace(before.waiting);
        self.kept.fixed = before.fixed;
    }
}
