//! Rows that a branch and a revision share with their session: what a rewind and a branch write, and that a change of one
//! of them concerns no other.

use crate::Store;
use crate::sqlite::{SqliteStore, check};
use crate::testing::{Folder, branch, compaction, keep, message, on_each, session, step, user};
use engine::compact::record::Status;
use engine::id::{CompactionId, Ordinal, Time};
use engine::message::Body;
use rusqlite::Connection;
use session::renaming::Renaming;
use session::stored::{Stored, Write};
use std::fs;
use std::sync::Arc;

/// A session of so many messages, with a record after each hundred of them.
fn long(messages: u32) -> Vec<Write> {
    let mut writes = step("s", 0, messages);
    for n in 0..messages / 100 {
        let mut record = compaction(&format!("s/c{n}"), n * 100);
        record.block = "what was done in these rounds, ".repeat(200).into();
        writes.push(Write::Compaction(Box::new(record)));
    }
    writes
}

/// The messages of a session, with the ids of another one.
fn renamed(stored: &Stored, to: &str) -> Vec<(u32, Arc<engine::message::Message>)> {
    let renaming = Renaming::between("s", to).unwrap();
    stored
        .messages
        .iter()
        .map(|(turn, message)| (*turn, Arc::new(renaming.message((**message).clone()))))
        .collect()
}

/// The bytes that these writes add to the log.
fn written(folder: &Folder, store: &mut SqliteStore, writes: &[Write]) -> u64 {
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    store.commit(&session("s"), fence, writes).unwrap();
    fs::metadata(folder.0.join("threadhold.db-wal")).unwrap().len()
}

#[test]
fn rewinds_and_branches_write_as_much_in_long_sessions() {
    let costs = [600_u32, 6_000].map(|messages| {
        let folder = Folder::new();
        let mut store = folder.open();
        written(&folder, &mut store, &long(messages));
        let whole = store.load(&session("s")).unwrap().unwrap();
        let forked = written(&folder, &mut store, &[branch("b", messages, messages / 2, Some("s/c1"))]);
        let middle = messages / 2;
        let void = (middle / 100..messages / 100).map(|n| Write::CompactionStatus {
            id: CompactionId::new(format!("s/c{n}")),
            status: Status::Void,
        });
        let cut = Write::Truncate { from: Ordinal(middle), turns: middle / 2 };
        let rewind: Vec<Write> = [keep("r"), cut].into_iter().chain(void).collect();
        let edited = written(&folder, &mut store, &rewind);
        let load = |store: &mut SqliteStore, id| store.load(&session(id)).unwrap().unwrap();
        assert_eq!(load(&mut store, "r").messages, whole.messages);
        assert_eq!(load(&mut store, "r").compactions, whole.compactions);
        assert_eq!(load(&mut store, "b").messages, renamed(&whole, "b"));
        assert_eq!(load(&mut store, "s").messages, whole.messages[..middle as usize]);
        (forked, edited)
    });
    for (forked, edited) in costs {
        assert!(forked <= 64 * 1024 && edited <= 64 * 1024, "{costs:?}");
    }
}

#[test]
fn changes_stay_with_the_session_that_makes_them() {
    on_each(|bench| {
        bench.write("s", &step("s", 0, 8));
        bench.write("s", &[Write::Compaction(Box::new(compaction("s/c0", 3)))]);
        bench.write("s", &[branch("b", 6, 3, Some("s/c0"))]);
        let [s, b] = ["s", "b"].map(|id| bench.load(id).unwrap());
        assert_eq!(b.messages, renamed(&s, "b")[..6]);
        assert_eq!(b.compactions[0].id.as_str(), "b/c0");
        // The session changes what both have, then the branch does.
        let edit = |ord, text: &str| {
            let mut message = message(ord, user(text));
            message.rev = 1;
            Write::Message { turn: ord / 2, message: Arc::new(message) }
        };
        let status = |id: &str, status| Write::CompactionStatus { id: CompactionId::new(id), status };
        bench.write("s", &[edit(2, "of the session"), status("s/c0", Status::Void)]);
        assert_eq!(bench.load("b").as_ref(), Some(&b));
        assert_eq!(bench.row("b").summary, Some(b.compactions[0].block.to_string()));
        let before = bench.load("s").unwrap();
        bench.write("b", &[edit(4, "of the branch"), status("b/c0", Status::Undone)]);
        assert_eq!(bench.load("s"), Some(before.clone()));
        let now = bench.load("b").unwrap();
        assert_eq!(now.messages[4].1.body, user("of the branch"));
        assert_eq!(
            (now.messages[2].clone(), now.compactions[0].status),
            (b.messages[2].clone(), Status::Undone)
        );
        // What one removes, the other keeps.
        bench.write("s", &[Write::Truncate { from: Ordinal(1), turns: 1 }]);
        assert_eq!(bench.load("b").as_ref(), Some(&now));
        bench.delete("s").unwrap();
        assert_eq!(bench.load("b").as_ref(), Some(&now));
        // Under the same id another session begins, and the branch has nothing of it.
        bench.write("s", &step("s", 0, 2));
        bench.write("b", &step("b", 6, 2));
        assert_eq!(bench.load("s").unwrap().messages.len(), 2);
        let b = bench.load("b").unwrap();
        assert_eq!((b.messages[..6].to_vec(), b.messages.len()), (now.messages, 8));
        bench.delete("b").unwrap();
        assert_eq!(bench.load("s").unwrap().messages.len(), 2);
    });
}

