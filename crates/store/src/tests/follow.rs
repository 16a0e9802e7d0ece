//! Following a session that another store writes: only new rows are read, everything after a rewrite, nothing
//! without a commit; the writer is known.

use crate::Store;
use crate::follow::{Change, FollowState, Mark};
use crate::testing::{Bench, compaction, head, heard, message, on_each, piece, session, step, user};
use engine::compact::record::Status;
use engine::id::{Ordinal, Time};
use engine::words::StateName;
use session::stored::{TurnStatus, Write};
use std::sync::Arc;

fn follow(store: &mut dyn Store, known: Option<&Mark>) -> FollowState {
    store.follow(&session("s"), known).unwrap().expect("it is there")
}

/// The change since a mark; advances the mark.
fn changed(store: &mut dyn Store, mark: &mut Mark) -> Option<Change> {
    let news = follow(store, Some(mark));
    *mark = news.mark;
    news.change
}

#[test]
fn a_follower_reads_what_is_new() {
    on_each(|bench| {
        let mut other = bench.another();
        assert_eq!(other.follow(&session("s"), None).unwrap(), None);
        bench.write("s", &step("s", 0, 4));
        let mut whole = bench.load("s").unwrap();
        let first = follow(&mut *other, None);
        assert_eq!(
            first.holder.map(|holder| (holder.pid, holder.since)),
            Some((std::process::id(), Time(1)))
        );
        assert_eq!(first.change, Some(Change { from: Ordinal(0), stored: whole.clone() }));
        let mut mark = first.mark;
        assert_eq!(changed(&mut *other, &mut mark), None);

        // Appended messages are read alone, with the small tables.
        bench.write("s", &step("s", 4, 2));
        let change = changed(&mut *other, &mut mark).expect("two messages");
        assert_eq!((change.from, change.stored.messages.len()), (Ordinal(4), 2));
        whole.messages.extend(change.stored.messages.clone());
        assert_eq!(bench.load("s").unwrap().messages, whole.messages);
        assert_eq!(change.stored.turns, bench.load("s").unwrap().turns);
        assert_eq!(changed(&mut *other, &mut mark), None);

        // Changes other than messages are seen too.
        let mut turn = change.stored.turns.last().unwrap().clone();
        turn.status = TurnStatus::Failed;
        bench.write("s", &[Write::Turn(turn.clone())]);
        let change = changed(&mut *other, &mut mark).expect("a turn");
        assert_eq!((change.from, change.stored.messages.len()), (Ordinal(6), 0));
        assert_eq!(change.stored.turns.last(), Some(&turn));
        bench.write("s", &[Write::Compaction(Box::new(compaction("s/c0", 1)))]);
        assert_eq!(changed(&mut *other, &mut mark).unwrap().stored.compactions.len(), 1);
        let void = Write::CompactionStatus { id: compaction("s/c0", 1).id, status: Status::Void };
        bench.write("s", &[void]);
        assert_eq!(changed(&mut *other, &mut mark).unwrap().stored.compactions[0].status, Status::Void);
    });
}

#[test]
fn follower_rereads_all_after_an_edit_or_removal() {
    on_each(|bench| {
        let mut other = bench.another();
        let mut writes = step("s", 0, 6);
        if let Some(Write::Message { message, .. }) = writes.last_mut() {
            Arc::make_mut(message).external_id = None;
        }
        bench.write("s", &writes);
        let mut mark = follow(&mut *other, None).mark;
        let mut edited = message(2, user("said in other words"));
        edited.rev = 1;
        let Some(Write::Message { turn, message: learned }) = writes.last().cloned() else { panic!() };
        let mut learned = (*learned).clone();
        learned.external_id = Some("known by now".into());
        let rewrites = [
            vec![Write::Message { turn: 1, message: Arc::new(edited) }],
            vec![Write::Message { turn, message: Arc::new(learned) }],
            vec![Write::Truncate { from: Ordinal(3), turns: 2 }],
            // The same number of messages as before, with other content.
            [vec![Write::Truncate { from: Ordinal(2), turns: 1 }], step("s", 2, 1)].concat(),
        ];
        for writes in rewrites {
            bench.write("s", &writes);
            let change = changed(&mut *other, &mut mark).expect("a change");
            assert_eq!(change, Change { from: Ordinal(0), stored: bench.load("s").unwrap() }, "{writes:?}");
            assert_eq!(changed(&mut *other, &mut mark), None);
        }
    });
}

