//! Deleted content is in no file, and its erasure writes in proportion to what was deleted. Counts bytes,
//! never time.

use crate::Store;
use crate::place::{Options, Synchronous};
use crate::sqlite::SqliteStore;
use crate::testing::{Folder, head, message, piece, session, step, user};
use engine::id::{Ordinal, Time};
use engine::memory::MemoryPatch;
use engine::message::{Body, NOT_KEPT};
use engine::search::{Query, Words};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use session::stored::Write;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SESSIONS: [&str; 4] = ["a", "b", "c", "d"];

/// One step of a store's life. Each text has a word of its own.
#[derive(Debug, Clone)]
enum Act {
    /// A message is appended, of about this many bytes.
    Say(usize, usize),
    /// One of the messages gets a new version, of about this many bytes.
    Edit(usize, u32, usize),
    /// One of the messages is replaced by a note that it is not kept.
    LetGo(usize, u32),
    /// The messages from here on are deleted.
    Truncate(usize, u32),
    /// A piece of an answer in progress is kept, of about this many bytes.
    Stream(usize, usize),
    /// The answer in progress ends.
    EndStream(usize),
    /// The session is deleted.
    Delete(usize),
    /// The session is searched, which indexes it.
    Search(usize),
    /// A memory is written.
    Remember(u8),
    /// A memory is deleted.
    Forget(u8),
    /// The store is idle.
    Idle,
    /// The store is closed and opened again.
    Reopen,
}

fn act() -> impl Strategy<Value = Act> {
    let who = || 0..SESSIONS.len();
    let size = || prop::sample::select(vec![1, 40, 300, 300, 900, 900, 1500, 7000, 20_000]);
    prop_oneof![
        40 => (who(), size()).prop_map(|(id, size)| Act::Say(id, size)),
        6 => (who(), any::<u32>(), size()).prop_map(|(id, at, size)| Act::Edit(id, at, size)),
        4 => (who(), any::<u32>()).prop_map(|(id, at)| Act::LetGo(id, at)),
        1 => (who(), any::<u32>()).prop_map(|(id, at)| Act::Truncate(id, at)),
        6 => (who(), size()).prop_map(|(id, size)| Act::Stream(id, size)),
        3 => who().prop_map(Act::EndStream),
        1 => who().prop_map(Act::Delete),
        2 => who().prop_map(Act::Search),
        3 => (0..5_u8).prop_map(Act::Remember),
        2 => (0..5_u8).prop_map(Act::Forget),
        2 => Just(Act::Idle),
        1 => Just(Act::Reopen),
    ]
}

/// A store, and the newest revision of each of its messages.
struct Life {
    folder: Folder,
    store: SqliteStore,
    has_pages: bool,
    words: u32,
    said: BTreeMap<&'static str, Vec<u32>>,
}

fn open(folder: &Folder, has_pages: bool) -> SqliteStore {
    // Durability costs time, and changes no bytes.
    let store = SqliteStore::open(Options { synchronous: Synchronous::Normal, ..folder.options() }).unwrap();
    if has_pages { store } else { store.without_pages() }
}

impl Life {
    fn new(has_pages: bool) -> Self {
        let folder = Folder::new();
        let store = open(&folder, has_pages);
        Self { store, folder, has_pages, words: 0, said: BTreeMap::new() }
    }

    fn text(&mut self, size: usize) -> String {
        self.words += 1;
        format!("word{:06} ", self.words).repeat(size / 11 + 1)
    }

    fn write(&mut self, id: &str, write: Write) {
        let fence = self.store.acquire(&session(id), Time(1)).unwrap();
        self.store.commit(&session(id), fence, &[Write::Head(Box::new(head(id))), write]).unwrap();
    }

    fn put(&mut self, id: &'static str, ord: u32, rev: u32, body: Body) {
        let mut message = message(ord, body);
        message.rev = rev;
        // An index of its own has these.
        let is_said = !matches!(message.body, Body::Event { .. });
        message.external_id = is_said.then(|| format!("{id}-{ord} word{:06}", self.words));
        let message = Arc::new(message);
        self.write(
            id,
            match &message.body {
                Body::Event { .. } => Write::LetGo { turn: 0, messages: vec![message] },
                _ => Write::Message { turn: 0, message },
            },
        );
    }

