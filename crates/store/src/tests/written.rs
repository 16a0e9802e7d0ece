//! Bytes on disk: the size of a commit, large contents stored once, deleted content erased. Counts bytes,
//! never time.

use crate::place::{Options, Synchronous};
use crate::sqlite::SqliteStore;
use crate::testing::{Folder, compaction, enqueue, head, keep, key, message, piece, session, step, user};
use crate::{Fence, Store};
use engine::id::{ItemId, Ordinal, Time};
use engine::message::Body;
use engine::prompt::system::{CallerSection, OnOverflow, Place};
use engine::scope::ScopePatch;
use engine::search::{Query, Words};
use rusqlite::Connection;
use session::stored::{Head, Write};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// A head with a large prefix, as of an editor with many tools.
fn heavy(updated_at: u64) -> Head {
    let mut heavy = head("s");
    heavy.updated_at = Time(updated_at);
    heavy.prefix.sections = vec![CallerSection {
        place: Place::System,
        name: "system".into(),
        content: "You are an agent. ".repeat(6_000),
        priority: 0,
        max_tokens: None,
        on_overflow: OnOverflow::Keep,
    }];
    heavy
}

fn words(words: &str) -> Query {
    Query { words: Words::of(words), before: None, skip: 0, limit: 10, hidden: true }
}

/// The bytes that this step writes into the log.
fn written(folder: &Folder, store: &mut SqliteStore, fence: Fence, writes: &[Write]) -> u64 {
    let other = Connection::open(folder.file()).unwrap();
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let log = folder.0.join("threadhold.db-wal");
    assert_eq!(fs::metadata(&log).unwrap().len(), 0);
    store.commit(&session("s"), fence, writes).unwrap();
    fs::metadata(&log).unwrap().len()
}

/// A message with its turn and the head, as a session's step writes them.
fn one(ord: u32) -> Vec<Write> {
    let mut writes = step("s", ord, 1);
    writes[0] = Write::Head(Box::new(heavy(u64::from(ord) + 100)));
    writes
}

#[test]
fn commit_size_does_not_grow_with_the_session() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let fill = |store: &mut SqliteStore, from: u32, to: u32| {
        for ord in from..to {
            store.commit(&session("s"), fence, &one(ord)).unwrap();
        }
        let sizes: Vec<u64> = (to..to + 200).map(|ord| written(&folder, store, fence, &one(ord))).collect();
        (sizes.iter().sum::<u64>() / 200, sizes.into_iter().max().unwrap())
    };
    let (early, most_early) = fill(&mut store, 0, 10);
    let record = compaction("s/c0", 5);
    store.commit(&session("s"), fence, &[Write::Compaction(Box::new(record))]).unwrap();
    let (late, most_late) = fill(&mut store, 210, 1000);
    let page = 4096 + 24;
    assert!(late <= early + page, "{early} bytes at 10 messages, {late} at 1,000");
    // Also when pages split in as many trees at once as a step touches.
    assert!(most_early.max(most_late) <= 64 * 1024, "{most_early} and {most_late} bytes at most");
}

/// A turn waits for its commits, so checkpoints run outside of them.
#[test]
fn log_is_checkpointed_between_commits() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let size = || fs::metadata(folder.file()).unwrap().len();
    let before = size();
    let first = fs::read(folder.file()).unwrap();
    for ord in 0..600 {
        store.commit(&session("s"), fence, &one(ord)).unwrap();
        store.tidy(true).unwrap();
    }
    let log = fs::metadata(folder.0.join("threadhold.db-wal")).unwrap().len();
    assert!(log > 1_100 * 4096, "more than what SQLite itself lets stand: {log} bytes");
    assert_eq!(size(), before);
    assert_eq!(fs::read(folder.file()).unwrap(), first);
    store.tidy(false).unwrap();
    assert!(size() > before);
    let moved = fs::read(folder.file()).unwrap();
    store.commit(&session("s"), fence, &one(600)).unwrap();
    store.tidy(true).unwrap();
    assert_eq!(fs::read(folder.file()).unwrap(), moved);
}

