//! Stores that affect a client: opened late, impossible to open, or written by a newer version.

use super::client::{Client, Start, Wire};
use super::script::{Editor, Folder, says};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn open() -> Value {
    json!({ "workspaceFolder": "/code/parser", "sessionId": "s" })
}

/// Paths and contents of all files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.insert(entry.path(), fs::read(entry.path()).expect("the file can be read"));
        }
    }
    found
}

/// A server with its store in this folder.
fn start(place: &Path) -> Client {
    let mut client = Client::new(Wire::Pipes);
    client.initialize(json!({
        "capabilities": {},
        "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": { "path": place }, "capabilities": { "modelComplete": true },
        } },
    }));
    client
}

/// `initialize` is answered before any store is touched: a missing one is not created, a large one not read,
/// an unusable one no error yet. The first session method opens it.
#[test]
fn initialize_waits_for_no_history() {
    let folder = Folder::new("stores-late");
    let mut client = start(folder.path());
    assert!(client.call("server/diagnostics", json!({})).is_ok_and(|told| told["storage"] == json!([])));
    assert!(!folder.path().exists(), "no file before the first session");
    client.call("session/open", open()).expect("a session opens");
    assert!(folder.path().join("threadhold.db").exists());
    drop(client);

    // A history of some size, left by a killed process: nothing of it is read, repaired or removed.
    let mut editor = Editor::start(&folder, Value::Null);
    for n in 0..20 {
        editor.answers.push_back(says(&"word ".repeat(4000)));
        editor.open(&format!("s{n}"), None);
        editor.turn(json!({ "sessionId": format!("s{n}"), "content": "Say much." }));
    }
    editor.kill();
    let before = files(folder.path());
    let mut client = start(folder.path());
    client.call("server/diagnostics", json!({})).expect("it answers");
    assert!(files(folder.path()) == before, "no storage file is touched before the first session method");
    let listed = client.call("session/list", json!({})).expect("the store opens");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(21));
    drop(client);

    fs::write(folder.path().join("threadhold.db"), "no database").expect("the file can be written");
    let mut client = start(folder.path());
    let error = client.call("session/open", open()).expect_err("it is no database");
    assert_eq!((&error["code"], &error["data"]["cause"]), (&json!(-33010), &json!("corrupt")));
    assert_eq!(fs::read(folder.path().join("threadhold.db")).ok().as_deref(), Some(&b"no database"[..]));
}

#[test]
fn newer_schema_is_refused_and_left_unchanged() {
    let folder = Folder::new("stores-newer");
    let mut client = start(folder.path());
    client.call("session/open", open()).expect("a session opens");
    drop(client);
    let path = folder.path().join("threadhold.db");
    let database = Connection::open(&path).expect("it is a database");
    database.pragma_update(None, "user_version", 99).expect("it can be written");
    drop(database);
    let before = fs::read(&path).expect("the file can be read");
    let mut client = start(folder.path());
    for method in ["session/open", "session/list"] {
        let error = client.call(method, open()).expect_err("the schema is newer");
        let data = &error["data"];
        assert_eq!(
            (&data["kind"], &data["cause"]),
            (&json!("StorageError"), &json!("newerSchema")),
            "{error}"
        );
        assert_eq!(data["path"], json!(path), "{error}");
        assert!(
            error["message"].as_str().is_some_and(|text| text.contains("99") && text.contains("not touched"))
        );
    }
    assert!(fs::read(&path).is_ok_and(|now| now == before));
    // Rendering a history that is given whole needs no store.
    let params = json!({ "history": [], "input": { "externalId": "r1", "content": "Hello." } });
    assert!(
        client
            .call("prompt/render", params)
            .is_ok_and(|made| made["messages"].to_string().contains("Hello."))
    );
}

#[test]
fn unwritable_folder_is_reported() {
    let folder = Folder::new("stores-unwritable");
    fs::create_dir_all(folder.path()).expect("the folder can be made");
    let file = folder.path().join("file");
    fs::write(&file, "a regular file").expect("the file can be written");
    let mut client = start(&file.join("store"));
    let error = client.call("session/open", open()).expect_err("there is a file in the way");
    let data = &error["data"];
    assert_eq!(
        (&error["code"], &data["kind"], &data["cause"]),
        (&json!(-33010), &json!("StorageError"), &json!("readOnly"))
    );
    assert!(data["path"].as_str().is_some_and(|path| path.starts_with(&*file.to_string_lossy())), "{error}");
    let diagnostics = client.call("server/diagnostics", json!({})).expect("it answers");
    assert!(diagnostics["storage"][0]["fault"].is_string(), "{diagnostics}");
    // Once the folder can be created, the same process continues.
    fs::remove_file(&file).expect("the file can be removed");
    client.call("session/open", open()).expect("a session opens");
}

