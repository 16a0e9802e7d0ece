//! What stands before the messages: when it is counted and frozen, and what of it may change meanwhile. What it is made
//! of is `prompt::system`'s.

use super::breaks::BreakCause;
use super::{Session, Step, instructions};
use engine::compact::placing;
use engine::compact::record::Compaction;
use engine::prompt::item::Tool;
use engine::prompt::order::{SystemPrompt, SystemText};
use engine::prompt::system::Fixed;
use engine::prompt::{self, Source};
use engine::settings::Budget;
use engine::tokens::TokenCount;

impl Session {
    /// Counts and freezes what stands before the messages: named sections, the caller's own, its tools, and those of ours
    /// that it has no tool of the same name for.
    pub(super) fn freeze(&mut self, counter: &dyn TokenCount) {
        let prefix = &self.head.prefix;
        let theirs = |own: &&Tool| !prefix.tools.iter().any(|tool| tool.name == own.name);
        let own = self.settings.own_tools.iter().filter(theirs);
        let tools = prefix.tools.iter().chain(own).cloned().collect();
        let remembered = prefix.remembered.as_ref();
        let text = SystemText {
            instruction_files: instructions::text(prefix),
            core_memories: remembered.map(|remembered| remembered.core.clone()),
            key_reminder: remembered.map(|remembered| remembered.reminder.clone()),
            ..self.settings.system.clone()
        };
        self.fixed = Fixed::new(&text, &self.settings.policy.order, &prefix.sections, tools, counter);
        self.count_pins(counter);
    }
}

impl Step<'_> {
    /// A turn begins: the first one, and where the setting says so each, shows what instruction files and memories say
    /// now.
    pub(super) fn renew_for_turn(&mut self) {
        let is_first = self.session.transcript.turns().is_empty();
        let is_made_anew = self.session.settings.system_prompt == SystemPrompt::PerTurn;
        let is_renewed = (is_first || is_made_anew) && self.renew();
        if is_renewed && is_made_anew {
            self.announce(BreakCause::PerTurn);
        }
    }

    /// Shows what instruction files and memories say now: here the beginning of the prompt changes anyway. Whether they
    /// say something else; the head is to be written then.
    pub(super) fn renew(&mut self) -> bool {
        let are_files_new = self.renew_instructions();
        let are_memories_new = self.read_memories();
        if are_files_new && !are_memories_new {
            self.session.freeze(self.around.counter);
        }
        are_files_new || are_memories_new
    }

    /// The same after a compaction, where the prompt still fits with it.
    pub(super) fn renew_within(&mut self, budget: Budget) {
        let Session { head, fixed, .. } = &*self.session;
        let before = (head.prefix.clone(), head.carried.attachments.clone(), fixed.clone());
        if !self.renew() {
            return;
        }
        let Session { transcript, fixed, .. } = &*self.session;
        let prompt = prompt::draft(Source { transcript, fixed, budget }, transcript.in_force());
        if prompt.tokens > prompt.limit {
            let Session { head, fixed, .. } = &mut *self.session;
            (head.prefix, head.carried.attachments, *fixed) = before;
        } else {
            self.write_head_as_it_was_used();
        }
    }

    /// Puts the block in force where the setting wants it: once, when the next prompt is made. The record that does it.
    pub(super) fn settle_placement(&mut self, budget: Budget) -> Option<Compaction> {
        let Session { transcript, fixed, settings, .. } = &*self.session;
        let source = Source { transcript, fixed, budget };
        let record = placing::replaced(source, settings.policy.placement, self.around.counter)?;
        self.announce(BreakCause::Compaction);
        Some(self.commit(record, Some("its block stands in another place from now on")))
    }
}
