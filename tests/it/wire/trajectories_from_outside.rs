//! Outside changes of session files: applied when the session is idle, kept separately if they conflict,
//! announced to every client, and refused in a file of another session. Waits for events, never for times.

use super::script::{Editor, says};
use super::trajectories::{Workspace, on, says_n, texts};
use serde_json::{Value, json};
use std::fs;

fn ask(editor: &mut Editor, session: &str, words: &str) {
    editor.turn(json!({ "sessionId": session, "content": words }));
}

fn is_changed(frame: &Value) -> bool {
    frame["method"] == "sessions/changed" && frame["params"].get("trajectories").is_some()
}

/// Waits for the notification of a matching file.
fn told(editor: &mut Editor, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let frame = editor.client.wait_notification(what, |frame| {
        is_changed(frame) && frame["params"]["trajectories"].as_array().into_iter().flatten().any(&is_it)
    });
    frame["params"]["trajectories"][0].clone()
}

fn said(editor: &mut Editor, session: &str) -> Vec<String> {
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": session }))["snapshot"].take();
    texts(&snapshot)
}

/// Revisions of session `s`, newest first.
fn revisions(editor: &mut Editor) -> Vec<Value> {
    let history = editor.call("session/history", json!({ "sessionId": "s" }));
    history["revisions"].as_array().cloned().unwrap_or_default()
}

#[test]
fn outside_change_is_applied_and_own_writes_are_ignored() {
    let ground = Workspace::new("outside");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    for n in 1..=4 {
        editor.answers.push_back(says(&format!("It is {n}.")));
        ask(&mut editor, "s", &format!("What is {n}?"));
        ground.wait("s", "a turn", says_n(2 * n));
    }
    // The first change that is announced is the one after all our own writes.
    ground.write("mark", &json!({ "id": "mark", "messages": [{ "role": "user", "content": "A mark." }] }));
    let row = told(&mut editor, "the mark", |_| true);
    assert_eq!((&row["chatId"], &row["messages"]), (&json!("mark"), &json!(1)));
    assert_eq!(editor.client.frames().iter().filter(|frame| is_changed(frame)).count(), 1);
    assert!(editor.events("messagesTruncated").is_empty());

    // Other text in place, and fields that are not ours.
    let mut file = ground.read("s").expect("a file");
    let version = file["version"].as_u64().expect("a number");
    file["messages"][1]["parts"] = json!([{ "type": "text", "text": "It is one." }]);
    file["messages"][2]["stars"] = json!(5);
    file["mode"] = json!("agent");
    ground.write("s", &file);
    editor.event("the change", |event| event["type"] == "messageUpdated");
    let now = ground.wait("s", "the next version", |file| file["version"].as_u64() > Some(version));
    assert_eq!(texts(&now)[..3], ["What is 1?", "It is one.", "What is 2?"]);
    assert_eq!((&now["mode"], &now["messages"][2]["stars"]), (&json!("agent"), &json!(5)));
    assert_eq!(said(&mut editor, "s"), texts(&now));
    let kept = revisions(&mut editor);
    assert_eq!(kept.len(), 1);
    assert_eq!((&kept[0]["cause"], &kept[0]["text"]), (&json!("file"), &json!("It is 1.")));
    let before = editor.call("session/messages", json!({ "sessionId": kept[0]["revisionId"] }));
    assert_eq!(texts(&before)[1], "It is 1.");

    // The end is replaced, in another program's format.
    let mut file = now;
    let messages = file["messages"].as_array_mut().expect("a list");
    messages.truncate(6);
    messages.push(json!({ "id": "x1", "role": "user", "content": "What is five?", "by": "hand" }));
    messages.push(json!({ "role": "assistant", "content": "It is 5." }));
    ground.write("s", &file);
    editor.event("the cut", |event| event["type"] == "messagesTruncated");
    let now = ground.wait("s", "it written again", |file| {
        texts(file).last().is_some_and(|last| last == "It is 5.")
            && file["messages"][7].get("parts").is_some()
    });
    assert_eq!(now["messages"][6]["externalId"], "x1");
    assert_eq!(now["messages"][6]["by"], "hand");
    assert_eq!(now["mode"], "agent");
    assert_eq!(said(&mut editor, "s"), texts(&now));
    assert_eq!(revisions(&mut editor).len(), 2);

    // The session continues from there.
    ask(&mut editor, "s", "And six?");
    let asked = editor.asked.last().expect("it was asked")["messages"].to_string();
    assert!(asked.contains("What is five?") && !asked.contains("What is 4?"), "{asked}");
}

#[test]
fn change_waits_for_idle_and_is_not_overwritten() {
    let ground = Workspace::new("busy");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ask(&mut editor, "s", "Hello.");
    let mut file = ground.wait("s", "a turn", says_n(2));
    let turn = editor.call("turn/start", json!({ "sessionId": "s", "content": "Go on." }))["turnId"].take();
    let request = editor.client.wait_request("model/complete");
    file["messages"][0]["parts"] = json!([{ "type": "text", "text": "Hello, said otherwise." }]);
    ground.write("s", &file);
    told(&mut editor, "the change", |row| row["chatId"] == "s");
    assert!(editor.events("messageUpdated").is_empty());
    editor.answer(&request);
    editor.ended(&turn);
    // Messages sent meanwhile were never in the file: they stay.
    let now = ground.wait("s", "both", |file| says_n(4)(file) && texts(file)[0] == "Hello, said otherwise.");
    assert_eq!(texts(&now)[2], "Go on.");
    assert_eq!(said(&mut editor, "s"), texts(&now));
}