/// An id names one session of one folder: no request shows or changes the chat of another one.
#[test]
fn session_of_another_folder_is_refused() {
    let folder = Folder::new("stores-other-folder");
    for shared in [false, true] {
        let store = folder.path().join(if shared { "shared" } else { "each" });
        let start = || {
            let mut client =
                Start::new(Wire::Pipes).variable("XDG_DATA_HOME", &store.display().to_string()).start();
            let storage = if shared { json!({ "path": store }) } else { json!({}) };
            let threadhold = json!({ "protocolVersion": 1, "storage": storage });
            client.initialize(
                json!({ "capabilities": {}, "initializationOptions": { "threadhold": threadhold } }),
            );
            client
        };
        let open = |client: &mut Client, of: &str| {
            let history = json!([{ "request": format!("secret of {of}"), "rounds": [] }]);
            let params =
                json!({ "workspaceFolder": of, "sessionId": "s", "driver": "editor", "history": history });
            client.call("session/open", params)
        };
        let mut client = start();
        open(&mut client, "/a").expect("it opens");
        for (method, more) in [
            ("session/open", json!({})),
            ("session/takeOver", json!({})),
            ("session/messages", json!({})),
            ("prompt/render", json!({ "input": { "content": "And now?" } })),
        ] {
            let mut params = json!({ "workspaceFolder": "/b", "sessionId": "s" });
            params.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
            let answer = client.call(method, params);
            assert!(!format!("{answer:?}").contains("secret of"), "{method}: {answer:?}");
            assert!(answer.is_err() || method == "session/messages", "{method}: {answer:?}");
        }
        drop(client);
        // Once it is closed, a folder with a store of its own has its own session.
        let mut client = start();
        assert_eq!(open(&mut client, "/b").is_err(), shared);
        let listed = client.call("session/list", json!({ "workspaceFolder": "/a" })).expect("a list");
        assert_eq!(listed["sessions"][0]["messages"], 1, "{listed}");
    }
}

/// A damaged row costs its own words, and nothing else: neither those behind it nor the turns to come.
#[test]
fn damaged_last_message_has_a_note_and_turns_go_on() {
    let folder = Folder::new("stores-damaged-row");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    for request in ["first request", "second request"] {
        editor.turn(json!({ "sessionId": "s", "content": request }));
    }
    editor.kill();
    let base = || Connection::open(folder.path().join("threadhold.db")).expect("a store");
    let changed = "UPDATE chat_messages SET body = replace(body, 'done', 'gone') WHERE ord = 3";
    assert_eq!(base().execute(changed, []), Ok(1));
    let row = || {
        base().query_row("SELECT body FROM chat_messages WHERE ord = 3", [], |row| row.get::<_, String>(0))
    };
    let damaged = row().expect("a row");
    let note = "This message could not be read from the store.";
    let told = json!([{
        "kind": "unreadableMessage",
        "message": "message \"s/m3\" could not be read from the store; a note stands in its place",
    }]);
    for request in ["third request", "fourth request"] {
        let mut editor = Editor::start(&folder, Value::Null);
        let opened = editor.open("s", None);
        let shown = &opened["snapshot"]["messages"][3];
        assert_eq!((&shown["id"], &shown["role"]), (&json!("s/m3"), &json!("assistant")));
        assert_eq!(shown["parts"], json!([{ "type": "text", "text": note }]));
        assert_eq!(opened["restore"]["diagnostics"], told);
        let ended = editor.turn(json!({ "sessionId": "s", "content": request }));
        assert_eq!(ended["status"], "completed", "{ended}");
        let asked = editor.asked_for("turn")[0]["messages"].to_string();
        let places: Vec<_> = ["second request", note, request].iter().map(|text| asked.find(text)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{asked}");
        editor.kill();
    }
    assert_eq!(row(), Ok(damaged), "the row stays as it is");
    let mut editor = Editor::start(&folder, Value::Null);
    let opened = editor.open("s", None);
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(8));
}
