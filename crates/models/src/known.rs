//! Known models, by name: windows, limits and capabilities. Defaults only: settings override them. Names are
//! parsed in `name`.

mod name;
pub mod price;

use engine::endpoint::Wire;
use name::{Name, find};
use serde::Deserialize;
use std::sync::LazyLock;

const TABLE: &str = include_str!("known.toml");

// A test parses the table; on an error the empty table stands in.
static KNOWN: LazyLock<Table> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());

/// The known limits and capabilities of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Known {
    name: Name,
    /// The context window, in tokens: prompt and answer together.
    pub window: u32,
    /// The longest prompt, in tokens, where that is less than the window.
    #[serde(default)]
    pub input: Option<u32>,
    /// The longest answer, in tokens.
    #[serde(default)]
    pub answer: Option<u32>,
    /// The shortest prompt prefix that the provider caches, in tokens.
    #[serde(default)]
    pub cache_minimum: Option<u32>,
    /// `true` if the model accepts images.
    #[serde(default = "yes")]
    pub images: bool,
}

/// Deviations of a model from the common request parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RequestQuirks {
    name: Name,
    /// `true` if the model thinks before it answers. A limit then covers thinking and answer together.
    #[serde(default)]
    pub thinks: bool,
    /// `true` if the model accepts a low reasoning effort.
    #[serde(default)]
    pub low_effort: bool,
    /// `true` if the model rejects `max_tokens` on every server and takes `max_completion_tokens`.
    #[serde(default)]
    pub completion_limit: bool,
    /// `true` if the model's answers stop short of its maximum when no limit is sent.
    #[serde(default)]
    tell_limit: bool,
    /// `true` if the model gives its calls ids and signatures, and rejects calls that come back without them.
    #[serde(default)]
    pub signs_calls: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    model: Vec<Known>,
    tokens: Vec<Tokens>,
    manner: Vec<RequestQuirks>,
    thinking: Vec<Thinking>,
    off: Off,
    temperature: Temperature,
    #[serde(rename = "cacheMarks")]
    cache_marks: CacheMarks,
    amount: Amount,
    between: Between,
}

/// A provider's token count relative to our own.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Tokens {
    name: Name,
    per_thousand: u32,
}

/// A model's binding of thinking to its prompt.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Thinking {
    name: Name,
    /// `true` if thinking is accepted only behind the prompt that it followed.
    bound: bool,
    /// The only wire to which the line applies.
    #[serde(default)]
    wire: Option<Wire>,
}

/// Models that accept a temperature, and models that reject a request with one.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Temperature {
    takes: Vec<Name>,
    refuses: Vec<Name>,
}

/// Models that accept marks of what their cache keeps, and models that do not.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct CacheMarks {
    takes: Vec<Name>,
    refuses: Vec<Name>,
}

/// Models by the least thinking that they accept.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Off {
    takes: Vec<Name>,
    refuses: Vec<Name>,
    between_tools: Vec<Name>,
}

/// Models by the ways of telling them how much to think.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Amount {
    budget: Vec<Name>,
    both: Vec<Name>,
    adaptive: Vec<Name>,
}

/// The ways of telling a model how much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingAmount {
    /// A budget in tokens.
    Budget,
    /// Adaptive thinking, whose amount is the model's affair.
    Adaptive,
    /// Either.
    Both,
}

/// Models whose text between tool calls comes as thinking, and models of which that is not so.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Between {
    thought: Vec<Name>,
    said: Vec<Name>,
}

/// The least thinking that a model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeastThinking {
    /// None.
    Off,
    /// Thinking between tool calls.
    BetweenTools,
    /// Its usual thinking: it rejects a request that switches it off.
    Always,
}

fn yes() -> bool {
    true
}

/// Returns the entry for a model. A model newer than the table gets the newest entry of its family.
pub fn model(name: &str) -> Option<&'static Known> {
    find(KNOWN.model.iter().map(|known| (&known.name, known)), name)
}

