//! Settings as they come over the wire. Only types are checked here; the sidecar validates values when it applies them.

mod in_force;

use crate::context::compaction::Placement;
pub use crate::context::compaction::SummaryMode;
use crate::tool::server::{McpServer, WorkspaceServers};
pub use engine::compact::policy::{Consent, Stage as LimitHistory};
pub use engine::endpoint::options::{CacheTtl, Effort, Fallbacks, HeaderValue, Manners, Thinking};
pub use engine::message::cut::ThinkingInPrompt;
pub use engine::prompt::order::SystemPrompt;
pub use engine::words::{Titles, Trajectory, TranscriptKept};
pub use in_force::{SettingInForce, SettingSource};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Defines a group of settings: each is optional, and may have other names under which it is accepted too.
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
            /// Other names of these settings, each with the field that it stands for.
            pub const OTHER_NAMES: &[(&str, &str)] = &[$($($(($other, stringify!($field)),)+)?)*];
        }
    };
}

/// The API through which a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelWire {
    /// The client asks the model (`model/complete`).
    Editor,
    /// Chat Completions: OpenAI, OpenRouter, DeepSeek, Copilot, vLLM, llama-server, LM Studio.
    OpenaiChat,
    /// Responses API of OpenAI.
    OpenaiResponses,
    /// Messages API of Anthropic.
    Anthropic,
    /// `generateContent` API of Gemini, at Google's own address or at Vertex AI.
    Gemini,
    /// Native chat API of Ollama.
    Ollama,
    /// A fixture instead of a provider: `baseUrl` is its path; the default is a built-in one.
    Scripted,
}

/// Prices of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModelPrice {
    /// Input that the cache does not concern.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from the cache. Default: `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    /// Input written to the cache. Default: `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

settings! {
    /// A model: where it is asked, and its properties that prompts depend on.
    Model {
        /// Name of the model, repeated in `model/complete`. Required unless `wire` is `editor` or `scripted`.
        name: String;
        /// API through which the model is asked. Default: `editor`.
        wire: ModelWire;
        /// Base URL of the provider: http or https, without user, password, query and fragment. A trailing path that
        /// the wire itself appends is removed. Ignored in a workspace's file. Default: the wire's own provider.
        base_url: String;
        /// Name of the model's key, never a key itself: one that the client gave with `model/key`, otherwise an
        /// environment variable. Ignored in a workspace's file. Default: the wire's usual variable, such as
        /// `OPENAI_API_KEY`, for the wire's own provider; none for any other.
        key_env: String;
        /// `true` if answers come over a WebSocket, which only `openai-responses` has. It stays open between requests, which
        /// then send only what is new. Default: false.
        web_socket: bool;
        /// Size of the window, in tokens. Default: that of the known model of this name, otherwise 128,000. With
        /// `ollama` 16,384 for any name, because the window takes memory of the machine that serves it.
        window: u32;
        /// Largest answer, in tokens, at most the window. Default: what the model can answer and the window has left.
        /// It does not change the size of prompts: `reservedOutput` keeps room for the answer.
        max_output: u32;
        /// Roles that the model accepts, such as `system`, `user`, `assistant`, `tool`. Default: all.
        roles: Vec<String>;
        /// `true` if the model can be told not to use its tools. Default: true.
        tool_choice_none: bool;
        /// `true` if answers come with their usage. Default: false.
        usage: bool;
        /// With a wire: `true` if the provider is to count the first prompt before it is sent, if that may be too large.
        /// For the wires `anthropic`, `openai-responses` and `gemini`. Of a model of the client: `true` if the client
        /// counts requests (`model/countTokens`); ignored if `usage` is true. Default: false.
        count_tokens: bool;
        /// `true` if the model accepts pictures. Default: as known for the model of this name, otherwise true.
        images: bool;
        /// Prices of the model. They go before those that are known for its name; what a provider reports goes before both.
        /// Ignored in a workspace's file. Default: as known for a model of this name at this address.
        price: ModelPrice;
        /// Effort of the answers of turns. `anthropic` takes `low` to `max`, `gemini` `minimal` to `xhigh`, `ollama`
        /// `none`, `low`, `medium` and `high`; over the other wires each word is sent, and the model decides. Summaries
        /// and titles keep their low effort. Needs `wire`. Default: the model's own.
        effort: Effort;
        /// Thinking of all requests to the model: `off`, `adaptive`, or a number of tokens, at least 1,024 over
        /// `anthropic`. Known models that cannot stop thinking are not told `off`: they think as usual, or between calls
        /// of tools only. `openai-responses` and `ollama` take no number, `openai-chat` takes `off` and `adaptive` at
        /// OpenAI, Azure, DeepSeek and Moonshot, and all of them at OpenRouter. Except over `anthropic` only `adaptive`
        /// can stand beside `effort`. Needs `wire`. Default: the model's own.
        thinking: Thinking;
        /// Time for which `anthropic` keeps cached prefixes; writes for an hour cost more. Default: `5m`.
        cache_ttl: CacheTtl;
        /// Models that `anthropic` asks instead where the model refuses to answer: `default`, or their names in order. The
        /// answer tells which of them gave it. Default: none.
        fallbacks: Fallbacks;
        /// Size of a prompt, in the provider's tokens, from which `anthropic` (at least 50,000) or `openai-responses`
        /// compacts it. The compaction is stored with the answer and shown as the provider's; the budget of the session
        /// holds all the same. Default: never.
        provider_compaction: u32;
        /// `true` if the provider's list of models is asked for the window of the model, at most once a day and beside its
        /// calls; it is then used where no `window` is set. Needs `wire`. Default: true at the own addresses of `anthropic`
        /// and `gemini` and at OpenRouter, otherwise false.
        look_up_limits: bool;
        /// Server whose manners the address has over `openai-chat`: `openai`, `openrouter`, `mistral` or `deepseek`. They
        /// decide about names of fields, cache marks, and how thinking is set and sent back. Needs `wire`. Default: those
        /// known for the host.
        manners: Manners;
        /// Fields merged into the body of each request: objects deeply, `null` removes a field, any other value
        /// replaces it. Fields that carry the conversation cannot be set: `messages`, `input`, `contents`, `system`,
        /// `instructions`, `systemInstruction`, `tools`, `model` and `stream`. Needs `wire`. Ignored in a workspace's
        /// file. Default: none.
        extra_body: Map<String, Value>;
        /// Headers of each request. A header that carries a key is given as the name of the key, as in `keyEnv`:
        /// `{"api-key": {"keyEnv": "AZURE_API_KEY"}}`. Needs `wire`. Ignored in a workspace's file. Default: none.
        extra_headers: BTreeMap<String, HeaderValue>;
        /// Parameters added to the URL of each request, such as `api-version`, never a key. Needs `wire`. Ignored in a
        /// workspace's file. Default: none.
        query: BTreeMap<String, String>;
    }
}

