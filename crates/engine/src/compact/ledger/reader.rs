//! Reads a ledger from the rounds of a transcript, message by message.

use super::check;
use super::files::Files;
use super::outcome::Outcome;
use super::test_run::{TestReport, failure_message, is_own_output, reports_failure, runs_tests, was_not_run};
use super::{
    CellLine, CommandLine, DecisionLine, FailedRun, ImageLine, Ledger, TestRun, UnclearLine, UnreadableLine,
};
use crate::compact::known_tools::{Kinds, changes, runs_cells, writes_whole};
use crate::compact::record::Compaction;
use crate::id::Ordinal;
use crate::message::about::About;
use crate::message::{Body, Content, Message, ToolCall, ToolResult, Verdict};
use crate::prompt::item::ToolKind;
use crate::scope::read_todo_list;
use crate::text::one_line;
use crate::transcript::Transcript;
use regex::Regex;
use shell::Kind;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Bytes that identify a command; the rest is cut.
const COMMAND_BYTES: usize = 400;
/// Runs of other commands after which a failure is not the last thing that happened.
const MOST_SINCE_FAILURE: usize = 20;
/// States of todos that are not open.
const DONE: &[&str] = &["cancelled", "canceled", "complete", "completed", "done"];

/// A path with an extension, as commands name files.
#[allow(clippy::expect_used, reason = "a constant pattern; the tests compile it")]
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?-u)(?:[\w.@-]*/)+[\w.@-]+\.[A-Za-z]\w{0,4}\b").expect("pattern"));

/// The files that a command names.
pub(crate) fn paths_in(command: &str) -> impl Iterator<Item = &str> {
    PATH.find_iter(command).map(|found| found.as_str()).filter(|path| !path.starts_with("//"))
}

/// A ledger under construction. A clone can be read on, so that the part common to all ends that are tried is read
/// once. Refers to no transcript, so that it can be kept and read on when there is more.
#[derive(Debug, Clone)]
pub(super) struct LedgerState {
    /// The first unread message.
    next: Ordinal,
    /// Number of touches so far, and the message whose calls are read.
    now: Touch,
    files: Files,
    commands: BTreeMap<String, Touched<(Outcome, u32)>>,
    unclear: BTreeMap<String, Touch>,
    /// Number of runs of commands.
    runs: usize,
    /// The last call that changed a file.
    last_change: Option<Ordinal>,
    last_test: Option<Run>,
    last_failure: Option<Run>,
    todos: Vec<(String, String)>,
    decisions: BTreeMap<(String, bool, Option<String>), Touched<u32>>,
    cells: BTreeMap<(Option<String>, String), Touched<CellLine>>,
    unreadable: BTreeMap<(String, Outcome), (u32, Ordinal)>,
    images: Vec<ImageLine>,
}

/// A run of a command, whose output is read once it is known to be shown.
#[derive(Debug, Clone)]
struct Run {
    command: String,
    is_test: bool,
    outcome: Outcome,
    /// The message of its result.
    result: Option<Ordinal>,
    last: Ordinal,
    /// Number of runs before it.
    runs: usize,
}

/// Serial number of a touch, and its message.
pub(super) type Touch = (usize, Ordinal);
/// A value with its last touch.
pub(super) type Touched<T> = (Touch, T);

/// A call with its result and the position of that.
struct Answered<'t> {
    call: &'t ToolCall,
    about: &'t About,
    result: Option<&'t ToolResult>,
    at: Option<Ordinal>,
}

/// Reads the ledger of a transcript.
#[derive(Clone)]
pub struct LedgerReader<'t> {
    transcript: &'t Transcript,
    kinds: Kinds<'t>,
    state: LedgerState,
}

impl<'t> LedgerReader<'t> {
    /// Returns a reader that starts at `from`, with nothing read.
    pub fn new(transcript: &'t Transcript, from: Ordinal, kinds: Kinds<'t>) -> Self {
        Self::from(transcript, kinds, LedgerState::new(from, transcript.folder()))
    }

    /// Returns a reader that goes on from this state.
    pub(super) fn from(transcript: &'t Transcript, kinds: Kinds<'t>, state: LedgerState) -> Self {
        Self { transcript, kinds, state }
    }

    /// Reads on up to and including `to`, with the results of its calls.
    pub(crate) fn read_to(&mut self, to: Ordinal) {
        self.state.read_to(self.transcript, self.kinds, to);
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

    /// Reads on up to and including `to`, and returns the ledger.
    pub fn until(mut self, to: Ordinal) -> Ledger {
        self.read_to(to);
        self.done()
    }

    /// Returns the ledger of everything read so far.
    pub fn done(self) -> Ledger {
        self.state.done(self.transcript)
    }
}

impl LedgerState {
    pub fn new(from: Ordinal, folder: Option<&str>) -> Self {
        Self {
            next: from,
            now: (0, from),
            files: Files::new(folder),
            commands: BTreeMap::new(),
            unclear: BTreeMap::new(),
            runs: 0,
            last_change: None,
            last_test: None,
            last_failure: None,
            todos: Vec::new(),
            decisions: BTreeMap::new(),
            cells: BTreeMap::new(),
            unreadable: BTreeMap::new(),
            images: Vec::new(),
        }
    }

