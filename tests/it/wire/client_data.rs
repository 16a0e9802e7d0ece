//! Data that a client attaches under `_meta`: it comes back with its message or part, also from disk, and no model sees it.

use super::client::{Client, Wire};
use super::script::Folder;
use serde_json::{Value, json};

const FOLDER: &str = "/code/parser";

fn client(store: &Folder) -> Client {
    let mut client = Client::new(Wire::Pipes);
    let options = json!({ "protocolVersion": 1, "storage": { "path": store.path() } });
    client.initialize(json!({
        "capabilities": {}, "workspaceFolders": [{ "uri": "file:///code/parser", "name": "parser" }],
        "initializationOptions": { "threadhold": options },
    }));
    client
}

fn data(of: &str) -> Value {
    json!({ "example.org/of": of, "secret": "in no prompt", "nested": { "a": [0.5, null] } })
}

/// Messages as a client gives them, with data at each place that can have some.
fn messages() -> Value {
    json!([
        { "externalId": "q", "role": "user", "_meta": data("question"), "parts": [
            { "type": "text", "text": "Read it.", "_meta": data("text") },
            { "type": "resource", "uri": "file:///a.rs", "text": "fn a() {}", "_meta": data("resource") },
            { "type": "image", "mimeType": "image/png", "data": "aGk=", "_meta": data("image") },
        ]},
        { "externalId": "a", "role": "assistant", "_meta": data("answer"), "parts": [
            { "type": "text", "text": "I look.", "_meta": data("said") },
            { "type": "toolCall", "id": "c", "name": "read", "arguments": "{}", "_meta": data("call") },
        ]},
        { "role": "tool", "parts": [
            { "type": "toolResult", "toolCallId": "c", "_meta": data("result"), "content": [
                { "type": "text", "text": "fn a() {}" },
                { "type": "resourceLink", "uri": "file:///b.rs", "name": "b.rs", "_meta": data("link") },
            ]},
        ]},
        { "externalId": "b", "role": "assistant", "parts": [{ "type": "text", "text": "It is empty." }] },
    ])
}

/// The fields of messages that a client gave.
fn as_given(messages: &Value) -> Value {
    let given = ["externalId", "role", "_meta", "parts"];
    let messages = messages.as_array().expect("a list").iter().map(|message| {
        let fields = message.as_object().expect("an object").clone().into_iter();
        Value::Object(fields.filter(|(field, _)| given.contains(&field.as_str())).collect())
    });
    messages.collect()
}

#[test]
fn data_of_a_client_comes_back_and_is_in_no_prompt() {
    let store = Folder::new("client-data");
    let mut editor = client(&store);
    let open = json!({
        "workspaceFolder": FOLDER, "sessionId": "s", "driver": "editor",
        "tools": [{ "name": "read" }], "history": [{ "messages": messages() }],
    });
    let opened = editor.call("session/open", open).expect("it opens");
    assert_eq!(as_given(&opened["snapshot"]["messages"]), messages());

    let input = json!({
        "externalId": "n", "content": [{ "type": "text", "text": "And b?", "_meta": data("now") }], "_meta": data("it"),
    });
    let call = json!([{ "type": "toolCall", "id": "d", "name": "read", "arguments": "{}" }]);
    let result = json!({ "toolCallId": "d", "content": "empty too", "_meta": data("its result") });
    let round =
        json!({ "id": "r", "assistant": { "parts": call, "_meta": data("round") }, "results": [result] });
    let render = json!({ "sessionId": "s", "input": input, "rounds": [round] });
    let rendered = editor.call("prompt/render", render).expect("it is rendered");
    let prompt = rendered["messages"].to_string();
    assert!(prompt.contains("empty too") && prompt.contains("fn a() {}"), "{prompt}");
    assert!(!prompt.contains("_meta") && !prompt.contains("in no prompt"), "{prompt}");

    editor.call("shutdown", Value::Null).expect("it ends");
    drop(editor);

    let mut editor = client(&store);
    let opened = editor.call("session/open", json!({ "workspaceFolder": FOLDER, "sessionId": "s" }));
    let kept = as_given(&opened.expect("it opens")["snapshot"]["messages"]);
    let mut expected = messages();
    let last = json!([
        { "externalId": "n", "role": "user", "_meta": data("it"), "parts": input["content"] },
        { "externalId": "r", "role": "assistant", "_meta": data("round"), "parts": call },
        { "role": "tool", "parts": [{
            "type": "toolResult", "toolCallId": "d", "_meta": data("its result"),
            "content": [{ "type": "text", "text": "empty too" }],
        }]},
    ]);
    expected.as_array_mut().expect("a list").extend(last.as_array().expect("a list").iter().cloned());
    assert_eq!(kept, expected);

    let export = editor.call("session/export", json!({ "sessionId": "s", "format": "jsonl" }));
    let export = export.expect("it is exported")["data"].as_str().expect("text").to_owned();
    let import = json!({ "workspaceFolder": FOLDER, "data": export, "format": "jsonl", "sessionId": "copy" });
    editor.call("session/import", import).expect("it is imported");
    let copy = editor.call("session/messages", json!({ "sessionId": "copy" })).expect("its messages");
    assert_eq!(as_given(&copy["messages"]), expected);

    // Other words of a message are about the same request; what was attached to the words before goes with them.
    let words = json!([{ "type": "text", "text": "Read them.", "_meta": data("other words") }]);
    let update = json!({ "sessionId": "copy", "index": 0, "content": words });
    editor.call("message/update", update).expect("it is changed");
    let changed = editor.call("session/messages", json!({ "sessionId": "copy" })).expect("its messages");
    expected[0]["parts"] = words;
    assert_eq!(as_given(&changed["messages"]), expected);

    let refused = json!({ "sessionId": "copy", "content": [{ "type": "text", "text": "x", "_meta": 7 }] });
    let error = editor.call("turn/start", refused).expect_err("it is no object");
    assert_eq!(error["data"]["field"], "content[0]._meta", "{error}");
}
