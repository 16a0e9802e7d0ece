//! Models that are known by their names: windows, the most that they answer, what they take. Data, and only what holds if
//! nobody says otherwise: settings go before it.

use crate::engine::session::endpoint::Wire;
use serde::Deserialize;
use std::sync::LazyLock;

/// The table, in the program itself.
const TABLE: &str = include_str!("known.toml");

static KNOWN: LazyLock<Table> = LazyLock::new(|| {
    // A test reads the table; what stands here instead of an error knows nothing.
    toml::from_str(TABLE).unwrap_or_default()
});

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Known {
    /// How its name begins, without its maker's.
    pub begins: String,
    /// Its window, in tokens.
    pub window: u32,
    /// The most that it answers, in tokens.
    #[serde(default)]
    pub max_output: Option<u32>,
    /// The shortest beginning of a prompt that its provider's cache keeps, in tokens.
    #[serde(default)]
    pub cache_minimum: Option<u32>,
    /// Whether it sees pictures.
    #[serde(default = "yes")]
    pub images: bool,
}

/// How a model is asked that is not asked like others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manner {
    /// How its name begins, without its maker's.
    begins: String,
    /// Whether it thinks before it answers. What limits its answer then limits both together.
    #[serde(default)]
    pub thinks: bool,
    /// Whether it can be told to think little.
    #[serde(default)]
    pub low_effort: bool,
    /// Whether it refuses `max_tokens`, wherever it is served, and takes `max_completion_tokens`.
    #[serde(default)]
    pub completion_limit: bool,
    /// Whether it answers less than it can where it is told no limit.
    #[serde(default)]
    tell_limit: bool,
}

#[derive(Default, Deserialize)]
struct Table {
    model: Vec<Known>,
    manner: Vec<Manner>,
}

fn yes() -> bool {
    true
}

/// What is known of the model of this name: of those whose beginning it has, the longest. A maker's name before a slash
/// counts for nothing.
pub fn model(name: &str) -> Option<&'static Known> {
    longest(&KNOWN.model, name, |known| &known.begins)
}

/// How the model of this name is asked.
pub fn manner(name: &str) -> Option<&'static Manner> {
    longest(&KNOWN.manner, name, |manner| &manner.begins)
}

/// What is known of a model where it is asked over this wire. Who serves a model by itself, as Ollama does, serves it with
/// the limits that its machine has.
pub fn served(wire: Option<Wire>, name: &str) -> Option<&'static Known> {
    model(name).filter(|_| wire != Some(Wire::Ollama))
}

/// The most that a model answers, in tokens, where it has to be told: others know it better, and count what they are told
/// against a rate.
pub fn told_limit(wire: Wire, name: &str) -> Option<u32> {
    let is_told = wire == Wire::Anthropic || manner(name).is_some_and(|manner| manner.tell_limit);
    served(Some(wire), name).filter(|_| is_told)?.max_output
}

fn longest<T>(table: &'static [T], name: &str, begins: impl Fn(&T) -> &str) -> Option<&'static T> {
    let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let known = table.iter().filter(|known| name.starts_with(begins(known)));
    known.max_by_key(|known| begins(known).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_is_what_is_known() {
        assert!(KNOWN.model.len() > 10);
        let limits = |name: &str| model(name).map(|known| (known.window, known.max_output));
        for (name, window, most) in [
            ("claude-3-5-sonnet-20241022", 200_000, Some(8_192)),
            ("claude-3-7-sonnet-latest", 200_000, Some(64_000)),
            ("claude-sonnet-4-20250514", 200_000, Some(64_000)),
            ("anthropic/claude-opus-4-1-20250805", 200_000, Some(32_000)),
            ("claude-opus-4-5-20251101", 200_000, Some(64_000)),
            ("claude-some-other", 200_000, None),
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
        assert_eq!(limits("nobody-knows-it"), None);
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
    fn a_limit_is_told_to_who_has_to_be_told() {
        assert_eq!(told_limit(Wire::Anthropic, "claude-sonnet-4-5"), Some(64_000));
        assert_eq!(told_limit(Wire::OpenaiChat, "deepseek-chat"), Some(8_192));
        assert_eq!(told_limit(Wire::OpenaiChat, "gpt-4"), None);
        assert_eq!(told_limit(Wire::OpenaiResponses, "gpt-5"), None);
        assert_eq!(served(Some(Wire::Ollama), "deepseek-r1:8b"), None, "it is the machine's");
    }
}
