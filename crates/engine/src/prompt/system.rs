//! The part of a prompt before the messages: tools, the system message, memories and pins. Counted once, then
//! frozen with the session, so that its bytes never change by themselves.

use super::history::{COMPACTION, PRIORITY_BLOCK};
use super::item::{Channel, Item, ItemPart, Role, Tool};
use super::order::{Named, Order, SystemText};
use super::pins::Pins;
use super::{Cut, CutReason, KEEP, Prompt, Section};
use crate::compact::record::{Compaction, Placement};
use crate::id::Ordinal;
use crate::message::Text;
use crate::text::{head, sha256_hex, tail};
use crate::tokens::{PER_MESSAGE, TokenCount};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A section supplied by the caller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallerSection {
    /// The position.
    pub place: Place,
    /// The name in plans and reports.
    pub name: String,
    /// The text.
    pub content: String,
    /// The rank in which sections would be given up, the lowest first.
    pub priority: u32,
    /// The limit in tokens; `None` for no limit of its own.
    pub max_tokens: Option<u32>,
    /// The handling of a text above that limit.
    pub on_overflow: OnOverflow,
}

/// The position of a caller's section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "SectionChannel"))]
pub enum Place {
    /// In the system message.
    System,
    /// As a separate message after it.
    Memory,
}

/// The handling of a section above its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum OnOverflow {
    /// The section stays whole.
    Keep,
    /// The section is shortened to its head and tail.
    Shrink,
    /// The section is left out.
    Drop,
}

/// Tools, system text and memories of a session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fixed {
    /// Sorted by name; shared with every prompt.
    pub tools: Arc<[Tool]>,
    /// The user's pins.
    pub pins: Pins,
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

