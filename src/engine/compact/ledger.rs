//! The ledger: what the tools of a span did, made by code from the rounds themselves, so that it does not decay over
//! repeated compactions. No model, no guess: what is not known is said to be unknown.

use super::known_tools::{About, about, kind_of};
use super::record::Span;
use super::template::{command_line, file_line};
use crate::engine::message::{Body, Content, ToolCall, ToolResult};
use crate::engine::prompt::item::{Tool, ToolKind};
use crate::engine::text::{one_line, tail};
use crate::engine::transcript::Transcript;
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes of a command that the ledger shows.
const COMMAND_BYTES: usize = 100;
/// Commands that the ledger shows at most.
const MOST_COMMANDS: usize = 60;
/// Bytes of a todo that the ledger shows.
const TODO_BYTES: usize = 120;

/// What the tools of a span did, each list by the last touch, oldest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// Files.
    pub files: Vec<FileLine>,
    /// Commands.
    pub commands: Vec<CommandLine>,
    /// The last run of tests.
    pub last_test: Option<CommandLine>,
    /// Todos that are not done, from the newest list.
    pub todos: Vec<String>,
}

/// A file that was changed, read, or named in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Its path as the calls named it.
    pub path: String,
    /// How often it was changed.
    pub changed: u32,
    /// SHA-256 of what it holds, where a tool reported it after the last change.
    pub sha256: Option<String>,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The command on one line, cut.
    pub command: String,
    /// How it ended.
    pub outcome: Outcome,
    /// How often it ran with this outcome, in a row or not.
    pub times: u32,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The tool stated an exit code.
    Exit(i32),
    /// It answered, and did not say that it failed.
    Ok,
    /// It said that it failed.
    Error,
    /// No result was recorded.
    Unknown,
}

impl Outcome {
    /// As the ledger says it.
    pub fn words(self) -> String {
        match self {
            Outcome::Exit(code) => format!("exit {code}"),
            Outcome::Ok => "ok".into(),
            Outcome::Error => "error".into(),
            Outcome::Unknown => "unknown".into(),
        }
    }
}

/// An exit code that a result states in its text, near its end or at its start.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static EXIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i-u)exit(?:ed)?(?: with)?(?: code| status)?[: ]+(\d{1,3})\b").expect("pattern")
});

/// A path with an extension, as commands name files.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)(?:[\w.@-]*/)+[\w.@-]+\.[A-Za-z]\w{0,4}\b").expect("pattern"));

/// The files that a command names.
pub fn paths_in(command: &str) -> impl Iterator<Item = &str> {
    PATH.find_iter(command).map(|found| found.as_str()).filter(|path| !path.starts_with("//"))
}

/// Commands that run tests, by what they contain.
const TEST_RUNNERS: &[&str] = &[
    "cargo test",
    "cargo nextest",
    "ctest",
    "go test",
    "gradle test",
    "jest",
    "mocha",
    "mvn test",
    "npm run test",
    "npm test",
    "pnpm test",
    "pytest",
    "rspec",
    "tests/run",
    "tox",
    "unittest",
    "vitest",
    "yarn test",
];

/// How a call ended: a stated exit code, else whether the tool said that it failed, else unknown.
pub fn outcome(result: Option<&ToolResult>) -> Outcome {
    let Some(result) = result else { return Outcome::Unknown };
    if let Some(code) = result.exit_code {
        return Outcome::Exit(code);
    }
    let text = result.content.iter().rev().find_map(Content::text).map_or("", |text| &**text);
    if let Some(code) = EXIT.captures(tail(text, 120)).and_then(|found| found.get(1)?.as_str().parse().ok()) {
        return Outcome::Exit(code);
    }
    if result.is_error { Outcome::Error } else { Outcome::Ok }
}

