//! Costs of a commit: waits for the server, rows and bytes, whatever it writes and however long the session is.

use super::{open, unique};
use crate::postgres::{PostgresStore, Traffic};
use crate::testing::{compaction, enqueue, head, key, long_with, message, postgres, session, step, user};
use crate::{Commit, Store};
use engine::id::{ItemId, Ordinal, Time};
use session::stored::Write;
use std::sync::Arc;

fn since(store: &PostgresStore, before: Traffic) -> Traffic {
    let now = store.traffic();
    Traffic {
        trips: now.trips - before.trips,
        statements: now.statements - before.statements,
        rows: now.rows - before.rows,
        sent: now.sent - before.sent,
    }
}

/// Head, turn and messages behind `from`.
fn behind(from: u32, messages: u32) -> Vec<Write> {
    step("s", from, messages)
}

#[test]
fn a_commit_costs_as_much_in_long_and_short_sessions() {
    let Some(server) = postgres::server() else { return };
    let mut costs = Vec::new();
    for length in [10_u32, 1_000] {
        let mut store = open(server, &unique("cost"));
        let fence = store.acquire(&session("s"), Time(1)).unwrap();
        store.commit(&session("s"), fence, &long_with(length / 2, head("s"))).unwrap();
        let end = store.messages(&session("s"), None, 1).unwrap().unwrap().messages[0].ord.0 + 1;
        // The begin of a turn.
        let end = end + end % 2;
        let before = store.traffic();
        store.commit(&session("s"), fence, &behind(end, 1)).unwrap();
        let one = since(&store, before);
        let before = store.traffic();
        store.commit(&session("s"), fence, &behind(end + 2, 50)).unwrap();
        let fifty = since(&store, before);
        assert_eq!((one.trips, fifty.trips), (2, 2));
        assert!(one.rows <= 8 && fifty.rows <= 8, "{one:?} {fifty:?}");
        costs.push([one, fifty]);
    }
    for (short, long) in costs[0].into_iter().zip(costs[1]) {
        assert_eq!((short.rows, short.statements), (long.rows, long.statements));
        // Digits of positions differ.
        assert!(long.sent.abs_diff(short.sent) <= short.sent / 50, "{short:?} {long:?}");
    }
}

#[test]
fn each_kind_of_write_costs_two_round_trips() {
    let Some(server) = postgres::server() else { return };
    let mut store = open(server, &unique("kinds"));
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    let large = "x".repeat(40_000);
    let reduced = Write::LetGo { turn: 0, messages: vec![Arc::new(message(0, user("short")))] };
    let mut first = step("s", 0, 3);
    first[2] = Write::Message { turn: 0, message: Arc::new(message(0, user(&large))) };
    let commits: Vec<Vec<Write>> = vec![
        first,
        vec![enqueue("q", false, &large), key("k", "t"), Write::Draft(Some("d".into()))],
        vec![Write::Dequeue(ItemId::new("q")), Write::Draft(None)],
        vec![Write::Compaction(Box::new(compaction("s/c0", 1)))],
        vec![Write::CompactionStatus {
            id: compaction("s/c0", 1).id,
            status: engine::compact::record::Status::Void,
        }],
        vec![reduced],
        vec![crate::testing::piece("a")],
        vec![Write::StreamEnded],
    ];
    for writes in commits {
        let before = store.traffic();
        store.commit(&s, fence, &writes).unwrap();
        assert_eq!(since(&store, before).trips, 2, "{writes:?}");
    }
    // The content that was let go is gone, and the same text is stored again.
    store.commit(&s, fence, &[enqueue("q", false, &large)]).unwrap();
    assert_eq!(store.load(&s).unwrap().unwrap().queue.len(), 1);
}

#[test]
fn a_group_of_commits_waits_once_and_each_has_its_outcome() {
    let Some(server) = postgres::server() else { return };
    let mut store = open(server, &unique("group"));
    let mut commits = Vec::new();
    for id in ["a", "b", "c"] {
        let fence = store.acquire(&session(id), Time(1)).unwrap();
        let writes = if id == "b" { step("c", 0, 1) } else { step(id, 0, 2) };
        commits.push(Commit { session: session(id), fence, writes: Arc::new(writes) });
    }
    let before = store.traffic();
    let outcomes = store.commit_all(&commits);
    assert_eq!(since(&store, before).trips, 2);
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(store.load(&session("b")).unwrap(), None);
    assert_eq!(store.load(&session("c")).unwrap().unwrap().messages.len(), 2);
}

#[test]
fn a_session_is_read_in_two_round_trips() {
    let Some(server) = postgres::server() else { return };
    let mut store = open(server, &unique("reads"));
    let s = session("s");
    let fence = store.acquire(&s, Time(1)).unwrap();
    store.commit(&s, fence, &step("s", 0, 9)).unwrap();
    let mut trips = |read: &dyn Fn(&mut PostgresStore)| {
        let before = store.traffic();
        read(&mut store);
        since(&store, before).trips
    };
    assert_eq!(trips(&|store| drop(store.load(&session("s")).unwrap())), 1);
    assert_eq!(trips(&|store| drop(store.list(&Default::default()).unwrap())), 1);
    assert_eq!(trips(&|store| drop(store.messages(&session("s"), Some(Ordinal(5)), 2).unwrap())), 2);
    assert_eq!(trips(&|store| drop(store.follow(&session("s"), None).unwrap())), 2);
    assert_eq!(trips(&|store| _ = store.pulse().unwrap()), 0);
}
