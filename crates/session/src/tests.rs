//! Tests of the session machine without a server. Writes become rows, and sessions are reopened from them.

mod bench;
mod compaction;
mod history;
mod machine;
mod rows;

use crate::effect::Purpose;
use crate::event::EventBody;
use crate::stored::{Driver, TurnStatus};
use bench::{Bench, text};
use machine::happening::{At, Beside, Happening, Rewind, Set, Stop, Tool, sequence};
use machine::{drive, edges};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Outcomes that must occur in the sequences taken together: commands with their results, events and phases.
const SEEN: &[&str] = &[
    // Commands of both drivers: carried out, queued and refused in each way.
    "UserMessage done",
    "UserMessage queued",
    "UserMessage Empty",
    "RetryFromIndex done",
    "RetryFromIndex queued",
    "RetryFromIndex Unknown",
    "Regenerate done",
    "Regenerate queued",
    "Regenerate Empty",
    "UpdateMessage done",
    "UpdateMessage queued",
    "RemoveMessage done",
    "RemoveMessage queued",
    "TruncateMessages done",
    "TruncateMessages queued",
    "Abort done",
    "Abort Unknown",
    "ApproveTools done",
    "ApproveTools InvalidState",
    "RejectTools done",
    "IdeToolResult done",
    "IdeToolResult Settled",
    "SetParams done",
    "SetDraft done",
    "ClearDraft done",
    "BranchFromChat done",
    "RestoreFromTrajectory done",
    "RestoreFromTrajectory NotEmpty",
    "Reset done",
    "CancelQueued done",
    "EndTurn done",
    "EndTurn OtherDriver",
    "AppendRound done",
    "Render done",
    "Render later",
    "Render Cancelled",
    "Compact done",
    "Compact later",
    "Compact Unusable",
    "Undo done",
    "Undo Unusable",
    "Undo CannotUndo",
    "undone to the earlier bytes",
    "EditCompaction done",
    "EditCompaction NoRoom",
    "Exclude done",
    "Exclude Unusable",
    "Pin done",
    "Pin NoRoom",
    "Unpin done",
    "Unpin Unknown",
    "Undone",
    "Inspect done",
    "Recall done",
    "Ledger done",
    "Search done",
    "Subscribe done",
    "Open done",
    "UserMessage Provider",
    // Events and compaction phases.
    "TurnStarted",
    "TurnCompleted",
    "StreamStarted",
    "StreamDelta",
    "Retrying",
    "StreamReset",
    "StreamFinished",
    "MessageAdded",
    "MessageUpdated",
    "MessageRemoved",
    "MessagesTruncated",
    "ThreadUpdated",
    "QueueUpdated",
    "RuntimeUpdated",
    "PauseRequired",
    "PauseCleared",
    "ContextUpdated",
    "PrefixBroken",
    "Started",
    "Summarizing",
    "FellBack",
    "Reviewing",
    "Accepted",
    "Refused",
    "Cancelled",
    "Voided",
];

/// A tool of the sidecar waits for agents while the settings give its name to the editor: another process asks the
/// editor for the result.
#[test]
fn waiting_call_whose_tool_becomes_the_editors() {
    let mut model = drive::model(Driver::Sidecar);
    for happening in [
        Happening::Starts { size: 0, priority: false, key: None, what: Beside::Nothing },
        Happening::Answers(vec![0, 4], Stop::End),
        Happening::Expires(19),
        Happening::Configures(Set::OwnTools(true)),
        Happening::ToolDoes(0, Tool::Waits, 0),
    ] {
        model.happens(happening);
    }
    model.finish();
}

/// An editor sends the result of a call that was compacted without it.
#[test]
fn late_result_of_a_covered_call_is_reported() {
    let mut model = drive::model(Driver::Editor);
    for happening in [
        Happening::Configures(Set::Ask),
        Happening::Renders { turns: 3, resent: false, rounds: 3, size: 700, how: 1 },
        Happening::TakesIn(152, 2),
        Happening::TakesIn(232, 2),
        Happening::Compacts { redo: false, keep: None, preview: false },
        Happening::Answers(vec![], Stop::End),
        Happening::Renders { turns: 1, resent: false, rounds: 2, size: 0, how: 1 },
    ] {
        model.happens(happening);
    }
    model.finish();
}

/// What a prompt changed in the session's row is written with whatever comes next, here with a key that comes again.
#[test]
fn repeated_key_writes_the_row_that_was_deferred() {
    let mut model = drive::model(Driver::Editor);
    let renders = |how| Happening::Renders { turns: 3, resent: false, rounds: 2, size: 0, how };
    let branches = || Happening::Branches(At::Id(0), Some(0));
    for happening in [renders(1), branches(), Happening::Excludes(4, None), renders(35)] {
        model.happens(happening);
    }
    assert!(model.bench.session.has_deferred_head());
    model.happens(branches());
    assert!(!model.bench.session.has_deferred_head());
    model.finish();
}

