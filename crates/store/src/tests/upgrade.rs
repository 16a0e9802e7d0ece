//! Files of older schemas are upgraded whole, by the process that comes first.

use crate::Store;
use crate::list::{ListQuery, RevisionPage};
use crate::place::Options;
use crate::sqlite::SqliteStore;
use crate::testing::{Folder, enqueue, head, key, piece, session, step};
use engine::id::Time;
use rusqlite::{Connection, params};
use session::stored::{Origin, TitleFrom, Write};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The tables of the first version.
const FIRST: &str = include_str!("../migrations/0001.sql");

/// A folder with a file of the first schema: a session with a title, a copy of it, a background session of
/// it, and an empty one with a parent. Messages are copied from a current file, where their rows are equal.
fn of_the_first_schema() -> Folder {
    let donor = Folder::new();
    let mut store = donor.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let mut writes = step("s", 0, 4);
    for write in &mut writes {
        // The first schema has no shortened results.
        if let Write::Message { message, .. } = write {
            Arc::make_mut(message).shown = None;
        }
    }
    store.commit(&session("s"), fence, &writes).unwrap();
    store.close().unwrap();
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let old = Connection::open(folder.file()).unwrap();
    old.execute_batch(FIRST).unwrap();
    old.pragma_update(None, "application_id", 0x5448_4c44).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.execute("ATTACH ?1 AS donor", [donor.file().to_str().unwrap()]).unwrap();
    old.execute_batch("INSERT INTO blobs SELECT * FROM donor.blobs").unwrap();
    for (id, title, parent, messages_of) in [
        ("s", Some("a title"), None, Some("s")),
        ("copy", Some("a title"), Some("s"), Some("s")),
        ("runs", None, Some("s"), Some("runs")),
        ("empty", None, Some("s"), None),
    ] {
        old.execute(
            "INSERT INTO chat_sessions (id, workspace, title, driver, parent, work_scope, generation, cuts, settings,
                 prefix, created_at, first_request, first_request_ord)
             SELECT ?1, workspace, ?2, driver, ?3, 'scope', generation, cuts, settings, prefix, created_at,
                 first_request, first_request_ord FROM donor.chat_sessions",
            params![id, title, parent],
        )
        .unwrap();
        let messages = if messages_of.is_some() { 4 } else { 0 };
        old.execute(
            "INSERT INTO chat_activity (session, workspace, updated_at, messages, turns) VALUES (?1, 'w', 20, ?2, ?3)",
            params![id, messages, messages / 2],
        )
        .unwrap();
        let Some(of) = messages_of else { continue };
        let columns =
            "ord, rev, turn, role, external_id, turn_id, visible, created_at, tokens, hash, check_sum, body";
        let copy = format!(
            "INSERT INTO chat_messages (session, {columns}, message_id)
             SELECT ?1, {columns}, replace(message_id, 's/', ?2 || '/') FROM donor.chat_messages"
        );
        old.execute(&copy, [id, of]).unwrap();
        let columns = "idx, id, status, started, decided";
        let copy =
            format!("INSERT INTO chat_turns (session, {columns}) SELECT ?1, {columns} FROM donor.chat_turns");
        old.execute(&copy, [id]).unwrap();
    }
    folder
}

#[test]
fn first_schema_is_upgraded_in_place() {
    let folder = of_the_first_schema();
    let mut store = folder.open();
    let rows = store.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().sessions;
    let origins: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.origin)).collect();
    assert_eq!(
        origins,
        [
            ("copy", Origin::Rewind),
            ("empty", Origin::Background),
            ("runs", Origin::Background),
            ("s", Origin::New),
        ]
    );
    assert!(rows.iter().all(|row| row.work_scope.as_deref() == Some("scope")));
    let before = store.load(&session("s")).unwrap().unwrap();
    assert_eq!((before.messages.len(), before.turns.len()), (4, 2));
    assert_eq!((before.unreadable.len(), before.head.accepted), (0, 0));
    assert_eq!((before.queue.len(), before.keys.len(), before.draft), (0, 0, None));
    assert_eq!(before.head.title_from, Some(TitleFrom::Client));
    assert_eq!(store.load(&session("runs")).unwrap().unwrap().head.title_from, None);
    // The upgraded session can be continued.
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let more =
        [step("s", 4, 1), vec![enqueue("a", false, "a"), key("k", "t"), Write::Draft(Some("d".into()))]];
    store.commit(&session("s"), fence, &more.concat()).unwrap();
    let after = store.load(&session("s")).unwrap().unwrap();
    assert_eq!((after.messages.len(), after.queue.len(), after.keys.len()), (5, 1, 1));
    // The backup has the old schema.
    let copy = Connection::open(folder.0.join("threadhold.db.schema-1.bak")).unwrap();
    let version: u32 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let messages: u32 = copy.query_row("SELECT count(*) FROM chat_messages", [], |row| row.get(0)).unwrap();
    assert_eq!((version, messages), (1, 12));
}