    /// The first message that is not read.
    pub fn next(&self) -> Ordinal {
        self.next
    }

    /// Reads on up to and including `to`, with the results of its calls.
    pub fn read_to(&mut self, transcript: &Transcript, kinds: Kinds<'_>, to: Ordinal) {
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
                match call.as_run(result) {
                    Cow::Borrowed(call) => self.add(kinds, &Answered { call, about, result, at: *answer }),
                    Cow::Owned(call) => {
                        let about = &About::of(&call);
                        self.add(kinds, &Answered { call: &call, about, result, at: *answer });
                    }
                }
            }
        }
        let messages = transcript.range(from, to).iter();
        for message in messages.filter(|message| message.visible_to_model && is_shown(message.ord)) {
            self.images.extend(images(message));
        }
    }

    fn add(&mut self, kinds: Kinds<'_>, answered: &Answered<'_>) {
        let Answered { call, about, result, .. } = *answered;
        let outcome = Outcome::of(result);
        let kind = kinds.of_call(&call.name, about);
        let is_cell = runs_cells(&call.name);
        let says_nothing = !about.is_readable || (is_cell && about.cell.is_none());
        if says_nothing && (kind.changes_files() || kind == ToolKind::Execute) {
            let (times, last) = self.unreadable.entry((call.name.to_string(), outcome)).or_default();
            (*times, *last) = (*times + 1, self.now.1);
        }
        if let Some(verdict) = result.and_then(|result| result.verdict.as_ref()) {
            self.decided(call, about, verdict);
        }
        let before = self.now;
        let is_refused =
            result.and_then(|result| result.verdict.as_ref()).is_some_and(|verdict| !verdict.approved);
        match kind {
            ToolKind::Read => about.paths.iter().for_each(|path| {
                let now = self.touched();
                self.files.read(path, now);
            }),
            ToolKind::Edit | ToolKind::Delete | ToolKind::Move => self.wrote(kind, call, about, outcome),
            ToolKind::Execute => self.ran(answered, outcome, is_refused),
            ToolKind::Todo => {
                // A call that changes single todos gives no list; its result has the list as it is then.
                let said = result.filter(|_| about.todos.is_none() && outcome.is_good());
                let said = said.and_then(|result| result.content.first()?.text());
                let said = said.and_then(|text| read_todo_list(text));
                if let Some(todos) = about.todos.as_ref().or(said.as_ref()) {
                    let is_open = |(_, status): &&(String, String)| !DONE.contains(&status.as_str());
                    self.todos = todos.iter().filter(is_open).cloned().collect();
                }
            }
            ToolKind::Search | ToolKind::Think | ToolKind::Fetch | ToolKind::Ask | ToolKind::Other => {}
        }
        for effect in result.map_or(&[][..], |result| &result.effects) {
            let now = self.touched();
            self.files.reported(&effect.path, &effect.sha256, before, now);
        }
    }

    fn touched(&mut self) -> Touch {
        self.now.0 += 1;
        self.now
    }

    fn wrote(&mut self, kind: ToolKind, call: &ToolCall, about: &About, outcome: Outcome) {
        if !outcome.is_good() {
            for path in &about.paths {
                let now = self.touched();
                self.files.read(path, now);
            }
            return;
        }
        self.last_change = Some(self.now.1);
        for effect in changes(kind, &call.name, about).iter() {
            let now = self.touched();
            self.files.apply(std::slice::from_ref(effect), true, now);
        }
        if let ([path], Some(sha256)) = (about.paths.as_slice(), &about.content_sha256)
            && writes_whole(&call.name, about)
        {
            let now = self.touched();
            self.files.whole(path, sha256, now);
        }
    }

    fn ran(&mut self, answered: &Answered<'_>, outcome: Outcome, is_refused: bool) {
        let Answered { about, result, at, .. } = *answered;
        if let Some(cell) = &about.cell {
            return self.ran_cell(cell, about, outcome, result);
        }
        let Some(command) = &about.command else { return };
        let found = about.effects();
        if let Some(folder) = &about.folder {
            self.files.ran_in(folder);
        }
        found.folders.iter().for_each(|folder| self.files.ran_in(folder));
        // A path that the command's effects have in full is not named once more.
        let is_told = |path: &str| {
            let ends = |whole: &str| {
                whole.strip_suffix(path).is_some_and(|start| start.is_empty() || start.ends_with('/'))
            };
            found.effects.iter().any(|effect| {
                [Some(&effect.path), effect.from.as_ref(), effect.if_folder.as_ref()]
                    .into_iter()
                    .flatten()
                    .any(|whole| ends(whole))
            })
        };
        for path in paths_in(command).filter(|path| is_refused || !is_told(path)) {
            let now = self.touched();
            self.files.named(path, now);
        }
        if !is_refused {
            for effect in &found.effects {
                let now = self.touched();
                self.files.apply(std::slice::from_ref(effect), outcome.is_good(), now);
                if outcome.is_good() && !matches!(effect.kind, Kind::Read | Kind::MakeFolder) {
                    self.last_change = Some(now.1);
                }
            }
            // A tool that reports what it changed leaves nothing to guess.
            let is_reported = result.is_some_and(|result| !result.effects.is_empty());
            for unknown in found.unknown.iter().filter(|_| !is_reported) {
                let now = self.touched();
                self.unclear.insert(unknown.part.clone(), now);
            }
        }
        let now = self.touched();
        let line = one_line(command, COMMAND_BYTES);
        let is_failure = outcome.is_good() && reports_failure(&found.programs, result);
        let outcome = if is_failure { Outcome::Reported } else { outcome };
        let is_test = runs_tests(command, &found.programs, result);
        let run = Run { command: line.clone(), is_test, outcome, result: at, last: now.1, runs: self.runs };
        self.runs += 1;
        let was_run = !is_refused && !result.is_some_and(was_not_run);
        if is_test && was_run {
            self.last_test = Some(run.clone());
        }
        // A search that finds nothing ends with 1.
        if !outcome.is_good() && was_run && result.is_some() && is_own_output(&found.programs) {
            self.last_failure = Some(run);
        } else if outcome.is_good() {
            let is_same = |failed: &Run| failed.command == line || check::covers(&line, &failed.command);
            let is_mended = |failed: &Run| is_same(failed) || (failed.is_test && is_test);
            self.last_failure = self.last_failure.take().filter(|failed| !is_mended(failed));
        }
        let (last, (newest, times)) = self.commands.entry(line).or_insert((now, (outcome, 0)));
        (*last, *newest) = (now, outcome);
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

    /// Returns the ledger of everything read so far.
    fn done(self, transcript: &Transcript) -> Ledger {
        let output = |run: &Run| match transcript.message(run.result?).map(|message| &message.body) {
            Some(Body::Tool(result)) => Some(result),
            _ => None,
        };
        let commands = self.commands.into_iter().map(|(command, (last, (outcome, times)))| {
            (last, CommandLine { command, outcome, times, last: last.1 })
        });
        let unclear = self.unclear.into_iter();
        let unclear = unclear.map(|(part, last)| (last, UnclearLine { part, last: last.1 }));
        let decisions = self.decisions.into_iter().map(|((call, approved, note), (last, times))| {
            (last, DecisionLine { call, verdict: Verdict::new(approved, note), times, last: last.1 })
        });
        let unreadable = self.unreadable.into_iter();
        let last_change = self.last_change;
        let is_outdated = |run: &Run| last_change.is_some_and(|change| change > run.last);
        let is_recent = |run: &Run| self.runs - run.runs <= MOST_SINCE_FAILURE;
        Ledger {
            files: self.files.done(),
            commands: in_order(commands),
            unclear: in_order(unclear),
            last_test: self.last_test.map(|run| TestRun {
                is_outdated: is_outdated(&run),
                report: TestReport::of(output(&run)),
                command: run.command,
                outcome: run.outcome,
                last: run.last,
            }),
            last_failure: self.last_failure.filter(is_recent).map(|run| FailedRun {
                is_outdated: is_outdated(&run),
                message: failure_message(output(&run)),
                command: run.command,
                outcome: run.outcome,
                last: run.last,
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

/// The values, ordered by their last touch.
pub(super) fn in_order<T>(touched: impl Iterator<Item = Touched<T>>) -> Vec<T> {
    let mut all: Vec<Touched<T>> = touched.collect();
    all.sort_by_key(|(last, _)| *last);
    all.into_iter().map(|(_, line)| line).collect()
}

fn images(message: &Message) -> impl Iterator<Item = ImageLine> + '_ {
    let of = message.body.images().zip(message.image_hashes());
    of.map(|(image, sha256)| ImageLine {
        mime_type: image.mime_type.clone(),
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
            Content::Meta(_) => continue,
            Content::Text(text) if text.trim().is_empty() => continue,
            Content::Text(_) => "text",
            Content::Image(_) => "image",
            Content::Resource { .. }
            | Content::ResourceLink(_)
            | Content::ContextFile { .. }
            | Content::Attachment(_) => "file",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}
