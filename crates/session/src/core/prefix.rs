//! Changes to the prompt's prefix.

use super::conversation::Conversation;
use super::frozen::{count_pins, freeze};
use super::step::Core;
use crate::values::recall::RECALL;
use crate::values::stored::Prefix;
use engine::compact::record::{Compaction, Status};
use engine::memory::{Memory, remembered};
use engine::message::attachment::Attachment;
use engine::prompt::system::Fixed;
use std::sync::Arc;

/// A saved prefix, to be restored if another one does not fit.
pub(crate) struct PrefixBefore {
    prefix: Prefix,
    waiting: Vec<Attachment>,
    fixed: Fixed,
}

impl Core<'_> {
    /// Counts and freezes the prefix again.
    pub fn freeze(&mut self) {
        let counter = self.counter();
        freeze(self.kept, counter);
        self.name_results();
    }

    /// Results cut from now on say how to fetch the rest if the model has the tool for it.
    fn name_results(&mut self) {
        let has_recall = self.kept.fixed.tools.iter().any(|tool| tool.name == RECALL);
        self.transcript_mut().name_results(has_recall);
    }

    /// Applies the limits of the settings in force to shown results and thinking.
    pub fn limit_what_is_shown(&mut self) {
        let Conversation { transcript, settings, head, .. } = &mut *self.kept;
        let transcript = Arc::make_mut(transcript);
        transcript.limit_results(Some(settings.most_result()));
        transcript.limit_thinking(settings.thinking);
        transcript.set_folder(&head.workspace);
        self.name_results();
    }

    pub fn count_pins(&mut self) {
        let counter = self.counter();
        count_pins(self.kept, counter);
    }

    /// The given parts of the prefix; they take effect with the next `freeze`.
    pub fn prefix_mut(&mut self) -> &mut Prefix {
        &mut self.kept.head.prefix
    }

    /// Reads the memories in the prefix again: when the session is made, compacted or reset, a turn renews
    /// the prefix, a compaction is undone or their settings change. Returns `true` if they changed; the
    /// caller writes the head then.
    pub fn read_memories(&mut self) -> bool {
        let made = self.settings().memory.core.and_then(|budget| {
            // A summary in force is in the history already.
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

    /// Saves the current prefix.
    pub fn prefix_before(&self) -> PrefixBefore {
        PrefixBefore {
            prefix: self.head().prefix.clone(),
            waiting: self.head().carried.attachments.all().to_vec(),
            fixed: self.fixed().clone(),
        }
    }

    /// Restores a saved prefix.
    pub fn restore_prefix(&mut self, before: PrefixBefore) {
        self.kept.head.prefix = before.prefix;
        self.kept.head.carried.attachments.replace(before.waiting);
        self.kept.fixed = before.fixed;
    }
}
