//! Files of older schemas are upgraded whole, by the process that comes first.

use crate::Store;
use crate::list::{ListQuery, RevisionPage};
use crate::place::Options;
use crate::schema;
use crate::sqlite::SqliteStore;
use crate::testing::{Folder, enqueue, head, keep, key, piece, session, step};
use engine::id::{Ordinal, Time};
use rusqlite::{Connection, params};
use session::stored::{Inherited, Origin, TitleFrom, Write};
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

/// A file of this schema with the rows of a current one, as far as it has their columns.
fn as_of(schema: usize, current: &Folder) -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let old = schema::open(&folder.options(), &schema::MIGRATIONS[..schema]).unwrap();
    old.pragma_update(None, "foreign_keys", false).unwrap();
    old.execute("ATTACH ?1 AS current", [current.file().to_str().unwrap()]).unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = old.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let tables = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT GLOB 'search_*'
        AND name NOT GLOB 'sqlite_*'";
    for table in names(tables) {
        let columns = |of: &str| names(&format!("SELECT name FROM pragma_table_info('{table}', '{of}')"));
        let current = columns("current");
        let now = |column: &String| match column.as_str() {
            "session" if !current.contains(column) => "segment".to_owned(),
            _ => column.clone(),
        };
        let mut common: Vec<(String, String)> =
            columns("main").into_iter().map(|column| (column.clone(), now(&column))).collect();
        common.retain(|(_, now)| current.contains(now));
        let (then, now): (Vec<_>, Vec<_>) = common.into_iter().unzip();
        let (then, now) = (then.join(", "), now.join(", "));
        old.execute(&format!("INSERT INTO main.{table} ({then}) SELECT {now} FROM current.{table}"), [])
            .unwrap();
    }
    drop(old);
    folder
}

/// Sessions, a revision and a branch that were copies of all rows keep them, and share what comes after.
#[test]
fn tenth_schema_keeps_its_copies_and_shares_from_then_on() {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, 6)).unwrap();
    let mut branch = head("b");
    (branch.parent, branch.origin) = (Some(session("s")), Origin::Branch);
    let rest = step("b", 0, 4).split_off(1);
    let branch = [vec![Write::Head(Box::new(branch))], rest].concat();
    store
        .commit(
            &session("s"),
            fence,
            &[Write::Branch { to: session("b"), inherited: Inherited::default(), writes: branch }],
        )
        .unwrap();
    let [s, b] = ["s", "b"].map(|id| store.load(&session(id)).unwrap().unwrap());
    store.close().unwrap();
    let folder = as_of(10, &folder);
    let old = Connection::open(folder.file()).unwrap();
    old.execute_batch(
        "INSERT INTO chat_sessions SELECT 'r', workspace, title, driver, kind, 's', work_scope, generation, cuts, settings, prefix,
             created_at, first_request, first_request_ord, summary, summarized_count, summary_updated_at, title_from, 'revision',
             0, 'edit', 5, NULL FROM chat_sessions WHERE id = 's';
         INSERT INTO chat_activity (session, workspace, updated_at, messages, turns, is_revision)
         SELECT 'r', workspace, updated_at, messages, turns, 1 FROM chat_activity WHERE session = 's';
         INSERT INTO chat_messages SELECT 'r', ord, rev, turn, role, external_id, message_id, turn_id, visible, created_at,
             tokens, hash, check_sum, body, shown FROM chat_messages WHERE session = 's';
         INSERT INTO chat_turns SELECT 'r', idx, id, status, started, decided, figures FROM chat_turns WHERE session = 's'",
    )
    .unwrap();
    drop(old);
    let mut store = folder.open();
    let load = |store: &mut SqliteStore, id| store.load(&session(id)).unwrap().unwrap();
    assert_eq!([load(&mut store, "s"), load(&mut store, "b")], [s.clone(), b.clone()]);
    assert_eq!(load(&mut store, "r").messages, s.messages);
    let rows = |store: &SqliteStore| -> u32 {
        let _ = store;
        let other = Connection::open(folder.file()).unwrap();
        let broken: u32 =
            other.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
        assert_eq!(broken, 0);
        other.query_row("SELECT count(*) FROM chat_messages", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(rows(&store), 6 + 4 + 6);
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let cut = Write::Truncate { from: Ordinal(3), turns: 2 };
    store.commit(&session("s"), fence, &[keep("r2"), cut]).unwrap();
    assert_eq!(rows(&store), 6 + 4 + 6);
    assert_eq!(
        (load(&mut store, "s").messages, load(&mut store, "r2").messages),
        (s.messages[..3].to_vec(), s.messages)
    );
    let deleted = store.delete(&session("s")).unwrap().unwrap();
    assert_eq!((deleted.revisions, rows(&store)), (vec![session("r"), session("r2")], 4));
    assert_eq!(load(&mut store, "b"), b);
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
    let folder = as_of(7, &folder);
    let old = Connection::open(folder.file()).unwrap();
    old.execute_batch(
        "INSERT INTO search_messages (rowid, said) VALUES (1 << 32, 'says');
         INSERT INTO search_sessions (session) VALUES ('s');
         UPDATE chat_activity SET indexed = 4;",
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
    let folder = as_of(8, &folder);
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