/// Changes made while no process has the session are applied when it is opened.
#[test]
fn change_between_processes_is_applied_on_opening() {
    let ground = Workspace::new("between");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ask(&mut editor, "s", "Hello.");
    ask(&mut editor, "s", "Go on.");
    editor.call("session/close", json!({ "sessionId": "s" }));
    drop(editor);
    let mut file = ground.read("s").expect("a file");
    assert_eq!(texts(&file).len(), 4);
    file["messages"].as_array_mut().expect("a list").truncate(2);
    let version = file["version"].as_u64();
    ground.write("s", &file);

    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    let cut =
        |frame: &Value| frame["method"] == "session/event" && frame["params"]["type"] == "messagesTruncated";
    editor.client.wait_notification("the cut", cut);
    ground.wait("s", "it written again", |file| file["version"].as_u64() > version);
    assert_eq!(said(&mut editor, "s"), ["Hello.", "It is done."]);
    assert_eq!(revisions(&mut editor).len(), 1);
}

#[test]
fn foreign_session_file_is_refused_and_left_unchanged() {
    let ground = Workspace::new("wrong");
    let mut editor = ground.editor("store", on());
    let refused = |editor: &mut Editor, why: &str| {
        editor.client.wait_notification(why, |frame| {
            let message = frame["params"]["message"].to_string();
            frame["method"] == "window/logMessage"
                && message.contains("the file there is unchanged")
                && message.contains(why)
        });
    };
    ground.write("s", &json!({ "id": "other", "messages": [{ "role": "user", "content": "Not yours." }] }));
    let before = fs::read(ground.file("s")).expect("a file");
    ground.open(&mut editor, "s");
    refused(&mut editor, "the id in the file is");
    ask(&mut editor, "s", "Hello.");
    let listed = editor.call("trajectory/list", json!({ "workspaceFolder": ground.work() }));
    let row = &listed["trajectories"][0];
    assert_eq!(row["chatId"], "s");
    assert!(row["fault"].to_string().contains("other"), "{row}");
    let error = editor.refused("session/import", json!({ "workspaceFolder": ground.work(), "chatId": "s" }));
    assert!(error["message"].to_string().contains("other"), "{error}");
    assert_eq!(fs::read(ground.file("s")).expect("a file"), before);

    // A file that is not JSON, too; once it is removed, the session is written.
    fs::write(ground.file("s"), "{ half").expect("a file");
    refused(&mut editor, "is not JSON");
    ask(&mut editor, "s", "And now?");
    assert_eq!(fs::read(ground.file("s")).expect("a file"), b"{ half");
    fs::remove_file(ground.file("s")).expect("it goes");
    ask(&mut editor, "s", "Once more.");
    assert_eq!(texts(&ground.wait("s", "the session", says_n(6)))[0], "Hello.");
}

/// A second window with its own store is notified of the first one's changes.
#[test]
fn second_client_is_notified_of_new_and_changed_sessions() {
    let ground = Workspace::new("second");
    let mut second = ground.editor("other", on());
    let listed = second.call("trajectory/list", json!({ "workspaceFolder": ground.work() }));
    assert_eq!(listed, json!({ "trajectories": [] }));
    let mut first = ground.editor("store", on());
    ground.open(&mut first, "s");
    ask(&mut first, "s", "Hello.");
    let row = told(&mut second, "the new one", |row| row["messages"] == 2);
    assert_eq!((&row["chatId"], &row["title"]), (&json!("s"), &json!("Hello.")));
    assert_eq!(row["workspaceFolder"], json!(ground.work()));
    ask(&mut first, "s", "Go on.");
    told(&mut second, "the changed one", |row| row["messages"] == 4);
    first.call("session/close", json!({ "sessionId": "s" }));

    // The second imports and continues it; the changes come back to the first.
    second.call("session/import", json!({ "workspaceFolder": ground.work(), "chatId": "s" }));
    ground.open(&mut second, "s");
    ask(&mut second, "s", "I go on.");
    told(&mut first, "what the second one did", |row| row["messages"] == 6);
    second.call("session/close", json!({ "sessionId": "s" }));
    let file = ground.read("s").expect("a file");
    ground.open(&mut first, "s");
    first.event("what was said elsewhere", |event| {
        event["type"] == "messageAdded" && event["message"]["parts"][0]["text"] == "I go on."
    });
    assert!(revisions(&mut first).is_empty(), "nothing was taken away");
    let version = file["version"].as_u64();
    ground.wait("s", "it written again", |file| file["version"].as_u64() > version);
    fs::remove_file(ground.file("s")).expect("it goes");
    second.client.wait_notification("its end", |frame| frame["params"]["trajectoriesGone"] == json!(["s"]));

    // A page at a time.
    for name in ["a", "b", "c"] {
        ground.write(name, &json!({ "id": name, "messages": [] }));
    }
    let page = |editor: &mut Editor, cursor: Value| {
        let params = json!({ "workspaceFolder": ground.work(), "limit": 2, "cursor": cursor });
        let page = editor.call("trajectory/list", params);
        let ids: Vec<Value> =
            page["trajectories"].as_array().into_iter().flatten().map(|row| row["chatId"].clone()).collect();
        (ids, page["nextCursor"].clone())
    };
    assert_eq!(page(&mut second, Value::Null), (vec![json!("a"), json!("b")], json!("b")));
    assert_eq!(page(&mut second, json!("b")), (vec![json!("c")], Value::Null));
}
