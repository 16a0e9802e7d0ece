//! The ledger: effects of a span's tool calls, read by code from the rounds, so that it does not decay over repeated
//! compactions. No model and no guesses: unknown outcomes are listed as unknown. [`outcome`] reads results, [`lines`]
//! words and selects the lines of a block, [`report`] lists everything for people.

pub mod lines;
pub mod outcome;
pub mod report;

use super::known_tools::{Kinds, runs_cells, writes_whole};
use super::record::{Compaction, Span};
use crate::id::{MessageId, Ordinal};
use crate::message::about::{About, patched};
use crate::message::{Body, Content, Message, ToolCall, ToolResult, Verdict};
use crate::prompt::item::ToolKind;
use crate::text::one_line;
use crate::transcript::Transcript;
use outcome::{Outcome, TestReport, runs_tests};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes that identify a command; the rest is cut.
const COMMAND_BYTES: usize = 400;
/// States of todos that are not open.
const DONE: &[&str] = &["cancelled", "canceled", "complete", "completed", "done"];

/// Effects of a span's tool calls. Files, commands, decisions and cells are ordered by their last call, oldest first; a
/// line's `last` is the message of that call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Files that were changed, read or named.
    pub files: Vec<FileLine>,
    /// Commands that were run.
    pub commands: Vec<CommandLine>,
    /// The last test run.
    pub last_test: Option<TestRun>,
    /// Todos that are not done, from the newest list, as (text, status).
    pub todos: Vec<(String, String)>,
    /// Decisions of the user about calls.
    pub decisions: Vec<DecisionLine>,
    /// Notebook cells that were run.
    pub cells: Vec<CellLine>,
    /// Write and run calls whose arguments could not be read.
    pub unreadable: Vec<UnreadableLine>,
    /// Images in messages.
    pub images: Vec<ImageLine>,
}

/// A file that was changed, read, or named in a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// The path as the calls named it.
    pub path: String,
    /// Number of changes.
    pub changed: u32,
    /// SHA-256 after the last change, if a tool reported it or wrote the whole file.
    pub sha256: Option<String>,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The command on one line, cut.
    pub command: String,
    /// Outcome of these runs.
    pub outcome: Outcome,
    /// Number of runs with this outcome, consecutive or not.
    pub times: u32,
    /// `true` if the latest run had this outcome.
    pub is_last_run: bool,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// A run of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestRun {
    /// The command on one line, cut.
    pub command: String,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// Failing tests, or the last lines of output.
    pub report: TestReport,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// A decision of the user about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionLine {
    /// The tool, with the command, path or cell of the call.
    pub call: String,
    /// Approval or rejection, with the user's note.
    pub verdict: Verdict,
    /// Number of equal decisions.
    pub times: u32,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// A notebook's cell that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellLine {
    /// The cell as the call named it.
    pub cell: String,
    /// Path of the notebook, if the call named it.
    pub notebook: Option<String>,
    /// Outcome of the latest run.
    pub outcome: Outcome,
    /// Kinds of its output: `text`, `image`, `file`.
    pub output: Vec<&'static str>,
    /// Number of runs.
    pub times: u32,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// Calls of a tool with one outcome whose arguments could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableLine {
    /// Name of the tool.
    pub tool: String,
    /// Outcome of the calls.
    pub outcome: Outcome,
    /// Number of calls.
    pub times: u32,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// An image in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLine {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// SHA-256 of its data as given.
    pub sha256: String,
    /// Id of the message that holds it, for recall.
    pub message: MessageId,
    /// Position of that message.
    pub ord: Ordinal,
}

/// A path with an extension, as commands name files.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)(?:[\w.@-]*/)+[\w.@-]+\.[A-Za-z]\w{0,4}\b").expect("pattern"));

/// The files that a command names.
pub(crate) fn paths_in(command: &str) -> impl Iterator<Item = &str> {
    PATH.find_iter(command).map(|found| found.as_str()).filter(|path| !path.starts_with("//"))
}

/// Reads the ledger of a span.
pub fn ledger(transcript: &Transcript, span: Span, kinds: Kinds<'_>) -> Ledger {
    let mut reading = LedgerReader::new(transcript, span.from, kinds);
    reading.read_to(span.to);
    reading.done()
}