    fn act(&mut self, act: &Act) {
        let place = |life: &Self, id: &str, at: u32| {
            let said = life.said.get(id).filter(|said| !said.is_empty())?;
            let ord = at % u32::try_from(said.len()).unwrap();
            Some((ord, said[ord as usize]))
        };
        match *act {
            Act::Say(id, size) => {
                let (id, text) = (SESSIONS[id], self.text(size));
                let ord = u32::try_from(self.said.entry(id).or_default().len()).unwrap();
                self.put(id, ord, 0, if ord % 3 == 0 { user(&text) } else { Body::result("c", &text) });
                self.said.entry(id).or_default().push(0);
            }
            Act::Edit(id, at, size) => {
                let Some((ord, rev)) = place(self, SESSIONS[id], at) else { return };
                let text = self.text(size);
                self.put(SESSIONS[id], ord, rev + 1, user(&text));
                self.said.entry(SESSIONS[id]).or_default()[ord as usize] += 1;
            }
            Act::LetGo(id, at) => {
                let Some((ord, rev)) = place(self, SESSIONS[id], at) else { return };
                let body = Body::Event { kind: NOT_KEPT.into(), text: "c".into() };
                self.put(SESSIONS[id], ord, rev + 1, body);
                self.said.entry(SESSIONS[id]).or_default()[ord as usize] += 1;
            }
            Act::Truncate(id, at) => {
                let Some((ord, _)) = place(self, SESSIONS[id], at) else { return };
                self.write(SESSIONS[id], Write::Truncate { from: Ordinal(ord), turns: 0 });
                self.said.entry(SESSIONS[id]).or_default().truncate(ord as usize);
            }
            Act::Stream(id, size) => {
                let text = self.text(size);
                self.write(SESSIONS[id], piece(&text));
            }
            Act::EndStream(id) => self.write(SESSIONS[id], Write::StreamEnded),
            Act::Delete(id) => {
                let deleted = self.store.delete(&session(SESSIONS[id])).unwrap();
                assert!(deleted.is_none_or(|deleted| deleted.scrubbed));
                self.said.remove(SESSIONS[id]);
            }
            Act::Search(id) => {
                let query =
                    Query { words: Words::of("word000001"), before: None, skip: 0, limit: 9, hidden: true };
                self.store.search(&session(SESSIONS[id]), &query).unwrap();
            }
            Act::Remember(n) => {
                let patch = MemoryPatch { text: Some(self.text(40).into()), ..MemoryPatch::default() };
                self.store.put_memory("w", &n.to_string(), patch, Time(1)).unwrap();
            }
            Act::Forget(n) => drop(self.store.delete_memory("w", &n.to_string()).unwrap()),
            Act::Idle => while self.store.tidy(false).unwrap() {},
            Act::Reopen => {
                self.store.close().unwrap();
                self.store = open(&self.folder, self.has_pages);
            }
        }
    }
}

/// The numbers of the words in some bytes.
fn words_in(bytes: &[u8], found: &mut BTreeSet<u32>) {
    for at in bytes.windows(4).enumerate().filter(|(_, window)| window == b"word").map(|(at, _)| at + 4) {
        let digits = bytes.get(at..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
        found.extend(digits.and_then(|digits| digits.parse::<u32>().ok()));
    }
}

/// The words in the files of a folder, read as bytes.
fn words_on_disk(folder: &Path) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(words_on_disk(&entry.path())),
            false => words_in(&fs::read(entry.path()).unwrap(), &mut found),
        }
    }
    found
}

/// The words in the rows of all tables.
fn words_in_rows(folder: &Folder) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let file = Connection::open(folder.file()).unwrap();
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%'";
    let mut tables = file.prepare(tables).unwrap();
    let names: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    for name in names {
        let mut statement = file.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).unwrap() {
                    words_in(bytes, &mut found);
                }
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 40, ..ProptestConfig::default() })]
    #[test]
    fn words_of_deleted_rows_are_in_no_file(acts in prop::collection::vec(act(), 200..500), has_pages in any::<bool>()) {
        let mut life = Life::new(has_pages);
        acts.iter().for_each(|act| life.act(act));
        // Streamed text that its message replaced is overwritten with the next deletion, so there must be one.
        life.act(&Act::Say(0, 1));
        life.act(&Act::Delete(0));
        life.store.tidy(false).unwrap();
        let live = words_in_rows(&life.folder);
        let lost: Vec<u32> = words_on_disk(&life.folder.0).difference(&live).copied().collect();
        prop_assert_eq!(lost, Vec::<u32>::new());
        prop_assert!(live.is_subset(&words_on_disk(&life.folder.0)));
    }
}

