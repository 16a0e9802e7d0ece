//! Policies as TOML files, and changes of single keys by settings. Serde reads the values, in the forms of `values`;
//! this module knows what each key means and may be, so that errors name both. Omitted keys are as in the base
//! policy.

use super::presets::known;
use super::values::{current_name, value_if_on};
use super::{DEFAULT, Policy, Retention};
use std::fmt::Write;
use thiserror::Error;
use toml::{Table, Value};

/// Error in the text of a policy, with what would be possible.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// The text is not valid TOML.
    #[error("line {line}: {reason}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The error of the TOML parser.
        reason: String,
    },
    /// No policy has this key.
    #[error("unknown key {key:?}; known: {known}")]
    Key {
        /// The key, with its table.
        key: String,
        /// The keys that exist there.
        known: String,
    },
    /// The key cannot have this value.
    #[error("{key} = {value} is invalid; expected: {possible}")]
    Value {
        /// The key, with its table.
        key: String,
        /// The value as it was written.
        value: String,
        /// The possible values.
        possible: String,
    },
}

/// A key of the file.
struct Key {
    /// `table.name`, or a name alone at the top level.
    path: &'static str,
    /// Meaning with unit; the comment in a written file.
    about: &'static str,
    /// The possible values, for errors.
    possible: &'static str,
}

const fn key(path: &'static str, about: &'static str, possible: &'static str) -> Key {
    Key { path, about, possible }
}

/// The key that names the base policy of a file.
const BASE: &str = "base";
const SWITCH: &str = "true or false";
const SHARE: &str = "a share from 0 to 1";
const SHARE_ABOVE_0: &str = "a share above 0 and up to 1";
const SHARE_OR_OFF: &str = "a share above 0 and up to 1, true, or \"off\"";
const WEIGHT: &str = "a number from -1000 to 1000";
const COUNT: &str = "an integer of at least 1";
const COUNT_OR_OFF: &str = "an integer of at least 1, true, or \"off\"";
const COUNT_OR_AUTO: &str = "an integer of at least 0, or \"auto\"";
const BYTES: &str = "an integer of at least 0";
const ORDER: &str = "each of these names of sections once, in one of the two lists: system, identity, role, \
iterationBudget, toolRules, toolGuidelines, toolkitHints, instructionFiles, coreMemories, keyReminder, project, callers";

