//! Models that are known by their names: windows, the most that they answer, what they take. Data, and only what holds if
//! nobody says otherwise: settings go before it.

use serde::Deserialize;
use std::sync::LazyLock;

/// The table, in the program itself.
const TABLE: &str = include_str!("known.toml");

static MODELS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    // A test reads the table; what stands here instead of an error knows nothing.
    toml::from_str::<Table>(TABLE).map(|table| table.model).unwrap_or_default()
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

#[derive(Deserialize)]
struct Table {
    model: Vec<Known>,
}

fn yes() -> bool {
    true
}

/// What is known of the model of this name: of those whose beginning it has, the longest. A maker's name before a slash
/// counts for nothing.
pub fn model(name: &str) -> Option<&'static Known> {
    let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let known = MODELS.iter().filter(|known| name.starts_with(&known.begins));
    known.max_by_key(|known| known.begins.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_of_a_name_is_what_is_known() {
        assert!(MODELS.len() > 10);
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
}