/// Reads the ledger of a span.
pub fn ledger(transcript: &Transcript, span: Span, tools: &[Tool]) -> Ledger {
    let mut reading = Reading::default();
    let from = transcript.first_round_from(span.from);
    let rounds = transcript.rounds().iter().skip(from).take_while(|round| round.assistant <= span.to);
    for round in rounds.filter(|round| !transcript.is_excluded(round.assistant)) {
        let Some(Body::Assistant { calls, .. }) = transcript.message(round.assistant).map(|m| &m.body) else {
            continue;
        };
        for (call, answer) in calls.iter().zip(&round.results) {
            let result = answer.and_then(|ord| transcript.message(ord)).and_then(|m| match &m.body {
                Body::Tool(result) => Some(result),
                _ => None,
            });
            reading.add(call, result, tools);
        }
    }
    reading.done()
}

/// A ledger while it is read: by path and by command, with the number of the last touch.
#[derive(Default)]
struct Reading {
    touches: usize,
    files: BTreeMap<String, (usize, FileLine)>,
    commands: BTreeMap<(String, Outcome), (usize, u32)>,
    last_test: Option<(String, Outcome)>,
    todos: Vec<String>,
}

impl Reading {
    fn add(&mut self, call: &ToolCall, result: Option<&ToolResult>, tools: &[Tool]) {
        let About { path, command, todos } = about(call);
        let outcome = outcome(result);
        let failed = matches!(outcome, Outcome::Error | Outcome::Unknown);
        match kind_of(&call.name, tools) {
            ToolKind::Read => path.into_iter().for_each(|path| self.touch(path, 0)),
            ToolKind::Write => {
                path.into_iter().for_each(|path| self.touch(path, u32::from(!failed)));
            }
            ToolKind::Run => {
                if let Some(command) = command {
                    paths_in(&command).for_each(|path| self.touch(path.to_owned(), 0));
                    self.ran(&command, outcome);
                }
            }
            ToolKind::Todo => {
                let open =
                    todos.into_iter().filter(|(_, status)| !matches!(status.as_str(), "completed" | "done"));
                self.todos = open
                    .map(|(text, status)| format!("{} ({status})", one_line(&text, TODO_BYTES)))
                    .collect();
            }
            ToolKind::Search | ToolKind::Ask | ToolKind::Other => {}
        }
        for effect in result.map_or(&[][..], |result| &result.effects) {
            if !self.files.contains_key(&effect.path) {
                self.touch(effect.path.clone(), 1);
            }
            if let Some((_, file)) = self.files.get_mut(&effect.path) {
                file.sha256 = Some(effect.sha256.clone());
            }
        }
    }

    /// A change makes an older hash unknown.
    fn touch(&mut self, path: String, changes: u32) {
        self.touches += 1;
        let fresh = || (0, FileLine { path: path.clone(), changed: 0, sha256: None });
        let (last, file) = self.files.entry(path.clone()).or_insert_with(fresh);
        *last = self.touches;
        file.changed += changes;
        if changes > 0 {
            file.sha256 = None;
        }
    }

    fn ran(&mut self, command: &str, outcome: Outcome) {
        self.touches += 1;
        let line = (one_line(command, COMMAND_BYTES), outcome);
        if TEST_RUNNERS.iter().any(|runner| command.contains(runner)) {
            self.last_test = Some(line.clone());
        }
        let (last, times) = self.commands.entry(line).or_default();
        *last = self.touches;
        *times += 1;
    }

    fn done(self) -> Ledger {
        let line = |(command, outcome), times| CommandLine { command, outcome, times };
        let mut files: Vec<(usize, FileLine)> = self.files.into_values().collect();
        files.sort_by_key(|(last, _)| *last);
        let mut commands: Vec<(usize, CommandLine)> =
            self.commands.into_iter().map(|(ran, (last, times))| (last, line(ran, times))).collect();
        commands.sort_by_key(|(last, _)| *last);
        Ledger {
            files: files.into_iter().map(|(_, file)| file).collect(),
            commands: commands.into_iter().map(|(_, command)| command).collect(),
            last_test: self.last_test.map(|ran| line(ran, 1)),
            todos: self.todos,
        }
    }
}

/// The lines of a ledger that fit its space, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
    /// Files, changed ones first.
    pub files: Vec<FileLine>,
    /// Commands.
    pub commands: Vec<CommandLine>,
}

