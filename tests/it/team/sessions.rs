//! Whole sessions over PostgreSQL: what a client sees of them is what it sees over SQLite.

use super::{Tenant, started};
use crate::wire::client::{Client, Wire};
use crate::wire::script::{Editor, Folder, bytes, calls, says};
use serde_json::{Value, json};
use store::testing::postgres::server;

fn messages(editor: &mut Editor) -> Value {
    editor.call("session/messages", json!({ "sessionId": "s", "workspaceFolder": "/code/parser" }))["messages"].take()
}

/// Without ids that are new each time, and times.
fn plain(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            let is_new = ["createdAt", "updatedAt", "at", "roundId", "turnId", "timestamp"];
            fields.retain(|name, _| !is_new.contains(&name.as_str()));
            fields.iter_mut().for_each(|(_, field)| *field = plain(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = plain(item.take())),
        _ => {}
    }
    value
}

/// Turns with tools, a restart in between, search, a fork, a rewind, memories and a deletion. Returns what the client saw.
fn whole_life(start: &dyn Fn() -> Editor) -> Vec<Value> {
    let mut seen = Vec::new();
    let mut editor = start();
    editor.open("s", None);
    editor.answers.extend([calls("I look.", ["c1", "c2"]), says("A table of tokens.\u{0}Done.")]);
    let ended = editor.turn(json!({ "sessionId": "s", "content": "What does the parser do?" }));
    seen.push(ended["status"].clone());
    editor
        .call("memory/put", json!({ "workspaceFolder": "/code/parser", "id": "m", "text": "Nom is used." }));
    let before = messages(&mut editor);
    editor.kill();

    let mut editor = start();
    let opened = editor.open("s", None);
    assert_eq!(opened["snapshot"].get("heldBy"), None, "a killed process holds nothing");
    assert_eq!(bytes(&messages(&mut editor)), bytes(&before));
    editor.answers.push_back(says("It has no zebra."));
    editor.turn(json!({ "sessionId": "s", "content": "Where is the zebra?" }));
    seen.push(editor.asked.last().map(|asked| asked["messages"].clone()).unwrap_or_default());
    let of_folder = || json!({ "workspaceFolder": "/code/parser" });
    let mut found =
        editor.call("session/search", json!({ "workspaceFolder": "/code/parser", "query": "zebra" }));
    seen.push(found["sessions"].take());
    seen.push(editor.call("context/search", json!({ "sessionId": "s", "query": "tokens" }))["hits"].take());

    let fork = editor.call("session/fork", json!({ "sessionId": "s" }))["sessionId"].take();
    editor.open(fork.as_str().expect("an id"), None);
    editor.turn(json!({ "sessionId": fork, "content": "In the fork." }));
    let cut = messages(&mut editor)[4]["id"].take();
    let revision =
        editor.call("message/truncate", json!({ "sessionId": "s", "messageId": cut }))["revision"].take();
    seen.push(messages(&mut editor));
    editor.call("session/restore", json!({ "sessionId": "s", "revisionId": revision }));
    seen.push(messages(&mut editor));
    let listed = editor.call("session/list", of_folder());
    let rows = listed["sessions"].as_array().expect("a list").iter();
    seen.push(rows.map(|row| json!([row["messages"], row["title"], row["origin"]])).collect());
    seen.push(editor.call("memory/list", of_folder())["memories"].take());
    for id in [fork, json!("s")] {
        let mut deleted = editor.call("session/delete", json!({ "sessionId": id }));
        // What a server's log has is the operator's.
        deleted
            .as_object_mut()
            .expect("an object")
            .retain(|name, _| !["scrubbed", "branches", "revisions"].contains(&name.as_str()));
        seen.push(deleted);
    }
    seen.push(editor.call("session/list", of_folder())["sessions"].take());
    seen.into_iter().map(plain).collect()
}

#[test]
fn session_lives_alike_over_sqlite_and_postgres() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let folder = Folder::new("team-alike");
    let over_files = whole_life(&|| {
        let settings = json!({ "model": { "name": "m", "window": 16_000 } });
        Editor::over(Client::new(Wire::Pipes), &folder, settings)
    });
    let over_server = whole_life(&|| tenant.editor("laptop"));
    for (n, (server, file)) in over_server.iter().zip(&over_files).enumerate() {
        assert_eq!(server, file, "answer {n}");
    }
    assert_eq!(over_server.len(), over_files.len());
    // Another tenant sees nothing of it.
    let listed = Tenant::new(server).editor("laptop").call("session/list", json!({}));
    assert_eq!(listed["sessions"], json!([]));
}

/// Two folders of one client share a connection, and keep their sessions apart; a key names the client's folder.
#[test]
fn workspace_key_is_the_folder_of_each_machine() {
    let Some(server) = server() else { return };
    let tenant = Tenant::new(server);
    let start = |folder: &str| {
        let mut storage = tenant.on("laptop");
        storage["workspaceKey"] = json!("the-parser");
        let mut client = started();
        client.initialize(json!({
            "capabilities": {}, "rootUri": format!("file://{folder}"),
            "initializationOptions": { "threadhold": { "protocolVersion": 1, "storage": storage } },
        }));
        client
    };
    let open = |client: &mut Client, folder: &str, session: &str| {
        let history = json!([{ "request": format!("of {folder}"), "rounds": [] }]);
        let params = json!({ "workspaceFolder": folder, "sessionId": session, "driver": "editor", "history": history });
        client.call("session/open", params).expect("it opens");
    };
    let listed = |client: &mut Client, folder: &str| {
        let listed = client.call("session/list", json!({ "workspaceFolder": folder })).expect("a list");
        let rows = listed["sessions"].as_array().expect("rows").iter();
        rows.map(|row| json!([row["sessionId"], row["workspaceFolder"]])).collect::<Value>()
    };
    let mut ann = start("/ann/parser");
    open(&mut ann, "/ann/parser", "s");
    open(&mut ann, "/ann/other", "t");
    assert_eq!(listed(&mut ann, "/ann/parser"), json!([["s", "/ann/parser"]]));
    assert_eq!(listed(&mut ann, "/ann/other"), json!([["t", "/ann/other"]]));
    drop(ann);
    let mut bob = start("/bob/parser");
    assert_eq!(listed(&mut bob, "/bob/parser"), json!([["s", "/bob/parser"]]));
    let opened = bob.call("session/open", json!({ "workspaceFolder": "/bob/parser", "sessionId": "s" }));
    assert!(opened.is_ok_and(|opened| opened["snapshot"].to_string().contains("of /ann/parser")));
}
