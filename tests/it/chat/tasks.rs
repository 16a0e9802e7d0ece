//! Background tasks started in a chat and run by a server of the folder: the built binary on both sides, one
//! store.

use super::person::{Folder, Person};
use super::{messages, pair, with};
use crate::wire::client::{Client, Wire};
use models::testing::{Reply, Server};
use serde_json::{Value, json};

/// A server of this folder whose client has these capabilities and settings.
fn serves(folder: &Folder, capabilities: Value, settings: Value) -> Client {
    let mut editor = Client::new(Wire::Pipes);
    let uri = format!("file://{}", folder.path().display());
    editor.initialize(json!({
        "capabilities": {}, "workspaceFolders": [{ "uri": uri, "name": "w" }],
        "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": { "path": folder.storage() }, "capabilities": capabilities,
            "settings": settings,
        } },
    }));
    editor
}

fn ends(mut editor: Client) {
    editor.call("shutdown", Value::Null).expect("it shuts down");
    editor.notify("exit", Value::Null);
    editor.wait_exit();
}

/// The id after this text in a chat's output.
fn id_after(text: &str, word: &str) -> String {
    let rest = text.split(word).nth(1).expect("it was said");
    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// Waits for the end of a turn that this client did not start; returns the session's id.
fn task_ends(editor: &mut Client, status: &str) -> String {
    let ended = editor.wait_notification("the end of the task", |frame| frame["params"]["status"] == status);
    ended["params"]["sessionId"].as_str().expect("an id").to_owned()
}

/// Two servers poll the folder; the one with the lease runs the task, once. The open chat is notified.
#[test]
fn task_waits_for_a_server_and_runs_once() {
    let folder = Folder::new();
    let server = Server::replies(vec![Reply::says(&["There ", "are two."])]);
    let mut person = Person::new(&folder, &with(&server));
    person.types("/task");
    person.sees("/task needs a description");
    person.types("/tasks");
    person.sees("(no tasks)");
    person.types("/task Count the files.");
    person.sees("(task queued as session");
    person.types("/tasks");
    person.sees("waiting      Count the files.");
    assert_eq!(server.asked().len(), 0, "a chat runs no task");
    let editors = [(); 2].map(|()| serves(&folder, json!({}), json!({})));
    person.sees("(task \"Count the files.\" completed: There are two.");
    person.types("/tasks");
    person.sees("completed    Count the files.");
    let said = person.leaves();
    assert_eq!(said.out, "", "the answer of a task is not the chat's");
    editors.into_iter().for_each(ends);
    // A later server finds nothing that waits.
    let mut editor = serves(&folder, json!({}), json!({}));
    let (parent, task) = (id_after(&said.err, "new session "), id_after(&said.err, "as session "));
    let open = |id: &str| json!({ "workspaceFolder": folder.path(), "sessionId": id });
    let listed = json!({ "workspaceFolder": folder.path(), "sessionId": parent });
    let tasks = editor.call("task/list", listed).expect("a list");
    assert_eq!(tasks["tasks"][0]["state"], "completed");
    assert_eq!(tasks["tasks"].as_array().map(Vec::len), Some(1));
    let opened = editor.call("session/open", open(&task)).expect("it opens");
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(opened["snapshot"]["origin"], "background");
    let opened = editor.call("session/open", open(&parent)).expect("it opens");
    let told: Vec<&Value> = opened["snapshot"]["messages"].as_array().expect("messages").iter().collect();
    assert_eq!((told.len(), &told[0]["kind"]), (1, &json!("process_completed")), "told once");
    ends(editor);
    let asked = server.asked();
    assert_eq!(asked.len(), 1, "it ran once");
    assert_eq!(messages(&asked[0].body), [pair("user", "Count the files.")]);
}

/// A chat's tools cannot be run elsewhere, and the model is told so.
#[test]
fn task_outlives_its_chat_without_the_chats_tools() {
    let folder = Folder::new();
    folder.write("a.txt", "hello");
    let server = Server::replies(vec![
        Reply::calls("c", "read_file", r#"{"path":"a.txt"}"#),
        Reply::says(&["I cannot."]),
    ]);
    let mut editor = serves(&folder, json!({ "toolInvoke": true }), json!({}));
    let mut person = Person::new(&folder, &with(&server));
    person.types("/task Read it.");
    person.sees("(task queued as session");
    let said = person.leaves();
    let (parent, task) = (id_after(&said.err, "new session "), id_after(&said.err, "as session "));
    assert_eq!(task_ends(&mut editor, "completed"), task);
    let asked = server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(messages(&asked[1].body).pop(), Some(pair("tool", "[no tool is named read_file]")));
    // The parent was not held, and the server that ran the task updated it.
    let mut person = Person::new(&folder, &[&with(&server)[..], &["--session".into(), parent]].concat());
    person.types("/tasks");
    person.sees("completed    Read it.");
    person.leaves();
    // The task's session is released: a chat can continue it.
    let mut person = Person::new(&folder, &[&with(&server)[..], &["--session".into(), task]].concat());
    person.types("/tasks");
    person.sees("(no tasks)");
    person.leaves();
    ends(editor);
}

/// A task's session is released shortly after its end is announced.
#[test]
fn chat_waits_for_a_session_being_released() {
    let folder = Folder::new();
    let mut editor = serves(&folder, json!({}), json!({}));
    let open = json!({ "workspaceFolder": folder.path(), "sessionId": "s" });
    editor.call("session/open", open).expect("it opens");
    editor.call("session/configure", json!({ "sessionId": "s", "title": "Kept" })).expect("it is stored");
    let mut person = Person::new(&folder, &["--session".into(), "s".into()]);
    person.sees("session s is open in another process");
    editor.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    person.sees("session s (Kept) in ");
    person.types("/tasks");
    person.sees("(no tasks)");
    assert_eq!(person.leaves().code, Some(0));
    ends(editor);
}

/// A task of a chat without its own model uses the folder's. If that is the editor's, the task waits for a
/// server that can call it.
#[test]
fn task_waits_for_a_server_with_its_model() {
    let folder = Folder::new();
    let mut person = Person::new(&folder, &[]);
    person.types("/task Say so.");
    person.sees("(task queued as session");
    let said = person.leaves();
    let (parent, task) = (id_after(&said.err, "new session "), id_after(&said.err, "as session "));
    // It cannot be continued in a chat before it ran.
    let person = Person::new(&folder, &["--session".into(), task.clone()]);
    let refused = person.ends();
    assert!(refused.err.contains("is a task that waits"), "{}", refused.err);
    assert_eq!(refused.code, Some(2));

    let mut mute = serves(&folder, json!({}), json!({}));
    let mut editor = serves(&folder, json!({ "modelComplete": true }), json!({}));
    let asked = editor.wait("a question to the editor's model", |frame| frame["method"] == "model/complete");
    assert_eq!(asked["params"]["sessionId"], json!(task));
    assert_eq!(asked["params"]["tools"], json!([]), "none of the chat that looked at it");
    let listed = json!({ "workspaceFolder": folder.path(), "sessionId": parent });
    let state = |client: &mut Client| {
        let tasks = client.call("task/list", listed.clone()).expect("a list");
        tasks["tasks"][0]["state"].as_str().expect("a state").to_owned()
    };
    assert_eq!(state(&mut mute), "running", "as any process sees it");
    editor.respond(&asked["id"], json!({ "content": "So." }));
    task_ends(&mut editor, "completed");
    assert_eq!(state(&mut mute), "completed");
    ends(editor);
    ends(mute);
}
