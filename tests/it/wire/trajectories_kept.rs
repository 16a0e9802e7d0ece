//! A session and its file stay equal, however little of the session is loaded, whatever its settings keep,
//! when a process dies, and when the session is deleted. Outside changes are in `trajectories_from_outside`.

use super::script::{Editor, calls, prose, says};
use super::trajectories::{Workspace, on, says_n, texts};
use serde_json::{Value, json};
use std::fs;

fn ask(editor: &mut Editor, words: &str) {
    editor.turn(json!({ "sessionId": "s", "content": words }));
}

fn close(mut editor: Editor) {
    editor.call("session/close", json!({ "sessionId": "s" }));
}

fn said(editor: &mut Editor) -> Vec<String> {
    texts(&editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take())
}

fn sessions(editor: &mut Editor, ground: &Workspace) -> Vec<String> {
    let listed = editor.call("session/list", json!({ "workspaceFolder": ground.work() }));
    let all = listed["sessions"].as_array().cloned().unwrap_or_default();
    all.iter().map(|session| session["sessionId"].as_str().expect("an id").to_owned()).collect()
}

/// The warnings to a client so far.
fn warnings(editor: &Editor) -> Vec<String> {
    let frames = editor.client.frames();
    let told = frames.iter().filter(|frame| frame["method"] == "window/logMessage");
    told.map(|frame| frame["params"]["message"].to_string()).collect()
}

/// A session of two turns, and its file after the first.
fn two_turns(ground: &Workspace) -> (Editor, Vec<u8>) {
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ask(&mut editor, "Hello.");
    ground.wait("s", "the first turn", says_n(2));
    let first = fs::read(ground.file("s")).expect("a file");
    ask(&mut editor, "Go on.");
    (editor, first)
}

fn no_other_session(editor: &mut Editor, ground: &Workspace) {
    let sessions = sessions(editor, ground);
    assert_eq!(sessions, ["s"]);
    let warnings = warnings(editor);
    assert!(warnings.iter().all(|said| !said.contains("diverged")), "{warnings:?}");
}

/// A partly loaded session still has its whole file.
#[test]
fn session_opened_at_its_end_keeps_its_whole_file() {
    let ground = Workspace::new("part");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    for n in 0..30 {
        editor.answers.push_back(says(&prose(&format!("answer {n}"), 15)));
        ask(&mut editor, &format!("Do step {n}. {}", prose("request", 4)));
    }
    close(editor);
    let before = ground.read("s").expect("a file");
    assert_eq!(texts(&before).len(), 60);
    assert!(before["summaries"].as_array().is_some_and(|all| !all.is_empty()), "nothing was compacted");

    for ends in ["killed", "closed", "exported"] {
        let mut editor = ground.editor("store", on());
        let version = ground.read("s").expect("a file")["version"].as_u64();
        let params = json!({ "workspaceFolder": ground.work(), "sessionId": "s", "snapshotMessages": 4 });
        let snapshot = editor.call("session/open", params)["snapshot"].take();
        assert_eq!(snapshot["earlierMessages"], 56, "{ends}");
        if ends == "exported" {
            let export = json!({ "sessionId": "s", "format": "trajectory" });
            let exported = editor.call("session/export", export);
            let out: Value = serde_json::from_str(exported["data"].as_str().expect("text")).expect("JSON");
            assert_eq!(out["messages"], before["messages"]);
        }
        let put = json!({ "sessionId": "s", "todos": [{ "content": ends, "status": "pending" }] });
        editor.call("scope/put", put);
        if ends == "killed" {
            ground.wait("s", "a writing", |file| file["version"].as_u64() > version);
        }
        no_other_session(&mut editor, &ground);
        if ends == "killed" {
            editor.kill()
        } else {
            close(editor)
        }
        let now = ground.read("s").expect("a file");
        assert_eq!(now["messages"], before["messages"], "{ends}");
        assert_eq!(now["summaries"], before["summaries"], "{ends}");
    }
}

