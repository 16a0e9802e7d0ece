//! Settings as they come over the wire. Nothing is validated here beyond types: what a value may be is said by
//! whoever takes it into use.

mod in_force;
mod kept;

use super::context::Placement;
pub use in_force::{SettingInForce, SettingSource};
pub use kept::{Trajectory, TranscriptKept};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// How a model's provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelWire {
    /// The client asks it (`model/complete`).
    Editor,
    /// Chat Completions: OpenAI, OpenRouter, DeepSeek, Copilot, vLLM, llama-server, LM Studio.
    OpenaiChat,
    /// Responses of OpenAI.
    OpenaiResponses,
    /// Messages of Anthropic.
    Anthropic,
    /// The native chat of Ollama.
    Ollama,
    /// A fixture in place of a provider: `baseUrl` is its path, one that is built in where there is none.
    Scripted,
}

/// A model: who asks it, and what prompts depend on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Model {
    /// Its name, handed back with `model/complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who asks it, and how. Default: `editor`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<ModelWire>,
    /// Where it is asked: an http or https address without a user and a password, a query and a fragment. What the wire
    /// puts behind it may stand there and is taken off. Default: the wire's own provider. Never from a workspace's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The name of its key: one that the client gave with `model/key`, else an environment variable. Never a key itself.
    /// Default: the wire's usual variable, such as `OPENAI_API_KEY`, where its own provider is asked, and none elsewhere.
    /// Never from a workspace's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_env: Option<String>,
    /// Whether answers come over a WebSocket; `openai-responses` alone has one. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_socket: Option<bool>,
    /// Its window in tokens. Default: that of the known model of this name, else 128,000. Over `ollama` 16,384 whatever its
    /// name is, for there a window is memory of the machine that serves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// The most that it is to answer, in tokens; no more than its window. Default: what the model can and its window has
    /// left. What a prompt may weigh does not follow it: room for the answer is kept back by `reservedOutput`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u32>,
    /// The roles that it takes, such as `system`, `user`, `assistant`, `tool`. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// Whether it can be told to use no tool. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice_none: Option<bool>,
    /// Whether its answers come with their usage. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<bool>,
    /// Whether the client counts its tokens (`model/countTokens`). Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_tokens: Option<bool>,
    /// Whether it takes pictures. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

/// Which kind of summary is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummaryMode {
    /// Full, then simple.
    Auto,
    /// The model reads the conversation as it was sent.
    Full,
    /// The model reads a text made of it.
    Simple,
}

/// What happens to cache breakpoints in a request for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummaryBreakpoints {
    /// They stay.
    Keep,
    /// They are left out.
    Strip,
}

/// Whether a prompt that is too large is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Summarize {
    /// When it is too large.
    Auto,
    /// Never: every message verbatim, and an overflow is the error BudgetExceeded.
    Off,
}

/// Who names a session that the client does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Titles {
    /// Its first request does.
    Request,
    /// Its first request, until the model was asked after the first turn.
    Model,
}

/// When the store lets a write count as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Synchronous {
    /// When the disk has it: it survives a loss of power.
    Full,
    /// When the system has it: it survives a killed process; a loss of power may take the last writes.
    Normal,
}

/// Who decides about a compaction that nobody asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Consent {
    /// Nobody: it is made.
    Auto,
    /// The user, by `compaction/review`; no answer in time accepts it.
    Ask,
    /// It is not made: at the hard limit the steps that need no model act.
    Off,
}

/// What is never covered, at the least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Retention {
    /// The newest round.
    Rounds,
    /// The newest requests of the user, with all that follows each.
    UserTurns(
        /// How many, at least 1.
        u32,
    ),
    /// The newest messages.
    Messages(
        /// How many, at least 1.
        u32,
    ),
    /// The newest messages that weigh a share of the limit together.
    TokenTail(
        /// The share, above 0 and below 1.
        f64,
    ),
}

/// A share of the limit, above 0 and up to 1, or whether there is one; `"off"` is taken as false.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ShareOrOff {
    /// False: off. True: as the policy has it, and where that has none, as is said of the setting.
    Switch(bool),
    /// The share.
    Share(f64),
}

/// A number, at least 1, or whether there is one; `"off"` is taken as false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountOrOff {
    /// False: off. True: as the policy has it, and where that has none, as is said of the setting.
    Switch(bool),
    /// The number.
    Count(u32),
}

/// The word for what is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Auto {
    /// It is found out.
    Auto,
}

/// A number, or that it is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountOrAuto {
    /// The word.
    Word(Auto),
    /// The number.
    Count(u32),
}

