//! What stands before the messages: tools, the one system block, memories and pins. Counted once, then frozen with
//! the session, so that its bytes never change by themselves.

use super::item::{Channel, Item, ItemPart, Role, Tool};
use super::{Cut, CutReason, KEEP, Prompt, Section};
use crate::engine::message::Text;
use crate::engine::text::{head, sha256_hex, tail};
use crate::engine::tokens::{PER_MESSAGE, TokenCount};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A section that the caller brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerSection {
    /// Where it stands.
    pub place: Place,
    /// Its name in plans and reports.
    pub name: String,
    /// Its text.
    pub content: String,
    /// The lowest goes first.
    pub priority: u32,
    /// Its own ceiling in tokens, if it has one.
    pub max_tokens: Option<u32>,
    /// What happens above that ceiling.
    pub on_overflow: OnOverflow,
}

/// Where a caller's section stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// A part of the system block.
    System,
    /// A message after it.
    Memory,
}

/// What happens to a caller's section that is over its own ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnOverflow {
    /// It stays whole.
    Keep,
    /// Head and tail stay.
    Shrink,
    /// It is left out.
    Drop,
}

/// Tools, system text and memories of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fixed {
    /// Sorted by name; shared with every prompt.
    pub tools: Arc<[Tool]>,
    tool_tokens: u32,
    tools_hash: String,
    sections_hash: String,
    sections: Vec<FixedSection>,
    cuts: Vec<Cut>,
}

#[derive(Debug, Clone, PartialEq)]
struct FixedSection {
    place: Place,
    name: String,
    text: Text,
    tokens: u32,
    priority: u32,
}

/// The name under which the caller's main system text stands in plans.
pub const SYSTEM: &str = "system";

impl Fixed {
    /// Counts and freezes. Tools are sorted by name, so that their order never breaks a prefix; their guidelines
    /// become a part of the system text (source: 000).
    pub fn new(
        system: &str,
        sections: &[CallerSection],
        mut tools: Vec<Tool>,
        counter: &dyn TokenCount,
    ) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let mut fixed = Fixed::default();
        fixed.add(Place::System, SYSTEM, system, KEEP, counter);
        let guidelines: Vec<&str> = tools.iter().filter_map(|tool| tool.guidelines.as_deref()).collect();
        fixed.add(Place::System, "toolGuidelines", &guidelines.join("\n\n"), KEEP, counter);
        for section in sections {
            fixed.add_callers(section, counter);
        }
        fixed.tool_tokens = tools.iter().map(|tool| tool.tokens(counter)).sum();
        fixed.tools_hash = hash(tools.iter().map(|tool| {
            [tool.name.clone(), tool.description.clone(), tool.input_schema.to_string()]
        }));
        let text = |section: &FixedSection| [format!("{:?}", section.place), section.text.to_string()];
        fixed.sections_hash = hash(fixed.sections.iter().map(text));
        fixed.tools = tools.into();
        fixed
    }

    fn add(&mut self, place: Place, name: &str, text: &str, priority: u32, counter: &dyn TokenCount) {
        if !text.is_empty() {
            let tokens = counter.count(text);
            self.sections.push(FixedSection {
                place,
                name: name.into(),
                text: text.into(),
                tokens,
                priority,
            });
        }
    }

    fn add_callers(&mut self, section: &CallerSection, counter: &dyn TokenCount) {
        let fits = section.max_tokens.is_none_or(|most| counter.count(&section.content) <= most);
        let text = match section.on_overflow {
            _ if fits => section.content.clone(),
            OnOverflow::Keep => section.content.clone(),
            OnOverflow::Shrink => shrink(&section.content, section.max_tokens.unwrap_or_default(), counter),
            OnOverflow::Drop => String::new(),
        };
        if text != section.content {
            self.cuts.push(Cut {
                ord: None,
                reason: CutReason::Section,
                original_bytes: section.content.len(),
                kept_bytes: text.len(),
            });
        }
        self.add(section.place, &section.name, &text, section.priority, counter);
    }

    /// Tokens of tools, system block and memories.
    pub fn tokens(&self) -> u32 {
        let overhead = u32::from(self.has(Place::System)) * PER_MESSAGE;
        let system = self.sections.iter().filter(|section| section.place == Place::System);
        self.tool_tokens + overhead + system.map(|section| section.tokens).sum::<u32>() + self.memory_tokens()
    }

    /// Tokens of memories and pins.
    pub fn memory_tokens(&self) -> u32 {
        let memories = self.sections.iter().filter(|section| section.place == Place::Memory);
        memories.map(|section| section.tokens + PER_MESSAGE).sum()
    }

    /// Hash of the tool definitions as a model is told of them.
    pub fn tools_hash(&self) -> &str {
        &self.tools_hash
    }

    /// Hash of system text and sections.
    pub fn sections_hash(&self) -> &str {
        &self.sections_hash
    }

    /// Tokens of the tool definitions.
    pub fn tool_tokens(&self) -> u32 {
        self.tool_tokens
    }

    fn has(&self, place: Place) -> bool {
        self.sections.iter().any(|section| section.place == place)
    }

    /// Puts tools, system block and memories at the start of a prompt.
    pub(super) fn put(&self, prompt: &mut Prompt) {
        let tools = (0..0, "tools", self.tool_tokens, KEEP);
        let mut named = Vec::new();
        if !self.tools.is_empty() {
            named.push(tools);
        }
        if self.has(Place::System) {
            let of_system = || self.sections.iter().filter(|section| section.place == Place::System);
            let mut item = Item::made(Role::System, "", PER_MESSAGE);
            item.parts = of_system().map(|section| ItemPart::text(section.text.clone())).collect();
            item.tokens += of_system().map(|section| section.tokens).sum::<u32>();
            prompt.items.push(item);
            for (n, section) in of_system().enumerate() {
                let tokens = section.tokens + if n == 0 { PER_MESSAGE } else { 0 };
                named.push((0..1, &section.name, tokens, section.priority));
            }
        }
        for (items, name, tokens, priority) in named {
            prompt.plan.sections.push(Section {
                channel: Channel::System,
                name: name.into(),
                items,
                tokens,
                priority,
                cache_breakpoint: false,
            });
        }
        for section in self.sections.iter().filter(|section| section.place == Place::Memory) {
            let item = Item::made(Role::User, section.text.clone(), section.tokens + PER_MESSAGE);
            prompt.push(Channel::Memory, &section.name, section.priority, vec![item]);
        }
        prompt.cuts.extend(self.cuts.iter().cloned());
    }
}

/// Hash of groups of texts, each text behind its length.
fn hash<const N: usize>(groups: impl Iterator<Item = [String; N]>) -> String {
    let fields = groups.flatten().map(|text| format!("{}:{text}", text.len()));
    sha256_hex(fields.collect::<String>().as_bytes())
}

/// Head and tail of a text in at most `most` tokens, with a line that says what is missing.
fn shrink(text: &str, most: u32, counter: &dyn TokenCount) -> String {
    let mut keep = text.len();
    while keep > 0 {
        let whole = format!(
            "{}\n[{} of {} bytes left out]\n{}",
            head(text, keep * 2 / 5),
            text.len() - keep,
            text.len(),
            tail(text, keep * 3 / 5)
        );
        if counter.count(&whole) <= most {
            return whole;
        }
        keep = keep * 3 / 4;
    }
    String::new()
}