/// Messages dropped after their turn are no difference between session and file.
#[test]
fn final_answers_alone_match_the_file_after_a_restart() {
    let ground = Workspace::new("final");
    let mut settings = on();
    settings["transcript"] = json!("finalOnly");
    let mut editor = ground.editor("store", settings.clone());
    ground.open(&mut editor, "s");
    editor.answers.push_back(calls("I look.", ["c1"]));
    editor.answers.push_back(says("It is fine."));
    ask(&mut editor, "Read c1.");
    close(editor);

    let mut editor = ground.editor("store", settings);
    ground.open(&mut editor, "s");
    ask(&mut editor, "And now?");
    let mut file = ground
        .wait("s", "the second turn", |file| texts(file).last().is_some_and(|last| last == "It is done."));
    no_other_session(&mut editor, &ground);

    // A change of the last answer in the file changes that answer alone.
    let last = file["messages"].as_array().map_or(0, |all| all.len() - 1);
    file["messages"][last]["parts"] = json!([{ "type": "text", "text": "It is over." }]);
    ground.write("s", &file);
    editor.event("the change", |event| {
        event["type"] == "messageUpdated" && event.to_string().contains("It is over.")
    });
    assert_eq!(said(&mut editor), ["Read c1.", "It is fine.", "And now?", "It is over."]);
    assert!(editor.events("messagesTruncated").is_empty());
}

#[test]
fn outdated_file_is_rewritten_without_another_turn() {
    let ground = Workspace::new("behind");
    let (editor, first) = two_turns(&ground);
    close(editor);

    // As after a kill between the store's commit and the write.
    fs::write(ground.file("s"), &first).expect("a file");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ground.wait("s", "all of it", says_n(4));
    no_other_session(&mut editor, &ground);
    close(editor);

    // And without a file.
    fs::remove_file(ground.file("s")).expect("it goes");
    let mut editor = ground.editor("store", json!({ "model": { "name": "m", "window": 8000 } }));
    ground.open(&mut editor, "s");
    assert!(!ground.file("s").exists());
    editor.call("session/configure", json!({ "sessionId": "s", "settings": { "trajectory": "workspace" } }));
    ground.wait("s", "all of it", says_n(4));
}

/// Restoring an older copy removes nothing, and messages from both sides stay on both.
#[test]
fn outside_change_during_a_turn_loses_nothing() {
    let ground = Workspace::new("older");
    let (mut editor, first) = two_turns(&ground);
    ground.wait("s", "the second turn", says_n(4));
    let older: Value = serde_json::from_slice(&first).expect("JSON");
    let again = ground.file("s").with_extension("new");
    fs::write(&again, &first).expect("a file");
    fs::rename(again, ground.file("s")).expect("a file");
    ground.wait("s", "all of it", says_n(4));
    assert_eq!(older["messages"].as_array().map(Vec::len), Some(2));
    assert_eq!(said(&mut editor).len(), 4);
    no_other_session(&mut editor, &ground);

    let turn = editor.call("turn/start", json!({ "sessionId": "s", "content": "Ours." }))["turnId"].take();
    let request = editor.client.wait_request("model/complete");
    let mut file = ground.read("s").expect("a file");
    file["messages"].as_array_mut().expect("a list").push(json!({ "role": "user", "content": "Theirs." }));
    ground.write("s", &file);
    editor.client.wait_notification("the change", |frame| {
        let told = frame["params"]["trajectories"].as_array().into_iter().flatten();
        frame["method"] == "sessions/changed" && told.clone().any(|row| row["messages"] == 5)
    });
    editor.answer(&request);
    editor.ended(&turn);
    let now = ground.wait("s", "ours", says_n(6));
    assert_eq!(texts(&now)[4], "Ours.");
    assert_eq!(said(&mut editor), texts(&now));
    let warned = editor.client.wait_notification("the other session", |frame| {
        frame["params"]["message"].to_string().contains("diverged")
    });
    let other =
        sessions(&mut editor, &ground).into_iter().find(|id| id.contains("-outside-")).expect("another one");
    assert!(warned.to_string().contains(&other));
    let snapshot =
        editor.call("session/open", json!({ "workspaceFolder": ground.work(), "sessionId": other }));
    assert_eq!(texts(&snapshot["snapshot"])[4], "Theirs.");
}

