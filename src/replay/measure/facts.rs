//! Facts that an assistant message takes from the session: lines that its edits quote as the old text of a file, and
//! phrases and figures in its words. Definitions only; `exam.rs` decides which of them a compaction had to keep.

use engine::message::ToolCall;
use regex::{Captures, Regex};
use serde_json::Value;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The kind of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// An identifier in the arguments of a call.
    Name,
    /// A line that an edit quotes as old text.
    Line,
    /// A phrase or a figure in the assistant's words.
    Quote,
}

impl Kind {
    /// Every kind, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Name, Self::Line, Self::Quote];
}

/// Least characters of a line that counts; shorter ones are brackets and blanks.
const LEAST_LINE: usize = 16;
/// Least characters of a figure.
const LEAST_FIGURE: usize = 3;

#[allow(clippy::expect_used, reason = "constant patterns; the tests compile them")]
fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("pattern")
}

/// The number that tools print before each line of a file.
static LINE_NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"(?m)^\s*\d+(?:[→\t]| \| )"));
static IN_BACKTICKS: LazyLock<Regex> = LazyLock::new(|| pattern(r"`([^`\n]{8,160})`"));
static IN_QUOTES: LazyLock<Regex> = LazyLock::new(|| pattern(r#"["“]([^"”\n]{8,160})["”]"#));
/// Decimals, versions, percentages, places in files, sizes and times.
static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?P<before>^|[^\w.])(?P<figure>\d+\.\d+(?:\.\d+)*%?|\d+%)",
        r"|\b(?P<place>[\w./-]+\.\w+:\d+)\b",
        r"|\b(?P<unit>\d+(?:ms|s|KB|MB|GB|kB))\b",
        r"|\b(?P<line>line \d+)\b",
    ))
});

/// Collapses white space and removes line numbers, so that a file's line is equal wherever it is shown.
pub fn normalized(text: &str) -> String {
    let text = LINE_NUMBER.replace_all(text, "");
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// The facts of an assistant message, normalized, each once.
pub fn facts(words: &str, calls: &[ToolCall]) -> Vec<(Kind, String)> {
    let lines = calls.iter().flat_map(|call| old_lines(&call.arguments));
    let lines = lines.filter(|line| is_telling(line)).map(|line| (Kind::Line, line));
    let quotes = quotes(words).into_iter().map(|quote| (Kind::Quote, quote));
    let mut seen = HashSet::new();
    lines.chain(quotes).filter(|fact| seen.insert(fact.clone())).collect()
}

/// `true` for a line of at least two words.
fn is_telling(line: &str) -> bool {
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    line.chars().count() >= LEAST_LINE && words.take(2).count() == 2
}

/// The lines that a call's arguments quote as old text: of an edit, of a list of edits, of a patch.
fn old_lines(arguments: &str) -> Vec<String> {
    let value = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
    let edits = value.get("edits").and_then(Value::as_array).into_iter().flatten();
    let mut lines = Vec::new();
    for edit in std::iter::once(&value).chain(edits) {
        for old in ["old_string", "oldText", "old_str"].iter().filter_map(|name| edit.get(name)?.as_str()) {
            lines.extend(old.split('\n').map(normalized));
        }
        if let Some(diff) = edit.get("diff").and_then(Value::as_str) {
            lines.extend(searched(diff).map(normalized));
        }
    }
    let patch = ["command", "cmd", "input", "patch"].iter().find_map(|name| joined(value.get(name)?));
    let patch = patch.or_else(|| value.as_str().map(str::to_owned)).unwrap_or_default();
    if patch.contains("*** Update File") {
        let old = patch.split('\n').filter_map(|line| line.strip_prefix(['-', ' ']));
        lines.extend(old.map(normalized));
    }
    lines
}

/// The lines between `SEARCH` and `=====` of a diff in search-and-replace blocks.
fn searched(diff: &str) -> impl Iterator<Item = &str> {
    let mut is_old = false;
    diff.split('\n').filter(move |line| {
        if line.starts_with("-----") || line.starts_with("<<<<<") {
            is_old = line.contains("SEARCH");
            return false;
        }
        is_old &= !line.starts_with("=====");
        is_old
    })
}

/// A command line or patch; a list of words is joined.
fn joined(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            words.iter().map(Value::as_str).collect::<Option<Vec<_>>>().map(|w| w.join(" "))
        }
        _ => None,
    }
}

