//! Unusable files: of a newer schema, not a database, damaged, locked, not writable. Each gives its typed
//! error and is left unchanged.

use crate::Store;
use crate::error::StoreError;
use crate::list::ListQuery;
use crate::sqlite::SqliteStore;
use crate::sqlite::check::check;
use crate::testing::{Folder, enqueue, head, key, session, step};
use engine::id::{Ordinal, Time};
use engine::message::Message;
use engine::message::unreadable::{is_unreadable, unreadable};
use engine::scope::ScopePatch;
use rusqlite::Connection;
use session::stored::{Always, Write};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A folder with a closed store.
fn filled(messages: u32) -> Folder {
    let folder = Folder::new();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 0, messages)).unwrap();
    store.close().unwrap();
    folder
}

/// The error of opening the store, which must not change the file.
fn refused(folder: &Folder) -> StoreError {
    let before = fs::read(folder.file()).unwrap();
    let error = SqliteStore::open(folder.options()).unwrap_err();
    assert_eq!(fs::read(folder.file()).unwrap(), before);
    error
}

#[test]
fn a_newer_schema_is_refused_and_the_file_untouched() {
    let folder = filled(3);
    Connection::open(folder.file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = refused(&folder);
    assert_eq!(error, StoreError::NewerSchema { path: folder.file(), found: 99, known: 11 });
    let text = error.to_string();
    assert!(text.contains("not touched") && text.contains("update this program"), "{text}");
}

#[test]
fn newer_schema_in_the_log_is_refused() {
    let folder = filled(3);
    let other = Connection::open(folder.file()).unwrap();
    other.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(refused(&folder), StoreError::NewerSchema { found: 99, .. }));
    drop(other);
}

#[test]
fn foreign_file_is_left_as_it_is() {
    let folder = filled(200);
    let whole = fs::read(folder.file()).unwrap();
    let corrupt = |bytes: &[u8]| {
        fs::write(folder.file(), bytes).unwrap();
        let error = refused(&folder);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert!(error.to_string().contains("the file is unchanged"), "{error}");
    };
    corrupt(b"no database");
    corrupt(b"SQLite format 3");
    corrupt(&[0; 100_000]);
    corrupt(&whole[..50]);
    corrupt(&whole[..5000]);
    let mut header = whole.clone();
    header[100..4096].fill(0xff);
    corrupt(&header);
    fs::write(folder.file(), &whole).unwrap();
    assert_eq!(folder.open().load(&session("s")).unwrap().unwrap().messages.len(), 200);
    // Another program's database.
    fs::remove_file(folder.file()).unwrap();
    Connection::open(folder.file()).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
    assert!(matches!(refused(&folder), StoreError::Corrupt { .. }));
}

#[test]
fn an_empty_file_is_a_new_store() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.file(), "").unwrap();
    assert_eq!(folder.open().diagnostics().unwrap().sessions, 0);
}

/// Indexes of the pages with this text.
fn pages_with(bytes: &[u8], text: &str) -> Vec<usize> {
    let holds = |page: &[u8]| page.windows(text.len()).any(|window| window == text.as_bytes());
    bytes.chunks(4096).enumerate().filter(|(_, page)| holds(page)).map(|(n, _)| n).collect()
}

#[test]
fn behind_a_damaged_page_the_rest_loads() {
    let folder = filled(400);
    let mut bytes = fs::read(folder.file()).unwrap();
    let page = pages_with(&bytes, "s says 200:")[0];
    bytes[page * 4096..(page + 1) * 4096].fill(0xa5);
    fs::write(folder.file(), &bytes).unwrap();
    let mut store = folder.open();
    let stored = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(stored.unreadable.len(), 1, "{:?}", stored.unreadable);
    assert!(stored.unreadable[0].contains("damaged part of the file"), "{:?}", stored.unreadable);
    // A page of lost messages alone does not look like the beginning.
    let page = store.messages(&session("s"), Some(Ordinal(201)), 1).unwrap().unwrap();
    assert_eq!((page.start, page.messages), (Ordinal(200), Vec::new()));
    let ords: Vec<u32> = stored.messages.iter().map(|(_, message)| message.ord.0).collect();
    assert!(ords.len() > 300, "{}", ords.len());
    assert!(ords.is_sorted() && ords[0] == 0 && ords.last() == Some(&399));
    assert!(!ords.contains(&200));
    assert_eq!(stored.turns.len(), 200);
}

