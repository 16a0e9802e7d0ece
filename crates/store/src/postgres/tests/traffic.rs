//! Costs of a commit: waits for the server, rows and bytes, whatever it writes and however long the session is.

use super::{open, unique};
use crate::postgres::{PostgresStore, Traffic};
use crate::testing::{
    branch, compaction, enqueue, head, keep, key, long_with, message, postgres, session, step, user,
};
use crate::{Commit, Fence, Store};
use engine::compact::record::Status;
use engine::id::{CompactionId, ItemId, Ordinal, Time};
use engine::message::Body;
use engine::scope::ScopePatch;
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

/// A session of so many messages with ten records, a large result near its end, and a scope of its own.
fn written(store: &mut PostgresStore, length: u32) -> Fence {
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let mut writes = step("s", 0, length - 1);
    let large = Body::result("c", &"large ".repeat(10_000));
    writes.push(Write::Message { turn: length / 2 - 1, message: Arc::new(message(length - 1, large)) });
    writes.extend(
        (0..10).map(|n| Write::Compaction(Box::new(compaction(&format!("s/c{n}"), length / 10 * n)))),
    );
    store.commit(&session("s"), fence, &writes).unwrap();
    let shared = ScopePatch { plan: Some("shared".into()), ..ScopePatch::default() };
    store.put_scope("w", "s", &shared, None).unwrap();
    fence
}

/// A rewind to this even position, which voids the newest records, and the begin of the turn behind it.
fn rewind(id: &str, revision: &str, from: u32) -> Vec<Write> {
    let void = (5..10).map(|n| Write::CompactionStatus {
        id: CompactionId::new(format!("{id}/c{n}")),
        status: Status::Void,
    });
    let cut = Write::Truncate { from: Ordinal(from), turns: from / 2 };
    [keep(revision), cut].into_iter().chain(void).chain(step(id, from, 1)).collect()
}

#[test]
fn rewinds_and_branches_cost_as_much_in_long_and_short_sessions() {
    let Some(server) = postgres::server() else { return };
    let costs = [10_u32, 1_000, 10_000].map(|length| {
        let tenant = unique("rewind");
        let mut store = open(server, &tenant);
        let fence = written(&mut store, length);
        let whole = store.load(&session("s")).unwrap().unwrap();
        let middle = length / 4 * 2;
        let mut costs = Vec::new();
        let mut cost = |store: &mut PostgresStore, id: &str, fence, writes: &[Write]| {
            let before = store.traffic();
            store.commit(&session(id), fence, writes).unwrap();
            let Traffic { trips, statements, .. } = since(store, before);
            costs.push((trips, statements));
        };
        // The messages, which are as many as are counted.
        let messages = |store: &mut PostgresStore, id: &str| {
            let stored = store.load(&session(id)).unwrap().unwrap();
            let counts = format!(
                "SELECT messages, turns FROM chat_activity WHERE tenant = '{tenant}' AND session = '{id}'"
            );
            let counts = server.sql_in("postgres", "threadhold", &counts).unwrap();
            assert_eq!(counts, format!("{}|{}", stored.messages.len(), stored.turns.len()), "{id}");
            stored.messages
        };
        cost(&mut store, "s", fence, &[branch("b", length, length / 2, Some("s/c9"))]);
        cost(&mut store, "s", fence, &rewind("s", "r", middle));
        let kept = messages(&mut store, "r");
        assert_eq!(kept, whole.messages);
        // Again, so that rows are in three segments, and one that nobody writes loses some.
        cost(&mut store, "s", fence, &rewind("s", "r2", middle - 2));
        let left = messages(&mut store, "s");
        assert_eq!((&left[..], left.len() as u32), (&kept[..left.len()], middle - 1));
        // The branch rewinds what it has of the session alone.
        let of_branch = store.acquire(&session("b"), Time(1)).unwrap();
        cost(&mut store, "b", of_branch, &rewind("b", "rb", middle));
        assert_eq!(messages(&mut store, "b").len() as u32, middle + 1);
        assert_eq!(messages(&mut store, "rb").len() as u32, length);
        // Messages that were edited are the branch's own.
        let edits = [0, 1].map(|ord| {
            let mut edited = message(ord, user("edited"));
            edited.rev = 1;
            Write::Message { turn: 0, message: Arc::new(edited) }
        });
        store.commit(&session("s"), fence, &edits).unwrap();
        cost(&mut store, "s", fence, &[branch("b2", 2, 1, None)]);
        let copied = messages(&mut store, "b2").into_iter();
        let copied: Vec<_> =
            copied.map(|(_, message)| (message.id.to_string(), message.body.clone())).collect();
        assert_eq!(copied, ["b2/m0", "b2/m1"].map(|id| (id.to_owned(), user("edited"))));
        for id in ["b", "b2", "r", "r2", "rb"] {
            assert_eq!(store.scope("w", id).unwrap().plan, Some("shared".into()), "{id}");
        }
        // A restore puts all of it back.
        let back = [keep("r3"), Write::Truncate { from: Ordinal(0), turns: 0 }].into_iter();
        let all =
            kept.iter().map(|(turn, message)| Write::Message { turn: *turn, message: Arc::clone(message) });
        let before = store.traffic();
        store.commit(&session("s"), fence, &back.chain(all).collect::<Vec<_>>()).unwrap();
        assert_eq!(since(&store, before).trips, 2);
        assert_eq!(messages(&mut store, "s"), whole.messages);
        costs
    });
    assert_eq!(costs[0].iter().map(|(trips, _)| *trips).collect::<Vec<_>>(), [3, 2, 2, 2, 3]);
    assert_eq!((&costs[0], &costs[0]), (&costs[1], &costs[2]));
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
        vec![Write::CompactionStatus { id: compaction("s/c0", 1).id, status: Status::Void }],
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