/// A kind of agent that a model can start by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentPreset {
    /// Name of the preset, not empty.
    pub name: String,
    /// What such an agent is for, for the model that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Model of the agent. Default: that of the session that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// Section of the agent's system text: its task in general. Default: that of the session that starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Tools that the agent may use, of those of the session that starts it. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// The treatment of cache breakpoints in a request for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SummaryBreakpoints {
    /// Breakpoints are kept.
    Keep,
    /// Breakpoints are left out.
    Strip,
}

/// The condition under which a prompt is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Summarize {
    /// If it is too large.
    Auto,
    /// Never: every message is shown verbatim, and an overflow fails with `BudgetExceeded`.
    Off,
}

/// The moment at which the store acknowledges a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Synchronous {
    /// Once the disk has it: the write survives a loss of power.
    Full,
    /// Once the operating system has it: the write survives a killed process; a loss of power may lose the last writes.
    Normal,
}

/// The minimum of history that a compaction never covers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Retention {
    /// The newest round.
    Rounds,
    /// The newest requests of the user, with everything that follows each.
    UserTurns(
        /// Number of requests, at least 1.
        u32,
    ),
    /// The newest messages.
    Messages(
        /// Number of messages, at least 1.
        u32,
    ),
    /// The newest messages that together take a share of the limit.
    TokenTail(
        /// Share of the limit, above 0 and below 1.
        f64,
    ),
}

/// A share of the limit, above 0 and up to 1, or a switch. `"off"` is accepted as false.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ShareOrOff {
    /// False: off. True: the policy's value, or the one that the setting states if the policy has none.
    Switch(bool),
    /// The share of the limit.
    Share(f64),
}

