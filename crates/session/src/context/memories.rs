//! Workspace memories: those attached to a request, and the summaries that the workspace remembers. Their
//! text is `engine::memory`'s.

use crate::core::Core;
use crate::values::effect::{Effect, Memorize};
use engine::compact::record::Compaction;
use engine::memory::{self, MemoryPatch, SESSION_SUMMARY};
use engine::message::Content;
use engine::message::attachment::Attachment;

/// Name of the attachment with the memories for a request.
pub(crate) const KNOWLEDGE: &str = "knowledge";

/// Keeps the summary of an accepted compaction among the workspace's memories: one per session, for a newer summary has
/// what still holds of the older one.
pub(crate) fn remember_compaction(core: &mut Core<'_>, record: &Compaction) {
    if let Some(narrative) = record.narrative.clone().filter(|_| core.settings().memory.summaries) {
        let id = format!("summary:{}", core.head().id);
        let memory = MemoryPatch {
            area: Some(SESSION_SUMMARY.to_owned()),
            text: Some(narrative),
            source: Some(record.id.as_str().to_owned()),
            ..MemoryPatch::default()
        };
        core.push(Effect::Memorize(Box::new(Memorize { id, memory })));
    }
}

/// The memories that bear on a request, to be attached to it.
pub(crate) fn knowledge(core: &Core<'_>, content: &[Content]) -> Option<Attachment> {
    let budget = core.settings().memory.knowledge?;
    let says: Vec<&str> = content.iter().filter_map(|part| part.text().map(|text| &**text)).collect();
    let text = memory::knowledge(core.memories(), &says.join("\n"), budget, core.counter())?;
    Some(Attachment { name: KNOWLEDGE.to_owned(), text })
}
