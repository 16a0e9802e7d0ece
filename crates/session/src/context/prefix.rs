//! What stands before the messages: when it is counted and frozen, and what of it may change meanwhile. What it is made
//! of is `prompt::system`'s.

use crate::context::instructions::renew_instructions;
use crate::context::records::commit;
use crate::core::Core;
use crate::values::input::GivenPrefix;
use engine::compact::placing;
use engine::compact::record::Compaction;
use engine::prompt;
use engine::prompt::order::SystemPrompt;
use engine::settings::Budget;
use engine::words::BreakCause;

/// A turn begins: the first one, and where the setting says so each, shows what instruction files and memories say
/// now.
pub(crate) fn renew_for_turn(core: &mut Core<'_>) {
    let is_first = core.transcript().turns().is_empty();
    let is_made_anew = core.settings().system_prompt == SystemPrompt::PerTurn;
    let is_renewed = (is_first || is_made_anew) && renew(core);
    if is_renewed && is_made_anew {
        core.announce(BreakCause::PerTurn);
    }
}

/// Shows what instruction files and memories say now: here the beginning of the prompt changes anyway. Whether they
/// say something else; the head is to be written then.
pub(crate) fn renew(core: &mut Core<'_>) -> bool {
    let are_files_new = renew_instructions(core);
    let are_memories_new = core.read_memories();
    if are_files_new && !are_memories_new {
        core.freeze();
    }
    are_files_new || are_memories_new
}

/// The same after a compaction, where the prompt still fits with it.
pub(crate) fn renew_within(core: &mut Core<'_>, budget: Budget) {
    let before = core.prefix_before();
    if !renew(core) {
        return;
    }
    let prompt = prompt::draft(core.source(budget), core.transcript().in_force());
    if prompt.tokens > prompt.limit {
        core.restore_prefix(before);
    } else {
        core.write_head_as_it_was_used();
    }
}

/// Puts the block in force where the setting wants it: once, when the next prompt is made. The record that does it.
pub(crate) fn settle_placement(core: &mut Core<'_>, budget: Budget) -> Option<Compaction> {
    let placement = core.settings().policy.placement;
    let record = placing::replaced(core.source(budget), placement, core.counter())?;
    core.announce(BreakCause::Compaction);
    Some(commit(core, record, Some("its block stands in another place from now on")))
}

/// Takes tools and sections on, where they are given and others than before.
pub(crate) fn take_prefix(core: &mut Core<'_>, given: GivenPrefix) {
    let prefix = core.prefix_mut();
    let mut changed = false;
    if let Some(sections) = given.sections.filter(|sections| *sections != prefix.sections) {
        prefix.sections = sections;
        changed = true;
    }
    if let Some(tools) = given.tools.filter(|tools| *tools != prefix.tools) {
        prefix.tools = tools;
        changed = true;
    }
    if changed {
        core.freeze();
        core.write_head();
    }
}
