//! The validated settings of a session. Reading and merging their layers is the server's task.

use crate::values::agents::AgentLimits;
use engine::compact::policy::{self, Policy};
use engine::cost::Price;
use engine::endpoint::{DEFAULT_WINDOW, Endpoint};
use engine::message::cut::ThinkingInPrompt;
use engine::prompt::item::Tool;
use engine::prompt::order::{SystemPrompt, SystemText};
use engine::settings::{Budget, BudgetSettings, SettingsError};
pub use engine::words::{Titles, Trajectory, TranscriptKept};
use serde::{Deserialize, Serialize};

/// The settings of a session, valid by construction: they are checked where they are read.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The model that answers.
    pub model: ModelFacts,
    /// Reserves and margins.
    pub budget: BudgetSettings,
    /// The compaction policy.
    pub policy: Policy,
    /// The path of the file that holds the policy, if it is from one.
    pub policy_file: Option<String>,
    /// The named sections of the system text. Instruction files and memories are kept by the session.
    pub system: SystemText,
    /// When changed system text goes into prompts.
    pub system_prompt: SystemPrompt,
    /// The thinking of earlier answers that prompts show.
    pub thinking: ThinkingInPrompt,
    /// The number of rounds in a turn before the user is asked whether to go on.
    pub round_limit: u32,
    /// The size in tokens above which a tool result is shown by head and tail, capped by [`most_result`].
    pub max_tool_result_tokens: u32,
    /// The sidecar's own tools that the model is offered. Filled in by the server.
    pub own_tools: Vec<Tool>,
    /// The time without a sign of life after which a model call is given up, in milliseconds.
    pub model_deadline_ms: u64,
    /// The deadline for a compaction review, in milliseconds; then it is applied as unreviewed.
    pub review_deadline_ms: u64,
    /// The deadline for a tool's result, in milliseconds.
    pub tool_deadline_ms: u64,
    /// The interval over which deltas are gathered into one event, in milliseconds; 0 sends each at once.
    pub delta_interval_ms: u64,
    /// The source of titles for sessions that the client does not name.
    pub titles: Titles,
    /// The use of memories in the session.
    pub memory: MemorySettings,
    /// Bounds for its agents.
    pub agents: AgentLimits,
    /// Paths of instruction files below the workspace folder; `None` means the default ones.
    pub instruction_files: Option<Vec<String>>,
    /// `false` if the user does not trust the workspace folder: nothing of it is read, and client tools ask each time.
    pub is_trusted: bool,
    /// The setting for writing the session into a file of its workspace.
    pub trajectory: Trajectory,
    /// The messages of a turn that are kept once it is over.
    pub transcript: TranscriptKept,
    /// The model that writes summaries, if not `model`. If it fails, `model` is asked.
    pub summary_model: Option<ModelFacts>,
    /// The requests that the client can answer.
    pub client: Client,
}

/// Capabilities and limits of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    /// The client's name for the model.
    pub name: Option<String>,
    /// The context window, in tokens.
    pub window: u32,
    /// The source of the window.
    #[serde(default, skip_serializing_if = "WindowSource::is_given")]
    pub window_source: WindowSource,
    /// The largest prompt, in tokens, if smaller than the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    /// The model's tokens per thousand estimated ones, if known; used until it reports its usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_thousand: Option<u32>,
    /// The longest answer, in tokens, if limited.
    pub max_output: Option<u32>,
    /// `true` if the model accepts tools together with a tool choice of "none".
    pub tool_choice_none: bool,
    /// `true` if the model accepts a system message.
    pub system_role: bool,
    /// `true` if the model accepts tool results as messages of the role "tool".
    pub tool_role: bool,
    /// `true` if the model accepts images.
    pub images: bool,
    /// `true` if the provider counts a first prompt that may be too large before it is sent; with a model of the client,
    /// `true` if the client counts each request, because the provider reports no usage.
    pub counts_tokens: bool,
    /// `true` if the model accepts earlier thinking only after an unchanged prefix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binds_thinking: bool,
    /// The known prices, in the order in which they hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<Price>,
    /// The endpoint to call; `None` if the client calls the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

