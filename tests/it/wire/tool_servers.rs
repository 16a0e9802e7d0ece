//! Tool servers within turns of a client: their questions, and the deadline of their calls.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, is_event};
use serde_json::{Value, json};

/// The server of the chats' tests, which asks for a table within a call of `book`.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/chat/server.py");

/// A client with this server and a tool of its own, that asks its user if `elicit`.
fn serve(folder: &Folder, elicit: bool) -> Client {
    let mut hello = folder.hello();
    let options = &mut hello["initializationOptions"]["threadhold"];
    options["capabilities"]["elicit"] = elicit.into();
    options["settings"]["mcp"] =
        json!({ "servers": { "table": { "command": "python3", "args": [SERVER] } } });
    options["settings"]["toolDeadlineMs"] = 3000.into();
    let mut client = Start::new(Wire::Pipes).start();
    client.initialize(hello);
    let tool = json!({ "name": "read", "policy": "allow" });
    let params = json!({ "workspaceFolder": env!("CARGO_TARGET_TMPDIR"), "sessionId": "s", "tools": [tool] });
    client.call("session/open", params).expect("it opens");
    client
}

/// The result of a call, as an event tells it.
fn result_of(client: &mut Client, call: &str) -> Value {
    let part = |frame: &Value| {
        let parts = frame["params"]["message"]["parts"].as_array().cloned().unwrap_or_default();
        parts.into_iter().find(|part| part["type"] == "toolResult" && part["toolCallId"] == call)
    };
    let is_result = |frame: &Value| is_event(frame, "messageAdded") && part(frame).is_some();
    let frame = client.wait_notification(&format!("the result of {call}"), is_result);
    part(&frame).expect("a result")["content"].clone()
}

/// The model calls `book` and these tools in one round, and `book` is allowed.
fn books(client: &mut Client, others: &[&str]) {
    client.call("turn/start", json!({ "sessionId": "s", "content": "Book a table." })).expect("it starts");
    let asked = client.wait_request("model/complete");
    let call =
        |id: &str, name: &str| json!({ "type": "toolCall", "id": id, "name": name, "arguments": "{}" });
    let others = others.iter().map(|name| call(name, name));
    let calls: Value = [call("book", "table__book")].into_iter().chain(others).collect();
    client.respond(&asked["id"], json!({ "content": calls }));
    let paused = client.wait_request("tool/requestPermission");
    let allowed = json!([{ "toolCallId": "book", "decision": "allowOnce" }]);
    client.respond(&paused["id"], json!({ "decisions": allowed }));
}

/// The question is answered after another call of the round, which began at the same time, was too late.
#[test]
fn time_of_a_question_does_not_count_against_its_call() {
    let folder = Folder::new();
    let mut client = serve(&folder, true);
    books(&mut client, &["read"]);
    let question = client.wait_request("mcp/elicit");
    client.wait_request("tool/invoke");
    let late = json!([{ "type": "text", "text": "[no result came within 3000 ms]" }]);
    assert_eq!(result_of(&mut client, "read"), late);
    client.respond(&question["id"], json!({ "action": "accept", "content": { "guests": 2 } }));
    let booked = json!([{ "type": "text", "text": "accept {\"guests\": 2}" }]);
    assert_eq!(result_of(&mut client, "book"), booked);
}

#[test]
fn client_that_cannot_ask_gets_no_question() {
    let folder = Folder::new();
    let mut client = serve(&folder, false);
    books(&mut client, &[]);
    let declined = json!([{ "type": "text", "text": "decline null" }]);
    assert_eq!(result_of(&mut client, "book"), declined);
    assert!(client.frames().iter().all(|frame| frame["method"] != "mcp/elicit"));
}