/// All keys in the order of a written file: TOML wants those at the top before any table.
const KEYS: &[Key] = &[
    key("name", "its name in reports", "a non-empty string"),
    key(
        "summarize",
        "whether anything is compacted at all: auto, or every message verbatim (off)",
        "\"auto\", \"off\", true or false",
    ),
    key(
        "compaction",
        "who decides about a compaction that nobody asked for: auto, the user (ask), or none is made (off)",
        "\"auto\", \"ask\" or \"off\"",
    ),
    key(
        "retention",
        "what stays at the least: the newest round, so many user turns, so many messages, or a share of the limit",
        "\"rounds\", { userTurns = an integer of at least 1 }, { messages = an integer of at least 1 } or \
{ tokenTail = a share above 0 and below 1 }",
    ),
    key(
        "placement",
        "where the block stands: in a user message, in a system message, at the end of the system text",
        "\"userAtBoundary\", \"systemMessage\" or \"systemPromptTail\"",
    ),
    key("summaryMode", "which summary a model is asked for", "\"auto\", \"full\" or \"simple\""),
    key(
        "summaryBreakpoints",
        "whether a request for a full summary carries the prompt's cache breakpoints (keep) or not (strip)",
        "\"keep\", \"strip\", true or false",
    ),
    key(
        "limitHistory",
        "how far results are shortened and rounds dropped before a model is asked",
        "\"off\", \"foldRepeats\", \"shortenResults\" or \"limitHistory\"",
    ),
    key(
        "minNewTokens",
        "new tokens since the last one before a trigger other than an overflow starts another; auto: as between \
                limit and target; 0: none, so that each trigger is obeyed at once",
        COUNT_OR_AUTO,
    ),
    key(
        "mostFailures",
        "failed summaries in a row after which no model is asked until something new is said",
        COUNT,
    ),
    key("budgetExit", "share of the limit at which a turn is asked to come to an end", SHARE_OR_OFF),
    key(
        "targetRatio",
        "share of the room above what must stay that a prompt may fill after a compaction; a large newest round \
                takes up to a quarter of it",
        SHARE_ABOVE_0,
    ),
    key(
        "userMessageBudget",
        "share of the limit for user messages of the covered span, byte for byte",
        SHARE,
    ),
    key(
        "rawTailShare",
        "share of the free space for the newest rounds as they are; with shortTailShare 0, too: none stays",
        SHARE,
    ),
    key("shortTailShare", "share of the free space for older rounds with shortened results", SHARE),
    key(
        "ledgerShare",
        "share of the free space for the ledger, at most; in a small prompt changed files get up to a fifth",
        SHARE,
    ),
    key("excerptShare", "share of the free space for excerpts of covered messages, at most", SHARE),
    key(
        "identifierShare",
        "share of the free space for the identifier index; what excerpts leave is added",
        SHARE,
    ),
    key(
        "toolKinds",
        "what tools do, by patterns of their names; the longest that fits counts",
        "a table such as { \"mcp__fs__*\" = \"read\" } whose values are read, edit, delete, move, search, execute, \
         think, fetch, todo, ask and other",
    ),
    key("shortenTo.headBytes", "bytes of a shortened result's beginning", BYTES),
    key("shortenTo.tailBytes", "bytes of a shortened result's end", BYTES),
    key("excerptWeights.edit", "new text of edits, and written files", WEIGHT),
    key("excerptWeights.read", "parts of files that were read", WEIGHT),
    key(
        "excerptWeights.words",
        "the assistant's words, and the user's where they are not kept whole",
        WEIGHT,
    ),
    key("excerptWeights.search", "results of searches", WEIGHT),
    key("excerptWeights.output", "other results, and arguments of calls", WEIGHT),
    key("excerptWeights.age", "less per natural logarithm of one more than the age in messages", WEIGHT),
    key("excerptWeights.near", "content of a file within nearShare of the end", WEIGHT),
    key("excerptWeights.nearShare", "share of the prompt after a compaction that is near the end", SHARE),
    key("excerptWeights.named", "per name that the assistant's newest texts have too, up to three", WEIGHT),
    key("excerptWeights.quoted", "per quoted phrase or figure, up to four", WEIGHT),
    key("excerptWeights.place", "less per piece before it in its text, up to ten", WEIGHT),
    key("order.system", "sections of the system text, in their order", ORDER),
    key("order.memory", "sections that are messages after it, in their order", ORDER),
    key("triggers.providerOverflow", "the provider said that a prompt was too large", SWITCH),
    key("triggers.preTurnTokens", "share of the limit that a prompt has when a turn begins", SHARE_OR_OFF),
    key(
        "triggers.background",
        "share of the limit at which a summary is prepared beside the running turn",
        SHARE_OR_OFF,
    ),
    key(
        "triggers.modelChanged",
        "the next model's window is smaller, and the prompt does not fit it",
        SWITCH,
    ),
    key(
        "triggers.userTurns",
        "more user turns than this are shown; again after as many more, or once minNewTokens are new if that is a number",
        COUNT_OR_OFF,
    ),
    key(
        "triggers.messages",
        "more messages than this are shown; again after as many more, or once minNewTokens are new if that is a number",
        COUNT_OR_OFF,
    ),
    key("triggers.idleSeconds", "seconds without a word", COUNT_OR_OFF),
];