/// A commit writes at most 64 KiB and eight times the message's bytes. Indexing it in the next search, and an
/// edit, stay within that on average: index segments are merged gradually, and merged ones are wiped when the
/// merge is complete.
#[test]
fn bytes_written_are_bounded_by_the_message() {
    // Many words, most of them repeated, as in code and prose.
    let text = |bytes: usize, seed: u64| {
        let mut text = format!("seed{seed} ");
        for n in seed.. {
            if text.len() >= bytes {
                break;
            }
            text.push_str(&format!("part{}_of_{} ", n.wrapping_mul(n) % 997, n % 61));
        }
        text
    };
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    // The first commit has the session's prefix, which is not part of a message.
    store.commit(&session("s"), fence, &one(0)).unwrap();
    let mut all: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (ord, bytes) in (1..).zip([10, 1_000, 20_000, 100_000, 600_000].repeat(6)) {
        let said = |rev: u32| {
            let mut message = message(ord, Body::result("call", &text(bytes, u64::from(ord * 2 + rev))));
            message.rev = rev;
            Write::Message { turn: ord / 2, message: Arc::new(message) }
        };
        let most = 64 * 1024 + 8 * bytes as u64;
        let mut new = one(ord);
        new.retain(|write| !matches!(write, Write::Message { .. }));
        new.push(said(0));
        let alone = written(&folder, &mut store, fence, &new);
        assert!(alone <= most, "{bytes} bytes: {alone}, where {most} are allowed");
        while count(&folder, "SELECT indexed, 0 FROM chat_activity").0 <= u64::from(ord) {
            store.search(&session("s"), &words("part7_of_3")).unwrap();
        }
        let with_index = fs::metadata(folder.0.join("threadhold.db-wal")).unwrap().len();
        let again = written(&folder, &mut store, fence, &[said(1)]);
        all.entry(bytes).or_default().extend([with_index, again]);
    }
    for (bytes, written) in all {
        let mean = written.iter().sum::<u64>() / written.len() as u64;
        assert!(mean <= 64 * 1024 + 8 * bytes as u64, "{bytes} bytes: {mean} in the mean of {written:?}");
    }
}

/// A step of a queue: a command is accepted under a key, another one is removed, an early message is edited,
/// the draft changes.
fn accepted(n: u32) -> Vec<Write> {
    let mut heavy = heavy(u64::from(n) + 100);
    heavy.accepted = n;
    let mut edit = message(2, user(&format!("said better {n}")));
    edit.rev = n;
    vec![
        Write::Head(Box::new(heavy)),
        enqueue(&n.to_string(), n.is_multiple_of(7), "what to do next"),
        key(&format!("key {n}"), &n.to_string()),
        Write::Dequeue(ItemId::new((n - 1).to_string())),
        Write::Message { turn: 1, message: Arc::new(edit) },
        Write::Draft(n.is_multiple_of(2).then(|| "a draft".into())),
    ]
}

#[test]
fn command_size_does_not_grow_with_the_session() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    for ord in 0..10 {
        store.commit(&session("s"), fence, &one(ord)).unwrap();
    }
    let mean = |store: &mut SqliteStore, from: u32| {
        (from..from + 100).map(|n| written(&folder, store, fence, &accepted(n))).sum::<u64>() / 100
    };
    // The edited message is indexed, so each edit changes the index too.
    let found = |store: &mut SqliteStore| store.search(&session("s"), &words("better")).unwrap().hits.len();
    assert_eq!(found(&mut store), 0);
    let early = mean(&mut store, 1);
    for n in 101..1500 {
        store.commit(&session("s"), fence, &accepted(n)).unwrap();
    }
    let late = mean(&mut store, 1500);
    assert!(late <= early + 2 * (4096 + 24), "{early} bytes at the first, {late} after 1,500 commands");
    assert_eq!(found(&mut store), 1);
}

fn count(folder: &Folder, sql: &str) -> (u64, u64) {
    let other = Connection::open(folder.file()).unwrap();
    other.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
}

#[test]
fn large_content_is_stored_once_until_its_last_reference() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let large = "output ".repeat(10_000);
    let result =
        |ord: u32| Write::Message { turn: 0, message: Arc::new(message(ord, Body::result("call", &large))) };
    let blobs = |folder: &Folder| count(folder, "SELECT count(*), sum(size) FROM blobs");
    store.commit(&session("s"), fence, &[Write::Head(Box::new(heavy(1))), result(0), result(1)]).unwrap();
    let (contents, bytes) = blobs(&folder);
    assert_eq!(contents, 2, "the result and the prefix");
    assert!(bytes > large.len() as u64 && bytes < 3 * large.len() as u64);
    let in_rows = count(&folder, "SELECT count(*), sum(length(body)) FROM chat_messages");
    assert!(in_rows.1 < 2000, "{in_rows:?}");
    // The change deletes the old prefix, unless a revision uses it.
    store.commit(&session("s"), fence, &[Write::Head(Box::new(head("s")))]).unwrap();
    assert_eq!(blobs(&folder).0, 2);
    store.commit(&session("s"), fence, &[Write::Truncate { from: Ordinal(1), turns: 1 }]).unwrap();
    assert_eq!(blobs(&folder).0, 2);
    store.commit(&session("s"), fence, &[keep("f")]).unwrap();
    store.commit(&session("s"), fence, &[Write::Truncate { from: Ordinal(0), turns: 0 }]).unwrap();
    assert_eq!(blobs(&folder).0, 2);
    let deleted = store.delete(&session("s")).unwrap().unwrap();
    assert_eq!(deleted.workspace, "w");
    assert_eq!(deleted.blobs, 2, "the prefix, and the result that only the revision had");
    assert!(deleted.blob_bytes > large.len() as u64);
    assert_eq!(count(&folder, "SELECT count(*), 0 FROM blobs").0, 0);
}

/// The bytes of all files in a folder and below it.
fn everything(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            bytes.extend(everything(&entry.path()));
        } else {
            bytes.extend(fs::read(entry.path()).unwrap());
        }
    }
    bytes
}