/// Nothing of a deleted session is left once nobody has it any more, whoever was deleted last.
#[test]
fn the_last_one_takes_the_rows_along() {
    for order in [["s", "b", "d"], ["b", "s", "d"], ["d", "b", "s"], ["s", "d", "b"]] {
        let folder = Folder::new();
        let mut store = folder.open();
        let fence = store.acquire(&session("s"), Time(1)).unwrap();
        let large = Body::result("c", &"large ".repeat(10_000));
        let large = Write::Message { turn: 2, message: Arc::new(message(4, large)) };
        let record = Write::Compaction(Box::new(compaction("s/c0", 1)));
        store.commit(&session("s"), fence, &[step("s", 0, 4), vec![large, record]].concat()).unwrap();
        store.commit(&session("s"), fence, &[branch("b", 5, 2, Some("s/c0"))]).unwrap();
        let cut = Write::Truncate { from: Ordinal(2), turns: 1 };
        store.commit(&session("s"), fence, &[keep("r"), cut]).unwrap();
        store.commit(&session("s"), fence, &[branch("d", 2, 1, None), keep("r2")]).unwrap();
        store.release(&session("s"), fence).unwrap();
        for id in order {
            store.delete(&session(id)).unwrap().unwrap();
        }
        let other = Connection::open(folder.file()).unwrap();
        for table in
            ["chat_messages", "chat_turns", "compactions", "blob_refs", "blobs", "segments", "shares"]
        {
            let left: u32 =
                other.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
            assert_eq!(left, 0, "{table} after {order:?}");
        }
    }
}

/// A branch has what its session shows, not what was edited before: with the session it is gone.
#[test]
fn a_branch_has_no_older_version_of_a_message() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 4)).unwrap();
    let mut edited = message(2, user("without it"));
    edited.rev = 1;
    store
        .commit(&session("s"), fence, &[keep("r"), Write::Message { turn: 1, message: Arc::new(edited) }])
        .unwrap();
    store.commit(&session("s"), fence, &[branch("b", 4, 2, None)]).unwrap();
    let whole = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(store.load(&session("b")).unwrap().unwrap().messages, renamed(&whole, "b"));
    store.delete(&session("s")).unwrap().unwrap();
    assert_eq!(store.load(&session("b")).unwrap().unwrap().messages, renamed(&whole, "b"));
    let other = Connection::open(folder.file()).unwrap();
    let rows: u32 = other.query_row("SELECT count(*) FROM chat_messages", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 4);
}

/// A row whose position is damaged goes with its session all the same.
#[test]
fn a_damaged_position_keeps_no_session_from_being_deleted() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let record = Write::Compaction(Box::new(compaction("s/c0", 1)));
    store.commit(&session("s"), fence, &[step("s", 0, 4), vec![record]].concat()).unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other
        .execute_batch("UPDATE chat_messages SET ord = -1 WHERE ord = 2; UPDATE compactions SET n = -5")
        .unwrap();
    store.delete(&session("s")).unwrap().unwrap();
    for table in ["chat_messages", "compactions", "segments"] {
        let left: u32 =
            other.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        assert_eq!(left, 0, "{table}");
    }
}

/// Messages of a session without its own row stay in a repair, are reported under its id, and can be dropped by it.
#[test]
fn a_lost_session_is_found_in_all_its_segments() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 4)).unwrap();
    store.commit(&session("s"), fence, &[keep("r"), Write::Truncate { from: Ordinal(2), turns: 1 }]).unwrap();
    store.commit(&session("s"), fence, &step("s", 2, 2)).unwrap();
    store.close().unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.pragma_update(None, "foreign_keys", false).unwrap();
    other.execute_batch("DELETE FROM chat_sessions").unwrap();
    let rows =
        || -> u32 { other.query_row("SELECT count(*) FROM chat_messages", [], |row| row.get(0)).unwrap() };
    let (left, _) = check::repair(&folder.options()).unwrap();
    assert_eq!(rows(), 6);
    let lost = left.faults.iter().filter(|damage| damage.session == Some(session("s")));
    let lost: Vec<&str> = lost.map(|damage| damage.what.as_str()).collect();
    assert_eq!(lost, ["session s: its own row is missing; 6 rows of messages are left"]);
    assert!(matches!(check::drop_session(&folder.options(), &session("s")), Ok(check::Dropped::Done(..))));
    assert_eq!(rows(), 0);
}
