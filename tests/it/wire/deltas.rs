//! A streamed answer in a whole session: the snapshot while it streams, the stored message, the state after a
//! crash, and the next request. `src/convert/tests/delta.rs` tests how deltas are merged.

use super::client::{Start, Wire};
use super::ground::{Folder, is_event};
use serde_json::{Value, json};

/// The case of `fixtures/delta` with all operations.
fn everything() -> Value {
    let text = include_str!("../../../fixtures/delta/beside.json");
    let cases: Vec<Value> = serde_json::from_str(text).expect("a list of cases");
    cases.into_iter().find(|case| case["name"] == "everything at once").expect("it is there")
}

#[test]
fn streamed_answer_is_stored_whole_and_survives_a_crash() {
    let (case, folder) = (everything(), Folder::new());
    let (ops, folded) = (case["ops"].as_array().expect("a list"), &case["folded"]);
    let mut client = folder.serve(Start::new(Wire::Pipes));
    let open = |tools: Value| json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "tools": tools });
    client.call("session/open", open(json!([{ "name": "read" }]))).expect("it opens");
    client.call("turn/start", json!({ "sessionId": "s", "content": "Please." })).expect("it starts");
    let asked = client.wait_request("model/complete");
    client.notify("model/delta", json!({ "requestId": asked["params"]["requestId"], "ops": ops }));
    let last = ops.last().expect("operations");
    client.wait_notification("the last operation", |frame| {
        is_event(frame, "streamDelta")
            && frame["params"]["ops"].as_array().is_some_and(|ops| ops.last() == Some(last))
    });
    let seen = client.call("session/subscribe", json!({ "sessionId": "s" })).expect("a snapshot");
    for field in ["parts", "usage", "citations", "extra"] {
        assert_eq!(seen["snapshot"]["streaming"][field], folded[field], "{field}");
    }

    // The result repeats one counter and advances another.
    client.respond(&asked["id"], json!({ "usage": { "inputTokens": 90, "outputTokens": 50 } }));
    let added = client.wait_notification("the message", |frame| {
        is_event(frame, "messageAdded") && frame["params"]["message"]["role"] == "assistant"
    });
    let added = &added["params"]["message"];
    assert_eq!(added["usage"], json!({ "inputTokens": 100, "outputTokens": 50 }));
    for field in ["parts", "citations", "extra"] {
        assert_eq!(added[field], folded[field], "{field}");
    }
    client.wait_request("tool/invoke");
    client.kill();
    drop(client);

    let mut client = folder.serve(Start::new(Wire::Pipes));
    let opened = client.call("session/open", open(json!([{ "name": "read" }]))).expect("it opens");
    assert_eq!(&opened["snapshot"]["messages"][1], added);
    let result = json!({ "sessionId": "s", "toolCallId": "c", "content": "fn main() {}" });
    client.call("tool/result", result).expect("it is taken");
    let asked = client.wait_request("model/complete");
    let messages = asked["params"]["messages"].as_array().expect("messages");
    let answer = messages.iter().find(|message| message["role"] == "assistant").expect("the answer");
    assert_eq!(answer["parts"], folded["parts"], "the provider gets its blocks back where they stood");
    client.respond(&asked["id"], json!({ "content": "Done." }));
}
