//! Rendering: a transcript, the compaction in force and a budget become a prompt, or the value that says by how much
//! it is too large. Reads everything, changes nothing, runs nothing. What to do about an overflow is `compact`'s.

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

/// What a prompt is made of beside the messages: frozen with the session, so that its bytes do not change.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The session's messages.
    pub transcript: &'a Transcript,
    /// System text, the caller's own sections, tools.
    pub fixed: &'a Fixed,
    /// What the prompt may weigh.
    pub budget: Budget,
}

/// The messages of one model call with the plan that they follow.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// Messages in their order, before any joining that a wire needs.
    pub items: Vec<Item>,
    /// Tool definitions, sorted, sent beside the messages.
    pub tools: Arc<[Tool]>,
    /// What it is made of, in order.
    pub plan: PromptPlan,
    /// Tokens of everything, tools included.
    pub tokens: u32,
    /// The most it was allowed to weigh, in tokens.
    pub limit: u32,
    /// What is not in it as it was said: the loss ledger.
    pub cuts: Vec<Cut>,
    /// The compaction that it obeys.
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
    /// Which of the five channels it comes through.
    pub channel: Channel,
    /// Its name, such as `system`, `keptUserMessages`, `history`.
    pub name: String,
    /// Indexes into [`Prompt::items`]; empty for tools and for parts of the system text.
    pub items: std::ops::Range<usize>,
    /// Tokens.
    pub tokens: u32,
    /// What goes later; the lowest goes first.
    pub priority: u32,
    /// Whether a provider's cache may keep the prefix up to the end of this section. At most four, and never a reason
    /// to keep or to cut anything.
    pub cache_breakpoint: bool,
}

/// Something that the transcript or the caller has and the prompt has not, or not whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// The message, if it is one.
    pub ord: Option<Ordinal>,
    /// Why.
    pub reason: CutReason,
    /// Bytes of the original.
    pub original_bytes: usize,
    /// Bytes of it that the prompt still shows.
    pub kept_bytes: usize,
    /// The section of the caller's, if it is one.
    pub section: Option<Text>,
}

/// Why something was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CutReason {
    /// A system message of the history; a prompt has one system message only.
    SystemInHistory,
    /// A tool result that answers no call of its round.
    StrayResult,
    /// A tool result, shortened to its beginning and its end.
    Shortened,
    /// A file's content that a newer result shows again.
    Repeated,
    /// A round that was dropped without a summary.
    Dropped,
    /// The user left it out.
    Excluded,
    /// A user message over the budget for user messages.
    UserMessage,
    /// A call without a result; a stand-in that says so answers it.
    UnansweredCall,
    /// A section of the caller over its own ceiling.
    Section,
    /// Thinking of an answer: the model takes it back only behind the prompt that it followed, and this is another one.
    Thinking,
}

/// A prompt that would be larger than its limit.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("the prompt needs {needed} tokens and the limit is {limit}")]
pub struct BudgetExceeded {
    /// The most it was allowed to weigh, in tokens.
    pub limit: u32,
    /// What it would weigh, in tokens.
    pub needed: u32,
    /// The sizes of its sections.
    pub sections: Vec<SectionSize>,
}

/// Renders the session under its compaction in force.
pub fn render(source: Source<'_>) -> Result<Prompt, BudgetExceeded> {
    within(draft(source, source.transcript.in_force()))
}

/// The same, as if `compaction` were in force: how a rung of the ladder sees what it would gain.
pub fn render_with(source: Source<'_>, compaction: Option<&Compaction>) -> Result<Prompt, BudgetExceeded> {
    within(draft(source, compaction))
}

fn within(prompt: Prompt) -> Result<Prompt, BudgetExceeded> {
    if prompt.tokens <= prompt.limit {
        return Ok(prompt);
    }
    Err(BudgetExceeded { limit: prompt.limit, needed: prompt.tokens, sections: prompt.plan.sizes() })
}

/// The prompt without regard to its limit. Summing counts that are already there; nothing is tokenised.
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
    bound::leave_out(&mut prompt, source);
    prompt.plan.mark_breakpoints();
    prompt.tokens = prompt.plan.sections.iter().map(|section| section.tokens).sum();
    prompt
}

impl Prompt {
    /// Adds items as one section. An empty section is not in the plan.
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
    /// Name and size of each section.
    pub fn sizes(&self) -> Vec<SectionSize> {
        self.sections.iter().map(|s| SectionSize { name: s.name.clone(), tokens: s.tokens }).collect()
    }

    /// Tokens of the sections with this name.
    pub fn tokens_of(&self, name: &str) -> u32 {
        self.sections.iter().filter(|section| section.name == name).map(|section| section.tokens).sum()
    }

    /// Sections in the order in which they would be given up, first the one that goes first.
    pub fn first_to_go(&self) -> Vec<&Section> {
        let mut sections: Vec<&Section> = self.sections.iter().filter(|s| s.priority < KEEP).collect();
        sections.sort_by_key(|section| section.priority);
        sections
    }

    /// Indexes into [`Prompt::items`] after which a provider's cache may keep the prefix.
    pub fn breakpoints(&self) -> impl Iterator<Item = usize> {
        let marked = self.sections.iter().filter(|section| section.cache_breakpoint);
        marked.filter_map(|section| section.items.end.checked_sub(1))
    }

    /// Breakpoints stand after tools, system, compaction block and newest round: where a prefix ends that will be
    /// sent again.
    fn mark_breakpoints(&mut self) {
        let last = self.sections.len().saturating_sub(1);
        let ends_system = |s: &Section| s.channel == Channel::System && s.name != "tools";
        // A block at the end of the system message ends that message.
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

/// The priority of what is never given up by a plan.
pub const KEEP: u32 = u32::MAX;