/// A number, at least 1, or a switch. `"off"` is accepted as false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountOrOff {
    /// False: off. True: the policy's value, or the one that the setting states if the policy has none.
    Switch(bool),
    /// The number.
    Count(u32),
}

/// The word for a value that is determined automatically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Auto {
    /// Determined automatically.
    Auto,
}

/// A number, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum CountOrAuto {
    /// The word `auto`.
    Word(Auto),
    /// The number.
    Count(u32),
}

settings! {
    /// The triggers of compactions, each set by itself; absent ones stay unchanged. A prompt over the limit and a
    /// user's request always start one.
    Triggers {
        /// `true` if a prompt that the provider rejects as too large starts a compaction. Default: true.
        provider_overflow: bool;
        /// Share of the limit at which a turn begins with a compaction. Default: 0.8; true is 0.8 if the policy has
        /// none.
        pre_turn_tokens: ShareOrOff;
        /// Share of the limit at which a summary is prepared beside the turn. Default: 0.75; true is 0.75 if the policy
        /// has none.
        background: ShareOrOff;
        /// `true` if a prompt that does not fit the next model's smaller window starts a compaction. Default: true.
        model_changed: bool;
        /// Shown user requests above which a compaction starts, and again after as many more. Default: false; true is 32 if the policy has none.
        user_turns: CountOrOff;
        /// Shown messages above which a compaction starts, and again after as many more. Default: false; true is 40 if the policy has none.
        messages: CountOrOff;
        /// Idle seconds after which a compaction starts. Default: false; true is 900 if the policy has none.
        idle_seconds: CountOrOff;
    }
}

settings! {
    /// Servers of the Model Context Protocol.
    Mcp {
        /// Servers whose tools are offered to the model in sessions whose loop the sidecar runs, by name. Started when such
        /// a session begins a turn. Ignored in a workspace's file. Default: none.
        servers: BTreeMap<String, McpServer>;
        /// Use of the servers that files of the workspace define: `.threadhold/config.toml` (`mcp.servers`), `.mcp.json`
        /// and `.vscode/mcp.json`. With `ask`, each is started only after the user allowed exactly that definition
        /// (`mcp/allow`); `off` does not read them. Ignored in a workspace's file. Default: off.
        workspace_files: WorkspaceServers;
    }
}

