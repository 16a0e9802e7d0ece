//! `threadhold doctor --storage` on files with one damage each: the report, the repair, and that no readable
//! message is lost.

use engine::id::{Ordinal, Time};
use rusqlite::Connection;
use session::stored::Write;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use store::Store;
use store::sqlite::SqliteStore;
use store::testing::{Folder, head, keep, message, session, step, user};

/// A folder with a closed store of two sessions.
fn filled() -> Folder {
    let folder = Folder::new();
    let mut store = folder.open();
    for id in ["s", "t"] {
        let fence = store.acquire(&session(id), Time(1)).expect("a lease");
        let large = message(200, user(&format!("{id} large ").repeat(10_000)));
        let large = Write::Message { turn: 100, message: Arc::new(large) };
        store.commit(&session(id), fence, &[step(id, 0, 200), vec![large]].concat()).expect("a commit");
    }
    store.close().expect("a clean end");
    folder
}

/// Runs the doctor; returns the exit code and the output.
fn doctor(folder: &Folder, repair: bool) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
    command.arg("doctor").arg("--storage").arg(&folder.0).args(repair.then_some("--repair"));
    let output = command.output().expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

fn copies(folder: &Folder) -> usize {
    let names = fs::read_dir(&folder.0).expect("a folder").flatten();
    names.filter(|entry| entry.file_name().to_string_lossy().contains(".bak")).count()
}

#[test]
fn intact_store_has_no_findings() {
    let folder = filled();
    let before = fs::read(folder.file()).unwrap();
    for repair in [false, true] {
        let (code, said) = doctor(&folder, repair);
        assert_eq!(code, Some(0), "{said}");
        assert!(
            said.contains("2 sessions, 402 messages; 0 revisions") && said.contains("no problems found"),
            "{said}"
        );
    }
    assert_eq!(fs::read(folder.file()).unwrap(), before);
    assert_eq!(copies(&folder), 0);
    // A missing store, and an unknown schema.
    let (code, said) = doctor(&Folder::new(), false);
    assert_eq!(code, Some(2), "{said}");
    Connection::open(folder.file()).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let (code, said) = doctor(&folder, true);
    assert!(code == Some(2) && said.contains("newer version"), "{said}");
}

/// Without `--repair` nothing changes. With it, a backup is made first, and everything loads as before.
#[test]
fn derived_data_is_repaired() {
    for (sql, says) in [
        ("INSERT INTO blobs VALUES ('h', 3, x'616263')", "1 unreferenced contents of 3 bytes"),
        (
            "INSERT INTO chat_turns VALUES ('gone', 0, 't', 'completed', NULL, '[]', '{}')",
            "1 rows of chat_turns refer to missing rows",
        ),
        ("UPDATE chat_activity SET messages = 7 WHERE session = 's'", "session s: its count"),
        ("DELETE FROM segments WHERE id = 's'", "rows of chat_sessions refer to missing rows of segments"),
        ("UPDATE chat_sessions SET summarized_count = 7 WHERE id = 't'", "session t: its count"),
        (
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, 'external_id IS NOT NULL', 'external_id IS NULL')
             WHERE name = 'chat_messages_request'",
            "chat_messages_request",
        ),
    ] {
        let folder = filled();
        let whole = folder.open().load(&session("s")).unwrap();
        let other = Connection::open(folder.file()).unwrap();
        other.pragma_update(None, "foreign_keys", false).unwrap();
        other.execute_batch(sql).unwrap();
        drop(other);
        let (code, said) = doctor(&folder, false);
        assert!(code == Some(1) && said.contains(says) && said.contains("--repair"), "{sql}: {said}");
        assert_eq!((doctor(&folder, false).1, copies(&folder)), (said, 0), "{sql}");
        // While another store holds a session.
        let mut store = folder.open();
        store.acquire(&session("s"), Time(1)).unwrap();
        let (code, said) = doctor(&folder, true);
        assert!(code == Some(2) && said.contains("open in another process"), "{sql}: {said}");
        store.close().expect("a clean end");
        let (code, said) = doctor(&folder, true);
        assert!(code == Some(0) && said.contains("was repaired"), "{sql}: {said}");
        assert_eq!(doctor(&folder, false).0, Some(0), "{sql}");
        assert!(copies(&folder) > 0, "{sql}");
        assert_eq!(folder.open().load(&session("s")).unwrap(), whole, "{sql}");
        // A deletion removes the backup, too.
        let mut store = folder.open();
        assert!(store.delete(&session("s")).unwrap().is_some_and(|deleted| deleted.scrubbed), "{sql}");
        assert_eq!(copies(&folder), 0, "{sql}");
    }
}

