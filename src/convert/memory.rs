//! Memories as clients see them.

use super::iso;
use engine::memory as ours;
use protocol::memory::Memory;

/// Converts a memory.
pub fn memory(memory: &ours::Memory) -> Memory {
    Memory {
        id: memory.id.clone(),
        area: memory.area.clone(),
        text: memory.text.to_string(),
        importance: memory.importance,
        tags: memory.tags.clone(),
        active: memory.active,
        source: memory.source.clone(),
        created_at: iso(memory.created_at),
        updated_at: iso(memory.updated_at),
    }
}
