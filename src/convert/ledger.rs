//! The ledger of what a compaction hides, as clients see it.

use engine::compact::ledger::files::{FileLine, FileState, Perhaps};
use engine::compact::ledger::{self as ours, outcome::Outcome};
use engine::id::Ordinal;
use engine::transcript::Transcript;
use protocol::ledger::{
    CallOutcome, ContextLedgerResult, LedgerCell, LedgerCommand, LedgerDecision, LedgerFailure, LedgerFile,
    LedgerFileState, LedgerImage, LedgerPerhaps, LedgerTest, LedgerTodo, LedgerUnclear, LedgerUnreadable,
};
use session::ledger::LedgerPage;

/// Converts a page of the ledger.
pub fn ledger(transcript: &Transcript, ledger: LedgerPage) -> ContextLedgerResult {
    let of = |last: Ordinal| transcript.message(last).map_or(String::new(), |m| m.id.as_str().to_owned());
    let LedgerPage { compaction, span, page, next } = ledger;
    let ours::Ledger {
        files,
        commands,
        unclear,
        last_test,
        last_failure,
        todos,
        decisions,
        cells,
        unreadable,
        images,
    } = page.entries;
    let file = |line: FileLine| LedgerFile {
        path: line.path,
        state: state(line.state),
        renamed_from: line.renamed_from,
        perhaps: line.perhaps.map(perhaps),
        changed: line.changed,
        sha256: line.sha256,
        message_id: of(line.last),
    };
    let command = |line: ours::CommandLine| {
        let (outcome, exit_code) = ended(line.outcome);
        LedgerCommand {
            command: line.command,
            outcome,
            exit_code,
            times: line.times,
            message_id: of(line.last),
        }
    };
    let part = |line: ours::UnclearLine| LedgerUnclear { part: line.part, message_id: of(line.last) };
    let test = |run: ours::TestRun| {
        let (outcome, exit_code) = ended(run.outcome);
        LedgerTest {
            command: run.command,
            outcome,
            exit_code,
            failing: run.report.failing,
            last_lines: run.report.last_lines,
            is_outdated: run.is_outdated,
            message_id: of(run.last),
        }
    };
    let failure = |run: ours::FailedRun| {
        let (outcome, exit_code) = ended(run.outcome);
        let message_id = of(run.last);
        LedgerFailure {
            command: run.command,
            outcome,
            exit_code,
            message: run.message,
            is_outdated: run.is_outdated,
            message_id,
        }
    };
    let decision = |line: ours::DecisionLine| LedgerDecision {
        call: line.call,
        approved: line.verdict.approved,
        note: line.verdict.note,
        times: line.times,
        message_id: of(line.last),
    };
    let cell = |line: ours::CellLine| {
        let (outcome, exit_code) = ended(line.outcome);
        LedgerCell {
            cell: line.cell,
            notebook: line.notebook,
            outcome,
            exit_code,
            output: line.output.into_iter().map(str::to_owned).collect(),
            times: line.times,
            message_id: of(line.last),
        }
    };
    let unread = |line: ours::UnreadableLine| {
        let (outcome, exit_code) = ended(line.outcome);
        LedgerUnreadable { tool: line.tool, outcome, exit_code, times: line.times, message_id: of(line.last) }
    };
    let image = |line: ours::ImageLine| LedgerImage {
        mime_type: line.mime_type,
        sha256: line.sha256,
        message_id: line.message.as_str().to_owned(),
    };
    ContextLedgerResult {
        compaction_id: compaction.map(|id| id.as_str().to_owned()),
        from_ord: span.map(|span| span.from.0),
        to_ord: span.map(|span| span.to.0),
        entries: u32::try_from(page.total).unwrap_or(u32::MAX),
        files: files.into_iter().map(file).collect(),
        commands: commands.into_iter().map(command).collect(),
        unclear: unclear.into_iter().map(part).collect(),
        last_test: last_test.map(test),
        last_failure: last_failure.map(failure),
        todos: todos.into_iter().map(|(text, status)| LedgerTodo { text, status }).collect(),
        decisions: decisions.into_iter().map(decision).collect(),
        cells: cells.into_iter().map(cell).collect(),
        unreadable: unreadable.into_iter().map(unread).collect(),
        images: images.into_iter().map(image).collect(),
        next_cursor: next.map(|next| next.to_string()),
    }
}

fn state(state: FileState) -> LedgerFileState {
    match state {
        FileState::Unchanged => LedgerFileState::Unchanged,
        FileState::Created => LedgerFileState::Created,
        FileState::Changed => LedgerFileState::Changed,
        FileState::Deleted => LedgerFileState::Deleted,
    }
}

fn perhaps(perhaps: Perhaps) -> LedgerPerhaps {
    match perhaps {
        Perhaps::Changed => LedgerPerhaps::Changed,
        Perhaps::Deleted => LedgerPerhaps::Deleted,
        Perhaps::RenamedTo(path) => LedgerPerhaps::RenamedTo { path },
        Perhaps::RenamedFrom(path) => LedgerPerhaps::RenamedFrom { path },
    }
}

fn ended(outcome: Outcome) -> (CallOutcome, Option<i32>) {
    match outcome {
        Outcome::Exit(code) => (if code == 0 { CallOutcome::Ok } else { CallOutcome::Error }, Some(code)),
        Outcome::Ok => (CallOutcome::Ok, None),
        Outcome::Error | Outcome::Reported | Outcome::Refused => (CallOutcome::Error, None),
        Outcome::Unknown => (CallOutcome::Unknown, None),
    }
}