/// Returns a warning per tool and outcome about unreadable calls that `record` covers and the one before it did not.
pub fn unreadable(transcript: &Transcript, record: &Compaction, kinds: Kinds<'_>) -> Vec<String> {
    let before = transcript.compactions().iter().find(|known| Some(&known.id) == record.previous.as_ref());
    let from = before.map_or(Ordinal(0), Compaction::resume_at);
    let Some(Span { to, .. }) = record.covers.filter(|span| span.to >= from) else { return Vec::new() };
    let lines = ledger(transcript, Span { from, to }, kinds).unreadable;
    let say = |line: UnreadableLine| {
        let UnreadableLine { tool, times, .. } = line;
        format!("the arguments of {times} calls of {tool} could not be read; the ledger names only the tool")
    };
    lines.into_iter().map(say).collect()
}

/// A ledger under construction. A clone can be read on, so that the part common to all ends that are tried is read
/// once.
#[derive(Clone)]
pub struct LedgerReader<'t> {
    transcript: &'t Transcript,
    kinds: Kinds<'t>,
    /// The first unread message.
    next: Ordinal,
    /// Number of touches so far, and the message whose calls are read.
    now: Touch,
    files: BTreeMap<String, Touched<FileLine>>,
    commands: BTreeMap<String, BTreeMap<Outcome, Touched<u32>>>,
    last_test: Option<(String, Outcome, Option<&'t ToolResult>, Ordinal)>,
    todos: Vec<(String, String)>,
    decisions: BTreeMap<(String, bool, Option<String>), Touched<u32>>,
    cells: BTreeMap<(Option<String>, String), Touched<CellLine>>,
    unreadable: BTreeMap<(String, Outcome), (u32, Ordinal)>,
    images: Vec<ImageLine>,
}

/// Serial number of a touch, and its message.
type Touch = (usize, Ordinal);
/// A value with its last touch.
type Touched<T> = (Touch, T);

impl<'t> LedgerReader<'t> {
    /// Returns a reading that starts at `from`, with nothing read.
    pub fn new(transcript: &'t Transcript, from: Ordinal, kinds: Kinds<'t>) -> Self {
        Self {
            transcript,
            kinds,
            next: from,
            now: (0, from),
            files: BTreeMap::new(),
            commands: BTreeMap::new(),
            last_test: None,
            todos: Vec::new(),
            decisions: BTreeMap::new(),
            cells: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            images: Vec::new(),
        }
    }

    /// Reads on up to and including `to`, with the results of its calls.
    pub(crate) fn read_to(&mut self, to: Ordinal) {
        let transcript = self.transcript;
        let from = self.next;
        self.next = Ordinal(to.0.saturating_add(1)).max(from);
        let rounds = transcript.rounds().iter().skip(transcript.first_round_from(from));
        let is_shown = |ord: Ordinal| !transcript.is_excluded(ord);
        let rounds = rounds.take_while(|round| round.assistant <= to);
        for round in rounds.filter(|round| is_shown(round.assistant)) {
            let Some(message) = transcript.message(round.assistant) else { continue };
            let Body::Assistant { calls, .. } = &message.body else { continue };
            self.now.1 = message.ord;
            for ((call, about), answer) in calls.iter().zip(message.about()).zip(&round.results) {
                let result = answer.and_then(|ord| transcript.message(ord)).and_then(|m| match &m.body {
                    Body::Tool(result) => Some(result),
                    _ => None,
                });
                self.add(call, about, result);
            }
        }
        let messages = transcript.range(from, to).iter();
        for message in messages.filter(|message| message.visible_to_model && is_shown(message.ord)) {
            self.images.extend(images(message));
        }
    }

