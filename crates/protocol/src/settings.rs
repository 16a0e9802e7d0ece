//! Settings as they come over the wire. Nothing is validated here beyond types: what a value may be is said by
//! whoever takes it into use.

mod in_force;

use crate::context::compaction::Placement;
pub use crate::context::compaction::SummaryMode;
pub use engine::compact::policy::{Consent, Stage as LimitHistory};
pub use engine::message::cut::ThinkingInPrompt;
pub use engine::prompt::order::SystemPrompt;
pub use engine::words::{Titles, Trajectory, TranscriptKept};
pub use in_force::{SettingInForce, SettingSource};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A group of settings: each may be missing, and has the other names under which it is taken too.
macro_rules! settings {
    ($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $of:ty $(, also $($other:literal),+)?;)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $field: Option<$of>,)*
        }

        impl $name {
            /// Other names of these settings, each with the field that it means.
            pub const OTHER_NAMES: &[(&str, &str)] = &[$($($(($other, stringify!($field)),)+)?)*];
        }
    };
}

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

settings! {
    /// A model: who asks it, and what prompts depend on.
    Model {
        /// Its name, handed back with `model/complete`.
        name: String;
        /// Who asks it, and how. Default: `editor`.
        wire: ModelWire;
        /// Where it is asked: an http or https address without a user and a password, a query and a fragment. What the wire
        /// puts behind it may stand there and is taken off. Default: the wire's own provider. Never from a workspace's file.
        base_url: String;
        /// The name of its key: one that the client gave with `model/key`, else an environment variable. Never a key itself.
        /// Default: the wire's usual variable, such as `OPENAI_API_KEY`, where its own provider is asked, and none elsewhere.
        /// Never from a workspace's file.
        key_env: String;
        /// Whether answers come over a WebSocket; `openai-responses` alone has one. Default: false.
        web_socket: bool;
        /// Its window in tokens. Default: that of the known model of this name, else 128,000. Over `ollama` 16,384 whatever its
        /// name is, for there a window is memory of the machine that serves it.
        window: u32;
        /// The most that it is to answer, in tokens; no more than its window. Default: what the model can and its window has
        /// left. What a prompt may weigh does not follow it: room for the answer is kept back by `reservedOutput`.
        max_output: u32;
        /// The roles that it takes, such as `system`, `user`, `assistant`, `tool`. Default: all.
        roles: Vec<String>;
        /// Whether it can be told to use no tool. Default: true.
        tool_choice_none: bool;
        /// Whether its answers come with their usage. Default: false.
        usage: bool;
        /// Whether the client counts its tokens (`model/countTokens`). Default: false.
        count_tokens: bool;
        /// Whether it takes pictures. Default: true.
        images: bool;
    }
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

/// When the store lets a write count as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Synchronous {
    /// When the disk has it: it survives a loss of power.
    Full,
    /// When the system has it: it survives a killed process; a loss of power may take the last writes.
    Normal,
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

settings! {
    /// What starts a compaction. Each is set by itself: what is not given stays as it is. A prompt that is over the limit and
    /// a word of the user always do.
    Triggers {
        /// The provider said that a prompt was too large.
        provider_overflow: bool;
        /// The share of the limit that a prompt has when a turn begins. True: 0.8 where the policy has none.
        pre_turn_tokens: ShareOrOff;
        /// The share of the limit at which a summary is prepared beside the running turn. True: 0.75 where the policy has none.
        background: ShareOrOff;
        /// The next model's window is smaller, and the prompt does not fit it.
        model_changed: bool;
        /// More requests of the user than this are shown. True: 32 where the policy has none.
        user_turns: CountOrOff;
        /// More messages than this are shown. True: 40 where the policy has none.
        messages: CountOrOff;
        /// Seconds without a word. True: 900 where the policy has none.
        idle_seconds: CountOrOff;
    }
}

settings! {
    /// Settings. Later ones win: the policy, the user's file, the workspace's file (which can only lower `threshold` and
    /// `roundLimit`), the environment, `initialize`, `workspace/didChangeConfiguration`, `session/open` and
    /// `session/configure`, flags of the command line, the request itself. Within one of these a setting wins over another name
    /// of it. A name with a point may be an object or not: `{"triggers": {"messages": 40}}` and `{"triggers.messages": 40}` are
    /// the same. A name that no setting has is reported, and is no error. The names of a policy file are taken too, as are these
    /// names there.
    Settings {
        /// The model.
        model: Model;
        /// How sessions are compacted: the name of a built-in policy, or the path of a policy file (`threadhold policy`
        /// prints one): absolute, or in a settings file as seen from there. What else is set wins over it. Only such a file
        /// can say in which order sections stand and how far a shortened result is cut.
        policy: String;
        /// The most that a prompt may weigh: a ratio of the window above 0 and up to 1, or a count of at least 100 tokens.
        /// `summarizeAgentConversationHistoryThreshold` is taken as its name too.
        threshold: f64, also "summarizeAgentConversationHistoryThreshold";
        /// Tokens kept back for the answer; a quarter of the window at most. Default: 4,096.
        reserved_output: u32;
        /// The longest summary that is accepted, in tokens; an eighth of the window at most. Default: 2,048.
        max_summary_tokens: u32;
        /// Which kind of summary is asked for. `agentHistorySummarizationMode` is taken as its name too. Default: `auto`.
        summary_mode: SummaryMode, also "agentHistorySummarizationMode";
        /// What happens to cache breakpoints in a request for a summary; true is taken as `keep`, false as `strip`. Default:
        /// `keep`.
        summary_breakpoints: SummaryBreakpoints;
        /// Whether a prompt that is too large is compacted; true is taken as `auto`, false as `off`. `enabled` is taken as its
        /// name too. Default: `auto`.
        summarize: Summarize;
        /// Another name of `summarize`: false is `off`. `summarization.enabled` and
        /// `summarizeAgentConversationHistory.enabled` are taken as its names too. Unlike where the name is from, it is on
        /// unless somebody says no, for nothing is lost by it.
        summary_enabled: bool, also "summarization.enabled", "summarizeAgentConversationHistory.enabled";
        /// Who decides about a compaction that nobody asked for. Default: `auto`.
        compaction: Consent;
        /// What starts a compaction.
        triggers: Triggers;
        /// What is never covered, at the least. Default: the newest round.
        retention: Retention;
        /// Where the block stands that stands for what was covered. Default: `userAtBoundary`.
        placement: Placement;
        /// New tokens since the last compaction before a trigger starts another, but for an overflow. Default: `auto`, as many
        /// as lie between the limit and the target.
        min_new_tokens: CountOrAuto;
        /// Failed summaries in a row after which no model is asked until something new is said, at least 1. Default: 3.
        most_failures: u32;
        /// The share of the limit that user messages of the covered span may take, byte for byte. Default: 0.2.
        user_message_budget: f64;
        /// How far below the limit a compaction must come: this share of the room above what cannot be given up. Default:
        /// 0.5.
        target_ratio: f64;
        /// The share of the limit at which a turn is asked to come to an end. True: 0.85 where the policy has none.
        budget_exit: ShareOrOff;
        /// How far history is made shorter before a model is asked. Default: `shortenResults`.
        limit_history: LimitHistory;
        /// The share of the free space for the newest rounds, unchanged.
        raw_tail_share: f64;
        /// The share of the free space for older rounds with shortened results.
        short_tail_share: f64;
        /// The share of the free space for the ledger of what was done, at most.
        ledger_share: f64;
        /// The share of the free space for the index of identifiers, at most.
        identifier_share: f64;
        /// The model that writes summaries, where it is not the one that answers. `openai.summaryModel` is taken as its name
        /// too, and the environment's OPENAI_SUMMARY_MODEL.
        summary_model: String, also "openai.summaryModel";
        /// Where that model is asked: an http or https address without a user and a password, a query and a fragment.
        /// `openai.summaryBaseURL` is taken as its name too, and the environment's OPENAI_SUMMARY_URL.
        summary_base_url: String, also "openai.summaryBaseURL";
        /// The name of that model's key, as `model.keyEnv` is one. Default: the main model's where both are asked at one
        /// place, so no key goes elsewhere by itself.
        summary_key_env: String;
        /// Another name of `triggers.messages`; 0 is off.
        summary_threshold: u32;
        /// Another name of `retention`: this many messages.
        summary_keep_last: u32;
        /// Another name of `triggers.preTurnTokens`: a ratio up to 1, or a percentage above 1 and up to 100; 0 is off.
        auto_summarize_threshold: f64;
        /// Another name of `triggers.userTurns`; 0 is off.
        auto_summarize_turn_threshold: u32;
        /// Another name of `triggers.idleSeconds`, in minutes; 0 is off. `sessionTtlMinutes` is taken as its name too.
        idle_compact_after_minutes: u32, also "sessionTtlMinutes";
        /// Who the model is: a section of the system text. What is set of it is taken at once, and breaks the prefix.
        identity: String;
        /// What it does in this session: a section of the system text.
        role: String;
        /// How tools are used: a section of the system text.
        tool_rules: String;
        /// Tools that are there for the asking: a section of the system text.
        toolkit_hints: String;
        /// The project that is worked on: a section of the system text.
        project: String;
        /// Whether a section of the system text says how many rounds a turn may have. Default: false.
        iteration_budget: bool;
        /// When texts that are read from elsewhere go into prompts. Default: `frozen`.
        system_prompt: SystemPrompt;
        /// Which thinking of earlier answers prompts show. Default: `keep`.
        thinking_in_prompt: ThinkingInPrompt;
        /// Instruction files of the workspace that stand in the system text, by their paths below the folder; an empty list
        /// is none. Of a file that changes, the next request of the user tells. Default: `AGENTS.md` where the sidecar runs
        /// the loop, none where the client does, for then it brings its own.
        instruction_files: Vec<String>;
        /// Rounds of a turn before the user is asked whether to go on. Default: 64.
        round_limit: u32;
        /// Tokens above which a tool's result is shown to the model by its head and its tail; a quarter of the window at
        /// most, and never 0. It is kept whole, and `context/recall` gives the rest. Results that are there stay as they are
        /// shown. Default: 16,000.
        max_tool_result_tokens: u32;
        /// Tools of the sidecar itself that the model is told of, by their names. Default: none.
        own_tools: Vec<String>;
        /// Milliseconds without a delta before a call of a model counts as failed. A summary or a title may take five times as
        /// long as a whole, and so may the first word of a model that is asked over its own wire, which may think before it; signs
        /// of life without a word do not count for longer than 25 times as long. Default: 60,000.
        model_deadline_ms: u64;
        /// Milliseconds that a user has for `compaction/review`; then the compaction holds, marked as unreviewed. Default:
        /// 120,000.
        review_deadline_ms: u64;
        /// Milliseconds before a `tool/invoke` counts as failed. Default: 1,800,000.
        tool_deadline_ms: u64;
        /// Milliseconds for which what a model says is gathered before it is told as one event; 0 tells each piece by itself.
        /// Default: 16.
        delta_interval_ms: u64;
        /// Who names a session that the client does not name. Default: `request`.
        titles: Titles;
        /// Whether prompts show what the folder remembers: all of it under a budget, the most important again at the end of
        /// the system text. Read when a session is made, compacted, reset or a compaction is undone. Default: false.
        core_memories: bool;
        /// Tokens of that, above 0. Default: 500.
        core_memory_tokens: u32;
        /// Whether what the folder remembers is searched for each request, and what bears on it stands with it. For sessions
        /// whose loop the sidecar runs. Default: false.
        knowledge: bool;
        /// Tokens of that, above 0. Default: 500.
        knowledge_tokens: u32;
        /// Whether the folder remembers the summaries of compactions, in the area `session_summary`. Default: false.
        session_summary_to_memory: bool;
        /// Whether the session is also written into its workspace, as `.threadhold/trajectories/{sessionId}.json`, at the end
        /// of each turn. What others change in that file is taken into the session when that is idle; what the change takes
        /// away is kept in a fork. Default: `off`.
        trajectory: Trajectory;
        /// What of a turn is kept when it is over, in sessions whose loop the sidecar runs. With the driver `editor` all of it is
        /// kept whatever is set here: the editor brings the messages itself, and would bring them again. Default: `full`.
        transcript: TranscriptKept;
        /// When the store lets a write count as done. Default: `full`.
        synchronous: Synchronous;
    }
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