#[test]
fn seventh_schema_gets_a_new_index_and_keeps_its_forks_listed() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 4)).unwrap();
    // Left behind by a rewind.
    let mut fork = head("fork");
    (fork.parent, fork.origin) = (Some(session("s")), Origin::Rewind);
    let fence = store.acquire(&session("fork"), Time(1)).unwrap();
    store.commit(&session("fork"), fence, &[Write::Head(Box::new(fork))]).unwrap();
    store.close().unwrap();
    let old = Connection::open(folder.file()).unwrap();
    old.execute_batch(
        "DROP TABLE chat_streamed;
         DROP INDEX chat_sessions_revisions;
         DROP INDEX chat_activity_recent;
         CREATE INDEX chat_activity_recent ON chat_activity (workspace, updated_at DESC, session);
         ALTER TABLE chat_activity DROP COLUMN is_revision;
         ALTER TABLE chat_sessions DROP COLUMN revision_cause;
         ALTER TABLE chat_sessions DROP COLUMN revised_at;
         ALTER TABLE chat_sessions DROP COLUMN revision_words;
         ALTER TABLE approvals DROP COLUMN rejected;
         ALTER TABLE chat_turns DROP COLUMN figures;
         DROP TABLE search_pieces;
         ALTER TABLE search_sessions DROP COLUMN key;
         CREATE VIRTUAL TABLE search_messages USING fts5 (
             said, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
         );
         INSERT INTO search_messages (rowid, said) VALUES (1 << 32, 'says');
         INSERT INTO search_sessions (session) VALUES ('s');
         UPDATE chat_activity SET indexed = 4;
         PRAGMA user_version = 7;",
    )
    .unwrap();
    drop(old);
    let mut store = folder.open();
    let words = engine::search::Words::of("says");
    let query = engine::search::Query { words, before: None, skip: 0, limit: 9, hidden: true };
    assert_eq!(store.search(&session("s"), &query).unwrap().hits.len(), 4);
    let new = Connection::open(folder.file()).unwrap();
    let indexed = "SELECT indexed FROM chat_activity WHERE session = 's'";
    let indexed: u32 = new.query_row(indexed, [], |row| row.get(0)).unwrap();
    assert_eq!(indexed, 4);
    let rows = store.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().sessions;
    let origins: Vec<_> = rows.iter().map(|row| (row.id.as_str(), row.origin)).collect();
    assert_eq!(origins, [("fork", Origin::Rewind), ("s", Origin::New)]);
    store.acquire(&session("fork"), Time(1)).expect("a fork is a session of its own");
    assert_eq!(store.revisions(&session("s"), None, 9), Ok(Some(RevisionPage::default())));
}

#[test]
fn eighth_schema_keeps_answers_in_progress_from_then_on() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 4)).unwrap();
    store.close().unwrap();
    let old = Connection::open(folder.file()).unwrap();
    old.execute_batch(
        "DROP TABLE chat_streamed;
         ALTER TABLE approvals DROP COLUMN rejected;
         ALTER TABLE chat_turns DROP COLUMN figures;
         PRAGMA user_version = 8;",
    )
    .unwrap();
    drop(old);
    let mut store = folder.open();
    let before = store.load(&session("s")).unwrap().unwrap();
    assert_eq!((before.messages.len(), before.streamed.len(), before.unreadable.len()), (4, 0, 0));
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &[piece("once")]).unwrap();
    assert_eq!(store.load(&session("s")).unwrap().unwrap().streamed.len(), 1);
}

/// The variable that tells the other processes the folder.
const FOLDER: &str = "THREADHOLD_TEST_UPGRADE";
const NAME: &str = "tests::upgrade::processes_opening_an_older_file_at_once_all_succeed";

/// Runs as the test, and as the processes that it starts.
#[test]
fn processes_opening_an_older_file_at_once_all_succeed() {
    match std::env::var_os(FOLDER) {
        Some(folder) => open_and_write(Path::new(&folder)),
        None => start_three(),
    }
}

/// Writes a session of this process's own.
fn open_and_write(folder: &Path) {
    let mut store = SqliteStore::open(Options::in_folder(folder)).unwrap();
    let id = format!("of {}", std::process::id());
    let fence = store.acquire(&session(&id), Time(1)).unwrap();
    let writes = [step(&id, 0, 2), vec![enqueue("a", true, "a")]].concat();
    store.commit(&session(&id), fence, &writes).unwrap();
}

fn start_three() {
    let folder = of_the_first_schema();
    let start = || {
        Command::new(std::env::current_exe().unwrap())
            .args([NAME, "--exact"])
            .env(FOLDER, &folder.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children = [start(), start(), start()];
    let ids = children.each_ref().map(|child| format!("of {}", child.id()));
    // Waits for all before the first assertion.
    for output in children.map(|child| child.wait_with_output().unwrap()) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let mut store = folder.open();
    for id in ids {
        let stored = store.load(&session(&id)).unwrap().unwrap();
        assert_eq!((stored.messages.len(), stored.queue.len()), (2, 1));
    }
    assert_eq!(store.load(&session("s")).unwrap().unwrap().messages.len(), 4);
    let copy = Connection::open(folder.0.join("threadhold.db.schema-1.bak")).unwrap();
    let version: u32 = copy.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 1);
}