/// A folder with a store of this many sessions of 60 messages, about 120 KB each, and an empty one.
fn filled(sessions: u32) -> (Folder, SqliteStore) {
    let folder = Folder::new();
    let busy_timeout = Duration::from_millis(20);
    let options = Options { synchronous: Synchronous::Normal, busy_timeout, ..folder.options() };
    let mut store = SqliteStore::open(options).unwrap();
    for n in 0..60 {
        for id in 0..sessions {
            let id = id.to_string();
            let fence = store.acquire(&session(&id), Time(1)).unwrap();
            let text = format!("{id} says {n} ").repeat([5, 50, 700, 100][n as usize % 4]);
            let said = Write::Message { turn: 0, message: Arc::new(message(n, user(&text))) };
            store.commit(&session(&id), fence, &[Write::Head(Box::new(head(&id))), said]).unwrap();
        }
    }
    let fence = store.acquire(&session("empty"), Time(1)).unwrap();
    store.commit(&session("empty"), fence, &step("empty", 0, 0)).unwrap();
    (folder, store)
}

fn log(folder: &Folder) -> u64 {
    fs::metadata(folder.0.join("threadhold.db-wal")).unwrap().len()
}

/// A connection that keeps all that is written from now on in the log.
fn reader(folder: &Folder) -> Connection {
    let reader = Connection::open(folder.file()).unwrap();
    reader.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(log(folder), 0);
    reader.execute_batch("BEGIN; SELECT count(*) FROM chat_messages").unwrap();
    reader
}

/// The bytes that the deletion of this session writes.
fn written(folder: &Folder, store: &mut SqliteStore, id: &str) -> u64 {
    let reader = reader(folder);
    assert!(!store.delete(&session(id)).unwrap().unwrap().scrubbed);
    let written = log(folder);
    drop(reader);
    store.tidy(false).unwrap();
    assert_eq!(log(folder), 0);
    written
}

/// The first deletion pays for rows that were moved before, once.
#[test]
fn a_deletion_writes_what_it_deletes() {
    let page = 4096 + 24;
    let [small, large] = [8, 32].map(|sessions| {
        let (folder, mut store) = filled(sessions);
        written(&folder, &mut store, "1");
        let bytes = fs::metadata(folder.file()).unwrap().len();
        let empty = written(&folder, &mut store, "empty");
        let content = written(&folder, &mut store, "2");
        assert!(bytes > u64::from(sessions) * 100_000);
        assert!(empty <= 24 * page, "{empty} bytes");
        assert!(content <= 3 * 120_000, "{content} bytes");
        (empty, content)
    });
    assert!(large.0 <= small.0 + 8 * page && large.1 <= small.1 + 16 * page, "{small:?}, {large:?}");
}

/// As with an SQLite of another build, or a file of too many pages.
#[test]
fn deletion_without_access_to_pages_rewrites_the_file() {
    let (folder, mut store) = filled(8);
    written(&folder, &mut store, "1");
    let with_pages = written(&folder, &mut store, "2");
    let mut store = store.without_pages();
    let without = written(&folder, &mut store, "3");
    let bytes = fs::metadata(folder.file()).unwrap().len();
    assert!(with_pages < bytes && without > bytes, "{with_pages}, {without} of {bytes} bytes");
    let file = fs::read(folder.file()).unwrap();
    let says = |id: u32| file.windows(7).any(|bytes| bytes == format!("{id} says ").as_bytes());
    assert_eq!([1, 2, 3, 4].map(says), [false, false, false, true]);
}

#[test]
fn log_of_an_idle_store_does_not_grow_beside_a_reader() {
    let (folder, mut store) = filled(8);
    let reader = reader(&folder);
    assert!(!store.delete(&session("1")).unwrap().unwrap().scrubbed);
    let after = log(&folder);
    for _ in 0..5 {
        store.tidy(false).unwrap();
        assert_eq!(log(&folder), after);
    }
    drop(reader);
    store.tidy(false).unwrap();
    assert_eq!(log(&folder), 0);
    assert!(!fs::read(folder.file()).unwrap().windows(7).any(|bytes| bytes == b"1 says "));
}

/// Without it a deletion rewrites the whole file.
#[test]
fn sqlite_is_built_with_access_to_pages() {
    let folder = Folder::new();
    let store = folder.open();
    let file = Connection::open(folder.file()).unwrap();
    let pages: u32 = file.query_row("SELECT count(*) FROM sqlite_dbpage", [], |row| row.get(0)).unwrap();
    assert!(pages > 10);
    drop(store);
}