/// What starts a compaction. Each is set by itself: what is not given stays as it is. A prompt that is over the limit and
/// a word of the user always do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Triggers {
    /// The provider said that a prompt was too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_overflow: Option<bool>,
    /// The share of the limit that a prompt has when a turn begins. True: 0.8 where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_turn_tokens: Option<ShareOrOff>,
    /// The share of the limit at which a summary is prepared beside the running turn. True: 0.75 where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<ShareOrOff>,
    /// The next model's window is smaller, and the prompt does not fit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_changed: Option<bool>,
    /// More requests of the user than this are shown. True: 32 where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_turns: Option<CountOrOff>,
    /// More messages than this are shown. True: 40 where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<CountOrOff>,
    /// Seconds without a word. True: 900 where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<CountOrOff>,
}

/// When texts that are read from elsewhere, such as memories and instruction files, go into a session's prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SystemPrompt {
    /// Where the prompt's beginning changes anyway: at its start, at a compaction, at a reset.
    Frozen,
    /// With each turn; where they changed, the prefix breaks.
    PerTurn,
}

/// Which thinking of earlier answers prompts show. It is decided for each answer when that comes, and all of it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ThinkingInPrompt {
    /// All of it.
    Keep,
    /// That of the turn that runs; at a turn's end the prefix breaks.
    StripCompletedTurns,
    /// None.
    Strip,
}

/// How far history is made shorter before a model is asked, each step with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitHistory {
    /// Nothing is.
    Off,
    /// Repeated content is folded into its newest copy.
    FoldRepeats,
    /// Old tool results are shortened.
    ShortenResults,
    /// Whole old rounds are dropped.
    LimitHistory,
}

