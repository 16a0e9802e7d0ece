//! Deletion of a session: the session, the copies left by its rewinds, and every trace of their text in the
//! store's files. Forks by the user are separate sessions.

use super::script::{Editor, Folder, says};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const WORDS: &str = "quillwort-7c1e9d40";

/// Names of files below a folder that contain the words.
fn holders(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
        if entry.path().is_dir() {
            found.extend(holders(&entry.path()));
        } else if fs::read(entry.path())
            .is_ok_and(|bytes| bytes.windows(WORDS.len()).any(|part| part == WORDS.as_bytes()))
        {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn listed(editor: &mut Editor) -> Vec<String> {
    let list = editor.call("session/list", json!({ "workspaceFolder": "/code/parser" }));
    let ids = list["sessions"].as_array().expect("sessions").iter();
    let mut ids: Vec<String> =
        ids.map(|session| session["sessionId"].as_str().expect("an id").to_owned()).collect();
    ids.sort();
    ids
}

/// Sends the words in this session, then replaces them; returns the copy that has them.
fn say_and_mend(editor: &mut Editor, session: &str) -> String {
    editor.answers = [says("Noted.")].into();
    editor.turn(json!({ "sessionId": session, "content": format!("The password is {WORDS}.") }));
    mend(editor, session)
}

/// Replaces the words in this session; returns the copy that has them.
fn mend(editor: &mut Editor, session: &str) -> String {
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": session }))["snapshot"].take();
    let messages = snapshot["messages"].as_array().expect("messages").iter();
    let holds = |message: &&Value| message["parts"].to_string().contains(WORDS);
    let id = messages.clone().find(holds).expect("the request")["id"].clone();
    let edit = json!({ "sessionId": session, "messageId": id, "content": "The password is a secret." });
    let copy = editor.call("message/update", edit)["fork"].take();
    copy.as_str().expect("a copy").to_owned()
}

fn delete(editor: &mut Editor, session: &str) -> Value {
    editor.call("session/delete", json!({ "sessionId": session }))
}

#[test]
fn deletion_takes_the_copies_that_rewinds_made() {
    let folder = Folder::new("deleted-copies");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    editor.open("other", None);
    editor.turn(json!({ "sessionId": "other", "content": "Something else." }));
    let copy = say_and_mend(&mut editor, "s");
    // A copy may be open and have copies of its own.
    editor.call("session/open", json!({ "workspaceFolder": "/code/parser", "sessionId": copy }));
    let nested = mend(&mut editor, &copy);
    assert_eq!(listed(&mut editor), ["other", "s", &copy, &nested]);
    assert!(!holders(folder.path()).is_empty(), "the words are on disk");

    assert_eq!(delete(&mut editor, "s")["scrubbed"], true);
    assert_eq!(holders(folder.path()), Vec::<String>::new());
    assert_eq!(listed(&mut editor), ["other"]);
    let gone = editor.client.wait_notification("what is gone", |frame| {
        frame["method"] == "sessions/changed" && frame["params"]["deleted"] != json!([])
    });
    let mut gone: Vec<&str> =
        gone["params"]["deleted"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
    gone.sort_unstable();
    assert_eq!(gone, ["s", &copy, &nested]);
    let refused = editor.refused("turn/start", json!({ "sessionId": copy, "content": "Again?" }));
    assert_eq!(refused["data"]["kind"], "UnknownSession");
    assert_eq!(
        editor.turn(json!({ "sessionId": "other", "content": "Go on." }))["status"],
        "completed",
        "other sessions go on"
    );
}

#[test]
fn continued_copy_stays() {
    let folder = Folder::new("deleted-continued");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    let copy = say_and_mend(&mut editor, "s");
    editor.call("session/open", json!({ "workspaceFolder": "/code/parser", "sessionId": copy }));
    editor.answers = [says("Gladly.")].into();
    editor.turn(json!({ "sessionId": copy, "content": "Go on here." }));
    assert_eq!(delete(&mut editor, "s")["scrubbed"], false, "the copy holds the words");
    assert_eq!(listed(&mut editor), [&*copy]);
    editor.answers = [says("Still here.")].into();
    assert_eq!(editor.turn(json!({ "sessionId": copy, "content": "And on." }))["status"], "completed");
    assert_eq!(delete(&mut editor, &copy)["scrubbed"], true);
    assert_eq!(holders(folder.path()), Vec::<String>::new());
}

#[test]
fn deletion_keeps_user_forks_and_reports_it() {
    let folder = Folder::new("deleted-forks");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    editor.answers = [says("Noted.")].into();
    editor.turn(json!({ "sessionId": "s", "content": format!("The password is {WORDS}.") }));
    let fork = editor.call("session/fork", json!({ "sessionId": "s" }))["sessionId"].take();
    let fork = fork.as_str().expect("a fork").to_owned();
    assert_eq!(delete(&mut editor, "s")["scrubbed"], false, "the fork holds the words");
    assert_eq!(listed(&mut editor), [&*fork]);
    assert!(!holders(folder.path()).is_empty());
    assert_eq!(delete(&mut editor, &fork)["scrubbed"], true);
    assert_eq!(holders(folder.path()), Vec::<String>::new());
}

/// No process has the session open, and only the copy is deleted.
#[test]
fn deleting_a_copy_leaves_the_session_it_was_made_of() {
    let folder = Folder::new("deleted-copy");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    let copy = say_and_mend(&mut editor, "s");
    editor.call("session/close", json!({ "sessionId": "s" }));
    delete(&mut editor, &copy);
    assert_eq!(listed(&mut editor), ["s"]);
    let deleted = delete(&mut editor, "s");
    assert_eq!(deleted["scrubbed"], true);
    assert_eq!(holders(folder.path()), Vec::<String>::new());
}