/// The messages with a stand-in for the one at this index.
fn with_stand_in(whole: &[(u32, Arc<Message>)], at: usize) -> Vec<(u32, Arc<Message>)> {
    let mut messages = whole.to_vec();
    let (_, lost) = &mut messages[at];
    let (id, turn, role) = (lost.id.clone(), lost.turn.clone(), crate::role_of(&lost.body));
    *lost = Arc::new(Message {
        external_id: lost.external_id.clone(),
        created_at: lost.created_at.clone(),
        ..unreadable(role, id, lost.ord, lost.rev, turn)
    });
    messages
}

/// Damages the row of a message.
fn damage_row(folder: &Folder, ord: u32, change: &str) {
    let sql = format!("UPDATE chat_messages SET {change} WHERE segment = 's' AND ord = {ord}");
    assert_eq!(Connection::open(folder.file()).unwrap().execute(&sql, []).unwrap(), 1, "{sql}");
}

#[test]
fn messages_are_written_behind_a_damaged_last_row() {
    let folder = filled(4);
    let mut store = folder.open();
    let whole = store.load(&session("s")).unwrap().unwrap();
    damage_row(&folder, 3, "body = replace(body, 'says', 'said')");
    let found = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(found.messages, with_stand_in(&whole.messages, 3));
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &step("s", 4, 2)).unwrap();
    let now = store.load(&session("s")).unwrap().unwrap();
    assert_eq!((&now.messages[..4], now.messages.len()), (&found.messages[..], 6));
    assert_eq!(now.unreadable, found.unreadable);
    let page = store.messages(&session("s"), None, 3).unwrap().unwrap();
    let of_load: Vec<_> = now.messages[3..].iter().map(|(_, message)| message.clone()).collect();
    assert_eq!((page.messages, page.unreadable), (of_load, found.unreadable.clone()));
    // The row itself stays as it is, and is found.
    let checked = check(&folder.options()).unwrap();
    let told: Vec<&str> = checked.faults.iter().map(|damage| damage.what.as_str()).collect();
    assert_eq!(told, [format!("session s: {}", found.unreadable[0])]);
}

#[test]
fn damaged_columns_neither_move_nor_multiply_messages() {
    for change in [
        "turn = 4000000000",
        "turn = -1",
        "turn = 0, turn_id = CAST(x'ff' AS TEXT)",
        "role = 'nobody', message_id = CAST(x'ff' AS TEXT)",
    ] {
        let folder = filled(6);
        damage_row(&folder, 4, change);
        let found = folder.open().load(&session("s")).unwrap().unwrap();
        let places: Vec<(u32, u32)> =
            found.messages.iter().map(|(turn, message)| (*turn, message.ord.0)).collect();
        assert_eq!(places.len(), 6, "{change}");
        assert!(places.is_sorted() && places[5] == (2, 5) && places[3] == (1, 3), "{change}: {places:?}");
        assert!(is_unreadable(&found.messages[4].1), "{change}");
    }
    // A position far behind the others is no reason to fill those between.
    let folder = filled(4);
    damage_row(&folder, 3, "ord = 4000000000");
    let found = folder.open().load(&session("s")).unwrap().unwrap();
    assert_eq!((found.messages.len(), found.unreadable.len()), (3, 1));
}