settings! {
    /// Settings. Later places win: the policy, the user's file, the workspace's file (which can only lower `threshold`
    /// and `roundLimit`), the environment, `initialize`, `workspace/didChangeConfiguration`, `session/open` and
    /// `session/configure`, flags of the command line, the request itself. Within one place a setting wins over another
    /// name of it. Names with a point may be written as objects: `{"triggers": {"messages": 40}}` and
    /// `{"triggers.messages": 40}` are the same. An unknown name is reported and is not an error. Names of policy files
    /// are accepted here, and these names there.
    Settings {
        /// Model that answers.
        model: Model;
        /// Name of a built-in policy of compaction, or path of a policy file (`threadhold policy` prints one):
        /// absolute, or relative to the settings file that names it. Any setting that is set by itself wins over it.
        /// Only a policy file can set the order of sections and the size of a shortened result. Default: `default`.
        policy: String;
        /// Largest size of a prompt: a ratio of the window above 0 and up to 1, or a number of tokens. The window, less
        /// what is kept back for the answer, limits it too. Either must leave at least 500 tokens.
        /// `summarizeAgentConversationHistoryThreshold` is accepted as its name too. Default: none.
        threshold: f64, also "summarizeAgentConversationHistoryThreshold";
        /// Tokens kept back for the answer, at most a quarter of the window. Default: 4,096.
        reserved_output: u32;
        /// Longest summary that is accepted, in tokens, at most a sixteenth of the window, or 2,048 and an eighth if that
        /// is more. Default: 4,096.
        max_summary_tokens: u32;
        /// Kind of summary to request. `agentHistorySummarizationMode` is accepted as its name too. Default: `auto`.
        summary_mode: SummaryMode, also "agentHistorySummarizationMode";
        /// Treatment of cache breakpoints in a request for a summary. True is accepted as `keep`, false as `strip`.
        /// Default: `keep`.
        summary_breakpoints: SummaryBreakpoints;
        /// Condition under which a prompt is compacted. True is accepted as `auto`, false as `off`; `enabled` is
        /// accepted as its name too. Default: `auto`.
        summarize: Summarize;
        /// Another name of `summarize`: true is `auto`, false is `off`. `summarization.enabled` and
        /// `summarizeAgentConversationHistory.enabled` are accepted as its names too. On unless set to false, unlike in
        /// the program that the names come from, because a compaction loses nothing.
        summary_enabled: bool, also "summarization.enabled", "summarizeAgentConversationHistory.enabled";
        /// Party that decides about a compaction that nobody requested. Default: `auto`.
        compaction: Consent;
        /// Triggers of compactions.
        triggers: Triggers;
        /// Minimum of history that a compaction never covers. Default: the newest round.
        retention: Retention;
        /// Place in the prompt of the block that replaces covered messages. Default: `userAtBoundary`.
        placement: Placement;
        /// New tokens required since the last compaction before a trigger starts another, unless the prompt is over the
        /// limit. Default: `auto`, the distance between the limit and the target.
        min_new_tokens: CountOrAuto;
        /// Failed summaries in a row after which no model is asked until `minNewTokens` are new; at least 1. Default:
        /// 3.
        most_failures: u32;
        /// Share of the limit for user messages of the covered span, which stay byte for byte. Default: 0.2.
        user_message_budget: f64;
        /// Share of the room beside what must stay that a prompt may fill after a compaction. A large newest round takes up
        /// to a quarter of it. Default: 0.5.
        target_ratio: f64;
        /// Share of the limit at which a turn is asked to finish. Default: false. True is 0.85 if the policy has none.
        budget_exit: ShareOrOff;
        /// Extent to which history is shortened before a model is asked. Default: `foldRepeats`.
        limit_history: LimitHistory;
        /// Share of the free space for the newest rounds, unchanged. Default: 0.15.
        raw_tail_share: f64;
        /// Share of the free space for older rounds with shortened results. Default: 0.
        short_tail_share: f64;
        /// Largest share of the free space for the ledger. In a small prompt changed files get up to a fifth of the space,
        /// at most 800 tokens; 0 is no ledger. Default: 0.05.
        ledger_share: f64;
        /// Largest share of the free space for excerpts of covered messages. Default: 1, all that the other shares leave.
        excerpt_share: f64;
        /// Share of the free space for the index of identifiers, which excerpts leave to it. Default: 0.06.
        identifier_share: f64;
        /// Name of the model that writes summaries. `openai.summaryModel` and the variable `OPENAI_SUMMARY_MODEL` are
        /// accepted too. Default: the model that answers.
        summary_model: String, also "openai.summaryModel";
        /// Base URL of that model's provider: http or https, without user, password, query and fragment.
        /// `openai.summaryBaseURL` and the variable `OPENAI_SUMMARY_URL` are accepted too. Default: the main model's.
        summary_base_url: String, also "openai.summaryBaseURL";
        /// Name of that model's key, as in `model.keyEnv`. Default: the main model's if both have the same provider, so
        /// that no key is sent elsewhere unasked.
        summary_key_env: String;
        /// Prices of that model, as in `model.price`. No effect without `summaryModel`, `summaryBaseUrl` or
        /// `summaryKeyEnv`. Default: the main model's if it is the same model at the same provider, otherwise as known for its
        /// name.
        summary_price: ModelPrice;
        /// Another name of `triggers.messages`; 0 is off.
        summary_threshold: u32;
        /// Another name of `retention` with this many messages.
        summary_keep_last: u32;
        /// Another name of `triggers.preTurnTokens`: a ratio up to 1, or a percentage above 1 and up to 100; 0 is off.
        auto_summarize_threshold: f64;
        /// Another name of `triggers.userTurns`; 0 is off.
        auto_summarize_turn_threshold: u32;
        /// `triggers.idleSeconds` in minutes; 0 is off. `sessionTtlMinutes` is accepted as its name too.
        idle_compact_after_minutes: u32, also "sessionTtlMinutes";
        /// Section of the system text: identity of the model. A change is applied at once and breaks the prefix.
        identity: String;
        /// Section of the system text: task of the model in this session.
        role: String;
        /// Section of the system text: rules for using tools.
        tool_rules: String;
        /// Section of the system text: further tools available on request.
        toolkit_hints: String;
        /// Section of the system text: the project in progress.
        project: String;
        /// Section of the system text with the number of rounds that a turn may have: `true` always, `false` never. By
        /// default it is written once `roundLimit` is set, and says the limit in force at each turn.
        iteration_budget: bool;
        /// Moment at which texts read from elsewhere enter prompts. Default: `frozen`.
        system_prompt: SystemPrompt;
        /// Thinking of earlier answers that prompts show. Default: `keep`.
        thinking_in_prompt: ThinkingInPrompt;
        /// Instruction files of the workspace in the system text, at most 16 paths below the folder; an empty list is
        /// none. A changed file is sent with the user's next request. Default: `AGENTS.md` if the sidecar runs the
        /// loop; none if the client does, because it provides its own.
        instruction_files: Vec<String>;
        /// `false` if the user does not trust the folder: its settings file and instruction files are not read, and
        /// each call of a client's tool waits for the user, whatever the tool declares or was approved for good before;
        /// an approval counts once. Default: true.
        workspace_trusted: bool;
        /// Rounds of a turn before the user is asked whether to continue, at least 1. Default: 64.
        round_limit: u32;
        /// Size in tokens above which the model sees only head and tail of a tool's result, at most a quarter of the
        /// window and never 0. The whole result is stored, and `context/recall` returns it. Earlier results stay as
        /// shown. Default: 16,000.
        max_tool_result_tokens: u32;
        /// Levels of agents that may stand below a session that a user opened: 1 lets such a session start agents that
        /// start none, 0 switches `start_agent` off. Default: 2.
        agent_depth: u32;
        /// Agents of one session that may be at work at the same time, at least 1. Default: 8.
        most_agents: u32;
        /// Tokens that the agents of one session may use together, as the providers report them. Checked when an agent
        /// starts and after each of its rounds. Default: 2,000,000.
        agent_tokens: u64;
        /// Presets that `start_agent` offers to the model. Default: none.
        agent_presets: Vec<AgentPreset>;
        /// Names of the sidecar's own tools to offer to the model, such as `recall` and `todo`. Default: none.
        own_tools: Vec<String>;
        /// Milliseconds without a delta after which a model request fails. A summary or a title as a whole may take
        /// five times as long, and so may the first delta of a model that the sidecar asks itself, which may think
        /// first; signs of life without content extend this to at most 25 times. Default: 60,000.
        model_deadline_ms: u64;
        /// Milliseconds that the user has for `compaction/review`; then the compaction is accepted, marked as
        /// unreviewed. Default: 120,000.
        review_deadline_ms: u64;
        /// Milliseconds after which the call of a tool fails, whether the client runs it (`tool/invoke`) or a server of
        /// the Model Context Protocol. Default: 1,800,000.
        tool_deadline_ms: u64;
        /// Milliseconds for which a model's output is gathered into one event; 0 sends each piece. Default: 16.
        delta_interval_ms: u64;
        /// Source of the title of a session that the client does not name. Default: `request`.
        titles: Titles;
        /// `true` shows the folder's memories in prompts: all within a budget, the most important again at the end of
        /// the system text. Read when a session is made, compacted or reset, or a compaction undone. Default: false.
        core_memories: bool;
        /// Budget of `coreMemories`, in tokens, above 0. Default: 500.
        core_memory_tokens: u32;
        /// `true` searches the folder's memories for each request and shows the matching ones with it, in sessions
        /// whose loop the sidecar runs. Default: false.
        knowledge: bool;
        /// Budget of `knowledge`, in tokens, above 0. Default: 500.
        knowledge_tokens: u32;
        /// `true` stores summaries of compactions as memories of the folder, area `session_summary`. Default: false.
        session_summary_to_memory: bool;
        /// File in the workspace, `.threadhold/trajectories/{sessionId}.json`, that the session is also written to at
        /// the end of each turn. Changes of that file by others are taken into the session when it is idle; a revision
        /// keeps what such a change removes. Default: `off`.
        trajectory: Trajectory;
        /// Parts of a turn that are kept once it is over, if the sidecar runs the loop. With the driver `editor`
        /// everything is kept, because the editor would send removed messages again. Default: `full`.
        transcript: TranscriptKept;
        /// Servers of the Model Context Protocol.
        mcp: Mcp;
        /// Moment at which the store acknowledges a write. Default: `full`.
        synchronous: Synchronous;
    }
}

/// Settings as a client wrote them, under any of their names and in any of their forms. Whoever applies them reads them
/// value by value. The schema calls them `Settings`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GivenSettings(
    /// The values as received.
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
