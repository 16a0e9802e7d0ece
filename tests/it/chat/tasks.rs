//! Tasks that a person asks for in a chat and a server of the folder runs: the built binary on both sides, one store.

use super::person::{Folder, Person};
use super::{messages, pair, with};
use crate::wire::client::{Client, Wire};
use models::testing::{Reply, Server};
use serde_json::{Value, json};

/// A server of this folder whose client can do and wants this.
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

/// The id behind this word in what a chat showed.
fn id_after(text: &str, word: &str) -> String {
    let rest = text.split(word).nth(1).expect("it was said");
    rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
}

/// The end of the turn of a session that this client did not begin.
fn task_ends(editor: &mut Client, status: &str) -> String {
    let ended = editor.wait_notification("the end of the task", |frame| frame["params"]["status"] == status);
    ended["params"]["sessionId"].as_str().expect("an id").to_owned()
}

/// Two servers look at the folder; whoever has the lease runs it, once. The chat is open meanwhile, and told.
///
#[test]
fn a_task_waits_until_a_server_of_the_folder_runs_it_once() {
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
    // And whoever comes later finds nothing that waits.
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

/// A chat's tools are its own: nobody else can run them, and the model is told so.
///
#[test]
fn a_task_outlives_its_chat_and_has_no_tool_that_only_a_chat_could_run() {
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
    // Its parent was free, and told by who ran it.
    let mut person = Person::new(&folder, &[&with(&server)[..], &["--session".into(), parent]].concat());
    person.types("/tasks");
    person.sees("completed    Read it.");
    person.leaves();
    // It is let go: a chat can go on with it.
    let mut person = Person::new(&folder, &[&with(&server)[..], &["--session".into(), task]].concat());
    person.types("/tasks");
    person.sees("(no tasks)");
    person.leaves();
    ends(editor);
}

/// Whoever ran a task lets its session go a moment after its end was told.
#[test]
fn a_chat_waits_for_a_session_that_another_process_lets_go() {
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

/// A task of a chat that has no model of its own is asked of the folder's. Where that is the editor's, it waits for one
/// that can ask it.
///
#[test]
fn a_task_waits_for_a_server_that_can_ask_its_model() {
    let folder = Folder::new();
    let mut person = Person::new(&folder, &[]);
    person.types("/task Say so.");
    person.sees("(task queued as session");
    let said = person.leaves();
    let (parent, task) = (id_after(&said.err, "new session "), id_after(&said.err, "as session "));
    // It cannot go on in a chat before it ran.
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
