//! The built-in policies under descriptive names, with aliases. Those that follow another tool have its name as an
//! alias and its defaults; settings that it lacks, such as user messages, ledger and identifiers, are those of the
//! default policy, whose numbers were chosen by `threadhold measure`.

use super::{Consent, ExcerptWeights, Policy, Retention, Stage, Triggers, Weight};
use crate::compact::record::{ModeRequested, Placement};
use crate::prompt::order::Order;
use crate::settings::{PerMille, SettingsError};
use std::borrow::Cow;

/// A built-in policy with its aliases.
#[derive(Debug, Clone)]
pub struct Preset {
    /// The policy.
    pub policy: Policy,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line on its effect.
    pub about: &'static str,
}

/// The policy of a session that names none.
pub const DEFAULT: Policy = Policy {
    name: Cow::Borrowed("default"),
    retention: Retention::Rounds,
    placement: Placement::UserAtBoundary,
    order: Order::DEFAULT,
    consent: Consent::Auto,
    triggers: Triggers {
        provider_overflow: true,
        pre_turn: Some(PerMille::new(800)),
        background: Some(PerMille::new(750)),
        model_changed: true,
        user_turns: None,
        messages: None,
        idle_secs: None,
    },
    min_new_tokens: None,
    most_failures: 3,
    budget_exit: None,
    enabled: true,
    summary_mode: ModeRequested::Auto,
    summary_breakpoints: true,
    target_ratio: PerMille::new(500),
    user_messages: PerMille::new(200),
    limit_history: Stage::FoldRepeats,
    raw_tail: PerMille::new(150),
    short_tail: PerMille::new(0),
    ledger: PerMille::new(50),
    excerpts: PerMille::new(1000),
    excerpt_weights: ExcerptWeights {
        edit: Weight::new(1500),
        read: Weight::new(300),
        words: Weight::new(600),
        search: Weight::new(200),
        output: Weight::new(-300),
        age: Weight::new(350),
        near: Weight::new(800),
        near_share: PerMille::new(700),
        named: Weight::new(500),
        quoted: Weight::new(170),
        place: Weight::new(60),
    },
    identifiers: PerMille::new(60),
    shorten_to: (200, 200),
    tool_kinds: Cow::Borrowed(&[]),
};

/// No triggers but an overflow, a smaller window and a request of the user.
const ON_OVERFLOW: Triggers = Triggers { pre_turn: None, background: None, ..DEFAULT.triggers };

/// Summarizes all rounds but the newest when a prompt does not fit.
pub const ROUNDS: Policy = Policy {
    name: Cow::Borrowed("rounds"),
    triggers: ON_OVERFLOW,
    limit_history: Stage::Off,
    raw_tail: PerMille::new(0),
    ..DEFAULT
};

/// Keeps the last 15 user turns and summarizes everything before them.
pub const LAST_TURNS: Policy = Policy {
    name: Cow::Borrowed("lastTurns"),
    retention: Retention::UserTurns(15),
    order: Order::MEMORY_IN_SYSTEM,
    triggers: Triggers { pre_turn: Some(PerMille::new(640)), user_turns: Some(32), ..ON_OVERFLOW },
    budget_exit: Some(PerMille::new(850)),
    limit_history: Stage::Off,
    ..DEFAULT
};

/// Above 40 shown messages, summarizes all but the newest 12 in a system message, and again after 40 more.
pub const LAST_MESSAGES: Policy = Policy {
    name: Cow::Borrowed("lastMessages"),
    retention: Retention::Messages(12),
    placement: Placement::SystemMessage,
    triggers: Triggers { messages: Some(40), ..ON_OVERFLOW },
    limit_history: Stage::Off,
    ..DEFAULT
};

/// Keeps half of the limit raw; the summary of the rest ends the system text. Also runs after 15 idle minutes.
pub const SYSTEM_TAIL: Policy = Policy {
    name: Cow::Borrowed("systemTail"),
    retention: Retention::TokenTail(PerMille::new(500)),
    placement: Placement::SystemPromptTail,
    order: Order::FILES_FIRST,
    triggers: Triggers { idle_secs: Some(15 * 60), ..ON_OVERFLOW },
    // An idle session is summarized however little is new.
    min_new_tokens: Some(0),
    limit_history: Stage::Off,
    ..DEFAULT
};

/// All stages of the history limiter; a model is asked only if they do not reach the target, or by a compaction on request.
pub const FOUR_STAGE: Policy = Policy {
    name: Cow::Borrowed("fourStage"),
    triggers: ON_OVERFLOW,
    limit_history: Stage::LimitHistory,
    ..DEFAULT
};

/// A baseline of `threadhold measure`: user messages, ledger and the newest rounds; no excerpts, no identifiers.
pub const WORDS_AND_LEDGER: Policy = Policy {
    name: Cow::Borrowed("wordsAndLedger"),
    limit_history: Stage::Off,
    raw_tail: PerMille::new(1000),
    short_tail: PerMille::new(0),
    ledger: PerMille::new(200),
    excerpts: PerMille::new(0),
    identifiers: PerMille::new(0),
    ..DEFAULT
};

/// No compaction at all.
pub const OFF: Policy = Policy { name: Cow::Borrowed("off"), enabled: false, ..DEFAULT };

/// All built-in policies.
pub const ALL: [Preset; 8] = [
    Preset {
        policy: DEFAULT,
        aliases: &[],
        about: "sums up; keeps the newest rounds, excerpts of older ones and exact names as far as the space goes",
    },
    Preset {
        policy: ROUNDS,
        aliases: &["copilot"],
        about: "sums up all rounds but the newest when a prompt does not fit",
    },
    Preset {
        policy: LAST_TURNS,
        aliases: &["coqui", "last-turns"],
        about: "keeps the last 15 user turns whole; memories stand in the system text",
    },
    Preset {
        policy: LAST_MESSAGES,
        aliases: &["manifold"],
        about: "above 40 messages keeps the newest 12, again after 40 more; the summary is a system message",
    },
    Preset {
        policy: SYSTEM_TAIL,
        aliases: &["nanobot"],
        about: "keeps half of the limit raw; the summary ends the system text, also after 15 idle minutes",
    },
    Preset {
        policy: FOUR_STAGE,
        aliases: &["refact", "limiter"],
        about: "folds repeats, shortens results, drops old rounds; asks a model only on request or if that is not enough",
    },
    Preset {
        policy: WORDS_AND_LEDGER,
        aliases: &["words-and-ledger"],
        about: "for comparison: the newest rounds, user words and ledger, no excerpts, no identifiers",
    },
    Preset {
        policy: OFF,
        aliases: &[],
        about: "compacts nothing: every message verbatim, an overflow is an error",
    },
];

impl Policy {
    /// The built-in policy of this name or alias.
    pub fn named(name: &str) -> Result<Policy, SettingsError> {
        let preset =
            ALL.into_iter().find(|preset| preset.policy.name == name || preset.aliases.contains(&name));
        let unknown = || SettingsError::Policy { name: name.into(), known: known() };
        preset.map(|preset| preset.policy).ok_or_else(unknown)
    }
}

/// The names of the built-in policies, each with its aliases.
pub fn known() -> String {
    let named = ALL.iter().map(|preset| match preset.aliases {
        [] => preset.policy.name.to_string(),
        aliases => format!("{} ({})", preset.policy.name, aliases.join(", ")),
    });
    named.collect::<Vec<_>>().join(", ")
}
