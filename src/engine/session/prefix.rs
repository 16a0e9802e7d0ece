//! What stands before the messages: when it is counted and frozen, and what of it may change meanwhile. What it is made
//! of is `prompt::system`'s.

use super::breaks::BreakCause;
use super::{Session, Step, instructions};
use crate::engine::compact::placing;
use crate::engine::compact::record::Compaction;
use crate::engine::prompt::item::Tool;
use crate::engine::prompt::order::{Background, SystemPrompt, SystemText};
use crate::engine::prompt::system::Fixed;
use crate::engine::prompt::{self, Source};
use crate::engine::settings::Budget;
use crate::engine::tokens::TokenCount;

/// Texts that are read from elsewhere: as they were read last, and as prompts show them.
#[derive(Debug, Default)]
pub(super) struct Read {
    newest: Background,
    shown: Background,
}

impl Session {
    /// Counts and freezes what stands before the messages: named sections, the caller's own, its tools, and those of ours
    /// that it has no tool of the same name for.
    pub(super) fn freeze(&mut self, counter: &dyn TokenCount) {
        let prefix = &self.head.prefix;
        let theirs = |own: &&Tool| !prefix.tools.iter().any(|tool| tool.name == own.name);
        let own = self.settings.own_tools.iter().filter(theirs);
        let tools = prefix.tools.iter().chain(own).cloned().collect();
        let mut background = self.read.shown.clone();
        if let Some(remembered) = &prefix.remembered {
            background.core_memories = Some(remembered.core.clone());
            background.key_reminder = Some(remembered.reminder.clone());
        }
        let text = SystemText {
            instruction_files: instructions::text(prefix),
            background,
            ..self.settings.system.clone()
        };
        self.fixed = Fixed::new(&text, &self.settings.policy.order, &prefix.sections, tools, counter);
        self.count_pins(counter);
    }
}

impl Step<'_> {
    /// Texts were read from elsewhere. A session in which nothing was said shows them at once.
    pub(super) fn take_background(&mut self, newest: Background) {
        self.session.read.newest = newest;
        if self.session.transcript.turns().is_empty() {
            self.show_background();
        }
    }

    /// A turn begins: the first one, and where the setting says so each, shows what was read last.
    pub(super) fn background_of_turn(&mut self) {
        let is_first = self.session.transcript.turns().is_empty();
        let is_made_anew = self.session.settings.system_prompt == SystemPrompt::PerTurn;
        if is_made_anew && self.session.read.shown != self.session.read.newest {
            self.announce(BreakCause::PerTurn);
        }
        if is_first || is_made_anew {
            self.show_background();
            if self.read_memories() && is_made_anew {
                self.announce(BreakCause::PerTurn);
            }
        }
    }

    /// Shows what was read last: here the beginning of the prompt changes anyway.
    pub(super) fn show_background(&mut self) {
        let is_renewed = self.renew_instructions();
        let read = &mut self.session.read;
        if read.shown != read.newest || is_renewed {
            read.shown = read.newest.clone();
            self.session.freeze(self.around.counter);
        }
    }

    /// The same after a compaction, where the prompt still fits with it.
    pub(super) fn show_background_within(&mut self, budget: Budget) {
        let Session { head, read, fixed, .. } = &*self.session;
        let before = (read.shown.clone(), fixed.clone());
        let (instructions, waiting) = (head.prefix.instructions.clone(), head.carried.attachments.clone());
        self.show_background();
        let Session { transcript, fixed, .. } = &*self.session;
        let prompt = prompt::draft(Source { transcript, fixed, budget }, transcript.in_force());
        let head = &mut self.session.head;
        if prompt.tokens > prompt.limit {
            (self.session.read.shown, self.session.fixed) = before;
            (head.prefix.instructions, head.carried.attachments) = (instructions, waiting);
        } else if head.prefix.instructions != instructions {
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
