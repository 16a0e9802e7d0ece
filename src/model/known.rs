//! Models that are known by their names: windows, the most that they answer, what they take. Data, and only what holds if
//! nobody says otherwise: settings go before it.

use serde::Deserialize;
use std::sync::LazyLock;

/// The table, in the program itself.
const TABLE: &str = include_str!("known.toml");

// A test reads the table; what stands here instead of an error knows nothing.
static KNOWN: LazyLock<Table> = LazyLock::new(|| toml::from_str(TABLE).unwrap_or_default());

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

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    temperature: Temperature,
    model: Vec<Known>,
}

/// Beginnings of the names of models that take a temperature and of those that refuse a request that has one. A dot
/// counts as a dash, and what stands behind a star may stand anywhere behind what is before it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Temperature {
    takes: Vec<String>,
    refuses: Vec<String>,
}

fn yes() -> bool {
    true
}

/// What is known of the model of this name: of those whose beginning it has, the longest. A maker's name before a slash
/// counts for nothing.
pub fn model(name: &str) -> Option<&'static Known> {
    let name = plain(name);
    let known = KNOWN.model.iter().filter(|known| name.starts_with(&known.begins));
    known.max_by_key(|known| known.begins.len())
}

/// Whether this model takes a temperature. Models that think before they answer refuse a request that has one, and they
/// alone may be asked for their thinking; of two that speak of a name the longer holds, and one of which nothing is known
/// takes one.
pub fn takes_temperature(name: &str) -> bool {
    let name = plain(name).replace('.', "-");
    let longest = |list: &[String]| {
        let found = list.iter().filter(|begins| is_named(&name, begins));
        found.map(String::len).max()
    };
    longest(&KNOWN.temperature.refuses) <= longest(&KNOWN.temperature.takes)
}

fn plain(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_lowercase()
}

fn is_named(name: &str, begins: &str) -> bool {
    let (begins, then) = begins.split_once('*').unwrap_or((begins, ""));
    name.strip_prefix(begins).is_some_and(|rest| rest.contains(then))
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
    fn the_longest_beginning_of_a_name_is_what_is_known() {
        assert!(KNOWN.model.len() > 10);
        let window = |name: &str| model(name).map(|known| known.window);
        assert_eq!(window("claude-sonnet-4-20250514"), Some(200_000));
        assert_eq!(window("openai/gpt-4.1-mini"), Some(1_047_576));
        assert_eq!(window("gpt-4o"), Some(128_000));
        assert_eq!(window("gpt-4"), Some(8_192));
        assert_eq!(window("nobody-knows-it"), None);
    }
}
