//! The validated settings that a session runs under. Where they came from, and how layers of them are merged, is the
//! shell's.

use engine::compact::policy::{self, Policy};
use engine::endpoint::{DEFAULT_WINDOW, Endpoint};
use engine::message::cut::ThinkingInPrompt;
use engine::prompt::item::Tool;
use engine::prompt::order::{SystemPrompt, SystemText};
use engine::settings::{Budget, BudgetSettings, SettingsError};
pub use engine::words::{Titles, Trajectory, TranscriptKept};
use serde::{Deserialize, Serialize};

/// How a session behaves. Built at the edge; every value in it is possible.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The model that answers.
    pub model: ModelFacts,
    /// Reserves and margins.
    pub budget: BudgetSettings,
    /// How it is compacted.
    pub policy: Policy,
    /// The file that says so, by its path, where one does.
    pub policy_file: Option<String>,
    /// What the named sections of the system text say; what is read from elsewhere is the session's.
    pub system: SystemText,
    /// When that goes into prompts.
    pub system_prompt: SystemPrompt,
    /// Which thinking of earlier answers prompts show.
    pub thinking: ThinkingInPrompt,
    /// Rounds of a turn before the user is asked whether to go on.
    pub round_limit: u32,
    /// Tokens above which a tool's result is shown by its head and its tail; [`most_result`] says what comes of it.
    pub max_tool_result_tokens: u32,
    /// The tools of the sidecar itself that the model is told of. Filled at the edge, where they are known.
    pub own_tools: Vec<Tool>,
    /// How long a model may say nothing, in milliseconds.
    pub model_deadline_ms: u64,
    /// How long a user may think about a compaction, in milliseconds; then it holds, marked as not reviewed.
    pub review_deadline_ms: u64,
    /// How long a tool may run, in milliseconds.
    pub tool_deadline_ms: u64,
    /// How long what a model says is gathered before it is told, in milliseconds; 0 tells each piece by itself.
    pub delta_interval_ms: u64,
    /// Who names a session that the client does not.
    pub titles: Titles,
    /// What memories may do in it.
    pub memory: MemorySettings,
    /// Instruction files of the workspace, by their paths below its folder, where somebody said which.
    pub instruction_files: Option<Vec<String>>,
    /// Whether the session is also written into a file of its workspace.
    pub trajectory: Trajectory,
    /// What of a turn is kept when it is over.
    pub transcript: TranscriptKept,
    /// The model that writes summaries, where it is not the one that answers. Where it fails, that one does.
    pub summary_model: Option<ModelFacts>,
    /// What the client can be asked for.
    pub client: Client,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    /// Its name, where the client has one for it.
    pub name: Option<String>,
    /// Its window, in tokens.
    pub window: u32,
    /// The most that a prompt may have, in tokens, where that is less than the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    /// Tokens that it counts for a thousand of ours before it reported any, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_thousand: Option<u32>,
    /// The most that it is to answer, in tokens, where somebody said so.
    pub max_output: Option<u32>,
    /// Whether it can be told of tools and told to use none.
    pub tool_choice_none: bool,
    /// Whether it takes a system message.
    pub system_role: bool,
    /// Whether it takes a tool's result as a message of its own role.
    pub tool_role: bool,
    /// Whether it sees pictures.
    pub images: bool,
    /// Whether the client is asked to count a request, because its provider does not say what one used.
    pub counts_tokens: bool,
    /// Whether it takes thinking back only while everything before that is unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub binds_thinking: bool,
    /// Where it is asked; nothing where the client asks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<Endpoint>,
}

/// What a client said that it can do. It is never asked for anything else.
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
            input: None,
            per_thousand: None,
            max_output: None,
            tool_choice_none: true,
            system_role: true,
            tool_role: true,
            images: true,
            counts_tokens: false,
            binds_thinking: false,
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
            instruction_files: None,
            trajectory: Trajectory::Off,
            transcript: TranscriptKept::Full,
            summary_model: None,
            client: Client::default(),
        }
    }
}

/// Times the deadline for a word, for the first one of a model that is asked over its own wire.
const BEFORE_FIRST_WORD: u64 = 5;

impl Settings {
    /// The budget of a prompt.
    pub fn budget(&self) -> Result<Budget, SettingsError> {
        self.budget.budget(self.model.window)
    }

    /// How long this model may say nothing before its first word, in milliseconds. One that is asked over its own wire may
    /// read and think for long, and nothing comes meanwhile.
    pub fn first_word_ms(&self, model: &ModelFacts) -> u64 {
        let times = if model.endpoint.is_some() { BEFORE_FIRST_WORD } else { 1 };
        self.model_deadline_ms.saturating_mul(times)
    }

    /// What this model's window has left for an answer to so many tokens, with the estimator's margin kept back.
    pub fn room(&self, model: &ModelFacts, tokens: u32) -> u32 {
        let kept_back = tokens.saturating_add(self.budget.margin.of(model.window));
        model.window.saturating_sub(kept_back).max(1)
    }

    /// Whether this model can be asked: over its own wire, or by the client.
    pub fn may_ask(&self, model: &ModelFacts) -> bool {
        model.endpoint.is_some() || self.client.completes
    }

    /// Tokens above which a result that comes now is shown by its head and its tail.
    pub fn most_result(&self) -> u32 {
        most_result(self.max_tool_result_tokens, self.model.window)
    }
}

/// What a limit for results, in tokens, means in this window: a quarter of it at most, so that one result never fills it.
pub fn most_result(setting: u32, window: u32) -> u32 {
    setting.min(window / 4).max(1)
}

/// What memories may do in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemorySettings {
    /// Tokens of core memories in the prompt; nothing where they are off.
    pub core: Option<u32>,
    /// Tokens of what stands with a message; nothing where it is off.
    pub knowledge: Option<u32>,
    /// Whether the workspace remembers what compactions sum up.
    pub summaries: bool,
}

impl ModelFacts {
    /// The name under which is kept what was learned of it.
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or("unnamed")
    }
}
