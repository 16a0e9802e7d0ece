//! Outcomes of calls and reports of test runs, read from results by a table of phrases that tools use. Without a phrase
//! there is no exit code.

use crate::message::{Content, ToolResult};
use crate::text::{head, one_line, tail};
use std::collections::BTreeSet;

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The exit code that the tool stated.
    Exit(i32),
    /// A result that states no failure.
    Ok,
    /// A result that is marked as an error.
    Error,
    /// No result was recorded.
    Unknown,
}

/// Phrases before an exit code at the end or start of a result, in lower case, the longer of a kind first.
const EXIT_PHRASES: &[&str] = &[
    "\"exit_code\":",
    "exit_code=",
    "<exit_code>",
    "exited with status",
    "exited with code",
    "exit status:",
    "exit status",
    "exit code:",
    "exit code",
    "exited with",
    "returncode:",
    "return code:",
    "exit:",
    "[exit",
];
/// Bytes at the end of a result that are searched for an exit code.
const AT_END: usize = 120;
/// Bytes at the start of a result that may hold one, if the result begins with the phrase.
const AT_START: usize = 40;

/// Substrings of commands that run tests.
const TEST_RUNNERS: &[&str] = &[
    "bun test",
    "cargo nextest",
    "cargo test",
    "ctest",
    "deno test",
    "dotnet test",
    "go test",
    "gradle test",
    "gradlew test",
    "jest",
    "make check",
    "make test",
    "mix test",
    "mocha",
    "mvn test",
    "npm run test",
    "npm test",
    "phpunit",
    "pnpm run test",
    "pnpm test",
    "pytest",
    "rspec",
    "swift test",
    "tests/run",
    "tox",
    "unittest",
    "vitest",
    "yarn test",
];

/// Prefix and suffix of a line that names a failing test.
const FAILING: &[(&str, &str)] = &[
    ("test ", " ... FAILED"),
    ("--- FAIL: ", ""),
    ("FAILED ", ""),
    ("FAIL: ", ""),
    ("FAIL ", ""),
    ("not ok ", ""),
    ("● ", ""),
    ("✗ ", ""),
    ("✘ ", ""),
    ("✕ ", ""),
    ("× ", ""),
];
/// Number of last lines kept of a run that names none.
const LAST_LINES: usize = 2;
/// Bytes kept of a name or a line.
const LINE_BYTES: usize = 400;
/// Bytes at the end of an output that are searched for them.
const LOOKED_THROUGH: usize = 200_000;

impl Outcome {
    /// Returns the stated exit code, else `Error` or `Ok` by the error flag; `Unknown` without a result.
    pub fn of(result: Option<&ToolResult>) -> Self {
        let Some(result) = result else { return Outcome::Unknown };
        if let Some(code) = result.exit_code.or_else(|| exit_code(said(result))) {
            return Outcome::Exit(code);
        }
        if result.is_error { Outcome::Error } else { Outcome::Ok }
    }

    /// `true` if the call is known to have succeeded.
    pub(crate) fn is_good(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::Exit(0))
    }

    /// The wording in the ledger.
    pub fn words(self) -> String {
        match self {
            Outcome::Exit(code) => format!("exit {code}"),
            Outcome::Ok => "ok".into(),
            Outcome::Error => "error".into(),
            Outcome::Unknown => "unknown".into(),
        }
    }
}

/// The last text of a result.
fn said(result: &ToolResult) -> &str {
    result.content.iter().rev().find_map(Content::text).map_or("", |text| &**text)
}

/// The exit code that a text states near its end, else at its start.
fn exit_code(text: &str) -> Option<i32> {
    let end = tail(text, AT_END).to_ascii_lowercase();
    let at_end = EXIT_PHRASES.iter().find_map(|phrase| code_after(end.rsplit_once(phrase)?.1));
    at_end.or_else(|| {
        let start = head(text, AT_START).to_ascii_lowercase();
        EXIT_PHRASES.iter().find_map(|phrase| code_after(start.trim_start().strip_prefix(phrase)?))
    })
}

/// The number of at most three digits at the start of a text.
fn code_after(text: &str) -> Option<i32> {
    let text = text.trim_start_matches([' ', ':', '=', '"']);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..digits).filter(|_| (1..=3).contains(&digits))?.parse().ok()
}
pub(crate) fn runs_tests(command: &str) -> bool {
    TEST_RUNNERS.iter().any(|runner| command.contains(runner))
}

