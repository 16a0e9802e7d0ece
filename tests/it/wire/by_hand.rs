//! Manual changes of the context over the wire: each method once, its events, and the state after a restart.
//! `session::by_hand` tests what holds in every session.

use super::restore::long_answers;
use super::script::{Editor, Folder, bytes, says};
use serde_json::{Value, json};

fn settings() -> Value {
    json!({ "model": { "name": "m", "window": 8000 } })
}

fn of_s() -> Value {
    json!({ "sessionId": "s" })
}

fn snapshot(editor: &mut Editor) -> Value {
    editor.call("session/subscribe", of_s())["snapshot"].take()
}

/// A session whose first turn was compacted, with the compaction's id, after a second turn.
fn compacted(name: &str) -> (Folder, Editor, String) {
    let folder = Folder::new(name);
    let mut editor = Editor::start(&folder, settings());
    editor.open("s", None);
    editor.answers.extend(long_answers());
    editor.turn(json!({ "sessionId": "s", "content": "Make the parser work." }));
    let id = snapshot(&mut editor)["compactions"][0]["id"].as_str().expect("a compaction").to_owned();
    (folder, editor, id)
}

/// The prompt of one more request.
fn next_prompt(editor: &mut Editor) -> String {
    let before = editor.asked.len();
    editor.answers.push_back(says("Yes."));
    editor.turn(json!({ "sessionId": "s", "content": "Go on." }));
    bytes(&editor.asked[before]["messages"])
}

fn wider(editor: &mut Editor) {
    let model = json!({ "name": "m", "window": 64_000 });
    editor.call("session/configure", json!({ "sessionId": "s", "settings": { "model": model } }));
}

#[test]
fn impossible_undo_says_why_and_a_possible_one_lasts() {
    let (folder, mut editor, id) = compacted("undo");
    let error = editor.refused("context/undo", of_s());
    assert_eq!((&error["data"]["kind"], &error["data"]["compactionId"]), (&json!("CannotUndo"), &json!(id)));
    assert!(error["data"]["needed"].as_u64() > error["data"]["limit"].as_u64());
    let ways: Vec<&str> = error["data"]["ways"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|way| way["way"].as_str())
        .collect();
    assert_eq!(ways, ["redo", "pin", "window"], "{error}");
    wider(&mut editor);
    let undone = editor.call("context/undo", json!({ "sessionId": "s", "compactionId": id }));
    assert_eq!((&undone["compactionId"], &undone["metadata"]), (&json!(id), &json!({})));
    let event = editor.events("compactionUpdated").pop().expect("it is told");
    assert_eq!(
        (&event["phase"], &event["compactionId"], &event["metadata"]),
        (&json!("undone"), &json!(id), &json!({}))
    );
    assert_eq!(event["compaction"]["status"], "undone");
    let after = snapshot(&mut editor);
    assert_eq!((after.get("summary"), &after["summarizedCount"]), (None, &json!(0)));
    assert_eq!(after["turns"][0].get("metadata"), None);
    let history = editor.history();
    editor.kill();

    // The editor's history still has the compaction: it stays undone.
    let mut editor = Editor::start(&folder, settings());
    let opened = editor.open("s", Some(history));
    assert_eq!(opened["restore"]["already"], json!([id]), "{}", opened["restore"]);
    assert_eq!(opened["snapshot"]["compactions"][0]["status"], "undone");
    wider(&mut editor);
    assert!(!next_prompt(&mut editor).contains("conversation-summary"));
    assert_eq!(editor.refused("context/undo", of_s())["data"]["kind"], "InvalidParams");
}

