//! Policies as data: how far each rung may go and how the space after a compaction is divided. The numbers of the
//! default were chosen by `threadhold measure`; a policy decides nothing by itself.

use super::record::ModeRequested;
use crate::engine::settings::{PerMille, SettingsError};

/// How a session is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: &'static str,
    /// How far a compaction may reach.
    pub retention: Retention,
    /// Whether anything is compacted at all. Off: every message verbatim, and an overflow is an error (source: 003).
    pub enabled: bool,
    /// Which summary a model is asked for.
    pub summary_mode: ModeRequested,
    /// Whether a request for a full summary carries the cache breakpoints of the prompt that it extends (source: 003).
    pub summary_breakpoints: bool,
    /// How far below the limit a compaction must come: this share of the room above what cannot be given up.
    pub target_ratio: PerMille,
    /// Share of the limit that user messages of the covered span may take, byte for byte.
    pub user_messages: PerMille,
    /// How far rung 0 goes before a model is asked.
    pub limit_history: Stage,
    /// Share of the free space for the newest rounds, unchanged.
    pub raw_tail: PerMille,
    /// Share of the free space for older rounds with shortened results.
    pub short_tail: PerMille,
    /// Share of the free space for the ledger, at most.
    pub ledger: PerMille,
    /// Share of the free space for the identifier index, at most.
    pub identifiers: PerMille,
    /// Bytes of head and of tail of a shortened tool result.
    pub shorten_to: (u32, u32),
}

/// What is never covered, at the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// The newest round (source: 003). A tail stays before it as far as the space goes.
    Rounds,
    /// The newest user turns, this many; everything before them goes (source: 000). Where there are no more turns than
    /// that, the newest round.
    UserTurns(usize),
}

/// The stages of the history limiter (source: 001), each of them with all before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Nothing.
    Off,
    /// Repeated content is folded into its newest copy.
    FoldRepeats,
    /// Old tool results are shortened.
    ShortenResults,
    /// Whole old rounds are dropped. Pairs are mended by rendering, always.
    LimitHistory,
}

/// What a session gets that says nothing else.
pub const DEFAULT: Policy = Policy {
    name: "default",
    retention: Retention::Rounds,
    enabled: true,
    summary_mode: ModeRequested::Auto,
    summary_breakpoints: true,
    target_ratio: PerMille::new(500),
    user_messages: PerMille::new(200),
    limit_history: Stage::ShortenResults,
    raw_tail: PerMille::new(550),
    short_tail: PerMille::new(0),
    ledger: PerMille::new(150),
    identifiers: PerMille::new(250),
    shorten_to: (200, 200),
};

/// For comparison: user words, ledger, and the newest rounds; no identifiers.
pub const USER_WORDS_AND_LEDGER: Policy = Policy {
    name: "words-and-ledger",
    limit_history: Stage::Off,
    raw_tail: PerMille::new(1000),
    short_tail: PerMille::new(0),
    ledger: PerMille::new(200),
    identifiers: PerMille::new(0),
    ..DEFAULT
};

/// The last 15 user turns stay as they are, everything before them is summed up (source: 000).
pub const LAST_TURNS: Policy =
    Policy { name: "last-turns", retention: Retention::UserTurns(15), limit_history: Stage::Off, ..DEFAULT };

/// For comparison: the history limiter alone, with all of its stages (source: 001).
pub const LIMITER: Policy = Policy { name: "limiter", limit_history: Stage::LimitHistory, ..DEFAULT };

/// No compaction at all.
pub const OFF: Policy = Policy { name: "off", enabled: false, ..DEFAULT };

const ALL: [&Policy; 5] = [&DEFAULT, &LAST_TURNS, &USER_WORDS_AND_LEDGER, &LIMITER, &OFF];

impl Policy {
    /// The names of the built-in policies.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.into_iter().map(|policy| policy.name)
    }

    /// The built-in policy of this name.
    pub fn named(name: &str) -> Result<Policy, SettingsError> {
        ALL.iter().find(|policy| policy.name == name).map(|policy| (*policy).clone()).ok_or_else(|| {
            SettingsError::Policy { name: name.into(), known: Self::names().collect::<Vec<_>>().join(", ") }
        })
    }
}
