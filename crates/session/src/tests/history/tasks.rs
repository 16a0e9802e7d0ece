//! A request that waits for another process: nothing happens before it is begun, and it is begun once.

use crate::effect::Refusal;
use crate::input::{Command, StartTurn};
use crate::state::StateName;
use crate::stored::Driver;
use crate::tests::bench::Bench;
use engine::message::Content;

fn task(words: &str) -> Command {
    let content = vec![Content::Text(words.into())];
    Command::StoreTask(Box::new(StartTurn { content, ..StartTurn::default() }))
}

#[test]
fn task_survives_processes_and_begins_once() {
    let mut bench = Bench::new(Driver::Sidecar);
    bench.command(task("Count."));
    for _ in 0..2 {
        assert!(bench.asked.is_empty() && bench.session.head().waits);
        assert_eq!(bench.session.snapshot().queue.len(), 1);
        assert_eq!(bench.session.head().title.as_deref(), Some("Count."));
        bench.another_process();
        bench.command(Command::Open(Box::default()));
    }
    bench.command(Command::RunTask);
    assert_eq!(bench.asked.len(), 1);
    assert!(!bench.session.head().waits && bench.session.snapshot().queue.is_empty());
    // The process ends in the middle: a task that was begun is not begun again.
    bench.another_process();
    bench.command(Command::RunTask);
    assert!(bench.asked.is_empty());
    assert_eq!(bench.session.state().name(), StateName::Error);
    assert_eq!(bench.session.transcript().messages().len(), 1);
}

#[test]
fn cancelled_task_never_runs_and_used_sessions_take_none() {
    let mut bench = Bench::new(Driver::Sidecar);
    let empty = bench.command(task(""));
    assert!(matches!(bench.replies.last(), Some((_, Err(Refusal::Empty(_))))), "{empty:?}");
    bench.command(task("Count."));
    bench.command(task("Count again."));
    assert!(matches!(bench.replies.last(), Some((_, Err(Refusal::NotEmpty)))));
    bench.command(Command::CancelTurn { turn: None, queued: true });
    assert!(!bench.session.head().waits && bench.session.snapshot().queue.is_empty());
    bench.command(Command::RunTask);
    assert!(bench.asked.is_empty());
}
