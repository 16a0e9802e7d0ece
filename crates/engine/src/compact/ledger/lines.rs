//! The ledger as lines of text: their lists, their wording, and which of them are kept if tokens are short. Each list
//! counts the lines that it leaves out.

use super::files::{FileLine, FileState, Perhaps};
use super::{
    CellLine, CommandLine, DecisionLine, FailedRun, ImageLine, Ledger, TestRun, UnclearLine, UnreadableLine,
};
use crate::compact::identifiers::Place;
use crate::compact::secrets::masked;
use crate::text::{head, one_line};

// Bytes shown of a text.
const COMMAND_BYTES: usize = 100;
const TODO_BYTES: usize = 120;
const NOTE_BYTES: usize = 120;
const PATH_BYTES: usize = 200;
const MESSAGE_BYTES: usize = 200;
/// Hexadecimal digits shown of a hash.
const HASH_DIGITS: usize = 12;
/// Maximum number of failing tests in a line.
const MOST_FAILING: usize = 6;
/// Maximum number of parts of commands in the line of those that may have changed files.
const MOST_UNCLEAR: usize = 6;
/// Tokens that any line has at least: with fewer left, lines need not be weighed.
const LEAST_LINE: u32 = 4;
/// Lines in a row that did not fit, after which no more of their rank are weighed.
const MOST_MISSES: u32 = 16;

/// The lists of a ledger, in display order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListName {
    /// Open todos.
    Todos,
    /// Approvals and rejections by the user.
    Decisions,
    /// Files that were changed or renamed, or may have been.
    Changed,
    /// Files that were deleted.
    Deleted,
    /// Commands that may have changed other files.
    Unclear,
    /// The last test run.
    LastTest,
    /// The newest failure that is not mended.
    LastFailure,
    /// Files that were read, or named in commands.
    Read,
    /// Commands that were run.
    Commands,
    /// Notebook cells that were run.
    Cells,
    /// Calls whose arguments could not be read.
    Unreadable,
    /// Images that are no longer shown.
    Images,
}

impl ListName {
    /// All lists in display order.
    pub const ALL: [Self; 12] = [
        Self::Todos,
        Self::Decisions,
        Self::Changed,
        Self::Deleted,
        Self::Unclear,
        Self::LastTest,
        Self::LastFailure,
        Self::Read,
        Self::Commands,
        Self::Cells,
        Self::Unreadable,
        Self::Images,
    ];

    /// The title in its heading.
    pub fn what(self) -> &'static str {
        match self {
            Self::Todos => "Open todos",
            Self::Decisions => "Decisions by the user",
            Self::Changed => "Files changed",
            Self::Deleted => "Files deleted",
            Self::Unclear => "The worktree may also have been changed by",
            Self::LastTest => "Last test run",
            Self::LastFailure => "Last failure",
            Self::Read => "Files read or named",
            Self::Commands => "Commands run",
            Self::Cells => "Notebook cells run",
            Self::Unreadable => "Calls whose arguments could not be read",
            Self::Images => "Images that are not shown any more",
        }
    }

    /// The suffix of its heading: the order of its lines.
    pub fn order(self) -> &'static str {
        match self {
            Self::Changed | Self::Read => ", newest first, with names from them",
            Self::Decisions | Self::Deleted | Self::Commands | Self::Cells | Self::Images => ", newest first",
            Self::Unclear | Self::Todos | Self::LastTest | Self::LastFailure | Self::Unreadable => "",
        }
    }
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The text as shown.
    pub text: String,
    /// The file of the line under each spelling of its path; identifiers from it may follow the text.
    pub places: Vec<Place>,
    /// Lines of the lowest rank are kept first.
    rank: Rank,
}

/// Priority of a line. Earlier variants are kept first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Open work and the state of the tests.
    Open,
    /// A file that was changed.
    Changed,
    /// Failures, rejections and notes of the user, the last runs, cells, unreadable calls.
    Notable,
    /// A file that was read.
    Read,
    /// Everything else.
    Rest,
}

impl Rank {
    /// Fifths of the tokens that lines up to this rank may take together; the others are for later ranks.
    fn fifths(self) -> u32 {
        match self {
            Rank::Open => 2,
            Rank::Read => 4,
            Rank::Changed | Rank::Notable | Rank::Rest => 5,
        }
    }
}

/// The shown part of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The list.
    pub name: ListName,
    /// The shown lines in order.
    pub lines: Vec<Line>,
    /// Number of lines that are not shown.
    pub left_out: usize,
}

/// Tokens for the lines of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LedgerTokens {
    /// For all lines.
    pub all: u32,
    /// For open work and changed files, where that is more.
    pub changed: u32,
}

impl LedgerTokens {
    /// Returns at most this many.
    pub fn min(self, most: u32) -> Self {
        Self { all: self.all.min(most), changed: self.changed.min(most) }
    }

    /// Returns one part of so many.
    pub fn part(self, of: u32) -> Self {
        Self { all: self.all / of, changed: self.changed / of }
    }