    fn add(&mut self, call: &ToolCall, about: &'t About, result: Option<&'t ToolResult>) {
        let outcome = Outcome::of(result);
        let kind = self.kinds.of_call(&call.name, about);
        let is_cell = runs_cells(&call.name);
        let says_nothing = !about.is_readable || (is_cell && about.cell.is_none());
        if says_nothing && matches!(kind, ToolKind::Write | ToolKind::Run) {
            let (times, last) = self.unreadable.entry((call.name.to_string(), outcome)).or_default();
            (*times, *last) = (*times + 1, self.now.1);
        }
        if let Some(verdict) = result.and_then(|result| result.verdict.as_ref()) {
            self.decided(call, about, verdict);
        }
        let before = self.now;
        match kind {
            ToolKind::Read => about.paths.iter().for_each(|path| self.touch(path, 0)),
            ToolKind::Write => self.wrote(call, about, outcome),
            ToolKind::Run => self.ran(about, outcome, result),
            ToolKind::Todo => {
                if let Some(todos) = &about.todos {
                    let is_open = |(_, status): &&(String, String)| !DONE.contains(&status.as_str());
                    self.todos = todos.iter().filter(is_open).cloned().collect();
                }
            }
            ToolKind::Search | ToolKind::Ask | ToolKind::Other => {}
        }
        for effect in result.map_or(&[][..], |result| &result.effects) {
            let is_counted =
                self.files.get(&effect.path).is_some_and(|(last, file)| *last > before && file.changed > 0);
            if !is_counted {
                self.touch(&effect.path, 1);
            }
            if let Some((_, file)) = self.files.get_mut(&effect.path) {
                file.sha256 = Some(effect.sha256.clone());
            }
        }
    }

    fn touched(&mut self) -> Touch {
        self.now.0 += 1;
        self.now
    }

    /// Touches a file; a change makes its older hash unknown.
    fn touch(&mut self, path: &str, changes: u32) {
        let now = self.touched();
        let fresh = || (now, FileLine { path: path.to_owned(), changed: 0, sha256: None, last: now.1 });
        if !self.files.contains_key(path) {
            self.files.insert(path.to_owned(), fresh());
        }
        let Some((last, file)) = self.files.get_mut(path) else { return };
        (*last, file.last) = (now, now.1);
        file.changed += changes;
        if changes > 0 {
            file.sha256 = None;
        }
    }

    fn wrote(&mut self, call: &ToolCall, about: &About, outcome: Outcome) {
        let is_done = outcome.is_good();
        about.paths.iter().for_each(|path| self.touch(path, u32::from(is_done)));
        if let ([path], Some(sha256)) = (about.paths.as_slice(), &about.content_sha256)
            && is_done
            && writes_whole(&call.name, about)
            && let Some((_, file)) = self.files.get_mut(path)
        {
            file.sha256 = Some(sha256.clone());
        }
    }

    fn ran(&mut self, about: &'t About, outcome: Outcome, result: Option<&'t ToolResult>) {
        if let Some(cell) = &about.cell {
            return self.ran_cell(cell, about, outcome, result);
        }
        let Some(command) = &about.command else { return };
        paths_in(command).for_each(|path| self.touch(path, 0));
        // Some agents apply patches through a shell.
        patched(command).for_each(|path| self.touch(path, u32::from(outcome.is_good())));
        let now = self.touched();
        let line = one_line(command, COMMAND_BYTES);
        if runs_tests(command) {
            self.last_test = Some((line.clone(), outcome, result, now.1));
        }
        let (last, times) = self.commands.entry(line).or_default().entry(outcome).or_default();
        *last = now;
        *times += 1;
    }

    fn ran_cell(&mut self, cell: &str, about: &About, outcome: Outcome, result: Option<&ToolResult>) {
        let now = self.touched();
        let notebook = about.path().map(str::to_owned);
        let output = output_kinds(result);
        let known = self.cells.remove(&(notebook.clone(), cell.to_owned()));
        let times = known.map_or(0, |(_, line)| line.times) + 1;
        let cell = cell.to_owned();
        let key = (notebook.clone(), cell.clone());
        let line = CellLine { cell, notebook, outcome, output, times, last: now.1 };
        self.cells.insert(key, (now, line));
    }

    fn decided(&mut self, call: &ToolCall, about: &About, verdict: &Verdict) {
        let now = self.touched();
        let with = about.command.as_deref().or(about.path()).or(about.cell.as_deref()).unwrap_or_default();
        let call = one_line(&format!("{} {with}", call.name), COMMAND_BYTES);
        let (last, times) = self.decisions.entry((call, verdict.approved, verdict.note.clone())).or_default();
        *last = now;
        *times += 1;
    }