/// A missing message is reported even after counts were repaired; messages of a session without its row stay.
#[test]
fn missing_message_is_named_and_no_repair_removes_one() {
    for (sql, says) in [
        (
            "DELETE FROM chat_messages WHERE segment = 's' AND ord = 3",
            "session s: 1 of its messages are missing",
        ),
        (
            "DELETE FROM chat_sessions WHERE id = 's'",
            "session s: its own row is missing; 201 rows of messages are left",
        ),
    ] {
        let folder = filled();
        let other = Connection::open(folder.file()).unwrap();
        other.pragma_update(None, "foreign_keys", false).unwrap();
        other.execute_batch(sql).unwrap();
        let rows = || -> u32 {
            other.query_row("SELECT count(*) FROM chat_messages", [], |row| row.get(0)).unwrap()
        };
        let before = rows();
        for repair in [false, true, false] {
            let (code, said) = doctor(&folder, repair);
            assert!(code == Some(1) && said.contains(says), "{sql}: {said}");
        }
        assert_eq!(rows(), before, "{sql}");
    }
}

/// Unreadable messages are reported and stay; they are reported again after a repair.
#[test]
fn unreadable_messages_are_reported_and_stay() {
    for (sql, says) in [
        (
            "UPDATE chat_messages SET tokens = 5000 WHERE segment = 's' AND ord = 3",
            "session s: message 3: its bytes changed",
        ),
        (
            "UPDATE blobs SET bytes = CAST(replace(bytes, 's large', 'S LARGE') AS BLOB)",
            "changed since it was written",
        ),
        ("DELETE FROM blobs WHERE size > 50000", "rows of blob_refs refer to missing rows of blobs"),
        ("UPDATE chat_turns SET status = 'odd' WHERE segment = 't' AND idx = 4", "session t: turn 4"),
        ("UPDATE chat_sessions SET settings = '{' WHERE id = 's'", "session s: settings"),
    ] {
        let folder = filled();
        let other = Connection::open(folder.file()).unwrap();
        other.pragma_update(None, "foreign_keys", false).unwrap();
        other.execute_batch(sql).unwrap();
        drop(other);
        let rows = || -> u32 {
            let count = "SELECT (SELECT count(*) FROM chat_messages) + (SELECT count(*) FROM chat_turns)";
            Connection::open(folder.file()).unwrap().query_row(count, [], |row| row.get(0)).unwrap()
        };
        let before = rows();
        for repair in [false, true] {
            let (code, said) = doctor(&folder, repair);
            assert!(code == Some(1) && said.contains(says), "{sql}: {said}");
            assert!(said.contains("Unreadable rows"), "{sql}: {said}");
        }
        assert_eq!(rows(), before, "{sql}");
    }
    // A page of other bytes.
    let folder = filled();
    let mut bytes = fs::read(folder.file()).unwrap();
    let needle = b"s says 100:";
    let at = bytes.windows(needle.len()).position(|window| window == needle).unwrap();
    bytes[at / 4096 * 4096..][..4096].fill(0xa5);
    fs::write(folder.file(), bytes).unwrap();
    for repair in [false, true] {
        let (code, said) = doctor(&folder, repair);
        assert!(code == Some(1) && said.contains("wrong    the file: "), "{said}");
    }
}

/// A copy of the tables has neither the application id nor the schema version, and cannot be opened before the
/// repair. A file of other tables is another program's.
#[test]
fn store_without_its_marks_is_recognized_by_its_tables() {
    for lost in [
        "PRAGMA application_id = 0; PRAGMA user_version = 0",
        "PRAGMA application_id = 0",
        "PRAGMA user_version = 0",
    ] {
        let folder = filled();
        let whole = folder.open().load(&session("s")).unwrap();
        Connection::open(folder.file()).unwrap().execute_batch(lost).unwrap();
        assert!(SqliteStore::open(folder.options()).is_err(), "{lost}");
        let (code, said) = doctor(&folder, false);
        assert!(code == Some(1) && said.contains("does not say that it is a store"), "{lost}: {said}");
        assert!(
            said.contains("2 sessions, 402 messages; 0 revisions") && copies(&folder) == 0,
            "{lost}: {said}"
        );
        let (code, said) = doctor(&folder, true);
        assert!(code == Some(0) && said.contains("was repaired"), "{lost}: {said}");
        assert_eq!(folder.open().load(&session("s")).unwrap(), whole, "{lost}");
    }
    for other in [
        "PRAGMA application_id = 77",
        "PRAGMA application_id = 0; CREATE TABLE more (x)",
        "PRAGMA application_id = 0; PRAGMA user_version = 3",
    ] {
        let folder = filled();
        Connection::open(folder.file()).unwrap().execute_batch(other).unwrap();
        let (code, said) = doctor(&folder, true);
        assert!(code == Some(2) && said.contains("another program"), "{other}: {said}");
    }
}

