//! The ledger as lines for a reader: which list a line stands in, how it is worded, and which lines stay where there is
//! no room for all. What a list leaves out is counted, always.

use super::{CellLine, CommandLine, DecisionLine, FileLine, ImageLine, Ledger, TestRun, UnreadableLine};
use crate::compact::identifiers::Place;
use crate::compact::secrets::masked;
use crate::text::{head, one_line};

/// Bytes of a command, a todo, a note or a path that a line shows.
const COMMAND_BYTES: usize = 100;
const TODO_BYTES: usize = 120;
const NOTE_BYTES: usize = 120;
const PATH_BYTES: usize = 200;
/// Hexadecimal digits of a hash that a line shows.
const HASH_DIGITS: usize = 12;
/// Failing tests that a line names.
const MOST_FAILING: usize = 6;
/// No line is lighter, in tokens.
const LEAST_LINE: u32 = 4;

/// The lists of a ledger, in the order in which a reader needs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListName {
    /// What is to do.
    Todos,
    /// What the user approved and rejected.
    Decisions,
    /// Files that were changed.
    Changed,
    /// The last run of tests.
    LastTest,
    /// Files that were read, or named in commands.
    Read,
    /// Commands.
    Commands,
    /// Cells of notebooks.
    Cells,
    /// Calls that nobody could read.
    Unreadable,
    /// Pictures that are out of sight.
    Images,
}

impl ListName {
    /// All of them, in their order.
    pub const ALL: [Self; 9] = [
        Self::Todos,
        Self::Decisions,
        Self::Changed,
        Self::LastTest,
        Self::Read,
        Self::Commands,
        Self::Cells,
        Self::Unreadable,
        Self::Images,
    ];

    /// What its lines are.
    pub fn what(self) -> &'static str {
        match self {
            Self::Todos => "Open todos",
            Self::Decisions => "Decisions by the user",
            Self::Changed => "Files changed",
            Self::LastTest => "Last test run",
            Self::Read => "Files read or named",
            Self::Commands => "Commands run",
            Self::Cells => "Notebook cells run",
            Self::Unreadable => "Calls whose arguments could not be read",
            Self::Images => "Images that are not shown any more",
        }
    }

    /// What follows it in its heading.
    pub fn order(self) -> &'static str {
        match self {
            Self::Changed | Self::Read => ", newest first, with names from them",
            Self::Decisions | Self::Commands | Self::Cells | Self::Images => ", newest first",
            Self::Todos | Self::LastTest | Self::Unreadable => "",
        }
    }
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// As it is shown.
    pub text: String,
    /// The file that it is about, whose names can stand behind it.
    pub place: Option<Place>,
    /// Which lines stay: those of the lowest rank first.
    rank: Rank,
}

/// Why a line stays. The earlier, the longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// Work that is open, and how the tests stand.
    Open,
    /// A file that was changed.
    Changed,
    /// What went wrong, what the user said about a call, the last runs.
    Telling,
    /// A file that was read.
    Read,
    /// All else.
    Rest,
}

impl Rank {
    /// What lines of this rank and of those before it may take of the space, in fifths: some of it is for the rest.
    fn fifths(self) -> u32 {
        match self {
            Rank::Open => 2,
            Rank::Read => 4,
            Rank::Changed | Rank::Telling | Rank::Rest => 5,
        }
    }
}

/// A list as far as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// Which one.
    pub name: ListName,
    /// Its lines in their order.
    pub lines: Vec<Line>,
    /// Lines that are not there.
    pub left_out: usize,
}

/// The newest runs of commands that stay before older ones, whatever came of them.
const LAST_RUNS: usize = 5;

