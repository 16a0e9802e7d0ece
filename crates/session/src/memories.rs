//! Memories of the session's workspace in its prompts (source: 000, 001): when what is frozen of them is read again, what
//! stands with a message, and what the session is remembered by. What they say is `engine::memory`'s.

use super::Step;
use super::effect::{Effect, Memorize};
use engine::compact::record::{Compaction, Status};
use engine::memory::{Memory, MemoryPatch, SESSION_SUMMARY, knowledge, remembered};
use engine::message::Content;
use engine::message::attachment::Attachment;
use std::sync::Arc;

/// The name of what stands with a message.
pub const KNOWLEDGE: &str = "knowledge";

/// What memories may do in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemorySettings {
    /// Tokens of core memories in the prompt; nothing where they are off.
    pub core: Option<u32>,
    /// Tokens of what stands with a message; nothing where it is off.
    pub knowledge: Option<u32>,
    /// Whether the workspace remembers what compactions sum up.
    pub summaries: bool,
}

impl Step<'_> {
    /// Memories changed. What prompts show of them stays until it is read again.
    pub(super) fn take_known(&mut self, memories: Arc<[Memory]>) {
        self.session.memories = memories;
    }

    /// Reads again what every prompt shows of the memories: when the session is made, compacted, reset, when a compaction
    /// is undone or the settings for it change. Whether it changed; its head is to be written then.
    pub(super) fn read_memories(&mut self) -> bool {
        let session = &*self.session;
        let made = session.settings.memory.core.and_then(|budget| {
            // What a summary in force says stands in the history already.
            let is_in_force = |record: &Compaction| record.status == Status::InForce;
            let in_force: Vec<&str> = session
                .transcript
                .compactions()
                .iter()
                .filter(|record| is_in_force(record))
                .map(|record| record.id.as_str())
                .collect();
            let is_shown =
                |memory: &&Memory| memory.source.as_deref().is_none_or(|source| !in_force.contains(&source));
            remembered(session.memories.iter().filter(is_shown), budget, self.around.counter)
        });
        let changed = self.session.head.prefix.remembered != made;
        if changed {
            self.session.head.prefix.remembered = made;
            self.session.freeze(self.around.counter);
        }
        changed
    }

    /// A compaction was accepted: the workspace remembers what it sums up.
    pub(super) fn remember_compaction(&mut self, record: &Compaction) {
        if let Some(narrative) = record.narrative.clone().filter(|_| self.session.settings.memory.summaries) {
            let id = format!("summary:{}", record.id);
            let memory = MemoryPatch {
                area: Some(SESSION_SUMMARY.to_owned()),
                text: Some(narrative),
                source: Some(record.id.as_str().to_owned()),
                ..MemoryPatch::default()
            };
            self.effects.push(Effect::Memorize(Box::new(Memorize { id, memory })));
        }
    }

    /// What memories say to a request: it stands with the request from now on (source: 001).
    pub(super) fn knowledge(&self, content: &[Content]) -> Option<Attachment> {
        let session = &*self.session;
        let budget = session.settings.memory.knowledge?;
        let says: Vec<&str> = content.iter().filter_map(|part| part.text().map(|text| &**text)).collect();
        let text = knowledge(&session.memories, &says.join("\n"), budget, self.around.counter)?;
        Some(Attachment { name: KNOWLEDGE.to_owned(), text })
    }
}