#[test]
fn changed_content_leaves_a_stand_in_for_its_message() {
    let folder = filled(2);
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let large = crate::testing::message(2, crate::testing::user(&"large ".repeat(10_000)));
    store.commit(&session("s"), fence, &[Write::Message { turn: 1, message: large.into() }]).unwrap();
    let whole = store.load(&session("s")).unwrap().unwrap();
    let other = Connection::open(folder.file()).unwrap();
    let blobs = "FROM blobs WHERE size = 60000";
    let hash: String = other.query_row(&format!("SELECT hash {blobs}"), [], |row| row.get(0)).unwrap();
    other
        .execute(
            "UPDATE blobs SET bytes = CAST(replace(bytes, 'large', 'LARGE') AS BLOB) WHERE hash = ?1",
            [&hash],
        )
        .unwrap();
    let found = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(found.messages, with_stand_in(&whole.messages, 2));
    assert_eq!(found.unreadable, [format!("message 2: the content {hash} changed since it was written")]);
    other.pragma_update(None, "foreign_keys", false).unwrap();
    other.execute("DELETE FROM blobs", []).unwrap();
    let found = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(found.messages, with_stand_in(&whole.messages, 2));
    assert_eq!(found.unreadable.len(), 2, "the frozen prefix too: {:?}", found.unreadable);
    assert!(found.unreadable.iter().all(|row| row.ends_with("is missing")), "{:?}", found.unreadable);
}

#[test]
fn unreadable_words_and_numbers_are_set_aside() {
    let folder = filled(4);
    let other = Connection::open(folder.file()).unwrap();
    for sql in [
        "UPDATE chat_sessions SET driver = 'nobody', settings = '{', generation = -1",
        "UPDATE chat_turns SET status = 'odd' WHERE idx = 0",
        "UPDATE chat_messages SET tokens = -5 WHERE ord = 1",
        "UPDATE chat_messages SET body = CAST(x'ff41' AS TEXT) WHERE ord = 2",
    ] {
        other.execute(sql, []).unwrap();
    }
    let mut store = folder.open();
    let found = store.load(&session("s")).unwrap().unwrap();
    assert_eq!((found.messages.len(), found.turns.len()), (4, 1));
    let lost = found.messages.iter().filter(|(_, message)| is_unreadable(message));
    assert_eq!(lost.map(|(turn, message)| (*turn, message.ord.0)).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    assert_eq!(found.unreadable.len(), 6, "{:#?}", found.unreadable);
    // A list leaves unreadable sessions out.
    let fence = store.acquire(&session("t"), Time(1)).unwrap();
    store.commit(&session("t"), fence, &[Write::Head(Box::new(head("t")))]).unwrap();
    let list = store.list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap();
    assert_eq!(list.sessions.len(), 1);
}

#[test]
fn unreadable_queue_item_is_set_aside_and_the_rest_loads() {
    let folder = filled(2);
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let large = "large ".repeat(10_000);
    let waits = [
        [("a", "a"), ("b", "b"), ("c", &large), ("d", "d")]
            .map(|(id, text)| enqueue(id, id == "d", text))
            .to_vec(),
        (0..4).map(|n| key(&format!("k{n}"), "t")).collect(),
        vec![Write::Draft(Some("a draft".into()))],
    ];
    store.commit(&session("s"), fence, &waits.concat()).unwrap();
    let whole = store.load(&session("s")).unwrap().unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.pragma_update(None, "foreign_keys", false).unwrap();
    for sql in [
        "UPDATE chat_queue SET item = replace(item, '\"b\"', '\"x\"') WHERE id = 'b'",
        "DELETE FROM blobs WHERE size = 60000",
        "UPDATE chat_keys SET key = 'k9' WHERE key = 'k1'",
        "UPDATE chat_keys SET accepted = '{' WHERE key = 'k2'",
        "UPDATE chat_drafts SET draft = 'another one'",
        "UPDATE chat_sessions SET title_from = 'nobody'",
        "UPDATE chat_activity SET accepted = -1",
    ] {
        assert_eq!(other.execute(sql, []).unwrap(), 1, "{sql}");
    }
    let found = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(found.queue, [whole.queue[0].clone(), whole.queue[1].clone()]);
    assert_eq!(found.queue.iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), ["d", "a"]);
    assert_eq!(found.keys, [whole.keys[0].clone(), whole.keys[3].clone()]);
    assert_eq!((found.draft, &found.messages), (None, &whole.messages));
    assert_eq!(found.unreadable.len(), 7, "{:#?}", found.unreadable);
    assert!(
        found.unreadable.iter().any(|row| row.starts_with("queued command 1: ")),
        "{:#?}",
        found.unreadable
    );
    // Unreadable rows can be removed and written again.
    let again = [
        Write::Dequeue(whole.queue[2].id.clone()),
        Write::Dequeue(whole.queue[3].id.clone()),
        key("k2", "t"),
        Write::Draft(None),
        Write::Head(Box::new(head("s"))),
    ];
    store.commit(&session("s"), fence, &again).unwrap();
    let found = store.load(&session("s")).unwrap().unwrap();
    assert_eq!(
        (found.queue.len(), found.keys.len(), found.unreadable.len()),
        (2, 3, 1),
        "{:?}",
        found.unreadable
    );
}