/// Returns the deviations of a model.
pub(crate) fn manner(name: &str) -> Option<&'static RequestQuirks> {
    find(KNOWN.manner.iter().map(|manner| (&manner.name, manner)), name)
}

/// Returns the entry for a model as served over this wire: none over Ollama, where the machine sets the
/// limits.
pub fn served(wire: Option<Wire>, name: &str) -> Option<&'static Known> {
    model(name).filter(|_| wire != Some(Wire::Ollama))
}

/// The answer limit to send, in tokens: over Anthropic's wire, which requires one, and for models that stop
/// short without one. Other providers know their limit and count a stated one against the rate limit.
pub fn told_limit(wire: Wire, name: &str) -> Option<u32> {
    let is_told = wire == Wire::Anthropic || manner(name).is_some_and(|manner| manner.tell_limit);
    served(Some(wire), name).filter(|_| is_told)?.answer
}

/// Tokens that the model's provider counts for a thousand of ours; used until the first reported usage.
pub fn tokens_per_thousand(name: &str) -> Option<u32> {
    find(KNOWN.tokens.iter().map(|tokens| (&tokens.name, &tokens.per_thousand)), name).copied()
}

/// `true` if this model over this wire accepts thinking only behind the prompt that it followed. The newest
/// Claude models reject other thinking with status 400 on every server; OpenAI silently drops it, so our
/// token count would be wrong. Ollama serves neither.
pub fn binds_thinking(wire: Option<Wire>, name: &str) -> bool {
    let line = find(KNOWN.thinking.iter().map(|line| (&line.name, line)), name);
    let is_served = !matches!(wire, Some(Wire::Ollama | Wire::Scripted));
    is_served && line.is_some_and(|line| line.bound && (line.wire.is_none() || line.wire == wire))
}

/// `true` if this model accepts a temperature. Models that think reject one, and only they may be asked for
/// their thinking. Unknown models accept one.
pub(crate) fn takes_temperature(name: &str) -> bool {
    let Temperature { takes, refuses } = &KNOWN.temperature;
    find_in(&[(takes, true), (refuses, false)], name).unwrap_or(true)
}

/// `true` if this model accepts marks of what its cache keeps over OpenAI's Responses. Unknown models accept none.
pub(crate) fn takes_cache_marks(name: &str) -> bool {
    let CacheMarks { takes, refuses } = &KNOWN.cache_marks;
    find_in(&[(takes, true), (refuses, false)], name).unwrap_or(false)
}

/// Returns the least thinking that a model accepts. An unknown model can be told not to think.
pub(crate) fn least_thinking(name: &str) -> LeastThinking {
    let Off { takes, refuses, between_tools } = &KNOWN.off;
    let lists = [
        (takes, LeastThinking::Off),
        (refuses, LeastThinking::Always),
        (between_tools, LeastThinking::BetweenTools),
    ];
    find_in(&lists, name).unwrap_or(LeastThinking::Off)
}

/// Returns the ways of telling a model how much to think. An unknown model takes either.
pub(crate) fn thinking_amount(name: &str) -> ThinkingAmount {
    let Amount { budget, both, adaptive } = &KNOWN.amount;
    let lists = [
        (budget, ThinkingAmount::Budget),
        (both, ThinkingAmount::Both),
        (adaptive, ThinkingAmount::Adaptive),
    ];
    find_in(&lists, name).unwrap_or(ThinkingAmount::Both)
}

/// `true` if the model's text between tool calls comes as thinking, which is empty unless a summary is asked for.
pub(crate) fn thinks_between_calls(name: &str) -> bool {
    let Between { thought, said } = &KNOWN.between;
    find_in(&[(thought, true), (said, false)], name).unwrap_or(false)
}