impl Ledger {
    /// As many lines as `tokens` allow, by the weight of each: files take four fifths at most, commands the rest.
    pub fn shown(&self, tokens: u32, weigh: impl Fn(&str) -> u32) -> Shown {
        let mut left = tokens / 5 * 4;
        let changed = self.files.iter().rev().filter(|file| file.changed > 0);
        let read = self.files.iter().rev().filter(|file| file.changed == 0);
        let mut shown = Shown::default();
        for file in changed.chain(read) {
            let weight = weigh(&file_line(file)) + 1;
            if weight <= left {
                left -= weight;
                shown.files.push(file.clone());
            }
        }
        left += tokens - tokens / 5 * 4;
        for command in self.commands.iter().rev().take(MOST_COMMANDS) {
            let weight = weigh(&command_line(command)) + 1;
            if weight > left {
                break;
            }
            left -= weight;
            shown.commands.push(command.clone());
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::id::{Ordinal, SessionId};
    use crate::engine::message::{Effect, NewMessage};
    use crate::engine::tokens::QuarterOfChars;

    fn run(rounds: &[(&str, &str, Option<ToolResult>)]) -> Ledger {
        let mut transcript = Transcript::new(SessionId::new("s"));
        transcript.append(NewMessage::user("go"), &QuarterOfChars);
        for (n, (tool, arguments, result)) in rounds.iter().enumerate() {
            let id = format!("c{n}");
            let call = ToolCall::new(&id, tool, arguments);
            transcript.append(NewMessage::new(Body::assistant("", vec![call])), &QuarterOfChars);
            if let Some(result) = result {
                let result = ToolResult { call: id, ..result.clone() };
                transcript.append(NewMessage::new(Body::Tool(result)), &QuarterOfChars);
            }
        }
        ledger(&transcript, Span { from: Ordinal(0), to: Ordinal(u32::MAX) }, &[])
    }

    fn said(text: &str) -> Option<ToolResult> {
        match Body::result("", text) {
            Body::Tool(result) => Some(result),
            _ => None,
        }
    }

    #[test]
    fn files_commands_tests_and_todos_are_read_from_the_rounds() {
        let changed = ToolResult {
            effects: vec![Effect { path: "a.rs".into(), sha256: "ff".into() }],
            ..ToolResult::default()
        };
        let ledger = run(&[
            ("read", r#"{"path":"a.rs"}"#, said("text")),
            ("read", r#"{"path":"b.rs"}"#, said("text")),
            ("edit", r#"{"path":"a.rs"}"#, Some(changed)),
            ("bash", r#"{"command":"cargo test"}"#, said("FAILED\n\nCommand exited with code 101")),
            ("bash", r#"{"command":"ls"}"#, None),
            ("bash", r#"{"command":"ls -l"}"#, Some(ToolResult { is_error: true, ..ToolResult::default() })),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"one","status":"completed"},{"content":"two","status":"pending"}]}"#,
                said("ok"),
            ),
        ]);
        assert_eq!(
            ledger.files,
            [
                FileLine { path: "b.rs".into(), changed: 0, sha256: None },
                FileLine { path: "a.rs".into(), changed: 1, sha256: Some("ff".into()) },
            ]
        );
        let outcomes: Vec<Outcome> = ledger.commands.iter().map(|line| line.outcome).collect();
        assert_eq!(outcomes, [Outcome::Exit(101), Outcome::Unknown, Outcome::Error]);
        assert_eq!(ledger.last_test.map(|line| line.outcome), Some(Outcome::Exit(101)));
        assert_eq!(ledger.todos, ["two (pending)"]);
    }

    #[test]
    fn a_change_makes_an_older_hash_unknown() {
        let reported = ToolResult {
            effects: vec![Effect { path: "a".into(), sha256: "ff".into() }],
            ..ToolResult::default()
        };
        let ledger =
            run(&[("write", r#"{"path":"a"}"#, Some(reported)), ("write", r#"{"path":"a"}"#, said("done"))]);
        assert_eq!(ledger.files, [FileLine { path: "a".into(), changed: 2, sha256: None }]);
    }
}