/// Reads a policy. The key `base` names the built-in policy that it builds on, else the default. Without a name it is
/// called `custom`.
pub fn read(text: &str) -> Result<Policy, PolicyError> {
    let table: Table = text.parse().map_err(|error: toml::de::Error| syntax(text, &error))?;
    let mut policy = match table.get(BASE) {
        None => DEFAULT,
        Some(base) => {
            let found = base.as_str().and_then(|name| Policy::named(name).ok());
            found.ok_or_else(|| unusable(BASE, base, known()))?
        }
    };
    policy.name = "custom".into();
    let mut entries: Vec<(String, &Value)> = Vec::new();
    for (name, value) in table.iter().filter(|(name, _)| *name != BASE) {
        match value {
            Value::Table(inner) if is_table(name) => {
                entries.extend(inner.iter().map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            value => entries.push((name.clone(), value)),
        }
    }
    // A key wins over its older names: it is put last.
    entries.sort_by_key(|(name, _)| current_name(name).is_none());
    entries.iter().try_for_each(|(name, value)| put(&mut policy, name, value))?;
    check_across_keys(&policy)?;
    Ok(policy)
}

/// Returns the policy as a file for [`read`], each key with a comment on its meaning.
pub fn write(policy: &Policy) -> String {
    let values = values(policy);
    let mut text = String::new();
    let mut table = "";
    for key in KEYS {
        let (of, name) = key.path.split_once('.').unwrap_or(("", key.path));
        if of != table {
            table = of;
            let _ = write!(text, "\n[{table}]\n");
        }
        let value = value_at(&values, key.path).map(ToString::to_string).unwrap_or_default();
        let _ = write!(text, "# {}\n{name} = {value}\n", key.about);
    }
    text
}

fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.path.split_once('.').is_some_and(|(table, _)| table == name))
}

/// Sets a key, by its own or an older name.
///
/// # Errors
/// Fails if there is no such key or it cannot have this value; the error uses `name` as given.
pub fn put(policy: &mut Policy, name: &str, value: &Value) -> Result<(), PolicyError> {
    let path = current_name(name).unwrap_or(name);
    let key = KEYS.iter().find(|key| key.path == path).ok_or_else(|| {
        let table = path.split_once('.').map(|(table, _)| table);
        let beside = |key: &&Key| {
            table.is_none_or(|table| key.path.split_once('.').is_some_and(|(of, _)| of == table))
        };
        let known = KEYS.iter().filter(beside).map(|key| key.path);
        let known: Vec<&str> = known.chain(table.is_none().then_some(BASE)).collect();
        PolicyError::Key { key: name.to_owned(), known: known.join(", ") }
    })?;
    let invalid_value = || unusable(name, value, key.possible.to_owned());
    let mut all = values(policy);
    let place = value_at_mut(&mut all, path).ok_or_else(invalid_value)?;
    *place = match value_if_on(path).filter(|_| value.as_bool() == Some(true)) {
        // `true` switches a key on: a value that the policy has stays.
        Some(on) if place.as_str() == Some("off") => on,
        Some(_) => return Ok(()),
        None => value.clone(),
    };
    *policy = all.try_into().map_err(|_| invalid_value())?;
    Ok(())
}

/// The policy as a TOML table; empty if a value had no form in TOML, which does not occur.
fn values(policy: &Policy) -> Table {
    Table::try_from(policy).unwrap_or_default()
}

fn value_at<'a>(values: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((table, name)) => values.get(table)?.get(name),
        None => values.get(path),
    }
}

fn value_at_mut<'a>(values: &'a mut Table, path: &str) -> Option<&'a mut Value> {
    match path.split_once('.') {
        Some((table, name)) => values.get_mut(table)?.get_mut(name),
        None => values.get_mut(path),
    }
}

/// Returns the keys by their own names, with the possible values of each.
pub fn keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.iter().map(|key| (key.path, key.possible))
}

/// Checks constraints across keys: a complete order, and triggers by count above the retained count.
fn check_across_keys(policy: &Policy) -> Result<(), PolicyError> {
    let fail = |path: &str, possible: String| {
        let values = values(policy);
        Err(unusable(path, value_at(&values, path).unwrap_or(&Value::from("")), possible))
    };
    if !policy.order.is_whole() {
        return fail("order.system", ORDER.to_owned());
    }
    // A trigger that the kept messages alone reach would fire again right after a compaction.
    let is_within = |most: Option<u32>, kept: usize| most.is_some_and(|most| most as usize <= kept);
    match policy.retention {
        Retention::UserTurns(kept) if is_within(policy.triggers.user_turns, kept) => {
            fail("triggers.userTurns", format!("more than the {kept} that retention keeps"))
        }
        Retention::Messages(kept) if is_within(policy.triggers.messages, kept) => {
            fail("triggers.messages", format!("more than the {kept} that retention keeps"))
        }
        _ => Ok(()),
    }
}

