//! Counts and freezes the prompt's prefix.

use super::conversation::Conversation;
use crate::values::settings::Settings;
use crate::values::stored::Prefix;
use engine::message::Text;
use engine::prompt::item::Tool;
use engine::prompt::order::SystemText;
use engine::prompt::pins::Pins;
use engine::prompt::system::Fixed;
use engine::tokens::TokenCount;

/// Heading above the instruction files.
const INSTRUCTIONS: &str = "# WORKSPACE INSTRUCTIONS\n\
                       The files below belong to the workspace. They say how to work in it; the user's requests go before them.";

/// Counts and freezes the prefix: named sections, those of the caller, its tools, and own tools and those of servers
/// that have other names.
pub(super) fn freeze(kept: &mut Conversation, counter: &dyn TokenCount) {
    let Settings { own_tools, system, policy, .. } = &kept.settings;
    let prefix = &kept.head.prefix;
    let mut tools = prefix.tools.clone();
    for more in [own_tools, &prefix.server_tools] {
        let is_new = |tool: &&Tool| !tools.iter().any(|known| known.name == tool.name);
        let new: Vec<Tool> = more.iter().filter(is_new).cloned().collect();
        tools.extend(new);
    }
    let remembered = prefix.remembered.as_ref();
    let text = SystemText {
        instruction_files: instructions(prefix),
        core_memories: remembered.map(|remembered| remembered.core.clone()),
        key_reminder: remembered.map(|remembered| remembered.reminder.clone()),
        ..system.clone()
    };
    kept.fixed = Fixed::new(&text, &policy.order, &prefix.sections, tools, counter);
    count_pins(kept, counter);
}

pub(super) fn count_pins(kept: &mut Conversation, counter: &dyn TokenCount) {
    kept.fixed.pins = Pins::new(&kept.head.prefix.pins, &kept.transcript, counter);
}

/// The instruction files as the system text shows them; `None` if all are empty.
fn instructions(prefix: &Prefix) -> Option<Text> {
    let files = prefix.instructions.iter().filter(|file| !file.text.is_empty());
    let said =
        files.fold(String::new(), |all, file| format!("{all}\n\n## {}\n{}", file.name, file.text.trim_end()));
    (!said.is_empty()).then(|| format!("{INSTRUCTIONS}{said}").into())
}
