//! Settings from the file of a workspace, which comes with its code, from anybody: it can only tighten what
//! holds without it, by a closed list.

use super::layer::{Fault, Held, Layer};
use super::names::{Written, is_name, one_by_one};
use engine::settings::{BudgetSettings, Threshold};
use serde_json::{Map, Value};
use session::settings::Settings as Effective;

/// Returns `true` if a value is lower than what holds without it.
type IsLower = fn(&Value, &Effective) -> bool;

/// The settings that a workspace's file can lower.
const LOWERED: [(&str, IsLower); 2] =
    [("threshold", is_lower_threshold), ("roundLimit", is_lower_round_limit)];

impl Layer {
    /// Parses a workspace's file. Unlisted settings are not even read: a policy names another file.
    pub fn of_workspace(raw: Map<String, Value>, place: &str) -> (Self, Vec<Fault>) {
        let is_read = |setting: &Written| !is_name(&setting.name) || is_listed(&setting.name);
        let (read, ignored): (Vec<Written>, Vec<Written>) = one_by_one(raw).into_iter().partition(is_read);
        let (layer, mut faults) = Self::of_each(read, Some(place));
        faults.extend(ignored.into_iter().map(|setting| Fault::ignored(setting.written)));
        (layer, faults)
    }

    /// The values that are stricter than what holds without them.
    pub fn stricter(&self, without: &Effective) -> Self {
        let values = self.values.iter().filter(|(name, held)| is_lower(name, held, without));
        Self { values: values.map(|(name, held)| (name.clone(), held.clone())).collect() }
    }

    /// The values that would loosen what holds without them.
    pub fn looser(&self, without: &Effective) -> Vec<Fault> {
        let own = Self::of(&super::shown(without)).unwrap_or_default();
        let is_same =
            |name: &str, held: &Held| own.values.get(name).is_some_and(|known| known.value == held.value);
        let each = self.values.iter();
        let loose = each.filter(|(name, held)| !is_lower(name, held, without) && !is_same(name, held));
        loose.map(|(name, _)| Fault::ignored(name.clone())).collect()
    }
}

fn is_listed(name: &str) -> bool {
    LOWERED.iter().any(|(listed, _)| *listed == name)
}

fn is_lower(name: &str, held: &Held, without: &Effective) -> bool {
    LOWERED.iter().any(|(listed, is_lower)| *listed == name && is_lower(&held.value, without))
}

/// Compares ratios and counts in this model's window. A threshold without room for any prompt does not count:
/// it would keep sessions from being opened.
fn is_lower_threshold(value: &Value, without: &Effective) -> bool {
    let Some(Ok(threshold)) = value.as_f64().map(Threshold::from_number) else { return false };
    let limit = |budget: &BudgetSettings| budget.budget(without.model.window).ok().map(|budget| budget.limit);
    let lowered = limit(&BudgetSettings { threshold: Some(threshold), ..without.budget.clone() });
    lowered.is_some() && lowered < limit(&without.budget)
}

fn is_lower_round_limit(value: &Value, without: &Effective) -> bool {
    value.as_u64().is_some_and(|limit| limit < u64::from(without.round_limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::settings::names;
    use serde_json::json;

    fn of_workspace(raw: Value) -> (Layer, Vec<Fault>) {
        let Value::Object(raw) = raw else { panic!("settings") };
        Layer::of_workspace(raw, ".threadhold/config.toml")
    }

    /// A new setting cannot be set by a repository until it is put on the list.
    #[test]
    fn workspace_file_can_set_listed_settings_only() {
        let is_taken = |name: &String| {
            // A wrong form for each setting: unlisted ones are not read at all.
            let (layer, faults) = of_workspace(json!({ name.as_str(): [{}] }));
            assert_eq!((layer, faults.len()), (Layer::default(), 1), "{name}");
            !faults.iter().any(|fault| fault.to_string().contains("ignored"))
        };
        let taken: Vec<String> = names().filter(is_taken).collect();
        assert_eq!(taken, ["roundLimit", "threshold"]);
    }

    #[test]
    fn other_names_of_ignored_settings_are_ignored_too() {
        for name in ["agentHistorySummarizationMode", "enabled", "summarizeAgentConversationHistory.enabled"]
        {
            let (layer, faults) = of_workspace(json!({ name: false }));
            assert_eq!((layer, faults), (Layer::default(), vec![Fault::ignored(name.to_owned())]));
        }
        let (layer, faults) = of_workspace(json!({ "summarizeAgentConversationHistoryThreshold": 0.5 }));
        assert_eq!((layer.together(), faults), (json!({ "threshold": 0.5 }), Vec::new()));
    }
}