    /// Tokens that lines up to a rank may take together.
    fn up_to(self, rank: Rank) -> u32 {
        let changed = if rank <= Rank::Changed { self.changed } else { 0 };
        changed.max(self.all) / 5 * rank.fifths()
    }
}

/// Number of newest command runs that outrank older ones, whatever their outcome.
const LAST_RUNS: usize = 5;

impl Ledger {
    /// Returns the lists with as many lines as `tokens` allow, `weigh` counting each. Lists without entries are
    /// omitted.
    pub fn shown(&self, tokens: LedgerTokens, weigh: impl Fn(&str) -> u32) -> Vec<List> {
        let mut all: Vec<(ListName, usize, Line)> = Vec::new();
        for name in ListName::ALL {
            all.extend(self.lines(name).into_iter().enumerate().map(|(at, line)| (name, at, line)));
        }
        let mut lists: Vec<List> = Vec::new();
        for (name, _, _) in &all {
            match lists.last_mut().filter(|list| list.name == *name) {
                Some(list) => list.left_out += 1,
                None => lists.push(List { name: *name, lines: Vec::new(), left_out: 1 }),
            }
        }
        all.sort_by_key(|(_, _, line)| line.rank);
        let mut used = 0;
        let mut kept: Vec<(ListName, usize, Line)> = Vec::new();
        // Lines of the same rank that did not fit, in a row.
        let mut misses = (Rank::Open, 0);
        for (name, at, line) in all {
            let most = tokens.up_to(line.rank);
            if misses.0 != line.rank {
                misses = (line.rank, 0);
            }
            if used + LEAST_LINE > most || misses.1 >= MOST_MISSES {
                continue;
            }
            // One more for the line break.
            let weight = weigh(&line.text) + 1;
            if used + weight <= most {
                used += weight;
                misses.1 = 0;
                kept.push((name, at, line));
            } else {
                misses.1 += 1;
            }
        }
        kept.sort_by_key(|(name, at, _)| (*name, *at));
        for (name, _, line) in kept {
            if let Some(list) = lists.iter_mut().find(|list| list.name == name) {
                list.lines.push(line);
                list.left_out -= 1;
            }
        }
        lists
    }

    /// All lines of a list, newest first if it has an order of time.
    fn lines(&self, name: ListName) -> Vec<Line> {
        let plain = |rank: Rank, text: String| Line { text, places: Vec::new(), rank };
        let files = |is_changed: bool, rank: Rank| {
            let there = self.files.iter().rev().filter(|file| file.state != FileState::Deleted);
            let of_kind = there.filter(move |file| file.is_touched() == is_changed);
            let places = |file: &FileLine| {
                [&file.path].into_iter().chain(&file.spellings).cloned().map(Place::File).collect()
            };
            of_kind.map(|file| Line { text: file_line(file), places: places(file), rank }).collect()
        };
        match name {
            ListName::Todos => self.todos.iter().map(|todo| plain(Rank::Open, todo_line(todo))).collect(),
            ListName::Changed => files(true, Rank::Changed),
            ListName::Deleted => {
                let deleted = self.files.iter().rev().filter(|file| file.state == FileState::Deleted);
                deleted.map(|file| plain(Rank::Changed, deleted_line(file))).collect()
            }
            ListName::Unclear if self.unclear.is_empty() => Vec::new(),
            ListName::Unclear => vec![plain(Rank::Notable, unclear_line(&self.unclear))],
            ListName::Read => files(false, Rank::Read),
            ListName::LastTest => {
                self.last_test.iter().map(|run| plain(Rank::Open, test_line(run))).collect()
            }
            ListName::LastFailure => {
                self.last_failure.iter().map(|run| plain(Rank::Open, failure_line(run))).collect()
            }
            ListName::Decisions => {
                let rank = |line: &DecisionLine| {
                    if line.verdict.approved && line.verdict.note.is_none() {
                        Rank::Rest
                    } else {
                        Rank::Notable
                    }
                };
                self.decisions.iter().rev().map(|line| plain(rank(line), decision_line(line))).collect()
            }
            ListName::Commands => {
                let newest_first = self.commands.iter().rev().enumerate();
                let rank = |at: usize, line: &CommandLine| {
                    let is_notable = at < LAST_RUNS || !line.outcome.is_good();
                    if is_notable { Rank::Notable } else { Rank::Rest }
                };
                newest_first.map(|(at, line)| plain(rank(at, line), command_line(line))).collect()
            }
            ListName::Cells => {
                self.cells.iter().rev().map(|line| plain(Rank::Notable, cell_line(line))).collect()
            }
            ListName::Unreadable => {
                self.unreadable.iter().map(|line| plain(Rank::Notable, unreadable_line(line))).collect()
            }
            ListName::Images => {
                self.images.iter().rev().map(|line| plain(Rank::Rest, image_line(line))).collect()
            }
        }
    }
}