fn unusable(key: &str, value: &Value, possible: String) -> PolicyError {
    PolicyError::Value { key: key.to_owned(), value: value.to_string(), possible }
}

fn syntax(text: &str, error: &toml::de::Error) -> PolicyError {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    PolicyError::Syntax { line: before.matches('\n').count() + 1, reason: error.message().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::presets::ALL;
    use super::super::{Consent, ExcerptWeights, Stage, Triggers, Weight, presets};
    use super::*;
    use crate::compact::record::{ModeRequested, Placement};
    use crate::prompt::item::ToolKind;
    use crate::prompt::order::Order;
    use crate::settings::PerMille;

    #[test]
    fn every_preset_reads_back_as_it_was() {
        for preset in ALL {
            assert_eq!(read(&write(&preset.policy)).as_ref(), Ok(&preset.policy), "{}", preset.policy.name);
            for name in preset.aliases.iter().copied().chain([&*preset.policy.name]) {
                assert_eq!(Policy::named(name).as_ref(), Ok(&preset.policy), "{name}");
            }
        }
    }

    #[test]
    fn keys_are_the_fields_of_a_policy() {
        let values = values(&DEFAULT);
        let mut fields = Vec::new();
        for (name, value) in &values {
            match value.as_table().filter(|_| is_table(name)) {
                Some(parts) => fields.extend(parts.keys().map(|part| format!("{name}.{part}"))),
                None => fields.push(name.clone()),
            }
        }
        let mut paths: Vec<&str> = KEYS.iter().map(|key| key.path).collect();
        paths.sort();
        fields.sort();
        assert_eq!(paths, fields);
    }

    #[test]
    fn every_field_reads_back() {
        let other = Policy {
            name: "other \"quoted\"".into(),
            retention: Retention::TokenTail(PerMille::new(123)),
            placement: Placement::SystemMessage,
            order: Order::MEMORY_IN_SYSTEM,
            consent: Consent::Ask,
            triggers: Triggers {
                provider_overflow: false,
                pre_turn: None,
                background: Some(PerMille::new(1)),
                model_changed: false,
                user_turns: Some(7),
                messages: Some(8),
                idle_secs: Some(9),
            },
            min_new_tokens: Some(10),
            most_failures: 11,
            budget_exit: Some(PerMille::new(999)),
            enabled: false,
            summary_mode: ModeRequested::Simple,
            summary_breakpoints: false,
            target_ratio: PerMille::new(12),
            user_messages: PerMille::new(13),
            limit_history: Stage::FoldRepeats,
            raw_tail: PerMille::new(14),
            short_tail: PerMille::new(15),
            ledger: PerMille::new(16),
            excerpts: PerMille::new(20),
            excerpt_weights: ExcerptWeights {
                edit: Weight::new(21),
                read: Weight::new(22),
                words: Weight::new(23),
                search: Weight::new(24),
                output: Weight::new(-25),
                age: Weight::new(26),
                near: Weight::new(27),
                near_share: PerMille::new(28),
                named: Weight::new(29),
                quoted: Weight::new(30),
                place: Weight::new(31),
            },
            identifiers: PerMille::new(17),
            shorten_to: (18, 19),
            tool_kinds: vec![("my_*".into(), ToolKind::Execute)].into(),
        };
        assert_eq!(read(&write(&other)), Ok(other));
    }

    #[test]
    fn omitted_keys_are_as_in_the_base() {
        let policy =
            read("base = \"manifold\"\nname = \"mine\"\n[triggers]\nmessages = 60").expect("a policy");
        let triggers = Triggers { messages: Some(60), ..presets::LAST_MESSAGES.triggers };
        assert_eq!(policy, Policy { name: "mine".into(), triggers, ..presets::LAST_MESSAGES });
        assert_eq!(presets::LAST_MESSAGES.triggers.messages, Some(40));
        assert_eq!(presets::LAST_MESSAGES.retention, Retention::Messages(12));
        assert_eq!(read(""), Ok(Policy { name: "custom".into(), ..DEFAULT }));
    }

    #[test]
    fn errors_name_the_fault_and_the_possible_values() {
        let error = |text: &str| read(text).expect_err(text).to_string();
        for (text, wanted) in [
            ("targetRatoi = 0.5", "unknown key \"targetRatoi\"; known: name, summarize, "),
            ("[triggers]\nidle = 5", "unknown key \"triggers.idle\"; known: triggers.providerOverflow, "),
            ("[trigger]\nidleSeconds = 5", "unknown key \"trigger\"; known: "),
            ("targetRatio = 1.5", "targetRatio = 1.5 is invalid; expected: a share above 0 and up to 1"),
            ("targetRatio = 0.0", "targetRatio = 0.0 is invalid; expected: a share above 0 and up to 1"),
            ("ledger = nan", "ledger = nan is invalid; expected: a share"),
            ("enabled = \"yes\"", "enabled = \"yes\" is invalid; expected: \"auto\", \"off\", true or false"),
            (
                "retention = { userTurns = 0 }",
                "expected: \"rounds\", { userTurns = an integer of at least 1 }",
            ),
            ("retention = { userTurns = 3, messages = 4 }", "expected: \"rounds\""),
            (
                "placement = \"top\"",
                "expected: \"userAtBoundary\", \"systemMessage\" or \"systemPromptTail\"",
            ),
            ("mostFailures = -1", "mostFailures = -1 is invalid; expected: an integer of at least 1"),
            ("base = \"best\"", "base = \"best\" is invalid; expected: default, rounds (copilot), "),
            ("[order]\nmemory = []", "expected: each of these names of sections once"),
            ("[order]\nmemory = [\"mood\"]", "order.memory = [\"mood\"] is invalid; expected: each"),
            (
                "base = \"manifold\"\n[triggers]\nmessages = 12",
                "triggers.messages = 12 is invalid; expected: more than the 12",
            ),
            ("a = 1\nb = = 2", "line 2: "),
            (
                "toolKinds = { \"a\" = \"remove\" }",
                "whose values are read, edit, delete, move, search, execute, think,",
            ),
        ] {
            assert!(error(text).contains(wanted), "{text}: {}", error(text));
        }
    }

    #[test]
    fn older_key_names_and_setting_forms_are_accepted() {
        for (one, other) in [
            ("enabled = false", "summarize = \"off\""),
            ("consent = \"ask\"", "compaction = \"ask\""),
            ("summaryBreakpoints = false", "summaryBreakpoints = \"strip\""),
            ("userMessages = 0.1", "userMessageBudget = 0.1"),
            ("rawTail = 0.1\nshortTail = 0.2", "rawTailShare = 0.1\nshortTailShare = 0.2"),
            ("ledger = 0.1\nidentifiers = 0.2", "ledgerShare = 0.1\nidentifierShare = 0.2"),
            ("[triggers]\npreTurn = \"off\"", "[triggers]\npreTurnTokens = false"),
            ("[triggers]\nidleSecs = 900\nmessages = 40", "[triggers]\nidleSeconds = true\nmessages = true"),
            ("budgetExit = true", "budgetExit = 0.85"),
            ("ledger = 0.12345", "ledgerShare = 0.123"),
            ("toolKinds = { \"my_*\" = \"run\" }", "toolKinds = { \"my_*\" = \"execute\" }"),
            // The own name wins, wherever it stands.
            ("ledgerShare = 0.3\nledger = 0.1", "ledgerShare = 0.3"),
            ("ledger = 0.1\nledgerShare = 0.3", "ledgerShare = 0.3"),
        ] {
            let policy = read(one);
            assert_eq!(policy, read(other), "{one}");
            assert!(
                policy.is_ok_and(|policy| policy != Policy { name: "custom".into(), ..DEFAULT }),
                "{one}"
            );
        }
    }
}
