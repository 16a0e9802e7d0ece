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
        let window = |name: &str| model(name).map(|known| known.window);
        assert_eq!(window("claude-sonnet-4-20250514"), Some(200_000));
        assert_eq!(window("openai/gpt-4.1-mini"), Some(1_047_576));
        assert_eq!(window("gpt-4o"), Some(128_000));
        assert_eq!(window("gpt-4"), Some(8_192));
        assert_eq!(window("nobody-knows-it"), None);
    }
}
