//! The ledger: effects of a span's tool calls, read by code from the rounds, so that it does not decay over repeated
//! compactions. No model and no guesses: unknown outcomes are listed as unknown, and so are commands that may have
//! changed files which their text does not tell. [`reader`] goes through the rounds: [`outcome`] and [`test_run`] read results,
//! [`files`] keeps one line per file. [`lines`] words and selects the lines of a block, [`report`] lists everything for
//! people.

mod check;
mod checkpoint;
pub mod files;
pub mod lines;
pub mod outcome;
pub mod reader;
pub mod report;
pub mod test_run;

use super::known_tools::Kinds;
use super::record::{Compaction, Span};
use crate::id::{MessageId, Ordinal};
use crate::message::Verdict;
use crate::transcript::Transcript;
use files::FileLine;
use outcome::Outcome;
use reader::LedgerReader;
use test_run::TestReport;

/// Effects of a span's tool calls. Files, commands, decisions and cells are ordered by their last call, oldest first; a
/// line's `last` is the message of that call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Files that were changed, read or named.
    pub files: Vec<FileLine>,
    /// Commands that were run.
    pub commands: Vec<CommandLine>,
    /// Commands that may have changed files which their text does not tell.
    pub unclear: Vec<UnclearLine>,
    /// The last test run.
    pub last_test: Option<TestRun>,
    /// The newest failure of a command that has not ended well since.
    pub last_failure: Option<FailedRun>,
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

/// A command that was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The command on one line, cut.
    pub command: String,
    /// Outcome of the latest run.
    pub outcome: Outcome,
    /// Number of runs.
    pub times: u32,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// Part of a command that may have changed files which its text does not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnclearLine {
    /// The part on one line, cut.
    pub part: String,
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
    /// `true` if a file was changed after the run.
    pub is_outdated: bool,
    /// See [`Ledger`].
    pub last: Ordinal,
}

/// A run of a command that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    /// The command on one line, cut.
    pub command: String,
    /// Outcome of the run.
    pub outcome: Outcome,
    /// First lines of the failure's message.
    pub message: Vec<String>,
    /// `true` if a file was changed after the run.
    pub is_outdated: bool,
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
    pub mime_type: String,
    /// SHA-256 of its data as given.
    pub sha256: String,
    /// Id of the message that holds it, for recall.
    pub message: MessageId,
    /// Position of that message.
    pub ord: Ordinal,
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

#[cfg(test)]
mod tests;