#[test]
fn message_made_unreadable_in_the_file_stays() {
    let ground = Workspace::new("gaps");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ask(&mut editor, "Hello.");
    ask(&mut editor, "Go on.");
    let whole = ground.wait("s", "two turns", says_n(4));
    for broken in [&[1usize][..], &[1, 2], &[3], &[0]] {
        let mut file = ground.wait("s", "it whole", says_n(4));
        let version = file["version"].as_u64();
        let unreadable = file["unreadable"].as_array().map_or(0, Vec::len);
        for at in broken {
            file["messages"][at]["parts"] = json!(version);
        }
        ground.write("s", &file);
        let now = ground.wait("s", "it whole again", |file| file["version"].as_u64() > version);
        assert_eq!(now["messages"], whole["messages"], "{broken:?}");
        assert_eq!(now["unreadable"].as_array().map_or(0, Vec::len), unreadable + broken.len());
    }
    assert_eq!(said(&mut editor), texts(&whole));
    no_other_session(&mut editor, &ground);

    // If the message cannot be identified, the client is told which session still has all of it.
    let mut file = ground.read("s").expect("a file");
    file["messages"][1]["parts"] = json!(7);
    file["messages"][2] = json!({ "role": "user", "content": "Something else." });
    ground.write("s", &file);
    let warned = editor.client.wait_notification("the revision", |frame| {
        frame["params"]["message"].to_string().contains("has it as it was before")
    });
    let history = editor.call("session/history", json!({ "sessionId": "s" }));
    let revision = history["revisions"][0]["revisionId"].as_str().expect("a revision");
    assert!(warned.to_string().contains(revision), "{warned}");
    no_other_session(&mut editor, &ground);
}

/// In a process that never opened it, with settings that want no files.
#[test]
fn unopened_session_is_deleted_with_its_file() {
    let ground = Workspace::new("deleted");
    let mut editor = ground.editor("store", on());
    ground.open(&mut editor, "s");
    ask(&mut editor, "A secret.");
    close(editor);
    let left = ground.file("s").with_file_name(".s.999999999.tmp");
    fs::write(&left, "A secret.").expect("a file");
    assert!(ground.file("s").exists());

    let mut editor = ground.editor("store", json!({ "model": { "name": "m", "window": 8000 } }));
    let deleted = editor.call("session/delete", json!({ "sessionId": "s" }));
    assert_eq!((&deleted["deletedMessages"], &deleted["scrubbed"]), (&json!(2), &json!(true)), "{deleted}");
    assert!(!ground.file("s").exists() && !left.exists());
    drop(editor);
    let mut editor = ground.editor("store", on());
    assert_eq!(ground.open(&mut editor, "s")["snapshot"]["messages"], json!([]));
    ask(&mut editor, "Another secret.");
    ground.wait("s", "the new one", says_n(2));
    assert!(!fs::read_to_string(ground.file("s")).expect("a file").contains("A secret."));

    // A file that cannot be removed is reported.
    close(editor);
    fs::remove_file(ground.file("s")).expect("it goes");
    fs::create_dir(ground.file("s")).expect("a folder");
    let mut editor = ground.editor("store", on());
    let deleted = editor.call("session/delete", json!({ "sessionId": "s" }));
    assert_eq!(deleted["scrubbed"], false, "{deleted}");
    editor.client.wait_notification("why", |frame| {
        let message = frame["params"]["message"].to_string();
        frame["method"] == "window/logMessage" && message.contains("could not be removed")
    });
}