    /// Reads on to the end of the span that `record` hides, and returns its ledger without images of kept messages. The
    /// reading must not be past that end.
    pub fn of(mut self, record: &Compaction) -> Ledger {
        let Some(span) = record.dropped.or(record.covers) else { return Ledger::default() };
        self.read_to(span.to);
        let mut ledger = self.done();
        ledger.images.retain(|image| {
            !record.kept_users.contains(&image.ord) && !record.open_requests.contains(&image.ord)
        });
        ledger
    }

    /// Returns the ledger of everything read so far.
    pub fn done(self) -> Ledger {
        let mut commands = Vec::new();
        for (command, outcomes) in self.commands {
            let newest = outcomes.values().map(|(last, _)| *last).max();
            for (outcome, (last, times)) in outcomes {
                let (is_last_run, command) = (Some(last) == newest, command.clone());
                commands.push((last, CommandLine { command, outcome, times, is_last_run, last: last.1 }));
            }
        }
        let decisions = self.decisions.into_iter().map(|((call, approved, note), (last, times))| {
            (last, DecisionLine { call, verdict: Verdict { approved, note }, times, last: last.1 })
        });
        let unreadable = self.unreadable.into_iter();
        Ledger {
            files: in_order(self.files.into_values()),
            commands: in_order(commands.into_iter()),
            last_test: self.last_test.map(|(command, outcome, result, last)| TestRun {
                command,
                outcome,
                report: TestReport::of(result),
                last,
            }),
            todos: self.todos,
            decisions: in_order(decisions),
            cells: in_order(self.cells.into_values()),
            unreadable: unreadable
                .map(|((tool, outcome), (times, last))| UnreadableLine { tool, outcome, times, last })
                .collect(),
            images: self.images,
        }
    }
}

fn in_order<T>(touched: impl Iterator<Item = Touched<T>>) -> Vec<T> {
    let mut all: Vec<Touched<T>> = touched.collect();
    all.sort_by_key(|(last, _)| *last);
    all.into_iter().map(|(_, line)| line).collect()
}

fn images(message: &Message) -> impl Iterator<Item = ImageLine> + '_ {
    let of = message.body.images().zip(message.image_hashes());
    of.map(|(image, sha256)| ImageLine {
        media_type: image.media_type.clone(),
        sha256: sha256.clone(),
        message: message.id.clone(),
        ord: message.ord,
    })
}

/// The kinds of a call's output, each once.
fn output_kinds(result: Option<&ToolResult>) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for part in result.map_or(&[][..], |result| &result.content) {
        let kind = match part {
            Content::Text(text) if text.trim().is_empty() => continue,
            Content::Text(_) => "text",
            Content::Image(_) => "image",
            Content::Resource { .. } | Content::ContextFile { .. } | Content::Attachment(_) => "file",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Ordinal, SessionId};
    use crate::message::{Effect, NewMessage};
    use crate::tokens::QuarterOfChars;

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
        let kinds = Kinds { named: &[], declared: &[] };
        ledger(&transcript, Span { from: Ordinal(0), to: Ordinal(u32::MAX) }, kinds)
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
                FileLine { path: "b.rs".into(), changed: 0, sha256: None, last: Ordinal(3) },
                FileLine { path: "a.rs".into(), changed: 1, sha256: Some("ff".into()), last: Ordinal(5) },
            ]
        );
        let outcomes: Vec<Outcome> = ledger.commands.iter().map(|line| line.outcome).collect();
        assert_eq!(outcomes, [Outcome::Exit(101), Outcome::Unknown, Outcome::Error]);
        let run = ledger.last_test.expect("a run");
        let said = TestReport { failing: Vec::new(), last_lines: vec!["FAILED".to_owned()] };
        assert_eq!((run.outcome, run.report, run.last), (Outcome::Exit(101), said, Ordinal(7)));
        assert_eq!(ledger.todos, [("two".to_owned(), "pending".to_owned())]);
    }

    #[test]
    fn a_change_makes_an_older_hash_unknown() {
        let reported = ToolResult {
            effects: vec![Effect { path: "a".into(), sha256: "ff".into() }],
            ..ToolResult::default()
        };
        let ledger =
            run(&[("write", r#"{"path":"a"}"#, Some(reported)), ("write", r#"{"path":"a"}"#, said("done"))]);
        let file = FileLine { path: "a".into(), changed: 2, sha256: None, last: Ordinal(3) };
        assert_eq!(ledger.files, [file]);
    }
}