/// Ten thousand sequences of commands, answers, results, deadlines, restarts and failures of the store.
/// `model` has the invariants checked after every step.
#[test]
fn random_sequences_keep_every_invariant() {
    let config = ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() };
    let sequences = (prop::bool::weighted(0.3), sequence());
    let seen = RefCell::new(BTreeSet::new());
    let edges = edges::TABLE.iter().flat_map(|(from, to)| to.iter().map(|to| (*from, *to)));
    let edges = edges.filter(|edge| ![edges::NOT_TAKEN, edges::SELDOM].contains(edge));
    let edges = edges.map(|(from, to)| edges::named(from, to));
    let mut missing: Vec<String> = edges.chain(SEEN.iter().map(|word| (*word).to_owned())).collect();
    // Rare outcomes may be missing from the first ten thousand.
    for _ in 0..3 {
        let done = TestRunner::new(config.clone()).run(&sequences, |(is_editors, happenings)| {
            let mut model = drive::model(if is_editors { Driver::Editor } else { Driver::Sidecar });
            happenings.into_iter().for_each(|happening| model.happens(happening));
            model.finish();
            seen.borrow_mut().append(&mut model.seen);
            Ok(())
        });
        if let Err(failure) = done {
            panic!("{failure}");
        }
        missing.retain(|word| !seen.borrow().contains(word));
        if missing.is_empty() {
            break;
        }
    }
    let seen = seen.into_inner();
    assert!(missing.is_empty(), "never seen: {missing:?}");
    assert!(
        !seen.contains(&edges::named(edges::NOT_TAKEN.0, edges::NOT_TAKEN.1)),
        "an edge marked as not taken was taken"
    );
}

/// The request was excluded before its turn went on, so the turn's own messages would come first.
#[test]
fn user_is_first_where_the_request_was_left_out() {
    let mut model = drive::model(Driver::Editor);
    for happening in [
        Happening::Renders { turns: 2, resent: false, rounds: 0, size: 0, how: 21 },
        Happening::Starts { size: 0, priority: false, key: None, what: Beside::Nothing },
        Happening::Excludes(188, None),
        Happening::Renders { turns: 2, resent: false, rounds: 1, size: 728, how: 1 },
        Happening::Compacts { redo: false, keep: None, preview: false },
    ] {
        model.happens(happening);
    }
}

/// All messages were excluded, and an answer was requested again.
#[test]
fn user_is_first_where_everything_was_left_out() {
    let mut model = drive::model(Driver::Sidecar);
    let starts = || Happening::Starts { size: 0, priority: false, key: None, what: Beside::Nothing };
    for happening in [
        starts(),
        Happening::Answers(Vec::new(), Stop::End),
        starts(),
        Happening::Expires(0),
        Happening::Excludes(56, None),
        Happening::TakesIn(43, 1),
        Happening::Rewinds(Rewind::Regenerate, At::Id(0), None),
    ] {
        model.happens(happening);
    }
}

/// An editor's history brings the result of a call that was excluded before the result came.
#[test]
fn result_of_an_excluded_call_is_reported() {
    let mut model = drive::model(Driver::Editor);
    for happening in [
        Happening::Renders { turns: 1, resent: false, rounds: 1, size: 0, how: 1 },
        Happening::TakesIn(17, 2),
        Happening::Excludes(0, None),
        Happening::Renders { turns: 2, resent: false, rounds: 1, size: 0, how: 1 },
    ] {
        model.happens(happening);
    }
}

#[test]
fn turn_continues_with_the_compacted_prompt_until_done() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.asks("read it all");
    let mut compacted_at = None;
    for round in 0..12 {
        while bench.asked.last().is_some_and(|(_, purpose, _)| *purpose == Purpose::Summary) {
            bench.says("", &[]);
        }
        if bench.session.transcript().in_force().is_some() && compacted_at.is_none() {
            compacted_at = Some(round);
        }
        bench.says("next", &["read"]);
        bench.tool_answers(&text(2500));
    }
    while bench.asked.last().is_some_and(|(_, purpose, _)| *purpose == Purpose::Summary) {
        bench.says("", &[]);
    }
    bench.says("done", &[]);
    assert!(compacted_at.is_some_and(|round| round < 10), "two more rounds after the compaction");
    let ended = bench.events.iter().rev().find_map(|(_, body)| match body {
        EventBody::RuntimeUpdated { ended: Some(ended), .. } => Some(ended.clone()),
        _ => None,
    });
    let ended = ended.expect("the turn ended");
    assert_eq!(ended.status, TurnStatus::Completed);
    assert!(!ended.summaries.is_empty(), "its metadata comes with the end");
}