#[test]
fn follower_knows_the_live_writer() {
    on_each(|bench| {
        let mut other = bench.another();
        bench.write("s", &step("s", 0, 2));
        let mut mark = follow(&mut *other, None).mark;
        let held = |store: &mut dyn Store, mark: &Mark| follow(store, Some(mark)).holder.is_some();
        assert!(held(&mut *other, &mark));
        let fence = bench.store().acquire(&session("s"), Time(5)).unwrap();
        bench.store().release(&session("s"), fence).unwrap();
        assert!(!held(&mut *other, &mark));
        bench.store().acquire(&session("s"), Time(5)).unwrap();
        assert!(held(&mut *other, &mark));
        // The process ends without closing the store.
        bench.reopen();
        assert!(!held(&mut *other, &mark));
        // A store does not report itself as the holder.
        other.acquire(&session("s"), Time(6)).unwrap();
        assert!(!held(&mut *other, &mark));
        assert!(bench.store().follow(&session("s"), None).unwrap().unwrap().holder.is_some());
        mark = follow(&mut *other, None).mark;
        other.delete(&session("s")).unwrap();
        assert_eq!(other.follow(&session("s"), Some(&mark)).unwrap(), None);
    });
}

#[test]
fn the_pulse_tells_that_another_store_committed() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 2));
        let mut other = bench.another();
        heard(bench.store(), &mut *other);
        let mut before = other.pulse().unwrap();
        assert_eq!(other.pulse().unwrap(), before);
        assert!(other.follow(&session("s"), None).unwrap().is_some());
        assert_eq!(other.pulse().unwrap(), before, "reading is no commit");
        let writes: [&dyn Fn(&mut crate::testing::Bench); 3] = [
            &|bench| bench.write("s", &step("s", 2, 1)),
            &|bench| bench.write("t", &step("t", 0, 1)),
            &|bench| assert!(bench.delete("t").is_some()),
        ];
        for write in writes {
            write(bench);
            heard(bench.store(), &mut *other);
            let now = other.pulse().unwrap();
            assert_ne!(now, before, "{:?}", bench.kind());
            before = now;
        }
        let fence = other.acquire(&session("own"), Time(1)).unwrap();
        let pulse = other.pulse().unwrap();
        other.commit(&session("own"), fence, &step("own", 0, 1)).unwrap();
        assert_eq!(other.pulse().unwrap(), pulse, "its own commits are no news to it");
    });
}

/// A list shows a session at work while its process lives, and then what opening it finds.
#[test]
fn list_shows_the_state_that_opening_finds() {
    on_each(|bench| {
        let mut at_work = head("s");
        (at_work.carried.state, at_work.carried.works) = (Some(StateName::Error), true);
        let mut at_rest = head("t");
        at_rest.carried.state = Some(StateName::Completed);
        bench.write("s", &[Write::Head(Box::new(at_work))]);
        bench.write("t", &[Write::Head(Box::new(at_rest))]);
        let shown = |bench: &mut Bench| ["s", "t"].map(|id| bench.row(id).state);
        let completed = Some(StateName::Completed);
        assert_eq!(shown(bench), [Some(StateName::Generating), completed]);
        bench.reopen();
        assert_eq!(shown(bench), [Some(StateName::Error), completed]);
    });
}

#[test]
fn a_follower_reads_new_pieces_of_an_answer_once() {
    on_each(|bench| {
        let mut other = bench.another();
        bench.write("s", &step("s", 0, 4));
        let mut mark = follow(&mut *other, None).mark;
        let read = |other: &mut dyn Store, mark: &mut Mark| {
            let news = follow(other, Some(mark));
            *mark = news.mark;
            (news.change.is_some(), news.streamed)
        };
        let kept = |text: &str| match piece(text) {
            Write::Streamed(kept) => kept,
            _ => unreachable!(),
        };
        assert_eq!(read(&mut *other, &mut mark), (false, Vec::new()));
        bench.write("s", &[piece("one")]);
        bench.write("s", &[piece("two")]);
        assert_eq!(read(&mut *other, &mut mark), (false, vec![kept("one"), kept("two")]));
        bench.write("s", &[piece("three")]);
        assert_eq!(read(&mut *other, &mut mark), (false, vec![kept("three")]));
        assert_eq!(read(&mut *other, &mut mark), (false, Vec::new()));
        // With a change all pieces are read; whoever begins to follow reads them, too.
        bench.write("s", &[Write::Compaction(Box::new(compaction("s/c0", 1)))]);
        let all = vec![kept("one"), kept("two"), kept("three")];
        assert_eq!(read(&mut *other, &mut mark), (true, all.clone()));
        assert_eq!(follow(&mut *other, None).streamed, all);
        bench.write("s", &[Write::StreamEnded]);
        assert_eq!(read(&mut *other, &mut mark), (true, Vec::new()));
        bench.write("s", &[piece("anew")]);
        assert_eq!(read(&mut *other, &mut mark), (false, vec![kept("anew")]));
    });
}
