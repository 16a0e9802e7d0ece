//! Policies as data: how far each rung may go, where a block stands, how the space after a compaction is divided. A
//! policy decides nothing by itself. The built-in ones are in `presets`; their form as text is `text`'s.

pub mod presets;
pub mod text;
mod values;

pub use presets::{DEFAULT, FOUR_STAGE, LAST_TURNS, OFF, WORDS_AND_LEDGER};
pub use text::{PolicyError, keys, put, read, write};
pub use values::OTHER_NAMES;

use super::known_tools::ToolKinds;
use super::record::{ModeRequested, Placement};
use crate::prompt::order::Order;
use crate::settings::PerMille;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How a session is compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Its name.
    #[serde(deserialize_with = "values::name")]
    pub name: Cow<'static, str>,
    /// How far a compaction may reach.
    pub retention: Retention,
    /// Where its block stands.
    pub placement: Placement,
    /// In which order the sections stand that come before the messages.
    pub order: Order,
    /// Who decides about a compaction that nobody asked for.
    #[serde(rename = "compaction")]
    pub consent: Consent,
    /// What starts one beside an overflow at render and a word of the user.
    pub triggers: Triggers,
    /// New tokens since the last one before a trigger other than an overflow starts another (hysteresis); as many as
    /// lie between limit and target where nothing is said.
    #[serde(with = "values::count_or_auto")]
    pub min_new_tokens: Option<u32>,
    /// Failed summaries in a row after which no model is asked until something new is said. Steps without a model go on.
    #[serde(with = "values::count")]
    pub most_failures: u32,
    /// Share of the limit at which a turn is asked to come to an end.
    #[serde(with = "values::share_or_off")]
    pub budget_exit: Option<PerMille>,
    /// Whether anything is compacted at all. Off: every message verbatim, and an overflow is an error.
    #[serde(rename = "summarize", with = "values::auto_or_off")]
    pub enabled: bool,
    /// Which summary a model is asked for.
    pub summary_mode: ModeRequested,
    /// Whether a request for a full summary carries the cache breakpoints of the prompt that it extends.
    #[serde(with = "values::keep_or_strip")]
    pub summary_breakpoints: bool,
    /// How far below the limit a compaction must come: this share of the room above what cannot be given up.
    #[serde(with = "values::share_above_0")]
    pub target_ratio: PerMille,
    /// Share of the limit that user messages of the covered span may take, byte for byte.
    #[serde(rename = "userMessageBudget", with = "values::share")]
    pub user_messages: PerMille,
    /// How far rung 0 goes before a model is asked.
    pub limit_history: Stage,
    /// Share of the free space for the newest rounds, unchanged.
    #[serde(rename = "rawTailShare", with = "values::share")]
    pub raw_tail: PerMille,
    /// Share of the free space for older rounds with shortened results.
    #[serde(rename = "shortTailShare", with = "values::share")]
    pub short_tail: PerMille,
    /// Share of the free space for the ledger, at most.
    #[serde(rename = "ledgerShare", with = "values::share")]
    pub ledger: PerMille,
    /// Share of the free space for the identifier index, at most.
    #[serde(rename = "identifierShare", with = "values::share")]
    pub identifiers: PerMille,
    /// Bytes of head and of tail of a shortened tool result.
    #[serde(with = "values::shorten_to")]
    pub shorten_to: (u32, u32),
    /// What tools do, by their names, where nobody declared it or declared it wrong.
    #[serde(with = "values::tool_kinds")]
    pub tool_kinds: ToolKinds,
}

/// Who decides about a compaction that nobody asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Consent {
    /// Nobody: it is made.
    #[default]
    Auto,
    /// The user, by `compaction/review`; no answer in time accepts it.
    Ask,
    /// It is not made: at the hard limit the steps that need no model act.
    Off,
}

/// What starts a compaction. An overflow at render and a word of the user always do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Triggers {
    /// The provider said that a prompt was too large, in whatever words.
    pub provider_overflow: bool,
    /// Share of the limit that a prompt has when a turn begins.
    #[serde(rename = "preTurnTokens", with = "values::share_or_off")]
    pub pre_turn: Option<PerMille>,
    /// Share of the limit at which a summary is prepared beside the running turn.
    #[serde(with = "values::share_or_off")]
    pub background: Option<PerMille>,
    /// The next model's window is smaller, and the prompt does not fit it.
    pub model_changed: bool,
    /// More user turns than this are shown.
    #[serde(with = "values::count_or_off")]
    pub user_turns: Option<u32>,
    /// More messages than this are shown.
    #[serde(with = "values::count_or_off")]
    pub messages: Option<u32>,
    /// Seconds without a word.
    #[serde(rename = "idleSeconds", with = "values::count_or_off")]
    pub idle_secs: Option<u32>,
}

/// What is never covered, at the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Retention {
    /// The newest round. A tail stays before it as far as the space goes.
    Rounds,
    /// The newest user turns, this many; everything before them goes. Where there are no more turns than
    /// that, the newest round.
    UserTurns(#[serde(with = "values::many")] usize),
    /// The newest messages that are shown, this many.
    Messages(#[serde(with = "values::many")] usize),
    /// The newest messages that weigh this share of the limit together.
    TokenTail(#[serde(with = "values::share_between")] PerMille),
}

/// How far history is made shorter before a model is asked, each step with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LimitHistory"))]
pub enum Stage {
    /// Nothing is.
    Off,
    /// Repeated content is folded into its newest copy.
    FoldRepeats,
    /// Old tool results are shortened.
    ShortenResults,
    /// Whole old rounds are dropped.
    LimitHistory,
}