/// Phrases in backticks and quotation marks, and figures.
fn quotes(words: &str) -> Vec<String> {
    let inner =
        |found: Captures<'_>| found.get(1).map_or_else(String::new, |inner| inner.as_str().to_owned());
    // A name alone in backticks is no phrase.
    let is_phrase = |text: &String| {
        text.chars().any(|c| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '/' | '@' | '-'))
    };
    let ticked = IN_BACKTICKS.captures_iter(words).map(inner).filter(is_phrase);
    let quoted = IN_QUOTES.captures_iter(words).map(inner).filter(|text| text.contains(' '));
    let figures = FIGURE.captures_iter(words).filter_map(|found| {
        let groups = ["figure", "place", "unit", "line"];
        groups.iter().find_map(|group| Some(found.name(group)?.as_str().to_owned()))
    });
    let figures = figures.filter(|figure| figure.len() >= LEAST_FIGURE);
    ticked
        .chain(quoted)
        .map(|text| normalized(&text))
        .chain(figures)
        .filter(|text| !text.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str, arguments: &str) -> Vec<(Kind, String)> {
        facts(words, &[ToolCall::new("c", "edit", arguments)])
    }

    fn line(text: &str) -> (Kind, String) {
        (Kind::Line, text.to_owned())
    }

    #[test]
    fn old_text_of_edits_gives_lines() {
        let edit = r#"{"file_path":"a.rs","old_string":"}\n  let total =\t count();\n  12→    let other = count(2);","new_string":"let new_text = all;"}"#;
        assert_eq!(of("", edit), [line("let total = count();"), line("let other = count(2);")]);
        let edits =
            r#"{"edits":[{"oldText":"the first old line"},{"old_str":"another old line","new_str":"x"}]}"#;
        assert_eq!(of("", edits), [line("the first old line"), line("another old line")]);
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-    the removed line here\n+the added line here\n     a line of context\n*** End Patch";
        let expected = [line("the removed line here"), line("a line of context")];
        assert_eq!(of("", patch), expected);
        assert_eq!(of("", &serde_json::json!({ "command": ["apply_patch", patch] }).to_string()), expected);
        let diff = "------- SEARCH\nthe searched old line\n=======\nthe replacing new line\n+++++++ REPLACE";
        assert_eq!(of("", &serde_json::json!({ "diff": diff }).to_string()), [line("the searched old line")]);
        for none in ["", "{", "[]", r#"{"edits":[1,{"oldText":2}]}"#, r#"{"command":[1]}"#] {
            assert_eq!(of("", none), [], "{none}");
        }
    }

    #[test]
    fn phrases_and_figures_of_the_words_are_quotes() {
        let words = "It says `cannot find x` and `src/lib.rs`, \"no such file\" “curly ones too” \"oneword1\" \
                     at src/a.rs:12, line 40, version 1.2.3 took 250ms or 12.5%, 50% and v2.0; `cannot find x`";
        let found: Vec<String> = of(words, "").into_iter().map(|(_, text)| text).collect();
        let expected = [
            "cannot find x",
            "no such file",
            "curly ones too",
            "src/a.rs:12",
            "line 40",
            "1.2.3",
            "250ms",
            "12.5%",
            "50%",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn normalizing_drops_line_numbers_and_blanks() {
        assert_eq!(normalized("  12→\tlet a;\n   13\t  let  b;\n 14 |  c\n15 d"), "let a; let b; c 15 d");
    }
}
