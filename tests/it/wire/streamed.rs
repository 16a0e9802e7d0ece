//! A process that is killed in the middle of an answer: the user saw its text, and finds it again.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, is_event, stream};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn start(folder: &Folder) -> Client {
    folder.serve(Start::new(Wire::Pipes).variable("RUST_LOG", "threadhold=debug"))
}

fn open(client: &mut Client) -> Value {
    let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
    client.call("session/open", open).expect("it opens")["snapshot"].take()
}

/// Begins a turn and streams this text of its answer. Returns the request to the model.
fn answer_begins(client: &mut Client, content: &str, text: &str) -> Value {
    client.call("turn/start", json!({ "sessionId": "s", "content": content })).expect("it starts");
    let asked = client.wait_request("model/complete");
    stream(client, &asked, text);
    client.wait_notification("the text", |frame| is_event(frame, "streamDelta"));
    asked
}

/// The rows of answers in progress.
fn kept(folder: &Folder) -> u32 {
    let path = Path::new(folder.path()).join("threadhold.db");
    let store = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a store");
    store.query_row("SELECT count(*) FROM chat_streamed", [], |row| row.get(0)).expect("a count")
}

/// `true` if a file of the store has this text.
fn holds(folder: &Folder, text: &str) -> bool {
    let files = fs::read_dir(folder.path()).expect("a folder").flatten();
    let files = files.map(|file| file.path()).filter(|path| path.is_file());
    files
        .map(|path| fs::read(path).expect("a file"))
        .any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}

#[test]
fn streamed_text_survives_a_kill_and_is_sent_once() {
    let folder = Folder::new();
    let mut client = start(&folder);
    open(&mut client);
    answer_begins(&mut client, "Tell me a story.", "Once upon a time.");
    client.wait_log("streamed text is kept");
    client.kill();
    client.wait_exit();
    assert_eq!(kept(&folder), 1);

    let mut client = start(&folder);
    let listed = client.call("session/list", json!({})).expect("a list");
    assert_eq!(listed["sessions"][0]["state"], "error", "{listed}");
    let snapshot = open(&mut client);
    let messages = snapshot["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 2, "{snapshot}");
    assert_eq!(messages[1]["role"], "assistant");
    assert_eq!(messages[1]["parts"], json!([{ "type": "text", "text": "Once upon a time." }]));
    assert_eq!((&snapshot["state"], &snapshot["turns"][0]["status"]), (&json!("error"), &json!("failed")));
    assert_eq!(snapshot.get("streaming"), None);
    assert_eq!(kept(&folder), 0);
    let asked = answer_begins(&mut client, "Go on.", "There was");
    let prompt = asked["params"]["messages"].to_string();
    assert_eq!(prompt.matches("Once upon a time.").count(), 1, "{prompt}");
    client.respond(&asked["id"], json!({ "content": "There was a parser." }));
    client.wait_notification("the end", |frame| {
        is_event(frame, "runtimeUpdated") && frame["params"]["state"] == "idle"
    });
    // No other process finds it twice.
    client.kill();
    client.wait_exit();
    let snapshot = open(&mut start(&folder));
    assert_eq!(snapshot["messages"].as_array().map(Vec::len), Some(4), "{snapshot}");
}

#[test]
fn deletion_leaves_no_word_of_a_cut_answer() {
    let folder = Folder::new();
    let mut client = start(&folder);
    open(&mut client);
    answer_begins(&mut client, "Tell me a story.", "a secret in the answer");
    client.wait_log("streamed text is kept");
    client.kill();
    client.wait_exit();
    assert!(holds(&folder, "a secret in the answer"));
    let mut client = start(&folder);
    let deleted = client.call("session/delete", json!({ "sessionId": "s" })).expect("it is deleted");
    assert_eq!(deleted["scrubbed"], true, "{deleted}");
    assert!(!holds(&folder, "a secret in the answer"));
}