#[test]
fn unreadable_scopes_and_approvals_count_as_none() {
    let folder = filled(1);
    let mut store = folder.open();
    let plan = ScopePatch { plan: Some("plan".into()), ..ScopePatch::default() };
    for _ in 0..2 {
        store.put_scope("w", "s", &plan, None).unwrap();
    }
    let always =
        |pattern: &str| Always { tool: "run".into(), pattern: Some(pattern.into()), rejected: false };
    for pattern in ["a", "b"] {
        store.approve("w", &always(pattern)).unwrap();
    }
    let other = Connection::open(folder.file()).unwrap();
    other.execute("UPDATE scopes SET scope = replace(scope, 'plan', 'PLAN')", []).unwrap();
    other.execute("UPDATE approvals SET pattern = '*' WHERE pattern = 'a'", []).unwrap();
    // A damaged approval approves nothing.
    assert_eq!(store.approvals("w").unwrap(), [always("b")]);
    store.approve("w", &always("*")).unwrap();
    assert_eq!(store.approvals("w").unwrap(), [always("*"), always("b")]);
    let found = store.scope("w", "s").unwrap();
    assert_eq!((found.revision, found.plan), (1, None));
    let put = store.put_scope("w", "s", &plan, Some(1)).unwrap();
    assert_eq!((put.revision, store.scope("w", "s").unwrap()), (2, put));
}

#[test]
fn long_lock_stops_one_write_and_not_the_next() {
    let folder = filled(2);
    let mut options = folder.options();
    options.busy_timeout = Duration::from_millis(20);
    let mut store = SqliteStore::open(options.clone()).unwrap();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.commit(&session("s"), fence, &step("s", 2, 1)).unwrap_err();
    assert_eq!(error, StoreError::Locked { path: folder.file() });
    // The lock affects neither readers nor opening.
    assert_eq!(store.load(&session("s")).unwrap().unwrap().messages.len(), 2);
    assert!(SqliteStore::open(options).is_ok());
    other.execute_batch("ROLLBACK").unwrap();
    store.commit(&session("s"), fence, &step("s", 2, 1)).unwrap();
    assert_eq!(store.load(&session("s")).unwrap().unwrap().messages.len(), 3);
}

/// A path below a file cannot be created with any permissions.
#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("file");
    fs::write(&file, "a file").unwrap();
    let below = Folder(file.join("store"));
    let error = SqliteStore::open(below.options()).unwrap_err();
    assert!(matches!(&error, StoreError::ReadOnly { path, .. } if path.starts_with(&file)), "{error:?}");
    assert!(error.to_string().contains("choose another storage folder"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), b"a file");
}

#[cfg(unix)]
#[test]
fn folder_without_rights_is_named_in_the_error() {
    use std::os::unix::fs::PermissionsExt;
    let rights = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = Folder::new();
    fs::create_dir_all(&folder.0).unwrap();
    rights(&folder.0, 0o555);
    let may_write_all_the_same = fs::write(folder.0.join("probe"), "").is_ok();
    let opened = SqliteStore::open(folder.options());
    rights(&folder.0, 0o755);
    match opened {
        Ok(_) => assert!(may_write_all_the_same),
        Err(error) => assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}"),
    }
}

/// Chats hold secrets.
#[cfg(unix)]
#[test]
fn a_store_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let store = folder.open();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o077;
    assert_eq!(mode(&folder.0), 0);
    assert_eq!(mode(&folder.file()), 0);
    drop(store);
}