/// Settings. Later ones win: the policy, the user's file, the workspace's file (which can only lower `threshold` and
/// `roundLimit`), the environment, `initialize`, `workspace/didChangeConfiguration`, `session/open` and
/// `session/configure`, flags of the command line, the request itself. Within one of these a setting wins over another name
/// of it. A name with a point may be an object or not: `{"triggers": {"messages": 40}}` and `{"triggers.messages": 40}` are
/// the same. A name that no setting has is reported, and is no error. The names of a policy file are taken too, as are these
/// names there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// How sessions are compacted: the name of a built-in policy, or the path of a policy file (`threadhold policy`
    /// prints one): absolute, or in a settings file as seen from there. What else is set wins over it. Only such a file
    /// can say in which order sections stand and how far a shortened result is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The most that a prompt may weigh: a ratio of the window above 0 and up to 1, or a count of at least 100 tokens.
    /// `summarizeAgentConversationHistoryThreshold` is taken as its name too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Tokens kept back for the answer; a quarter of the window at most. Default: 4,096.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_output: Option<u32>,
    /// The longest summary that is accepted, in tokens; an eighth of the window at most. Default: 2,048.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_summary_tokens: Option<u32>,
    /// Which kind of summary is asked for. `agentHistorySummarizationMode` is taken as its name too. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_mode: Option<SummaryMode>,
    /// What happens to cache breakpoints in a request for a summary; true is taken as `keep`, false as `strip`. Default:
    /// `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_breakpoints: Option<SummaryBreakpoints>,
    /// Whether a prompt that is too large is compacted; true is taken as `auto`, false as `off`. `enabled` is taken as its
    /// name too. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summarize: Option<Summarize>,
    /// Another name of `summarize`: false is `off`. `summarization.enabled` and
    /// `summarizeAgentConversationHistory.enabled` are taken as its names too. Unlike where the name is from, it is on
    /// unless somebody says no, for nothing is lost by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_enabled: Option<bool>,
    /// Who decides about a compaction that nobody asked for. Default: `auto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Consent>,
    /// What starts a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggers: Option<Triggers>,
    /// What is never covered, at the least. Default: the newest round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// Where the block stands that stands for what was covered. Default: `userAtBoundary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// New tokens since the last compaction before a trigger starts another, but for an overflow. Default: `auto`, as many
    /// as lie between the limit and the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_new_tokens: Option<CountOrAuto>,
    /// Failed summaries in a row after which no model is asked until something new is said, at least 1. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_failures: Option<u32>,
    /// The share of the limit that user messages of the covered span may take, byte for byte. Default: 0.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_message_budget: Option<f64>,
    /// How far below the limit a compaction must come: this share of the room above what cannot be given up. Default:
    /// 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_ratio: Option<f64>,
    /// The share of the limit at which a turn is asked to come to an end. True: 0.85 where the policy has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_exit: Option<ShareOrOff>,
    /// How far history is made shorter before a model is asked. Default: `shortenResults`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_history: Option<LimitHistory>,
    /// The share of the free space for the newest rounds, unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_tail_share: Option<f64>,
    /// The share of the free space for older rounds with shortened results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_tail_share: Option<f64>,
    /// The share of the free space for the ledger of what was done, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger_share: Option<f64>,
    /// The share of the free space for the index of identifiers, at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier_share: Option<f64>,
    /// The model that writes summaries, where it is not the one that answers. `openai.summaryModel` is taken as its name
    /// too, and the environment's OPENAI_SUMMARY_MODEL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_model: Option<String>,
    /// Where that model is asked: an http or https address without a user and a password, a query and a fragment.
    /// `openai.summaryBaseURL` is taken as its name too, and the environment's OPENAI_SUMMARY_URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_base_url: Option<String>,
    /// The name of that model's key, as `model.keyEnv` is one. Default: the main model's where both are asked at one
    /// place, so no key goes elsewhere by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_key_env: Option<String>,
    /// Another name of `triggers.messages`; 0 is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_threshold: Option<u32>,
    /// Another name of `retention`: this many messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_keep_last: Option<u32>,
    /// Another name of `triggers.preTurnTokens`: a ratio up to 1, or a percentage above 1 and up to 100; 0 is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_summarize_threshold: Option<f64>,
    /// Another name of `triggers.userTurns`; 0 is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_summarize_turn_threshold: Option<u32>,
    /// Another name of `triggers.idleSeconds`, in minutes; 0 is off. `sessionTtlMinutes` is taken as its name too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_compact_after_minutes: Option<u32>,
    /// Who the model is: a section of the system text. What is set of it is taken at once, and breaks the prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// What it does in this session: a section of the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// How tools are used: a section of the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_rules: Option<String>,
    /// Tools that are there for the asking: a section of the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit_hints: Option<String>,
    /// The project that is worked on: a section of the system text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Whether a section of the system text says how many rounds a turn may have. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration_budget: Option<bool>,
    /// When texts that are read from elsewhere go into prompts. Default: `frozen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPrompt>,
    /// Which thinking of earlier answers prompts show. Default: `keep`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_in_prompt: Option<ThinkingInPrompt>,
    /// Instruction files of the workspace that stand in the system text, by their paths below the folder; an empty list
    /// is none. Of a file that changes, the next request of the user tells. Default: `AGENTS.md` where the sidecar runs
    /// the loop, none where the client does, for then it brings its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction_files: Option<Vec<String>>,
    /// Rounds of a turn before the user is asked whether to go on. Default: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_limit: Option<u32>,
    /// Tokens above which a tool's result is shown to the model by its head and its tail; a quarter of the window at
    /// most, and never 0. It is kept whole, and `context/recall` gives the rest. Results that are there stay as they are
    /// shown. Default: 16,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tool_result_tokens: Option<u32>,
    /// Tools of the sidecar itself that the model is told of, by their names. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_tools: Option<Vec<String>>,
    /// Milliseconds without a delta before a call of a model counts as failed. A summary or a title may take five times as
    /// long as a whole, and so may the first word of a model that is asked over its own wire, which may think before it; signs
    /// of life without a word do not count for longer than 25 times as long. Default: 60,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_deadline_ms: Option<u64>,
    /// Milliseconds that a user has for `compaction/review`; then the compaction holds, marked as unreviewed. Default:
    /// 120,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_deadline_ms: Option<u64>,
    /// Milliseconds before a `tool/invoke` counts as failed. Default: 1,800,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_deadline_ms: Option<u64>,
    /// Milliseconds for which what a model says is gathered before it is told as one event; 0 tells each piece by itself.
    /// Default: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta_interval_ms: Option<u64>,
    /// Who names a session that the client does not name. Default: `request`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titles: Option<Titles>,
    /// Whether prompts show what the folder remembers: all of it under a budget, the most important again at the end of
    /// the system text. Read when a session is made, compacted, reset or a compaction is undone. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_memories: Option<bool>,
    /// Tokens of that, above 0. Default: 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_memory_tokens: Option<u32>,
    /// Whether what the folder remembers is searched for each request, and what bears on it stands with it. For sessions
    /// whose loop the sidecar runs. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<bool>,
    /// Tokens of that, above 0. Default: 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge_tokens: Option<u32>,
    /// Whether the folder remembers the summaries of compactions, in the area `session_summary`. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_summary_to_memory: Option<bool>,
    /// Whether the session is also written into its workspace, as `.threadhold/trajectories/{sessionId}.json`, at the end
    /// of each turn. What others change in that file is taken into the session when that is idle; what the change takes
    /// away is kept in a fork. Default: `off`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<Trajectory>,
    /// What of a turn is kept when it is over, in sessions whose loop the sidecar runs. With the driver `editor` all of it is
    /// kept whatever is set here: the editor brings the messages itself, and would bring them again. Default: `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<TranscriptKept>,
    /// When the store lets a write count as done. Default: `full`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub synchronous: Option<Synchronous>,
}

/// Settings as somebody wrote them, under any of their names and in any of their forms: whoever takes them into use reads
/// them value by value. On the wire they are `Settings`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenSettings(
    /// What was written.
    pub Map<String, Value>,
);

impl JsonSchema for GivenSettings {
    fn schema_name() -> Cow<'static, str> {
        Settings::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        Settings::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Settings::json_schema(generator)
    }
}