impl Ledger {
    /// Its lists with as many lines as `tokens` allow, by the weight of each. Empty lists are not there.
    pub fn shown(&self, tokens: u32, weigh: impl Fn(&str) -> u32) -> Vec<List> {
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
        let mut stays: Vec<(ListName, usize, Line)> = Vec::new();
        for (name, at, line) in all {
            let most = tokens / 5 * line.rank.fifths();
            if used + LEAST_LINE > most {
                continue;
            }
            let weight = weigh(&line.text) + 1;
            if used + weight <= most {
                used += weight;
                stays.push((name, at, line));
            }
        }
        stays.sort_by_key(|(name, at, _)| (*name, *at));
        for (name, _, line) in stays {
            if let Some(list) = lists.iter_mut().find(|list| list.name == name) {
                list.lines.push(line);
                list.left_out -= 1;
            }
        }
        lists
    }

    /// All lines of a list, newest first.
    fn lines(&self, name: ListName) -> Vec<Line> {
        let plain = |rank: Rank, text: String| Line { text, place: None, rank };
        let files = |is_changed: bool, rank: Rank| {
            let of_kind = self.files.iter().rev().filter(move |file| (file.changed > 0) == is_changed);
            of_kind
                .map(|file| Line { text: file_line(file), place: Some(Place::File(file.path.clone())), rank })
                .collect()
        };
        match name {
            ListName::Todos => self.todos.iter().map(|todo| plain(Rank::Open, todo_line(todo))).collect(),
            ListName::Changed => files(true, Rank::Changed),
            ListName::Read => files(false, Rank::Read),
            ListName::LastTest => {
                self.last_test.iter().map(|run| plain(Rank::Open, test_line(run))).collect()
            }
            ListName::Decisions => {
                let rank = |line: &DecisionLine| {
                    if line.verdict.approved && line.verdict.note.is_none() {
                        Rank::Rest
                    } else {
                        Rank::Telling
                    }
                };
                self.decisions.iter().rev().map(|line| plain(rank(line), decision_line(line))).collect()
            }
            ListName::Commands => {
                let newest_first = self.commands.iter().rev().enumerate();
                let rank = |at: usize, line: &CommandLine| {
                    let is_telling = at < LAST_RUNS || (line.is_last_run && !line.outcome.is_good());
                    if is_telling { Rank::Telling } else { Rank::Rest }
                };
                newest_first.map(|(at, line)| plain(rank(at, line), command_line(line))).collect()
            }
            ListName::Cells => {
                self.cells.iter().rev().map(|line| plain(Rank::Telling, cell_line(line))).collect()
            }
            ListName::Unreadable => {
                self.unreadable.iter().map(|line| plain(Rank::Telling, unreadable_line(line))).collect()
            }
            ListName::Images => {
                self.images.iter().rev().map(|line| plain(Rank::Rest, image_line(line))).collect()
            }
        }
    }
}

/// A text as a line may show it: one line, without control characters and without what looks like a secret.
pub fn shown(text: &str, bytes: usize) -> String {
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

fn file_line(file: &FileLine) -> String {
    let times = if file.changed > 1 { format!(" ({} times)", file.changed) } else { String::new() };
    format!("- {}{times}{}", shown(&file.path, PATH_BYTES), hash(file.sha256.as_ref()))
}

fn command_line(line: &CommandLine) -> String {
    format!("- `{}` → {}{}", shown(&line.command, COMMAND_BYTES), line.outcome.words(), times(line.times))
}

fn test_line(run: &TestRun) -> String {
    let text = |text: &String| shown(text, COMMAND_BYTES);
    let failing =
        run.report.failing.iter().take(MOST_FAILING).map(|name| format!("; failing: {}", text(name)));
    let more = run.report.failing.len().saturating_sub(MOST_FAILING);
    let more = (more > 0).then(|| format!("; and {more} more"));
    let last_lines = run.report.last_lines.iter().map(|line| format!("; {}", text(line)));
    let says: String = failing.chain(more).chain(last_lines).collect();
    format!("- `{}` → {}{says}", text(&run.command), run.outcome.words())
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
    format!("- {}{}, in message {}", shown(&line.media_type, 40), hash(Some(&line.sha256)), line.message)
}