impl Fixed {
    /// Counts and freezes. Tools are sorted by name, so that their order never breaks a prefix; their
    /// guidelines become a part of the system text.
    pub fn new(
        text: &SystemText,
        order: &Order,
        sections: &[CallerSection],
        mut tools: Vec<Tool>,
        counter: &dyn TokenCount,
    ) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let mut fixed = Fixed::default();
        let callers = |place: Place| sections.iter().filter(move |section| section.place == place);
        for (place, names) in [(Place::System, &order.system), (Place::Memory, &order.memory)] {
            for named in names.iter() {
                match named {
                    Named::Callers => callers(Place::System).for_each(|own| fixed.add_callers(own, counter)),
                    Named::ToolGuidelines => {
                        let said: Vec<&str> =
                            tools.iter().filter_map(|tool| tool.guidelines.as_deref()).collect();
                        fixed.add_named(place, *named, &said.join("\n\n"), counter);
                    }
                    named => {
                        let said = text.says(*named).unwrap_or_default();
                        fixed.add_named(place, *named, &said, counter);
                    }
                }
            }
        }
        callers(Place::Memory).for_each(|own| fixed.add_callers(own, counter));
        fixed.tool_tokens = tools.iter().map(|tool| tool.tokens(counter)).sum();
        fixed.tools_hash = hash(
            tools
                .iter()
                .map(|tool| [tool.name.clone(), tool.description.clone(), tool.input_schema.to_string()]),
        );
        let text = |section: &FixedSection| [format!("{:?}", section.place), section.text.to_string()];
        fixed.sections_hash = hash(fixed.sections.iter().map(text));
        fixed.tools = tools.into();
        fixed
    }

    fn add_named(&mut self, place: Place, named: Named, said: &str, counter: &dyn TokenCount) {
        if !said.is_empty() {
            let text = format!("{}{said}", named.opening());
            self.add(place, named.name(), &text, named.priority(), counter);
        }
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
                section: Some(section.name.as_str().into()),
            });
        }
        self.add(section.place, &section.name, &text, section.priority, counter);
    }

    /// Returns the tokens of tools, system message, memories and pins.
    pub fn tokens(&self) -> u32 {
        let overhead = u32::from(self.has(Place::System)) * PER_MESSAGE;
        let system = self.sections.iter().filter(|section| section.place == Place::System);
        self.tool_tokens + overhead + system.map(|section| section.tokens).sum::<u32>() + self.memory_tokens()
    }

    /// Returns the tokens of memories and pins.
    pub(crate) fn memory_tokens(&self) -> u32 {
        let memories = self.sections.iter().filter(|section| section.place == Place::Memory);
        memories.map(|section| section.tokens + PER_MESSAGE).sum::<u32>() + self.pins.tokens()
    }

    /// As [`Fixed::tokens`], if messages after `through` are shown in their position and need no pin.
    pub(crate) fn tokens_through(&self, through: Ordinal) -> u32 {
        self.tokens() - self.pins.tokens_after(through)
    }

    /// Returns the hash of the tool definitions as sent to a model.
    pub(crate) fn tools_hash(&self) -> &str {
        &self.tools_hash
    }

    /// Returns the hash of system text and sections.
    pub(crate) fn sections_hash(&self) -> &str {
        &self.sections_hash
    }

    /// Returns the tokens of the tool definitions.
    pub fn tool_tokens(&self) -> u32 {
        self.tool_tokens
    }

    fn has(&self, place: Place) -> bool {
        self.sections.iter().any(|section| section.place == place)
    }

    /// Adds tools, system message and memories at the start of a prompt, and a compaction block if its
    /// placement is the end of the system message or a system message after it.
    pub(super) fn put(&self, prompt: &mut Prompt, compaction: Option<&Compaction>) {
        let block = |placement: Placement| {
            compaction.filter(|record| record.placement == placement && !record.block.is_empty())
        };
        if !self.tools.is_empty() {
            prompt.plan.sections.push(Section {
                channel: Channel::System,
                name: "tools".into(),
                items: 0..0,
                tokens: self.tool_tokens,
                priority: KEEP,
                cache_breakpoint: false,
            });
        }
        let of_system = self.sections.iter().filter(|section| section.place == Place::System);
        let mut parts: Vec<(Channel, &str, &Text, u32, u32)> =
            of_system.map(|own| (Channel::System, &*own.name, &own.text, own.tokens, own.priority)).collect();
        if let Some(record) = block(Placement::SystemPromptTail) {
            // `block_tokens` includes the overhead of a message, which a part lacks.
            let tokens = record.block_tokens.saturating_sub(PER_MESSAGE);
            parts.push((Channel::Summary, COMPACTION, &record.block, tokens, PRIORITY_BLOCK));
        }
        if !parts.is_empty() {
            let mut item = Item::made(Role::System, "", PER_MESSAGE);
            item.parts = parts.iter().map(|(_, _, text, ..)| ItemPart::text((*text).clone())).collect();
            item.tokens += parts.iter().map(|(.., tokens, _)| tokens).sum::<u32>();
            prompt.items.push(item);
        }
        for (n, (channel, name, _, tokens, priority)) in parts.into_iter().enumerate() {
            prompt.plan.sections.push(Section {
                channel,
                name: name.into(),
                items: 0..1,
                tokens: tokens + if n == 0 { PER_MESSAGE } else { 0 },
                priority,
                cache_breakpoint: false,
            });
        }
        if let Some(record) = block(Placement::SystemMessage) {
            let item = Item::made(Role::System, record.block.clone(), record.block_tokens);
            prompt.push(Channel::Summary, COMPACTION, PRIORITY_BLOCK, vec![item]);
        }
        for section in self.sections.iter().filter(|section| section.place == Place::Memory) {
            let item = Item::made(Role::User, section.text.clone(), section.tokens + PER_MESSAGE);
            prompt.push(Channel::Memory, &section.name, section.priority, vec![item]);
        }
        prompt.cuts.extend(self.cuts.iter().cloned());
    }
}

/// Hashes groups of texts, each text after its length.
fn hash<const N: usize>(groups: impl Iterator<Item = [String; N]>) -> String {
    let fields = groups.flatten().map(|text| format!("{}:{text}", text.len()));
    sha256_hex(fields.collect::<String>().as_bytes())
}

/// Shortens a text to at most `most` tokens: head and tail around a note on the bytes left out.
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
