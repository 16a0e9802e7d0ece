//! The named sections before the messages, and their order as a value. Their texts come from settings, files
//! and the memory store; `system` counts and renders them.

use crate::message::Text;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A section with a fixed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Named {
    /// The system text of a source that has only one, such as an import.
    System,
    /// The model's identity.
    Identity,
    /// The model's task in this session.
    Role,
    /// The limit on rounds per turn, if set.
    IterationBudget,
    /// Rules for using tools.
    ToolRules,
    /// Usage notes of each tool. Schemas are sent beside the text.
    ToolGuidelines,
    /// Tools available on request.
    ToolkitHints,
    /// Instruction files of the workspace.
    InstructionFiles,
    /// Memories from other sessions.
    CoreMemories,
    /// The few most important memories.
    KeyReminder,
    /// The current project.
    Project,
    /// The caller's own sections, in the caller's order. Those of the memory channel always come last there.
    Callers,
}

impl Named {
    /// Every section, in the order of declaration.
    pub const ALL: [Named; 12] = [
        Named::System,
        Named::Identity,
        Named::Role,
        Named::IterationBudget,
        Named::ToolRules,
        Named::ToolGuidelines,
        Named::ToolkitHints,
        Named::InstructionFiles,
        Named::CoreMemories,
        Named::KeyReminder,
        Named::Project,
        Named::Callers,
    ];

    /// Returns the name in plans and policies.
    pub fn name(self) -> &'static str {
        match self {
            Named::System => "system",
            Named::Identity => "identity",
            Named::Role => "role",
            Named::IterationBudget => "iterationBudget",
            Named::ToolRules => "toolRules",
            Named::ToolGuidelines => "toolGuidelines",
            Named::ToolkitHints => "toolkitHints",
            Named::InstructionFiles => "instructionFiles",
            Named::CoreMemories => "coreMemories",
            Named::KeyReminder => "keyReminder",
            Named::Project => "project",
            Named::Callers => "callers",
        }
    }

    /// The text before the section's own: a heading, and for memories a note that they are background.
    pub(super) fn opening(self) -> &'static str {
        match self {
            Named::Identity => "# IDENTITY AND PURPOSE\n",
            Named::IterationBudget => "# ITERATION BUDGET\n",
            Named::ToolRules => "# TOOL USAGE RULES\n",
            Named::CoreMemories => {
                "# CORE MEMORIES\nBackground from earlier work: it may be out of date, and the newest messages decide.\n"
            }
            Named::KeyReminder => "# KEY CONTEXT REMINDER\nThe background that matters most:\n",
            Named::Project => "# ACTIVE PROJECT\n",
            Named::System
            | Named::Role
            | Named::ToolGuidelines
            | Named::ToolkitHints
            | Named::InstructionFiles
            | Named::Callers => "",
        }
    }

    /// The rank in which sections would be given up, the lowest first. The model's identity and rules are
    /// never given up.
    pub(super) fn priority(self) -> u32 {
        match self {
            Named::CoreMemories => 20,
            Named::ToolkitHints => 30,
            Named::KeyReminder => 40,
            Named::Project => 70,
            Named::InstructionFiles => 80,
            Named::System
            | Named::Identity
            | Named::Role
            | Named::IterationBudget
            | Named::ToolRules
            | Named::ToolGuidelines
            | Named::Callers => super::KEEP,
        }
    }
}

/// The placement of the named sections, each exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// Sections of the system message, in order.
    pub system: Cow<'static, [Named]>,
    /// Sections rendered as messages after it, in order.
    pub memory: Cow<'static, [Named]>,
}

impl Order {
    /// Renders memories as messages, so that they can change without the system text.
    pub const DEFAULT: Order = Order {
        system: Cow::Borrowed(&[
            Named::System,
            Named::Identity,
            Named::Role,
            Named::IterationBudget,
            Named::ToolRules,
            Named::ToolGuidelines,
            Named::ToolkitHints,
            Named::InstructionFiles,
            Named::Project,
            Named::Callers,
        ]),
        memory: Cow::Borrowed(&[Named::CoreMemories, Named::KeyReminder]),
    };

    /// Puts the sections that frame the instructions first: memories before them, the reminder after, then
    /// the project.
    pub const MEMORY_IN_SYSTEM: Order = Order {
        system: Cow::Borrowed(&[
            Named::Identity,
            Named::IterationBudget,
            Named::ToolRules,
            Named::ToolGuidelines,
            Named::CoreMemories,
            Named::System,
            Named::Role,
            Named::ToolkitHints,
            Named::InstructionFiles,
            Named::Callers,
            Named::KeyReminder,
            Named::Project,
        ]),
        memory: Cow::Borrowed(&[]),
    };

    /// Puts files directly after the model's identity, tools after them. A summary ends the system text there.
    pub const FILES_FIRST: Order = Order {
        system: Cow::Borrowed(&[
            Named::Identity,
            Named::System,
            Named::Role,
            Named::IterationBudget,
            Named::InstructionFiles,
            Named::ToolRules,
            Named::ToolGuidelines,
            Named::ToolkitHints,
            Named::Project,
            Named::Callers,
        ]),
        memory: Cow::Borrowed(&[Named::CoreMemories, Named::KeyReminder]),
    };

    /// `true` if each section occurs exactly once in both lists together.
    pub fn is_whole(&self) -> bool {
        let mut named: Vec<Named> = self.system.iter().chain(&*self.memory).copied().collect();
        named.sort_unstable();
        named == Named::ALL
    }
}

impl Default for Order {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The texts of the named sections. An empty one has no section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemText {
    /// The only text of a source without sections.
    pub system: Option<Text>,
    /// The model's identity.
    pub identity: Option<Text>,
    /// The model's task in this session.
    pub role: Option<Text>,
    /// The limit on rounds per turn, if set.
    pub iteration_budget: Option<u32>,
    /// Rules for using tools.
    pub tool_rules: Option<Text>,
    /// Tools available on request.
    pub toolkit_hints: Option<Text>,
    /// The current project.
    pub project: Option<Text>,
    /// Instruction files of the workspace.
    pub instruction_files: Option<Text>,
    /// Memories from other sessions, within their budget.
    pub core_memories: Option<Text>,
    /// The few most important memories.
    pub key_reminder: Option<Text>,
}

/// The times at which texts read from elsewhere, such as memories and instruction files, are refreshed in a
/// session's prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SystemPrompt {
    /// When the start of the prompt changes anyway: at the session's start, at a compaction, at a reset.
    #[default]
    Frozen,
    /// At each turn; if they changed, the prefix breaks.
    PerTurn,
}

impl SystemText {
    /// Creates a text without sections.
    pub fn whole(text: &str) -> Self {
        Self { system: Some(text.into()), ..Self::default() }
    }

    /// The text of this section without its heading; `None` for sections that tools or the caller supply.
    pub(super) fn says(&self, named: Named) -> Option<Text> {
        match named {
            Named::System => self.system.clone(),
            Named::Identity => self.identity.clone(),
            Named::Role => self.role.clone(),
            Named::IterationBudget => self.iteration_budget.map(|rounds| {
                format!("A turn has at most {rounds} rounds of tool calls; then the user is asked whether to go on.")
                    .into()
            }),
            Named::ToolRules => self.tool_rules.clone(),
            Named::ToolkitHints => self.toolkit_hints.clone(),
            Named::Project => self.project.clone(),
            Named::InstructionFiles => self.instruction_files.clone(),
            Named::CoreMemories => self.core_memories.clone(),
            Named::KeyReminder => self.key_reminder.clone(),
            Named::ToolGuidelines | Named::Callers => None,
        }
    }
}