fn holds(folder: &Folder, text: &str) -> bool {
    everything(&folder.0).windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn deleted_content_is_in_no_file() {
    const SECRET: &str = "hunter2-secret";
    let folder = Folder::new();
    let mut store = folder.open();
    let [gone, stays] = [session(SECRET), session("stays")];
    let fences = [&gone, &stays].map(|id| store.acquire(id, Time(1)).unwrap());
    let mut first = head(SECRET);
    first.title = Some(format!("title {SECRET}"));
    first.settings = serde_json::json!({ "key": SECRET });
    store.commit(&gone, fences[0], &[Write::Head(Box::new(first))]).unwrap();
    store.commit(&stays, fences[1], &step("stays", 0, 0)).unwrap();
    // In turn and of many sizes, so that rows share pages and move between them.
    for n in 0..300_u32 {
        let size = [1, 30, 150, 3000][n as usize % 4];
        let text = format!("{SECRET} {n} ").repeat(size);
        let mut secret = message(n, if n % 2 == 0 { user(&text) } else { Body::result("c", &text) });
        secret.external_id = Some(format!("{SECRET}-{n}"));
        let write = Write::Message { turn: 0, message: Arc::new(secret) };
        store.commit(&gone, fences[0], &[write]).unwrap();
        let other = message(n, user(&"harmless ".repeat(size)));
        store.commit(&stays, fences[1], &[Write::Message { turn: 0, message: Arc::new(other) }]).unwrap();
    }
    for n in 0..20_u32 {
        let text = format!("{SECRET} {n} ").repeat([1, 150, 3000][n as usize % 3]);
        let waits = [
            enqueue(&n.to_string(), false, &text),
            key(&format!("{SECRET} {n}"), SECRET),
            Write::Draft(Some(text.as_str().into())),
            piece(&text),
        ];
        store.commit(&gone, fences[0], &waits).unwrap();
        store.commit(&stays, fences[1], &[enqueue(&n.to_string(), true, "harmless")]).unwrap();
        let plan = ScopePatch { plan: Some(text.into()), ..ScopePatch::default() };
        store.put_scope("w", SECRET, &plan, None).unwrap();
    }
    for n in 0..10 {
        store.commit(&gone, fences[0], &[Write::Dequeue(ItemId::new(n.to_string()))]).unwrap();
    }
    let mut record = compaction(SECRET, 3);
    record.narrative = Some(SECRET.repeat(2000).into());
    store.commit(&gone, fences[0], &[Write::Compaction(Box::new(record))]).unwrap();
    // Each search indexes a slice, until all are indexed.
    for id in [&gone, &stays].repeat(9) {
        store.search(id, &words("harmless")).unwrap();
    }
    assert_eq!(count(&folder, "SELECT count(DISTINCT id >> 14), 0 FROM search_pieces_docsize").0, 600);
    assert!(holds(&folder, SECRET));
    let deleted = store.delete(&gone).unwrap().unwrap();
    assert!(deleted.scrubbed);
    assert_eq!((deleted.messages, deleted.compactions), (300, 1));
    assert!(!holds(&folder, SECRET));
    assert!(holds(&folder, "harmless"));
    let stored = store.load(&stays).unwrap().unwrap();
    assert_eq!((stored.messages.len(), stored.queue.len(), stored.unreadable.len()), (300, 20, 0));
    // The writer of a deleted session gets an error.
    assert!(store.commit(&gone, fences[0], &step(SECRET, 0, 1)).is_err());
}

#[test]
fn deletion_beside_a_reader_reports_possible_traces() {
    let folder = Folder::new();
    let mut options = folder.options();
    options.busy_timeout = std::time::Duration::from_millis(20);
    let mut store = SqliteStore::open(options).unwrap();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 2)).unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("BEGIN; SELECT count(*) FROM chat_messages").unwrap();
    let deleted = store.delete(&session("s")).unwrap().unwrap();
    assert!(!deleted.scrubbed);
    assert_eq!(store.load(&session("s")), Ok(None));
}

/// Nobody is ever idle here, and no reader keeps the log: it is moved to the file all the same.
#[test]
fn log_of_a_busy_store_is_bounded() {
    let folder = Folder::new();
    let mut store =
        SqliteStore::open(Options { synchronous: Synchronous::Normal, ..folder.options() }).unwrap();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 1)).unwrap();
    let mut most = 0;
    for n in 0..40_u32 {
        // A draft replaces the one before, so that the file stays small. No page of two drafts is the same.
        let draft = format!("{n:04} ").repeat(1_600_000);
        store.commit(&session("s"), fence, &[Write::Draft(Some(draft.as_str().into()))]).unwrap();
        store.tidy(true).unwrap();
        most = most.max(fs::metadata(folder.0.join("threadhold.db-wal")).unwrap().len());
    }
    // 320 MB were written. Pages that a deletion overwrites are written too.
    assert!(most > 64 * 1024 * 1024 && most < 192 * 1024 * 1024, "{most} bytes");
}
