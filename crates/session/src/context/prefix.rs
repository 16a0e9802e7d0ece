//! The prompt's prefix: when it is counted and frozen, and what may change in it meanwhile. `prompt::system`
//! builds it.

use crate::context::instructions::renew_instructions;
use crate::context::records::commit;
use crate::core::Core;
use crate::values::input::GivenPrefix;
use engine::compact::placing;
use engine::compact::record::Compaction;
use engine::prompt;
use engine::prompt::item::Tool;
use engine::prompt::order::SystemPrompt;
use engine::settings::Budget;
use engine::words::BreakCause;

/// Renews instruction files and memories at the start of a turn: of the first one, and of each if the setting
/// says so.
pub(crate) fn renew_for_turn(core: &mut Core<'_>) {
    let is_first = core.transcript().turns().is_empty();
    let is_made_anew = core.settings().system_prompt == SystemPrompt::PerTurn;
    let is_renewed = (is_first || is_made_anew) && renew(core);
    if is_renewed && is_made_anew {
        core.announce(BreakCause::PerTurn);
    }
}

/// Shows the current instruction files and memories, when the prefix changes anyway. Returns `true` if they
/// say something else; the caller writes the head then.
pub(crate) fn renew(core: &mut Core<'_>) -> bool {
    let are_files_new = renew_instructions(core);
    let are_memories_new = core.read_memories();
    if are_files_new && !are_memories_new {
        core.freeze();
    }
    are_files_new || are_memories_new
}

/// [`renew`] after a compaction, if the prompt still fits with it.
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

/// Puts the block in force where the setting wants it, when the next prompt is made. Returns the record that does it.
pub(crate) fn settle_placement(core: &mut Core<'_>, budget: Budget) -> Option<Compaction> {
    let placement = core.settings().policy.placement;
    let record = placing::replaced(core.source(budget), placement, core.counter())?;
    core.announce(BreakCause::Compaction);
    Some(commit(core, record, Some("its block stands in another place from now on")))
}

/// Takes over the tools of servers.
pub(crate) fn take_server_tools(core: &mut Core<'_>, tools: Vec<Tool>) {
    if core.head().prefix.server_tools != tools {
        core.prefix_mut().server_tools = tools;
        core.freeze();
        core.write_head_as_it_was_used();
    }
}

/// Takes over tools and sections that were given and differ.
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
