//! Memories of the session's workspace in its prompts: when what is frozen of them is read again, what
//! stands with a message, and what the session is remembered by. What they say is `engine::memory`'s.

use crate::core::Core;
use crate::values::effect::{Effect, Memorize};
use engine::compact::record::Compaction;
use engine::memory::{self, MemoryPatch, SESSION_SUMMARY};
use engine::message::Content;
use engine::message::attachment::Attachment;

/// The name of what stands with a message.
pub(crate) const KNOWLEDGE: &str = "knowledge";

/// A compaction was accepted: the workspace remembers what it sums up.
pub(crate) fn remember_compaction(core: &mut Core<'_>, record: &Compaction) {
    if let Some(narrative) = record.narrative.clone().filter(|_| core.settings().memory.summaries) {
        let id = format!("summary:{}", record.id);
        let memory = MemoryPatch {
            area: Some(SESSION_SUMMARY.to_owned()),
            text: Some(narrative),
            source: Some(record.id.as_str().to_owned()),
            ..MemoryPatch::default()
        };
        core.push(Effect::Memorize(Box::new(Memorize { id, memory })));
    }
}

/// What memories say to a request: it stands with the request from now on.
pub(crate) fn knowledge(core: &Core<'_>, content: &[Content]) -> Option<Attachment> {
    let budget = core.settings().memory.knowledge?;
    let says: Vec<&str> = content.iter().filter_map(|part| part.text().map(|text| &**text)).collect();
    let text = memory::knowledge(core.memories(), &says.join("\n"), budget, core.counter())?;
    Some(Attachment { name: KNOWLEDGE.to_owned(), text })
}
