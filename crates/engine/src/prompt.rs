//! Rendering: a transcript, the compaction in force and a budget become a prompt, or an error with the
//! excess. Read only. The module `compact` handles overflows.

use serde::{Deserialize, Serialize};
mod bound;
pub mod coverage;
pub mod history;
pub mod item;
pub(crate) mod layout;
pub mod limit;
pub mod linearize;
pub mod order;
pub mod pins;
mod repeats;
pub mod request;
pub(crate) mod segment;
pub mod sent;
pub mod system;

use super::compact::record::Compaction;
use super::id::{CompactionId, Ordinal};
use super::message::Text;
use super::settings::Budget;
use super::transcript::Transcript;
use history::History;
use item::{Channel, Item, SectionSize, Tool};
use std::sync::Arc;
use system::Fixed;
use thiserror::Error;

/// The inputs of a prompt.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The session's messages.
    pub transcript: &'a Transcript,
    /// System text, the caller's sections and tools, frozen with the session so that their bytes do not change.
    pub fixed: &'a Fixed,
    /// The budget in tokens.
    pub budget: Budget,
}

/// The messages of one model call, with their plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Messages in order, before any joining that a wire needs.
    pub items: Vec<Item>,
    /// Tool definitions sorted by name, sent beside the messages.
    pub tools: Arc<[Tool]>,
    /// The sections, in order.
    pub plan: PromptPlan,
    /// Tokens of everything, tools included.
    pub tokens: u32,
    /// The most tokens allowed.
    pub limit: u32,
    /// Everything that is missing or shortened.
    pub cuts: Vec<Cut>,
    /// The id of the applied compaction.
    pub compaction: Option<CompactionId>,
}

/// The sections of a prompt as data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PromptPlan {
    /// In the order of the prompt.
    pub sections: Vec<Section>,
}

/// One section of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The channel through which it reaches the model.
    pub channel: Channel,
    /// The name, such as `system`, `keptUserMessages`, `history`.
    pub name: String,
    /// Indexes into [`Prompt::items`]; empty for tools and for parts of the system text.
    pub items: std::ops::Range<usize>,
    /// Tokens of the section, with overhead.
    pub tokens: u32,
    /// The rank in which sections would be given up, the lowest first; [`KEEP`] for never.
    pub priority: u32,
    /// `true` if a provider's cache may keep the prefix up to the end of this section. At most four, and
    /// never a reason to keep or to cut anything.
    pub cache_breakpoint: bool,
}

/// Content of the transcript or the caller that the prompt lacks or shows in part.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// The message; `None` for a caller's section.
    pub ord: Option<Ordinal>,
    /// The reason.
    pub reason: CutReason,
    /// Bytes of the original.
    pub original_bytes: usize,
    /// Bytes of the original that the prompt still shows.
    pub kept_bytes: usize,
    /// The name of the caller's section; `None` for a message.
    pub section: Option<Text>,
}

/// The reason for a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CutReason {
    /// A system message within the history; a prompt has only one system message.
    SystemInHistory,
    /// A tool result that answers no call of its round.
    StrayResult,
    /// A tool result, shortened to its head and tail.
    Shortened,
    /// Content that another message of the prompt shows.
    Repeated,
    /// A message dropped without a summary.
    Dropped,
    /// A message left out by the user.
    Excluded,
    /// A user message over the budget for user messages.
    UserMessage,
    /// A call without a result; a placeholder answers it.
    UnansweredCall,
    /// A caller's section over its own limit.
    Section,
    /// Thinking that its model accepts only after the prompt it followed, which this one is not.
    Thinking,
}

/// A prompt larger than its limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("the prompt needs {needed} tokens and the limit is {limit}")]
pub struct BudgetExceeded {
    /// The most tokens allowed.
    pub limit: u32,
    /// Tokens of the whole prompt.
    pub needed: u32,
    /// The sizes of the prompt's sections.
    pub sections: Vec<SectionSize>,
}

/// Renders the session under its compaction in force. Fails if the prompt exceeds the budget.
pub fn render(source: Source<'_>) -> Result<Prompt, BudgetExceeded> {
    within(draft(source, source.transcript.in_force()))
}

