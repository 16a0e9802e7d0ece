//! Large results over the wire: cut for the model, whole for users, and recalled byte for byte, also in
//! another process.

use super::script::{Editor, Folder, calls, prose, read_by, says, sections, tools};
use serde_json::{Value, json};

fn settings(tokens: u32) -> Value {
    json!({ "model": { "name": "m", "window": 100_000 }, "maxToolResultTokens": tokens, "ownTools": ["recall"] })
}

/// The result of this call in a prompt.
fn shown(messages: &Value, call: &str) -> String {
    let parts = messages.as_array().into_iter().flatten().flat_map(|message| message["parts"].as_array());
    let mut results = parts.flatten().filter(|part| part["toolCallId"] == call);
    results.next().expect("the result is there")["content"][0]["text"].as_str().expect("a text").to_owned()
}

/// Messages without cache breakpoints, which move.
fn said(messages: &Value) -> Value {
    let bare = |message: &Value| json!({ "role": message["role"], "parts": message["parts"] });
    messages.as_array().into_iter().flatten().map(bare).collect()
}

/// The whole of a text, recalled in parts of `limit` bytes.
fn recalled(editor: &mut Editor, reference: &str, limit: u64) -> String {
    let (mut offset, mut whole) = (json!(0), String::new());
    loop {
        let params = json!({ "sessionId": "s", "ref": reference, "offset": offset, "limit": limit });
        let page = editor.call("context/recall", params);
        assert_eq!((&page["ref"], &page["offset"]), (&json!(reference), &offset));
        whole.push_str(page["text"].as_str().expect("a text"));
        if page.get("nextOffset").is_none() {
            assert_eq!(page["totalBytes"], json!(whole.len()));
            assert_eq!(page["sha256"].as_str().map(str::len), Some(64));
            return whole;
        }
        offset = page["nextOffset"].clone();
    }
}

#[test]
fn large_result_is_cut_and_recalled_after_a_restart() {
    let folder = Folder::new("recall");
    let mut editor = Editor::start(&folder, settings(200));
    editor.open("s", None);
    editor.answers.extend([calls("I look.", ["c1"]), says("Seen.")]);
    editor.turn(json!({ "sessionId": "s", "content": "Look." }));
    let first = said(&editor.asked[1]["messages"]);
    let cut = shown(&first, "c1");
    assert!(cut.contains("bytes not shown; they can be recalled as \"c1\" from byte "), "{cut}");
    let whole = read_by("c1");
    let (head, _) = cut.split_once("\n[… ").expect("a head");
    assert!(whole.starts_with(head) && cut.len() < whole.len());

    let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }))["snapshot"].take();
    let message = &snapshot["messages"][2];
    assert_eq!(message["parts"][0]["content"][0]["text"], json!(whole), "people see all of it");
    assert!(message["shown"]["headBytes"].as_u64() >= Some(head.len() as u64), "{message}");
    assert!(message["tokens"].as_u64() <= Some(204));
    assert_eq!(snapshot["messages"][1].get("shown"), None);
    editor.kill();

    // Another process with another limit: the sent text stays the same.
    let mut editor = Editor::start(&folder, settings(50_000));
    editor.open("s", None);
    assert_eq!(recalled(&mut editor, "c1", 100), whole);
    assert_eq!(recalled(&mut editor, message["id"].as_str().expect("an id"), 1), whole);
    editor.answers.extend([calls("Again.", ["c2"]), says("Seen.")]);
    editor.turn(json!({ "sessionId": "s", "content": "And the other one." }));
    let later = said(&editor.asked[1]["messages"]);
    let (later, first) = (later.as_array().expect("messages"), first.as_array().expect("messages"));
    assert!(later.starts_with(first), "byte for byte");
    assert_eq!(shown(&editor.asked[1]["messages"], "c2"), read_by("c2"));

    for unknown in ["c9", ""] {
        let error = editor.refused("context/recall", json!({ "sessionId": "s", "ref": unknown }));
        assert_eq!(error["data"]["kind"], "StaleReference", "{error}");
        assert_eq!((&error["data"]["field"], &error["data"]["id"]), (&json!("ref"), &json!(unknown)));
    }
    let error = editor.refused("context/recall", json!({ "sessionId": "s", "ref": "c1", "limit": 0 }));
    assert_eq!(error["data"]["field"], "limit");
}

#[test]
fn render_may_set_its_own_result_limit() {
    let folder = Folder::new("recall-render");
    let mut editor = Editor::start(&folder, settings(16_000));
    let long = prose("long", 60);
    let mut params = json!({
        "sessionId": "s", "workspaceFolder": "/code/parser", "tools": tools(), "sections": sections(),
        "input": { "externalId": "u", "content": "Look." },
        "rounds": [{ "id": "r1", "assistant": { "parts": calls("", ["c1"]) } }],
        "toolResults": [{ "toolCallId": "c1", "content": long }],
        "maxToolResultTokens": 0,
    });
    let error = editor.refused("prompt/render", params.clone());
    assert_eq!(error["data"]["field"], "maxToolResultTokens", "{error}");
    params["maxToolResultTokens"] = json!(100);
    let first = editor.call("prompt/render", params.clone());
    assert!(shown(&first["messages"], "c1").contains("recalled as \"c1\""));
    assert_eq!(first["cuts"][0]["reason"], "shortened");
    assert_eq!(first["cuts"][0]["originalBytes"], json!(long.len()));
    params.as_object_mut().expect("an object").remove("maxToolResultTokens");
    let again = editor.call("prompt/render", params);
    assert_eq!(again["messages"], first["messages"]);
    assert_eq!(recalled(&mut editor, "c1", 1000), long);
}

#[test]
fn settings_that_cannot_be_used_are_refused_by_name() {
    let folder = Folder::new("recall-settings");
    let mut editor = Editor::start(&folder, json!({}));
    editor.open("s", None);
    let configure = |editor: &mut Editor, settings: Value| {
        editor.refused("session/configure", json!({ "sessionId": "s", "settings": settings }))
    };
    let error = configure(&mut editor, json!({ "maxToolResultTokens": 0 }));
    assert_eq!(error["data"]["field"], "settings.maxToolResultTokens");
    let error = configure(&mut editor, json!({ "ownTools": ["todo", "bash"] }));
    assert_eq!(error["data"]["field"], "settings.ownTools");
    let said = error["message"].as_str().expect("a message");
    assert!(said.contains("\"bash\"") && said.contains("recall, start_agent, task_done, todo"), "{said}");
    let settings = json!({ "maxToolResultTokens": 7, "ownTools": ["todo", "recall", "todo"] });
    let set = editor.call("session/configure", json!({ "sessionId": "s", "settings": settings }));
    assert_eq!(set["settings"]["maxToolResultTokens"], 7);
    assert_eq!(set["settings"]["ownTools"], json!(["recall", "todo"]));
}
