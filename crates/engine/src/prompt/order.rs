//! The named sections that stand before the messages, and their order as a value. What they say comes from
//! settings, files and the memory store; how they are counted and shown is `system`'s.

use crate::message::Text;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A section that has its own place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Named {
    /// The system text of a source that has only one, such as an import.
    System,
    /// Who the model is.
    Identity,
    /// What it does in this session.
    Role,
    /// How many rounds a turn may take, where somebody set a limit.
    IterationBudget,
    /// How tools are used.
    ToolRules,
    /// What each tool says about its use. Schemas go beside the text.
    ToolGuidelines,
    /// Tools that are there for the asking.
    ToolkitHints,
    /// Instruction files of the workspace.
    InstructionFiles,
    /// What is remembered from other sessions.
    CoreMemories,
    /// The few memories that matter most.
    KeyReminder,
    /// The project that is worked on.
    Project,
    /// The caller's own sections, in the caller's order. Those for the memory channel always end that.
    Callers,
}

impl Named {
    /// All of them.
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

    /// Its name in plans and policies.
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

    /// What stands above its text: a heading, and for what is remembered a word that it is background.
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

    /// What goes later than others; the lowest goes first. What says who the model is and what it may do stays.
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

/// Where each named section stands: each exactly once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Order {
    /// In the system message, from its beginning.
    pub system: Cow<'static, [Named]>,
    /// As messages after it.
    pub memory: Cow<'static, [Named]>,
}

impl Order {
    /// Memories are messages, so that they change without the system text.
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

    /// What wraps the instructions, then the instructions: memories first, their reminder last, then the project
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

    /// Files directly after who the model is, tools after them. A summary ends the system text there.
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

    /// Whether each section stands exactly once, in one of the two.
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

/// What the named sections say. What says nothing has no section.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemText {
    /// The one text of a source that has no sections.
    pub system: Option<Text>,
    /// Who the model is.
    pub identity: Option<Text>,
    /// What it does in this session.
    pub role: Option<Text>,
    /// Rounds that a turn may take, where somebody set a limit.
    pub iteration_budget: Option<u32>,
    /// How tools are used.
    pub tool_rules: Option<Text>,
    /// Tools that are there for the asking.
    pub toolkit_hints: Option<Text>,
    /// The project that is worked on.
    pub project: Option<Text>,
    /// Instruction files of the workspace.
    pub instruction_files: Option<Text>,
    /// What is remembered from other sessions, within its budget.
    pub core_memories: Option<Text>,
    /// The few memories that matter most.
    pub key_reminder: Option<Text>,
}

/// When texts that are read from elsewhere, such as memories and instruction files, go into a session's prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum SystemPrompt {
    /// Where the prompt's beginning changes anyway: at its start, at a compaction, at a reset.
    #[default]
    Frozen,
    /// With each turn; where they changed, the prefix breaks.
    PerTurn,
}

impl SystemText {
    /// A text without sections.
    pub fn whole(text: &str) -> Self {
        Self { system: Some(text.into()), ..Self::default() }
    }

    /// What this section says, its heading left out; nothing for those that others bring.
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