/// As [`render`], as if `compaction` were in force: lets a rung of the ladder measure its gain.
pub fn render_with(source: Source<'_>, compaction: Option<&Compaction>) -> Result<Prompt, BudgetExceeded> {
    within(draft(source, compaction))
}

fn within(prompt: Prompt) -> Result<Prompt, BudgetExceeded> {
    if prompt.tokens <= prompt.limit {
        return Ok(prompt);
    }
    Err(BudgetExceeded { limit: prompt.limit, needed: prompt.tokens, sections: prompt.plan.sizes() })
}

/// Renders the prompt regardless of its limit. Only adds up existing counts; nothing is tokenized.
pub fn draft(source: Source<'_>, compaction: Option<&Compaction>) -> Prompt {
    let Fixed { tools, .. } = source.fixed;
    let mut prompt = Prompt {
        items: Vec::new(),
        tools: tools.clone(),
        plan: PromptPlan::default(),
        tokens: 0,
        limit: source.budget.limit,
        cuts: Vec::new(),
        compaction: compaction.map(|record| record.id.clone()),
    };
    source.fixed.put(&mut prompt, compaction);
    source.fixed.pins.put(source.transcript, compaction, &mut prompt);
    History::new(source.transcript, compaction).put(&mut prompt);
    repeats::fold(&mut prompt, source.transcript);
    bound::leave_out(&mut prompt, source);
    prompt.plan.mark_breakpoints();
    prompt.tokens = prompt.plan.sections.iter().map(|section| section.tokens).sum();
    prompt
}

impl Prompt {
    /// Appends items as one section; an empty section is omitted from the plan.
    pub(crate) fn push(&mut self, channel: Channel, name: &str, priority: u32, items: Vec<Item>) {
        if items.is_empty() {
            return;
        }
        let tokens = items.iter().map(|item| item.tokens).sum();
        let from = self.items.len();
        self.items.extend(items);
        self.plan.sections.push(Section {
            channel,
            name: name.into(),
            items: from..self.items.len(),
            tokens,
            priority,
            cache_breakpoint: false,
        });
    }
}

impl PromptPlan {
    /// Returns the name and size of each section.
    pub fn sizes(&self) -> Vec<SectionSize> {
        self.sections.iter().map(|s| SectionSize { name: s.name.clone(), tokens: s.tokens }).collect()
    }

    /// Returns the tokens of all sections with this name.
    pub fn tokens_of(&self, name: &str) -> u32 {
        self.sections.iter().filter(|section| section.name == name).map(|section| section.tokens).sum()
    }

    /// Returns the sections that may be given up, in that order.
    pub fn first_to_go(&self) -> Vec<&Section> {
        let mut sections: Vec<&Section> = self.sections.iter().filter(|s| s.priority < KEEP).collect();
        sections.sort_by_key(|section| section.priority);
        sections
    }

    /// Returns indexes into [`Prompt::items`] after which a provider's cache may keep the prefix.
    pub fn breakpoints(&self) -> impl Iterator<Item = usize> {
        let marked = self.sections.iter().filter(|section| section.cache_breakpoint);
        marked.filter_map(|section| section.items.end.checked_sub(1))
    }

    /// Sets breakpoints after tools, system text, compaction block and newest round: the ends of prefixes
    /// that will be sent again.
    fn mark_breakpoints(&mut self) {
        let last = self.sections.len().saturating_sub(1);
        let ends_system = |s: &Section| s.channel == Channel::System && s.name != "tools";
        // A block inside the system message ends that message.
        let is_ended = |s: &Section| s.channel == Channel::Summary && s.items == (0..1);
        let system_end = match self.sections.iter().any(is_ended) {
            true => None,
            false => self.sections.iter().rposition(ends_system),
        };
        for (at, section) in self.sections.iter_mut().enumerate() {
            section.cache_breakpoint = section.name == "tools"
                || Some(at) == system_end
                || section.channel == Channel::Summary
                || at == last;
        }
    }
}

/// The priority of sections that a plan never gives up.
pub const KEEP: u32 = u32::MAX;
