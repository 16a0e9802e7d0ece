//! Memories of the session's workspace in its prompts (source: 000, 001): when what is frozen of them is read again, what
//! stands with a message, and what the session is remembered by. What they say is `engine::memory`'s.

use super::Step;
use super::effect::{Effect, Memorize};
use super::stored::Driver;
use crate::engine::compact::record::{Compaction, Status};
use crate::engine::memory::{Memory, MemoryPatch, Remembered, SESSION_SUMMARY, knowledge, remembered};
use crate::engine::message::Content;
use crate::engine::prompt::KEEP;
use crate::engine::prompt::system::{CallerSection, OnOverflow, Place};
use std::sync::Arc;

/// The name of what stands with a message, as that of a resource.
pub const KNOWLEDGE: &str = "memory:knowledge";

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

    /// A compaction was accepted: its summary is remembered, and the memories are read again.
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
        if self.read_memories() {
            self.write_head();
        }
    }

    /// What memories say to a request stands with it from now on, after the user's own words. An editor that runs the loop
    /// compares what it said with what is here, so nothing is put beside that.
    pub(super) fn add_knowledge(&self, content: &mut Vec<Content>) {
        let session = &*self.session;
        let Some(budget) = session.settings.memory.knowledge else { return };
        if session.head.driver != Driver::Sidecar {
            return;
        }
        let says: Vec<&str> = content.iter().filter_map(|part| part.text().map(|text| &**text)).collect();
        if let Some(text) = knowledge(&session.memories, &says.join("\n"), budget, self.around.counter) {
            content.push(Content::Resource { uri: KNOWLEDGE.to_owned(), text });
        }
    }
}

/// What is remembered as sections: all of it behind the caller's memories, the most important again at the end of the
/// system text (source: 000).
pub(super) fn sections(remembered: Option<&Remembered>) -> Vec<CallerSection> {
    let section = |place, name: &str, text: &str| CallerSection {
        place,
        name: name.to_owned(),
        content: text.to_owned(),
        priority: KEEP,
        max_tokens: None,
        on_overflow: OnOverflow::Keep,
    };
    let both = |remembered: &Remembered| {
        [
            section(Place::Memory, "coreMemories", &remembered.core),
            section(Place::System, "keyReminder", &remembered.reminder),
        ]
    };
    remembered.map(both).into_iter().flatten().collect()
}