/// The value of the list with the line for a model's name, as [`find`] chooses it.
fn find_in<T: Copy>(lists: &[(&'static Vec<Name>, T)], name: &str) -> Option<T> {
    let lines = lists.iter().flat_map(|(names, value)| names.iter().map(move |name| (name, value)));
    find(lines, name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_think_take_no_temperature() {
        for model in [
            "gpt-4o",
            "gpt-5-chat-latest",
            "gpt-5.2-chat-latest",
            "claude-sonnet-4-6",
            "claude-3-5-haiku-latest",
            "anthropic/claude-opus-4.1",
            "claude-sonnet-4-20250514",
            "claude-opus-4",
            "qwen3",
            "o",
        ] {
            assert!(takes_temperature(model), "{model}");
        }
        for model in [
            "gpt-5.6-sol",
            "gpt-7-sol",
            "claude-opus-4-10",
            "claude-haiku-5-5",
            "us.anthropic.claude-opus-4-8-v1:0",
            "openai/o3-mini",
            "codex-mini",
            "claude-opus-4-7",
            "claude-sonnet-5-5",
            "claude-next",
            "anthropic/claude-opus-4.7",
        ] {
            assert!(!takes_temperature(model), "{model}");
        }
    }

    #[test]
    fn old_names_keep_their_limits() {
        assert!(KNOWN.model.len() > 10);
        let limits = |name: &str| model(name).map(|known| (known.window, known.answer));
        for (name, window, most) in [
            ("claude-3-5-sonnet-20241022", 200_000, Some(8_192)),
            ("claude-3-7-sonnet-latest", 200_000, Some(64_000)),
            ("claude-sonnet-4-20250514", 200_000, Some(64_000)),
            ("anthropic/claude-opus-4-1-20250805", 200_000, Some(32_000)),
            ("claude-opus-4-5-20251101", 200_000, Some(64_000)),
            ("gpt-3.5-turbo-0125", 16_385, Some(4_096)),
            ("gpt-4", 8_192, Some(8_192)),
            ("gpt-4-0613", 8_192, Some(8_192)),
            ("gpt-4-32k-0613", 32_768, Some(32_768)),
            ("gpt-4-0125-preview", 128_000, Some(4_096)),
            ("gpt-4-1106-preview", 128_000, Some(4_096)),
            ("gpt-4-1106-vision-preview", 128_000, Some(4_096)),
            ("gpt-4-turbo-2024-04-09", 128_000, Some(4_096)),
            ("gpt-4o", 128_000, Some(16_384)),
            ("gpt-4o-mini-2024-07-18", 128_000, Some(16_384)),
            ("gpt-4o-2024-05-13", 128_000, Some(4_096)),
            ("gpt-4o-2024-08-06", 128_000, Some(16_384)),
            ("chatgpt-4o-latest", 128_000, Some(16_384)),
            ("openai/gpt-4.1-mini", 1_047_576, Some(32_768)),
            ("gpt-4.5-preview", 128_000, Some(16_384)),
            ("gpt-5-mini-2025-08-07", 400_000, Some(128_000)),
            ("gpt-5-chat-latest", 128_000, Some(16_384)),
            ("o1-2024-12-17", 200_000, Some(100_000)),
            ("o1-mini-2024-09-12", 128_000, Some(65_536)),
            ("o1-preview", 128_000, Some(32_768)),
            ("o3-mini", 200_000, Some(100_000)),
            ("o4-mini-2025-04-16", 200_000, Some(100_000)),
            ("deepseek-chat", 128_000, Some(8_192)),
            ("deepseek-reasoner", 128_000, Some(64_000)),
            ("google/gemini-2.5-pro", 1_048_576, Some(65_536)),
        ] {
            assert_eq!(limits(name), Some((window, most)), "{name}");
        }
    }

    #[test]
    fn newer_names_have_the_newest_limits_of_their_family() {
        let limits = |name: &str| model(name).map(|known| (known.window, known.input, known.answer));
        let claude = (1_000_000, None, Some(128_000));
        let small_claude = (200_000, None, Some(64_000));
        let gpt = (1_050_000, Some(922_000), Some(128_000));
        let small_gpt = (400_000, Some(272_000), Some(128_000));
        let gemini = (1_048_576, None, Some(65_536));
        for (names, expected) in [
            (
                &[
                    "claude-opus-6",
                    "claude-opus-5-5",
                    "claude-opus-5.5",
                    "claude-opus-5-5-20261001",
                    "claude-sonnet-5-9-20270101",
                    "claude-sonnet-4-6",
                    "claude-haiku-5-5",
                    "claude-haiku-7",
                    "claude-fable-5-2",
                    "claude-fable-latest",
                    "claude-opus-latest",
                    "claude-opus",
                    "claude-some-other",
                    "claude-some-other-6",
                    "anthropic.claude-opus-5-5",
                    "us.anthropic.claude-opus-5-5-20261001-v1:0",
                    "us-gov.anthropic.claude-opus-4-6-v1",
                    "arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.claude-sonnet-5-v1:0",
                    "anthropic/claude-opus-5.5:thinking",
                    "anthropic/claude-sonnet-5.5:free",
                    "claude-opus-4-8@20260601",
                    "claude-opus-5-5[1m]",
                    "Claude-Opus-5-5",
                ][..],
                claude,
            ),
            (
                &[
                    "claude-opus-4-5",
                    "claude-sonnet-4-5@20250929",
                    "anthropic.claude-haiku-4-5-20251001-v1:0",
                ],
                small_claude,
            ),
            (
                &[
                    "gpt-7-sol",
                    "gpt-6.3",
                    "gpt-6.2-astra",
                    "gpt-6.2-sol",
                    "gpt-6.1-terra",
                    "gpt-6-luna-2026-09-01",
                    "gpt-6-mini",
                    "gpt-latest",
                    "openai/gpt-5.6-sol",
                    "gpt-5.5",
                    "gpt-5.4-2026-03-05",
                    "openai.gpt-6-some-other",
                ],
                gpt,
            ),
            (
                &[
                    "gpt-5",
                    "gpt-5.1",
                    "gpt-5.2",
                    "gpt-5.3-codex",
                    "gpt-5.1-codex-max",
                    "gpt-5.4-mini",
                    "gpt-5.4-nano",
                ],
                small_gpt,
            ),
            (
                &[
                    "models/gemini-4-argon",
                    "gemini-3.8-flash",
                    "google/gemini-3.1-pro-preview",
                    "gemini-2.5-flash-preview-09-2025",
                    "gemini-5-neon",
                    "gemini-flash-latest",
                ],
                gemini,
            ),
            (&["gpt-6-chat-latest"], gpt),
            (&["deepseek-v4-pro", "deepseek-flash"], (1_000_000, None, Some(384_000))),
            (&["deepseek-v3.2", "deepseek-v3-0324"], (128_000, None, Some(8_192))),
            (&["qwen3.8-max", "qwen/qwen4-max"], (991_808, None, Some(131_072))),
            (&["mistral-large-latest"], (1_000_000, None, Some(262_000))),
            (&["x-ai/grok-5", "grok-4.7"], (500_000, None, None)),
            (&["kimi-k3.1-pro", "moonshotai/kimi-k3"], (1_000_000, None, None)),
            (&["glm-5.3-flash", "z-ai/glm-6"], (1_000_000, None, Some(131_072))),
        ] {
            for name in names {
                assert_eq!(limits(name), Some(expected), "{name}");
            }
        }
        for name in [
            "nobody-knows-it",
            "",
            "gpt-j-6b",
            "gpt-image-1",
            "gpt4all-j",
            "gpt-35-turbo",
            "gemini-1.5-pro",
            "qwen-max",
            "mistral-large-2411",
            "grok-4-0709",
            "my-claude-opus-5",
        ] {
            assert_eq!(limits(name), None, "{name}");
        }
    }

    #[test]
    fn token_factor_follows_the_model_family() {
        for (name, expected) in [
            ("claude-opus-4-6", Some(1250)),
            ("claude-3-5-haiku-latest", Some(1250)),
            ("claude-opus-4-7", Some(1600)),
            ("anthropic/claude-sonnet-5.5", Some(1600)),
            ("claude-some-other", Some(1600)),
            ("gemini-2.5-pro", Some(1200)),
            ("models/gemini-4-argon", Some(1200)),
            ("gpt-6", None),
            ("nobody-knows-it", None),
        ] {
            assert_eq!(tokens_per_thousand(name), expected, "{name}");
        }
    }

    #[test]
    fn models_that_think_are_known_by_their_names() {
        let asked = |name: &str| {
            let manner = manner(name).cloned().unwrap_or_default();
            [manner.thinks, manner.low_effort, manner.completion_limit]
        };
        for (name, expected) in [
            ("openai/gpt-5-mini", [true, true, true]),
            ("gpt-5.1-codex", [true, true, true]),
            ("gpt-5-pro-2025-10-06", [true, false, true]),
            ("gpt-5-chat-latest", [false, false, true]),
            ("o3-mini", [true, true, true]),
            ("o1-mini", [true, false, true]),
            ("gpt-6.2-astra", [true, true, true]),
            ("gpt-7-sol", [true, true, true]),
            ("gemini-4-argon", [true, true, false]),
            ("claude-opus-5-5", [true, false, false]),
            ("claude-sonnet-4-6", [false, false, false]),
            ("gpt-4o", [false, false, false]),
            ("deepseek-chat", [false, false, false]),
            ("deepseek-reasoner", [true, false, false]),
            ("deepseek-r1:8b", [true, false, false]),
            ("Qwen/Qwen3-8B", [true, false, false]),
            ("m", [false, false, false]),
        ] {
            assert_eq!(asked(name), expected, "{name}");
        }
    }

    #[test]
    fn newest_claude_models_bind_thinking_to_its_prompt() {
        for name in [
            "claude-fable-5-1",
            "claude-fable-5-2-20261110",
            "claude-opus-5-5",
            "claude-opus-6",
            "anthropic/claude-opus-5.5",
            "us.anthropic.claude-sonnet-5-5-v1:0",
            "Claude-Haiku-5-5@20261001",
            "claude-saga-5-1",
            "claude-opus-latest",
            "claude-next",
        ] {
            assert!(binds_thinking(Some(Wire::Anthropic), name), "{name}");
            assert!(binds_thinking(None, name) && binds_thinking(Some(Wire::OpenaiChat), name), "{name}");
            assert!(!binds_thinking(Some(Wire::Scripted), name), "{name}");
        }
        for name in [
            "claude-opus-5",
            "claude-fable-5",
            "claude-sonnet-5-20260401",
            "claude-opus-4-8",
            "claude-sonnet-4-20250514",
            "claude-3-5-sonnet-20241022",
            "claude-2.1",
            "claude-instant-1.2",
            "gpt-6.1-sol",
            "gemini-4-argon",
            "",
        ] {
            assert!(!binds_thinking(Some(Wire::Anthropic), name), "{name}");
        }
    }

    #[test]
    fn newest_gpt_models_bind_thinking_over_responses_alone() {
        for (name, binds) in
            [("gpt-5.6-sol", true), ("openai/gpt-6-luna", true), ("gpt-5.4-mini", false), ("gpt-5", false)]
        {
            assert_eq!(binds_thinking(Some(Wire::OpenaiResponses), name), binds, "{name}");
            assert!(!binds_thinking(Some(Wire::OpenaiChat), name), "{name}");
        }
    }

    #[test]
    fn limit_is_sent_only_where_required() {
        assert_eq!(told_limit(Wire::Anthropic, "claude-sonnet-4-5"), Some(64_000));
        assert_eq!(told_limit(Wire::Anthropic, "claude-opus-7"), Some(128_000));
        assert_eq!(told_limit(Wire::OpenaiChat, "deepseek-chat"), Some(8_192));
        assert_eq!(told_limit(Wire::OpenaiChat, "gpt-4"), None);
        assert_eq!(told_limit(Wire::OpenaiResponses, "gpt-5"), None);
        assert_eq!(served(Some(Wire::Ollama), "deepseek-r1:8b"), None, "the machine sets the limits");
    }
}
