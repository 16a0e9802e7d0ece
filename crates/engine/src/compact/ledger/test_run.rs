//! Runs of tests and failures of commands, read from the command and its output by tables of what runners print.

use super::outcome::{exit_code, said};
use crate::message::ToolResult;
use crate::text::{one_line, tail};
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Substrings of commands that run tests.
const TEST_COMMANDS: &[&str] = &[
    "bun test",
    "cargo nextest",
    "cargo test",
    "ctest",
    "deno test",
    "dotnet test",
    "go test",
    "jest",
    "mocha",
    "phpunit",
    "pytest",
    "rspec",
    "swift test",
    "tests/run",
    "tox",
    "unittest",
    "vitest",
];
/// Programs that run a task by its name.
const TASK_RUNNERS: &[&str] = &[
    "bazel", "bun", "composer", "gradle", "gradlew", "hatch", "just", "make", "mise", "mix", "mvn", "mvnw",
    "npm", "nox", "nx", "pnpm", "poetry", "rake", "sbt", "task", "turbo", "uv", "yarn",
];
/// Words after a task runner with which it runs no task.
const NO_TASK: &[&str] = &["add", "install", "i", "remove", "uninstall"];
/// Programs whose output is the text of something else.
const READERS: &[&str] = &[
    "awk", "cat", "cd", "curl", "cut", "diff", "echo", "find", "gh", "git", "grep", "head", "jq", "kubectl",
    "less", "ls", "nl", "pgrep", "printf", "ps", "rg", "sed", "sleep", "sort", "tail", "tee", "true", "uniq",
    "wc", "xargs",
];
/// Beginnings of the results of calls that a program did not run.
const NOT_RUN: &[&str] = &["<tool_use_error>"];
/// Bytes at the end of an output that are searched for the summary of a run.
const AT_END: usize = 4000;

#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static TEST_SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    let lines = [
        r"^test result: ",
        r"\b\d+ (?:passed|failed|passing|failing)\b",
        r"^# (?:pass|fail) \d",
        r"^(?:ok|FAIL)\s+\S+\s+[\d.]+s",
        r"^(?:OK|FAILED) \(",
        r"^Ran \d+ tests? in ",
        r"^--- (?:PASS|FAIL): ",
    ];
    Regex::new(&format!("(?m){}", lines.join("|"))).expect("pattern")
});
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    let lines = [
        r"^test result: FAILED",
        r"\b[1-9]\d* (?:failed|failing|failures?)\b",
        r"^# fail [1-9]",
        r"^\s*FAIL\s",
        r"^FAILED\b",
        r"^--- FAIL: ",
        r"\b(?:failures|errors)=[1-9]",
        r"^error: could not compile",
        r"^g?make(?:\[\d+\])?: \*\*\* ",
        r"^npm (?:ERR!|error) ",
        r"\bBUILD FAILED\b",
        r"^Found [1-9]\d* errors?\b",
    ];
    Regex::new(&format!("(?m){}", lines.join("|"))).expect("pattern")
});

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
/// Beginnings of the line with which the message of a failure starts.
const MESSAGE: &[&str] = &[
    "---- ",
    "E   ",
    "● ",
    "--- FAIL: ",
    "not ok ",
    "Traceback ",
    "error:",
    "error[",
    "Error:",
    "ERROR:",
    "fatal:",
    "panic:",
    "AssertionError",
    "FAIL: ",
];
/// Parts of such a line elsewhere in it.
const IN_MESSAGE: &[&str] = &[" panicked at ", ": error:", ": error TS", "Error: "];
/// Number of last lines kept of a run that names no failing test.
const LAST_LINES: usize = 2;
/// Number of lines kept of a failure's message.
const MESSAGE_LINES: usize = 6;
/// Bytes kept of a name or a line.
const LINE_BYTES: usize = 400;
/// Bytes at the end of an output that are searched for them.
const LOOKED_THROUGH: usize = 200_000;

/// `true` if the command runs tests, by its text or by what it printed. `programs` are those that it runs.
pub(super) fn runs_tests(command: &str, programs: &[String], result: Option<&ToolResult>) -> bool {
    TEST_COMMANDS.iter().any(|known| command.contains(known))
        || runs_test_task(command)
        || (is_own_output(programs) && TEST_SUMMARY.is_match(end_of(result)))
}

/// `true` if the output says that something failed.
pub(super) fn reports_failure(programs: &[String], result: Option<&ToolResult>) -> bool {
    is_own_output(programs) && FAILED.is_match(end_of(result))
}

/// `true` if the result says that the call was not run at all.
pub(super) fn was_not_run(result: &ToolResult) -> bool {
    NOT_RUN.iter().any(|start| said(result).trim_start().starts_with(start))
}

/// `true` unless the command only runs programs that show other text.
pub(super) fn is_own_output(programs: &[String]) -> bool {
    programs.iter().any(|program| !reads_only(program))
}

/// `true` for a program that only shows or filters text.
pub(super) fn reads_only(program: &str) -> bool {
    READERS.contains(&program)
}

fn end_of(result: Option<&ToolResult>) -> &str {
    tail(result.map_or("", said), AT_END)
}