#[test]
fn compaction_can_be_previewed_redone_and_edited() {
    let (_folder, mut editor, id) = compacted("redo");
    let preview = editor.call("context/compact", json!({ "sessionId": "s", "redo": id, "preview": true }));
    assert_eq!((&preview["preview"]["asksModel"], preview.get("compaction")), (&json!(true), None));
    assert!(preview["preview"]["tokensAfter"].as_u64() < preview["preview"]["tokensBefore"].as_u64());
    assert_eq!(snapshot(&mut editor)["compactions"].as_array().map(Vec::len), Some(1), "nothing was done");

    let keep = snapshot(&mut editor)["messages"][2]["id"].clone();
    let redo = json!({ "sessionId": "s", "redo": id, "keep": [keep], "focus": "the table" });
    let made = editor.call("context/compact", redo)["compaction"].take();
    assert_eq!((&made["replaces"], &made["focus"]), (&json!(id), &json!("the table")));
    let told = editor.events("compactionUpdated");
    let phases: Vec<&str> = told.iter().rev().take(4).filter_map(|event| event["phase"].as_str()).collect();
    assert_eq!(phases, ["accepted", "undone", "summarizing", "started"]);
    let ids: Vec<&Value> = told.iter().rev().take(4).map(|event| &event["compactionId"]).collect();
    assert_eq!(ids, [&made["id"], &json!(id), &made["id"], &made["id"]], "one id from its start on");
    assert!(told.last().is_some_and(|last| last["tokensAfter"].is_u64() && last["tokensBefore"].is_u64()));
    assert_eq!(snapshot(&mut editor)["pins"][0]["messageId"], keep);

    let edit =
        |narrative: &str| json!({ "sessionId": "s", "compactionId": made["id"], "narrative": narrative });
    let edited = editor.call("context/edit", edit("## Goal\nThe user's own words."))["compaction"].take();
    assert_eq!((&edited["mode"], &edited["replaces"]), (&json!("edited"), &made["id"]));
    assert!(next_prompt(&mut editor).contains("The user's own words."));
    let error = editor.refused("context/edit", edit("again"));
    assert_eq!(error["data"]["kind"], "StaleReference", "it is out of force: {error}");
}

#[test]
fn pins_and_exclusions_hold_in_later_prompts_and_processes() {
    let folder = Folder::new("pins");
    let mut editor = Editor::start(&folder, settings());
    editor.open("s", None);
    editor.answers.push_back(says("An answer that leads nowhere."));
    editor.turn(json!({ "sessionId": "s", "content": "Look." }));
    next_prompt(&mut editor);
    let messages = snapshot(&mut editor)["messages"].take();
    let pinned =
        editor.call("context/pin", json!({ "sessionId": "s", "text": "Never touch the lock file." }));
    assert!(pinned["pins"][0]["tokens"].as_u64() > Some(0));
    let event = editor.events("threadUpdated").pop().expect("it is told");
    assert_eq!(event["pins"][0]["pinId"], pinned["pinId"]);
    let excluded =
        editor.call("context/exclude", json!({ "sessionId": "s", "messageIds": [messages[1]["id"]] }));
    assert_eq!(excluded["compaction"]["excludedIds"], json!([messages[1]["id"]]));
    let inspected = editor.call("context/inspect", of_s());
    assert_eq!((&inspected["pins"], &inspected["coverage"]["dropped"]), (&pinned["pins"], &json!(1)));
    assert!(
        inspected["triggers"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["trigger"] == "budgetExceeded"))
    );
    assert_eq!(inspected["usage"]["inputTokens"], 10, "what the model reported last");
    let prompt = next_prompt(&mut editor);
    assert!(prompt.contains("Never touch the lock file.") && !prompt.contains("leads nowhere"));
    editor.kill();

    let mut editor = Editor::start(&folder, settings());
    let opened = editor.open("s", None);
    assert_eq!(opened["snapshot"]["pins"], pinned["pins"]);
    let prompt = next_prompt(&mut editor);
    assert!(prompt.contains("Never touch the lock file.") && !prompt.contains("leads nowhere"));
    editor.call("context/unpin", json!({ "sessionId": "s", "pinId": pinned["pinId"] }));
    editor.call("context/undo", of_s());
    let prompt = next_prompt(&mut editor);
    assert!(!prompt.contains("Never touch the lock file.") && prompt.contains("leads nowhere"));

    let refused = |editor: &mut Editor, method: &str, params: Value| {
        let mut params = params;
        params["sessionId"] = json!("s");
        editor.refused(method, params)["data"]["kind"].as_str().map(str::to_owned)
    };
    let (kind, invalid) = (|kind: &str| Some(kind.to_owned()), Some("InvalidParams".to_owned()));
    assert_eq!(refused(&mut editor, "context/pin", json!({})), invalid);
    assert_eq!(refused(&mut editor, "context/pin", json!({ "messageId": "m", "text": "t" })), invalid);
    assert_eq!(refused(&mut editor, "context/pin", json!({ "messageId": "m" })), kind("StaleReference"));
    assert_eq!(
        refused(&mut editor, "context/pin", json!({ "text": "word ".repeat(9000) })),
        kind("BudgetExceeded")
    );
    assert_eq!(refused(&mut editor, "context/unpin", json!({ "pinId": "p" })), kind("StaleReference"));
    assert_eq!(refused(&mut editor, "context/exclude", json!({ "messageIds": [] })), invalid);
    assert_eq!(
        refused(&mut editor, "context/edit", json!({ "compactionId": "c", "narrative": "n" })),
        kind("StaleReference")
    );
}