/// Returns a text on one line, cut to `bytes`, without control characters, with secrets masked.
pub fn shown(text: &str, bytes: usize) -> String {
    // Cut twice: masking a megabyte for a hundred bytes would be slow, and a mask may be shorter than its secret.
    let text: String = head(text, bytes * 4).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    one_line(&masked(&text), bytes)
}

fn times(times: u32) -> String {
    if times > 1 { format!(", {times} times so") } else { String::new() }
}

fn hash(sha256: Option<&String>) -> String {
    sha256.map_or(String::new(), |hash| format!(" sha256 {}", head(hash, HASH_DIGITS)))
}

fn todo_line((text, status): &(String, String)) -> String {
    format!("- {} ({})", shown(text, TODO_BYTES), shown(status, 20))
}

/// The path with counts and hash, then what happened to it.
fn file_line(file: &FileLine) -> String {
    let path = |path: &str| shown(path, PATH_BYTES);
    let times = if file.changed > 1 { format!(" ({} times)", file.changed) } else { String::new() };
    let renamed = file.renamed_from.as_ref().map(|from| format!("renamed from {}", path(from)));
    let created = (file.state == FileState::Created).then(|| "created".to_owned());
    let perhaps = file.perhaps.as_ref().map(|perhaps| match perhaps {
        Perhaps::Changed => "perhaps changed".to_owned(),
        Perhaps::Deleted => "perhaps deleted".to_owned(),
        Perhaps::RenamedTo(to) => format!("perhaps renamed to {}", path(to)),
        Perhaps::RenamedFrom(from) => format!("perhaps renamed from {}", path(from)),
    });
    let notes: Vec<String> = renamed.or(created).into_iter().chain(perhaps).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(": {}", notes.join(", ")) };
    format!("- {}{times}{}{notes}", path(&file.path), hash(file.sha256.as_ref()))
}

fn deleted_line(file: &FileLine) -> String {
    format!("- {}", shown(&file.path, PATH_BYTES))
}

/// The newest parts in one line: they are many in a long session, and each is a command in the list of commands too.
fn unclear_line(parts: &[UnclearLine]) -> String {
    let newest = parts.iter().rev().take(MOST_UNCLEAR);
    let more = parts.len().saturating_sub(MOST_UNCLEAR);
    let newest = newest.map(|line| format!("`{}`", shown(&line.part, COMMAND_BYTES)));
    let all: Vec<String> = newest.chain((more > 0).then(|| format!("and {more} more"))).collect();
    format!("- {}", all.join(", "))
}

fn command_line(line: &CommandLine) -> String {
    let times = if line.times > 1 { format!(", newest of {} runs", line.times) } else { String::new() };
    format!("- `{}` → {}{times}", shown(&line.command, COMMAND_BYTES), line.outcome.words())
}

/// Follows the outcome of a run if a file was changed after it.
fn since(is_outdated: bool) -> &'static str {
    if is_outdated { "; files were changed since" } else { "" }
}

fn test_line(run: &TestRun) -> String {
    let text = |text: &String| shown(text, COMMAND_BYTES);
    let failing =
        run.report.failing.iter().take(MOST_FAILING).map(|name| format!("; failing: {}", text(name)));
    let more = run.report.failing.len().saturating_sub(MOST_FAILING);
    let more = (more > 0).then(|| format!("; and {more} more"));
    let last_lines = run.report.last_lines.iter().map(|line| format!("; {}", text(line)));
    let details: String = failing.chain(more).chain(last_lines).collect();
    let since = since(run.is_outdated);
    format!("- `{}` → {}{since}{details}", text(&run.command), run.outcome.words())
}

/// The run, and below it the first lines of its message.
fn failure_line(run: &FailedRun) -> String {
    let message = run.message.iter().map(|line| format!("\n  {}", shown(line, MESSAGE_BYTES)));
    let message: String = message.collect();
    let since = since(run.is_outdated);
    format!("- `{}` → {}{since}{message}", shown(&run.command, COMMAND_BYTES), run.outcome.words())
}

fn decision_line(line: &DecisionLine) -> String {
    let how = if line.verdict.approved { "approved" } else { "rejected" };
    let note =
        line.verdict.note.as_ref().map_or(String::new(), |note| format!(": {}", shown(note, NOTE_BYTES)));
    format!("- {how} `{}`{}{note}", shown(&line.call, COMMAND_BYTES), times(line.times))
}

fn cell_line(line: &CellLine) -> String {
    let notebook =
        line.notebook.as_ref().map_or(String::new(), |path| format!(" of {}", shown(path, PATH_BYTES)));
    let output = if line.output.is_empty() { "no output".to_owned() } else { line.output.join(", ") };
    format!(
        "- cell {}{notebook} → {}, {output}{}",
        shown(&line.cell, 60),
        line.outcome.words(),
        times(line.times)
    )
}

fn unreadable_line(line: &UnreadableLine) -> String {
    format!("- {} → {}{}", shown(&line.tool, 60), line.outcome.words(), times(line.times))
}

fn image_line(line: &ImageLine) -> String {
    format!("- {}{}, in message {}", shown(&line.mime_type, 40), hash(Some(&line.sha256)), line.message)
}
