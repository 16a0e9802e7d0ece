//! A streamed answer in a whole session: the snapshot while it streams, the stored message, the state after a
//! crash, and the next request. `src/convert/tests/delta.rs` tests how deltas are merged.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, is_event, stream, wait_state};
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

/// Its error says that it may be asked again: what it said until then is void once there is another answer.
#[test]
fn client_model_whose_failure_passes_is_asked_again() {
    let folder = Folder::new();
    let mut client = Client::new(Wire::Pipes);
    let mut hello = folder.hello();
    hello["initializationOptions"]["threadhold"]["settings"]["titles"] = json!("request");
    client.initialize(hello);
    let open = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
    client.call("session/open", open).expect("it opens");
    let fails = |client: &mut Client, asked: &Value, data: Value| {
        let error = json!({ "code": -32603, "message": "the line is down", "data": data });
        client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }));
    };
    client.call("turn/start", json!({ "sessionId": "s", "content": "Please." })).expect("it starts");
    let first = client.wait_request("model/complete");
    stream(&mut client, &first, "Half of the");
    fails(&mut client, &first, json!({ "kind": "network", "retryAfterMs": 1 }));
    let told =
        client.wait_notification("the retry", |frame| frame["params"]["retrying"]["attempt"].is_number());
    assert_eq!(told["params"]["retrying"]["reason"], "the line is down");
    let second = client.wait_request("model/complete");
    assert_ne!(second["params"]["requestId"], first["params"]["requestId"]);
    let prompt = |asked: &Value| asked["params"]["messages"].clone();
    assert_eq!(prompt(&second), prompt(&first));
    stream(&mut client, &first, "of an attempt that is over");
    stream(&mut client, &second, "The whole");
    client.wait_notification("the reset", |frame| is_event(frame, "streamReset"));
    client.respond(&second["id"], json!({}));
    wait_state(&mut client, "s", "idle");
    let kept = client.call("session/subscribe", json!({ "sessionId": "s" })).expect("a snapshot");
    let said = &kept["snapshot"]["messages"][1]["parts"];
    assert_eq!(said, &json!([{ "type": "text", "text": "The whole" }]));

    // A cancelled turn asks no more, and a fifth failure ends it.
    client.call("turn/start", json!({ "sessionId": "s", "content": "Again." })).expect("it starts");
    let asked = client.wait_request("model/complete");
    fails(&mut client, &asked, json!({ "kind": "overloaded", "retryAfterMs": 59_000 }));
    let asked = client.call("turn/cancel", json!({ "sessionId": "s" }));
    asked.expect("it is cancelled");
    client.call("turn/start", json!({ "sessionId": "s", "content": "Once more." })).expect("it starts");
    for _ in 0..5 {
        let asked = client.wait_request("model/complete");
        fails(&mut client, &asked, json!({ "kind": "rateLimited", "retryAfterMs": 1 }));
    }
    let ended = client.wait_notification("the turn's end", |frame| frame["params"]["status"] == "failed");
    assert_eq!(ended["params"]["error"]["data"]["cause"], "rateLimited");
    let asked = client.frames().iter().filter(|frame| frame["method"] == "model/complete").count();
    assert_eq!(asked, 2 + 1 + 5);
}
