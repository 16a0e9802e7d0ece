//! Deletion of a session: the session, its revisions, and every trace of their text in the store's files. Forks by the user are separate sessions.

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

/// Sends the words in this session, and returns the id of the message that has them.
fn say(editor: &mut Editor, session: &str) -> Value {
    editor.answers = [says("Noted.")].into();
    editor.turn(json!({ "sessionId": session, "content": format!("The password is {WORDS}.") }));
    let snapshot = editor.call("session/subscribe", json!({ "sessionId": session }))["snapshot"].take();
    let messages = snapshot["messages"].as_array().expect("messages").iter();
    let holds = |message: &&Value| message["parts"].to_string().contains(WORDS);
    messages.clone().find(holds).expect("the request")["id"].clone()
}

/// Replaces a message; returns the id of the revision that has its old text.
fn mend(editor: &mut Editor, session: &str, message: &Value, content: &str) -> String {
    let edit = json!({ "sessionId": session, "messageId": message, "content": content });
    let revision = editor.call("message/update", edit)["revision"].take();
    revision.as_str().expect("a revision").to_owned()
}

fn delete(editor: &mut Editor, session: &str) -> Value {
    editor.call("session/delete", json!({ "sessionId": session }))
}

/// Edits leave revisions, which are in no list of sessions, and no byte of them outlives their session.
#[test]
fn deletion_takes_the_revisions_of_a_hundred_edits() {
    const EDITS: usize = 100;
    let folder = Folder::new("deleted-revisions");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    editor.open("other", None);
    editor.turn(json!({ "sessionId": "other", "content": "Something else." }));
    let message = say(&mut editor, "s");
    let made: Vec<String> =
        (1..=EDITS).map(|n| mend(&mut editor, "s", &message, &format!("Password {n} is {WORDS}."))).collect();
    mend(&mut editor, "s", &message, "The password is a secret.");
    assert_eq!(listed(&mut editor), ["other", "s"]);
    assert!(!holders(folder.path()).is_empty(), "the words are on disk");
    let mut kept = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = editor.call("session/history", json!({ "sessionId": "s", "limit": 40, "cursor": cursor }));
        kept.extend(page["revisions"].as_array().expect("revisions").clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(kept.len(), EDITS + 1);
    let newest = (&kept[0]["cause"], &kept[0]["messages"], &kept[0]["text"]);
    assert_eq!(newest, (&json!("edit"), &json!(2), &json!(format!("Password {EDITS} is {WORDS}."))));
    let oldest = &kept[EDITS];
    assert_eq!(
        (&oldest["revisionId"], &oldest["text"]),
        (&json!(made[0]), &json!(format!("The password is {WORDS}.")))
    );
    // Words of revisions are not the session's own.
    let found = editor.call("context/search", json!({ "sessionId": "s", "query": WORDS }));
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(0), "{found}");
    for method in ["session/open", "session/delete"] {
        let params = json!({ "workspaceFolder": "/code/parser", "sessionId": made[0] });
        assert_eq!(editor.refused(method, params)["data"]["kind"], "UnknownSession", "{method}");
    }

    let deleted = delete(&mut editor, "s");
    assert_eq!(
        (&deleted["deletedRevisions"], &deleted["scrubbed"], &deleted["forks"]),
        (&json!(EDITS + 1), &json!(true), &json!([]))
    );
    assert_eq!(holders(folder.path()), Vec::<String>::new());
    assert_eq!(listed(&mut editor), ["other"]);
    let gone = editor.client.wait_notification("what is gone", |frame| {
        frame["method"] == "sessions/changed" && frame["params"]["deleted"] != json!([])
    });
    assert_eq!(gone["params"]["deleted"], json!(["s"]));
    let refused = editor.refused("session/history", json!({ "sessionId": "s" }));
    assert_eq!(refused["data"]["kind"], "UnknownSession");
    assert_eq!(
        editor.turn(json!({ "sessionId": "other", "content": "Go on." }))["status"],
        "completed",
        "other sessions go on"
    );
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
    let deleted = delete(&mut editor, "s");
    assert_eq!(
        (&deleted["scrubbed"], &deleted["forks"]),
        (&json!(false), &json!([fork])),
        "the fork holds the words"
    );
    assert_eq!(listed(&mut editor), [&*fork]);
    assert!(!holders(folder.path()).is_empty());
    assert_eq!(delete(&mut editor, &fork)["scrubbed"], true);
    assert_eq!(holders(folder.path()), Vec::<String>::new());
}