fn runs_test_task(command: &str) -> bool {
    command.split([';', '|', '&', '\n']).any(|part| {
        let mut words = part.split_whitespace();
        let runner = words.find_map(|word| {
            let name = word.rsplit('/').next().unwrap_or(word);
            TASK_RUNNERS.contains(&name).then_some(name)
        });
        let checks = ["just", "make", "mise", "task"];
        runner.is_some_and(|runner| {
            let mut tasks = words.take_while(|word| !NO_TASK.contains(word));
            tasks.any(|word| {
                let is_check = word == "check" && checks.contains(&runner);
                is_check || word == "test" || word == "tests" || word.starts_with("test:")
            })
        })
    })
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
        let last_lines = if failing.is_empty() { last_lines(text) } else { Vec::new() };
        Self { failing, last_lines }
    }
}

/// Returns the first lines of a failure's message in the last text of a result, else the last lines.
pub(super) fn failure_message(result: Option<&ToolResult>) -> Vec<String> {
    let text = tail(result.map_or("", said), LOOKED_THROUGH);
    let begins = |line: &&str| {
        let line = line.trim_start();
        MESSAGE.iter().any(|start| line.starts_with(start))
            || IN_MESSAGE.iter().any(|part| line.contains(part))
    };
    let says_more = |line: &&str| !line.trim().is_empty() && exit_code(line).is_none();
    let message = text.lines().skip_while(|line| !begins(line)).filter(says_more).take(MESSAGE_LINES);
    let message: Vec<String> = message.map(|line| one_line(line, LINE_BYTES)).collect();
    if message.is_empty() { last_lines(text) } else { message }
}

fn last_lines(text: &str) -> Vec<String> {
    let says_more = |line: &&str| !line.trim().is_empty() && exit_code(line).is_none();
    let last = text.lines().rev().filter(says_more).take(LAST_LINES);
    let mut lines: Vec<String> = last.map(|line| one_line(line, LINE_BYTES)).collect();
    lines.reverse();
    lines
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

    fn programs(command: &str) -> Vec<String> {
        shell::effects(command, None, None).programs
    }

    #[test]
    fn test_runs_are_recognized_behind_runners_and_pipes() {
        for command in [
            "mise run test",
            "make test 2>&1 | tail -5",
            "just check",
            "npx jest --ci",
            "uv run pytest -q | grep -c passed",
            "cd web && npm --prefix . run test:unit",
            "./gradlew :core:build test",
            "task -d api test",
        ] {
            assert!(runs_tests(command, &programs(command), None), "{command}");
        }
        for command in
            ["npm install test", "make build", "cat test.log", "git commit -m 'add test'", "yarn add test"]
        {
            assert!(!runs_tests(command, &programs(command), None), "{command}");
        }
        let report = result("ok 1\n# pass 3\n# fail 0");
        assert!(runs_tests("./ci.sh", &programs("./ci.sh"), Some(&report)), "by its output");
        assert!(
            !runs_tests("cat ci.log", &programs("cat ci.log"), Some(&report)),
            "it shows another's output"
        );
    }

    #[test]
    fn output_that_says_failed_is_no_success() {
        for (command, text, fails) in [
            ("cargo test | tail -3", "test result: FAILED. 3 passed; 1 failed; 0 ignored", true),
            ("cargo test | tail -3", "test result: ok. 3 passed; 0 failed; 0 ignored", false),
            ("uv run pytest | tail -1", "= 2 failed, 31 passed in 0.41s =", true),
            ("go test ./... | tail", "FAIL\tgithub.com/a/b\t0.2s", true),
            ("make | tail -1", "make: *** [Makefile:3: all] Error 2", true),
            ("npx tsc | tail", "Found 3 errors in 2 files.", true),
            ("cargo build | tail", "error: could not compile `x` (lib) due to 2 previous errors", true),
            ("cat ci.log", "2 failed", false),
            ("grep -rn failed src | head", "src/a.rs:3: 2 failed", false),
            ("./deploy.sh", "all done", false),
        ] {
            assert_eq!(reports_failure(&programs(command), Some(&result(text))), fails, "{command}: {text}");
        }
    }

    #[test]
    fn message_of_a_failure_begins_where_it_says_what_failed() {
        let rust = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\n\nthread 'b' \
                    panicked at src/lib.rs:3:5:\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: run with";
        let lines = failure_message(Some(&result(rust)));
        let expected = [
            "---- b stdout ----",
            "thread 'b' panicked at src/lib.rs:3:5:",
            "assertion `left == right` failed",
            "left: 1",
            "right: 2",
            "note: run with",
        ];
        assert_eq!(lines.iter().map(|line| line.trim()).collect::<Vec<_>>(), expected);
        let python = "....F\n    def test_y():\n>       assert f() == 2\nE       assert 1 == 2\n\nFAILED tests/x.py::test_y";
        assert_eq!(failure_message(Some(&result(python)))[0].trim(), "E assert 1 == 2");
        let other = failure_message(Some(&result("one\ntwo\nthree\nexit code 3")));
        assert_eq!(other, ["two", "three"]);
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
