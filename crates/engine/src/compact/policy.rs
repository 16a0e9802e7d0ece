//! Compaction policies as data: limits of each rung, placement of the block, shares of the free tokens. The built-in
//! ones are in `presets`, their form as text in `text`.

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

/// The compaction policy of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// Name in reports.
    #[serde(deserialize_with = "values::name")]
    pub name: Cow<'static, str>,
    /// The newest messages that are never covered.
    pub retention: Retention,
    /// Placement of the block.
    pub placement: Placement,
    /// Order of the sections before the messages.
    pub order: Order,
    /// Consent needed for a compaction that was not requested.
    #[serde(rename = "compaction")]
    pub consent: Consent,
    /// Triggers beside an overflow at render and a request of the user.
    pub triggers: Triggers,
    /// New tokens since the last compaction before a trigger other than an overflow starts another (hysteresis);
    /// `None`: as many as lie between limit and target, and for triggers by count as many new turns or messages as their
    /// count.
    #[serde(with = "values::count_or_auto")]
    pub min_new_tokens: Option<u32>,
    /// Failed summaries in a row after which no model is asked until enough is new. Steps without a model go on.
    #[serde(with = "values::count")]
    pub most_failures: u32,
    /// Share of the limit at which a turn is asked to finish.
    #[serde(with = "values::share_or_off")]
    pub budget_exit: Option<PerMille>,
    /// `false` disables compaction: every message stays verbatim, and an overflow is an error.
    #[serde(rename = "summarize", with = "values::auto_or_off")]
    pub enabled: bool,
    /// Kind of summary that a model is asked for.
    pub summary_mode: ModeRequested,
    /// `true` if a request for a full summary carries the cache breakpoints of the prompt that it extends.
    #[serde(with = "values::keep_or_strip")]
    pub summary_breakpoints: bool,
    /// Share of the tokens above what cannot be dropped that a prompt may fill after a compaction. A large newest round
    /// takes up to a quarter of it.
    #[serde(with = "values::share_above_0")]
    pub target_ratio: PerMille,
    /// Share of the limit that user messages of the covered span may take, byte for byte.
    #[serde(rename = "userMessageBudget", with = "values::share")]
    pub user_messages: PerMille,
    /// Last stage of rung 0, before a model is asked.
    pub limit_history: Stage,
    /// Share of the free space for the newest rounds, unchanged.
    #[serde(rename = "rawTailShare", with = "values::share")]
    pub raw_tail: PerMille,
    /// Share of the free space for older rounds with shortened results.
    #[serde(rename = "shortTailShare", with = "values::share")]
    pub short_tail: PerMille,
    /// Share of the free space for the ledger, at most. Changed files get 800 tokens if that is more and at most a fifth
    /// of the space.
    #[serde(rename = "ledgerShare", with = "values::share")]
    pub ledger: PerMille,
    /// Share of the free space for excerpts of the covered messages, at most.
    #[serde(rename = "excerptShare", with = "values::share")]
    pub excerpts: PerMille,
    /// Weights by which excerpts are chosen.
    pub excerpt_weights: ExcerptWeights,
    /// Share of the free space for the identifier index. It is kept from excerpts, and what they leave is added.
    #[serde(rename = "identifierShare", with = "values::share")]
    pub identifiers: PerMille,
    /// Bytes of head and of tail of a shortened tool result.
    #[serde(with = "values::shorten_to")]
    pub shorten_to: (u32, u32),
    /// Kinds of tools by name pattern, for tools that declare none or a wrong one.
    #[serde(with = "values::tool_kinds")]
    pub tool_kinds: ToolKinds,
}

/// Weights of pieces of the past. A piece's score is the weight of its kind, plus `near` if its file content stands near
/// the end, less `age` times the logarithm of its age in messages, plus `named` per name that the assistant's newest texts
/// have too, plus `quoted` per quoted phrase or figure, less `place` per piece before it in its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExcerptWeights {
    /// New text of edits, and written files.
    #[serde(with = "values::weight")]
    pub edit: Weight,
    /// Parts of files that were read.
    #[serde(with = "values::weight")]
    pub read: Weight,
    /// Words of the assistant, and of the user where they are not kept whole.
    #[serde(with = "values::weight")]
    pub words: Weight,
    /// Results of searches.
    #[serde(with = "values::weight")]
    pub search: Weight,
    /// Other results, and arguments of calls.
    #[serde(with = "values::weight")]
    pub output: Weight,
    /// Per natural logarithm of one more than the age in messages.
    #[serde(with = "values::weight")]
    pub age: Weight,
    /// File content within `near_share` of the end.
    #[serde(with = "values::weight")]
    pub near: Weight,
    /// Share of the prompt after a compaction that counts as near the end.
    #[serde(with = "values::share")]
    pub near_share: PerMille,
    /// Per name that the assistant's newest texts have too, up to three.
    #[serde(with = "values::weight")]
    pub named: Weight,
    /// Per quoted phrase or figure, up to four.
    #[serde(with = "values::weight")]
    pub quoted: Weight,
    /// Per piece before it in its text, up to ten.
    #[serde(with = "values::weight")]
    pub place: Weight,
}

/// A weight in thousandths, so that policies compare as equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weight(i32);

impl Weight {
    /// Creates a weight of this many thousandths.
    pub const fn new(thousandths: i32) -> Self {
        Self(thousandths)
    }

    /// Returns the weight as a number.
    pub fn as_number(self) -> f64 {
        f64::from(self.0) / 1000.0
    }
}

/// Consent needed for a compaction that was not requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Consent {
    /// None: the compaction is made.
    #[default]
    Auto,
    /// The user, by `compaction/review`; no answer in time accepts it.
    Ask,
    /// No such compaction is made; at the hard limit the steps without a model run.
    Off,
}

/// Triggers of a compaction. An overflow at render and a request of the user always start one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Triggers {
    /// The provider rejected a prompt as too large.
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
    /// Seconds without a message after which it fires.
    #[serde(rename = "idleSeconds", with = "values::count_or_off")]
    pub idle_secs: Option<u32>,
}

/// The newest messages that are never covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Retention {
    /// The newest round. A tail before it stays as far as tokens allow.
    Rounds,
    /// This many newest user turns; everything before them is covered. If there are no more turns, the newest round.
    UserTurns(#[serde(with = "values::count_usize")] usize),
    /// This many of the newest shown messages.
    Messages(#[serde(with = "values::count_usize")] usize),
    /// The newest messages within this share of the limit.
    TokenTail(#[serde(with = "values::share_between")] PerMille),
}

/// Stages of shortening history before a model is asked. Each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LimitHistory"))]
pub enum Stage {
    /// History stays as it is.
    Off,
    /// Repeated content is folded into its newest copy.
    FoldRepeats,
    /// Old tool results are shortened.
    ShortenResults,
    /// Whole old rounds are dropped.
    LimitHistory,
}