/// The files that sessions have in their workspaces. Only the id of a copied file is changed, and a deletion
/// of its session takes the copy that the repair made.
#[test]
fn session_files_are_checked_and_a_wrong_id_is_repaired() {
    let folder = filled();
    let workspace = Folder::new();
    let files = workspace.0.join(".threadhold/trajectories");
    fs::create_dir_all(&files).unwrap();
    let mut first = head("s");
    first.workspace = workspace.0.display().to_string();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &[Write::Head(Box::new(first))]).unwrap();
    let put = |name: &str, text: &str| fs::write(files.join(name), text).unwrap();
    let whole =
        r#"{"messages": [{"role": "user", "content": "good"}], "id": "good", "n": 123456789012345678901}"#;
    put("good.json", whole);
    put("copied.json", whole);
    let (code, said) = doctor(&folder, true);
    assert!(code == Some(2) && said.contains("open in another process"), "{said}");
    store.close().unwrap();
    let (code, said) = doctor(&folder, false);
    assert!(code == Some(1) && said.contains("files    2 in ") && said.contains("--repair"), "{said}");
    assert!(said.contains("copied.json: the id in the file is \"good\""), "{said}");
    assert_eq!(fs::read_to_string(files.join("copied.json")).unwrap(), whole);
    let (code, said) = doctor(&folder, true);
    assert!(code == Some(0) && said.contains("was repaired"), "{said}");
    let repaired = whole.replace(r#""id": "good""#, r#""id": "copied""#);
    assert_eq!(fs::read_to_string(files.join("copied.json")).unwrap(), repaired);
    assert_eq!(fs::read_to_string(files.join("copied.json.repair.bak")).unwrap(), whole);
    assert_eq!(fs::read_to_string(files.join("good.json")).unwrap(), whole);
    let ours = threadhold::trajectory::Folder::of(workspace.0.to_str().unwrap()).unwrap();
    assert_eq!(ours.remove("copied"), Ok(true));
    assert_eq!(fs::read_dir(&files).unwrap().count(), 1);
    // Nothing repairs a file that is cut off, or a message that is none.
    put("cut.json", r#"{"id": "cut", "messages": ["#);
    put("parts.json", r#"{"id": "parts", "messages": [{"role": "user", "content": "a"}, 7]}"#);
    for repair in [false, true] {
        let (code, said) = doctor(&folder, repair);
        assert!(code == Some(1) && said.contains("cut.json: the file cannot be read: "), "{said}");
        assert!(
            said.contains("parts.json: 1 of its parts cannot be read; the first is messages[1]"),
            "{said}"
        );
    }
}

/// A revision cannot be deleted by itself over the wire, nor can what is left of a session without its row.
#[test]
fn damaged_revision_or_session_is_dropped_after_a_copy() {
    let drop_it = |folder: &Folder, id: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_threadhold"));
        command.arg("doctor").arg("--storage").arg(&folder.0).args(["--drop", id]);
        let output = command.output().expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.code(), said.into_owned())
    };
    for (sql, id, left) in [
        // The last message is the revision's alone; both have all others.
        ("UPDATE chat_messages SET tokens = 5000 WHERE segment = 's' AND ord = 200", "r", vec!["s", "t"]),
        ("UPDATE chat_messages SET tokens = 5000 WHERE segment = 's' AND ord = 3", "s", vec!["t"]),
        ("DELETE FROM chat_sessions WHERE id = 't'", "t", vec!["s", "r"]),
    ] {
        let folder = filled();
        let mut store = folder.open();
        let fence = store.acquire(&session("s"), Time(1)).unwrap();
        let cut = Write::Truncate { from: Ordinal(200), turns: 100 };
        store.commit(&session("s"), fence, &[keep("r"), cut]).unwrap();
        let other = Connection::open(folder.file()).unwrap();
        other.pragma_update(None, "foreign_keys", false).unwrap();
        other.execute_batch(sql).unwrap();
        drop(other);
        let (code, said) = drop_it(&folder, id);
        assert!(code == Some(2) && said.contains("open in another process"), "{sql}: {said}");
        store.close().unwrap();
        let (code, said) = doctor(&folder, false);
        assert!(code == Some(1) && said.contains(&format!("--drop {id} ")), "{sql}: {said}");
        for whole in left.iter().chain(&["nobody"]) {
            let (code, said) = drop_it(&folder, whole);
            assert!(code == Some(2) && said.contains("nothing was deleted"), "{sql}: {said}");
        }
        assert_eq!(copies(&folder), 0, "{sql}");
        let (code, said) = drop_it(&folder, id);
        assert!(code == Some(0) && said.contains("no problems found"), "{sql}: {said}");
        assert!(copies(&folder) > 0, "{sql}");
        let mut store = folder.open();
        assert_eq!(store.load(&session(id)), Ok(None), "{sql}");
        for id in left {
            let stored = store.load(&session(id)).unwrap().unwrap();
            let messages = if id == "s" { 200 } else { 201 };
            assert_eq!((stored.messages.len(), stored.unreadable.len()), (messages, 0), "{sql}: {id}");
        }
    }
}

#[test]
fn revisions_are_no_sessions() {
    let folder = filled();
    let mut store = folder.open();
    let fence = store.acquire(&session("s"), Time(1)).unwrap();
    store.commit(&session("s"), fence, &[keep("r")]).unwrap();
    store.close().unwrap();
    let (code, said) = doctor(&folder, false);
    assert!(code == Some(0) && said.contains("2 sessions, 402 messages; 1 revisions"), "{said}");
}