/// The source of a model's window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WindowSource {
    /// The settings, or an assumption where nothing is known of the model.
    #[default]
    Given,
    /// The table of known models.
    Known,
    /// The provider's list of models.
    Listed,
}

impl WindowSource {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_given(&self) -> bool {
        *self == Self::Given
    }
}

/// Capabilities announced by the client. The session sends no other requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Client {
    /// Answers `model/complete`.
    pub completes: bool,
    /// Answers `tool/invoke`.
    pub invokes: bool,
    /// Answers `tool/requestPermission`.
    pub permits: bool,
    /// Answers `compaction/review`.
    pub reviews: bool,
}

impl Default for ModelFacts {
    fn default() -> Self {
        Self {
            name: None,
            window: DEFAULT_WINDOW,
            window_source: WindowSource::Given,
            input: None,
            per_thousand: None,
            max_output: None,
            tool_choice_none: true,
            system_role: true,
            tool_role: true,
            images: true,
            counts_tokens: false,
            binds_thinking: false,
            prices: Vec::new(),
            endpoint: None,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: ModelFacts::default(),
            budget: BudgetSettings::default(),
            policy: policy::DEFAULT,
            policy_file: None,
            system: SystemText::default(),
            system_prompt: SystemPrompt::default(),
            thinking: ThinkingInPrompt::default(),
            round_limit: 64,
            max_tool_result_tokens: 16_000,
            model_deadline_ms: 60_000,
            review_deadline_ms: 120_000,
            tool_deadline_ms: 30 * 60_000,
            delta_interval_ms: 16,
            titles: Titles::Request,
            own_tools: Vec::new(),
            memory: MemorySettings::default(),
            agents: AgentLimits::default(),
            instruction_files: None,
            is_trusted: true,
            trajectory: Trajectory::Off,
            transcript: TranscriptKept::Full,
            summary_model: None,
            client: Client::default(),
        }
    }
}

/// The factor on the model deadline before the first delta of a model called at its own endpoint.
const BEFORE_FIRST_WORD: u64 = 5;

impl Settings {
    /// Returns the budget of a prompt; fails if the model's window leaves no room for one.
    pub fn budget(&self) -> Result<Budget, SettingsError> {
        self.budget.budget(self.model.window)
    }

    /// Returns the deadline for the first delta of this model, in milliseconds. At its own endpoint a model
    /// may read and think for long without sending anything.
    pub fn first_word_ms(&self, model: &ModelFacts) -> u64 {
        let times = if model.endpoint.is_some() { BEFORE_FIRST_WORD } else { 1 };
        self.model_deadline_ms.saturating_mul(times)
    }

    /// Returns the room kept free for an answer under a limit for prompt and answer together, in tokens.
    pub(crate) fn beside(&self, together: u32) -> u32 {
        self.budget.reserved_output.min(together / 4)
    }

    /// Returns the tokens left for the answer to a prompt of this size, less the margin; at least 1.
    pub fn room(&self, model: &ModelFacts, tokens: u32) -> u32 {
        let kept_back = tokens.saturating_add(self.budget.margin.of(model.window));
        model.window.saturating_sub(kept_back).max(1)
    }

    /// Returns `true` if the model can be called, at its own endpoint or by the client.
    pub fn may_ask(&self, model: &ModelFacts) -> bool {
        model.endpoint.is_some() || self.client.completes
    }

    /// Returns the size in tokens above which a new tool result is shown by head and tail.
    pub fn most_result(&self) -> u32 {
        most_result(self.max_tool_result_tokens, self.model.window)
    }
}

/// Caps a limit for tool results, in tokens, at a quarter of the window, so that one result never fills it.
pub fn most_result(setting: u32, window: u32) -> u32 {
    setting.min(window / 4).max(1)
}

/// The use of memories in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemorySettings {
    /// The budget for core memories in the prompt, in tokens; `None` if they are off.
    pub core: Option<u32>,
    /// The budget for memories attached to a request, in tokens; `None` if they are off.
    pub knowledge: Option<u32>,
    /// `true` if narratives of compactions are stored as memories.
    pub summaries: bool,
}

impl ModelFacts {
    /// Returns the name under which calibration of this model is kept.
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or("unnamed")
    }
}