/// Report of a test run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestReport {
    /// Names of the failing tests, each once.
    pub failing: Vec<String>,
    /// The last lines of output, if no line names a failing test.
    pub last_lines: Vec<String>,
}

impl TestReport {
    /// Reads the report from the last text of a result.
    pub fn of(result: Option<&ToolResult>) -> Self {
        let text = tail(result.map_or("", said), LOOKED_THROUGH);
        let name = |line: &str| {
            let line = line.trim();
            let between = |(start, end): &(&str, &str)| {
                line.strip_prefix(start)?.strip_suffix(end).map(|name| one_line(name, LINE_BYTES))
            };
            FAILING.iter().find_map(between).filter(|name| !name.is_empty())
        };
        let mut known = BTreeSet::new();
        let failing: Vec<String> =
            text.lines().filter_map(name).filter(|name| known.insert(name.clone())).collect();
        let says_more = |line: &&str| !line.trim().is_empty() && exit_code(line).is_none();
        let of_end = if failing.is_empty() { LAST_LINES } else { 0 };
        let last = text.lines().rev().filter(says_more).take(of_end);
        let mut last_lines: Vec<String> = last.map(|line| one_line(line, LINE_BYTES)).collect();
        last_lines.reverse();
        Self { failing, last_lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Body;

    fn result(text: &str) -> ToolResult {
        match Body::result("c", text) {
            Body::Tool(result) => result,
            _ => unreachable!("a result"),
        }
    }

    #[test]
    fn a_stated_exit_code_is_found_where_tools_state_it() {
        for (text, code) in [
            ("boom\n\nCommand exited with code 101", Some(101)),
            (
                "Exit code: 2\nWall time: 1 s\nOutput:\nlong\n\n\nthat ends with something else entirely, far away from it all, 120 bytes and more from the start of it",
                Some(2),
            ),
            (r#"{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.1}}"#, Some(0)),
            ("out\n<exit_code>1</exit_code>", Some(1)),
            ("out\n[exit 3]", Some(3)),
            ("Process finished, returncode: 1", Some(1)),
            ("exit status 12345", None),
            ("the exit is near", None),
            ("", None),
        ] {
            let expected = code.map_or(Outcome::Ok, Outcome::Exit);
            assert_eq!(Outcome::of(Some(&result(text))), expected, "{text}");
        }
        assert_eq!(Outcome::of(None), Outcome::Unknown);
        assert_eq!(Outcome::of(Some(&ToolResult { is_error: true, ..result("no") })), Outcome::Error);
        assert_eq!(
            Outcome::of(Some(&ToolResult { exit_code: Some(7), ..result("exit code 9") })),
            Outcome::Exit(7)
        );
    }

    #[test]
    fn test_report_names_failures_else_last_lines() {
        for (text, failing) in [
            ("test a::b ... ok\ntest a::c ... FAILED\n\ntest result: FAILED. 1 passed", "a::c"),
            ("FAILED tests/x.py::test_y - boom", "tests/x.py::test_y - boom"),
            ("--- FAIL: TestIt (0.00s)", "TestIt (0.00s)"),
            (" ✕ adds (3 ms)\n ✓ takes\n ✕ adds (3 ms)", "adds (3 ms)"),
        ] {
            let expected = TestReport { failing: vec![failing.to_owned()], last_lines: Vec::new() };
            assert_eq!(TestReport::of(Some(&result(text))), expected, "{text}");
        }
        for (text, expected) in [
            ("building\n\n12 passed\n\nCommand exited with code 0", vec!["building", "12 passed"]),
            ("", vec![]),
        ] {
            let report = TestReport::of(Some(&result(text)));
            assert_eq!(
                (report.failing.len(), report.last_lines),
                (0, expected.into_iter().map(str::to_owned).collect())
            );
        }
        let many: String = (0..20).map(|n| format!("not ok {n}\n")).collect();
        let report = TestReport::of(Some(&result(&many)));
        assert_eq!(
            report.failing,
            (0..20).map(|n| n.to_string()).collect::<Vec<_>>(),
            "all of them are named"
        );
    }
}
