//! Revisions of a session: listed by `session/history`, restored by `session/restore`, in this process and the next.

use super::script::{Editor, Folder, says};
use rusqlite::Connection;
use serde_json::{Value, json};

fn messages(editor: &mut Editor) -> Value {
    editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"]["messages"].take()
}

/// The causes and texts of all revisions, newest first, and the id of the newest.
fn history(editor: &mut Editor) -> (Vec<(Value, Value)>, Value) {
    let page = editor.call("session/history", json!({ "sessionId": "s" }));
    assert_eq!(page["nextCursor"], Value::Null);
    let revisions = page["revisions"].as_array().expect("revisions");
    let newest = revisions.first().map_or(Value::Null, |revision| revision["revisionId"].clone());
    (revisions.iter().map(|revision| (revision["cause"].clone(), revision["text"].clone())).collect(), newest)
}

#[test]
fn a_restored_revision_is_the_session_as_it_was() {
    let folder = Folder::new("revisions-restored");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    for n in 1..=2 {
        editor.answers.push_back(says(&format!("Answer {n}.")));
        editor.turn(json!({ "sessionId": "s", "content": format!("Request {n}.") }));
    }
    let before = messages(&mut editor);
    let cut = json!({ "sessionId": "s", "messageId": before[2]["id"] });
    let first = editor.call("message/truncate", cut)["revision"].take();
    editor.answers.push_back(says("Another answer."));
    editor.turn(json!({ "sessionId": "s", "content": "Another request." }));
    let between = messages(&mut editor);

    let restore =
        |revision: &Value| json!({ "sessionId": "s", "revisionId": revision, "idempotencyKey": revision });
    let restored = editor.call("session/restore", restore(&first));
    let undo = restored["revision"].clone();
    assert_eq!(messages(&mut editor), before);
    assert_eq!(editor.call("session/restore", restore(&first)), restored, "the key was seen");
    let again = json!({ "sessionId": "s", "revisionId": first });
    assert_eq!(editor.call("session/restore", again), json!({}), "nothing is left to restore");
    let told = [(json!("restore"), json!("Another request.")), (json!("truncate"), json!("Request 2."))];
    assert_eq!(history(&mut editor), (told.to_vec(), undo.clone()));
    let found = editor.call("context/search", json!({ "sessionId": "s", "query": "another" }));
    assert_eq!(found["hits"], json!([]), "words of a revision are not the session's");

    editor.kill();
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    assert_eq!(messages(&mut editor), before);
    editor.answers.push_back(says("Answer 3."));
    editor.turn(json!({ "sessionId": "s", "content": "Request 3." }));
    let asked = editor.asked.last().expect("it was asked")["messages"].to_string();
    assert!(asked.contains("Answer 2.") && !asked.contains("Another"), "{asked}");
    editor.call("session/restore", restore(&undo));
    assert_eq!(messages(&mut editor), between);
}

#[test]
fn only_revisions_of_the_session_itself_are_restored() {
    let folder = Folder::new("revisions-refused");
    let mut editor = Editor::start(&folder, Value::Null);
    for id in ["s", "other"] {
        editor.open(id, None);
        editor.turn(json!({ "sessionId": id, "content": "Hello." }));
    }
    let reset = editor.call("session/reset", json!({ "sessionId": "other" }));
    for id in [&reset["revision"], &json!("other"), &json!("nothing")] {
        let refused = editor.refused("session/restore", json!({ "sessionId": "s", "revisionId": id }));
        assert_eq!(
            refused["data"],
            json!({ "kind": "StaleReference", "field": "revisionId", "id": id }),
            "{id}"
        );
    }
    editor.call("session/close", json!({ "sessionId": "other" }));
    let params = json!({ "sessionId": "other", "revisionId": reset["revision"] });
    assert_eq!(
        editor.refused("session/delete", json!({ "sessionId": reset["revision"] }))["data"]["kind"],
        "UnknownSession"
    );
    assert!(editor.call("session/restore", params)["revision"].is_string(), "it is opened for that");
    let bad = editor.refused("session/history", json!({ "sessionId": "s", "cursor": "x" }));
    assert_eq!(bad["data"]["field"], "cursor");
}

/// What is left of a damaged revision does not take the place of messages that can be read, and a revision that cannot be
/// read at all ends no list.
#[test]
fn damaged_revisions_are_refused_and_the_others_listed() {
    let folder = Folder::new("revisions-damaged");
    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    for request in ["First request.", "Second request.", "Third request."] {
        editor.turn(json!({ "sessionId": "s", "content": request }));
    }
    let [older, newer] = [4, 2].map(|index| {
        let cut = json!({ "sessionId": "s", "index": index });
        editor.call("message/truncate", cut)["revision"].as_str().expect("a revision").to_owned()
    });
    let before = messages(&mut editor);
    editor.kill();
    let base = Connection::open(folder.path().join("threadhold.db")).expect("a store");
    // The older one's alone: the session and the newer one do not have it.
    let changed = "UPDATE chat_messages SET body = replace(body, 'Third', 'Worst') WHERE ord = 4";
    assert_eq!(base.execute(changed, []), Ok(1));
    let unknown = "UPDATE chat_sessions SET revision_cause = 'later' WHERE id = ?1";
    assert_eq!(base.execute(unknown, [&newer]), Ok(1));
    drop(base);

    let mut editor = Editor::start(&folder, Value::Null);
    editor.open("s", None);
    let refused = editor.refused("session/restore", json!({ "sessionId": "s", "revisionId": older }));
    assert_eq!(refused["data"], json!({ "kind": "StorageError", "cause": "corrupt" }), "{refused}");
    assert_eq!(messages(&mut editor), before);
    let page = editor.call("session/history", json!({ "sessionId": "s", "limit": 1 }));
    assert_eq!(page["revisions"], json!([]), "{page}");
    let next = json!({ "sessionId": "s", "limit": 1, "cursor": page["nextCursor"] });
    assert_eq!(editor.call("session/history", next)["revisions"][0]["revisionId"], json!(older));
}

#[test]
fn nothing_is_restored_while_the_editor_runs_a_turn() {
    let folder = Folder::new("revisions-running");
    let mut editor = Editor::start(&folder, Value::Null);
    let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "driver": "editor" });
    editor.call("session/open", open);
    editor.call("turn/start", json!({ "sessionId": "s", "content": "First request." }));
    editor.call("turn/end", json!({ "sessionId": "s" }));
    let reset = editor.call("session/reset", json!({ "sessionId": "s" }));
    editor.call("turn/start", json!({ "sessionId": "s", "content": "Second request." }));
    let restore = json!({ "sessionId": "s", "revisionId": reset["revision"] });
    assert_eq!(editor.refused("session/restore", restore.clone())["data"]["kind"], "InvalidState");
    editor.call("turn/end", json!({ "sessionId": "s" }));
    assert!(editor.call("session/restore", restore)["revision"].is_string());
}
