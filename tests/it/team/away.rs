//! A server that is away for a while: a turn under way goes on, and the client is told what waits.

use super::Tenant;
use crate::wire::ground::is_event;
use crate::wire::script::{Editor, calls, is_request};
use serde_json::{Value, json};
use store::testing::postgres::Server;

/// Streams a piece of an answer and waits until the client sees it.
fn says(editor: &mut Editor, asked: &Value, text: &str) {
    let ops = json!([{ "op": "appendContent", "text": text }]);
    editor.client.notify("model/delta", json!({ "requestId": asked["params"]["requestId"], "ops": ops }));
    editor
        .client
        .wait_notification(text, |frame| is_event(frame, "streamDelta") && frame.to_string().contains(text));
}

/// Waits until the client is told of this state of the store; returns what is said of it.
fn told(editor: &mut Editor, state: &str) -> Value {
    let is_it = |frame: &Value| frame["method"] == "storage/updated" && frame["params"]["state"] == state;
    editor.client.wait_notification(state, is_it)["params"].take()
}

fn messages(editor: &mut Editor) -> Value {
    editor.call("session/messages", json!({ "sessionId": "s", "workspaceFolder": "/code/parser" }))["messages"].take()
}

#[test]
fn turn_goes_on_while_the_server_is_away() {
    let Some(server) = Server::start() else { return };
    let tenant = Tenant::new(&server);
    let mut editor = tenant.editor("laptop");
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "One." }));
    let turn = editor.call("turn/start", json!({ "sessionId": "s", "content": "Two." }))["turnId"].take();
    let asked = editor.client.wait("the model to be asked", |frame| is_request(frame, "model/complete"));
    says(&mut editor, &asked, "Before. ");
    server.crash();
    says(&mut editor, &asked, "Meanwhile. ");
    let waiting = told(&mut editor, "waiting");
    assert!(waiting["fault"].as_str().is_some_and(|fault| fault.contains("cannot be reached")), "{waiting}");
    assert_eq!(waiting["workspaceFolder"], "");
    says(&mut editor, &asked, "And still. ");
    // The answer is whole, and its call waits until it is stored.
    editor.answers.push_back(calls("I look.", ["c1"]));
    editor.answer(&asked);
    let fault = editor.refused("session/list", json!({}));
    assert_eq!(
        (&fault["data"]["kind"], &fault["data"]["cause"]),
        (&json!("StorageError"), &json!("unavailable"))
    );
    let is_early = |frame: &Value| is_request(frame, "tool/invoke") || is_event(frame, "turnCompleted");
    let waited =
        editor.client.frames().iter().skip_while(|frame| frame["method"] != "storage/updated").any(is_early);
    assert!(!waited, "nothing is acknowledged before it is stored");

    server.resume();
    let ended = editor.ended(&turn);
    assert_eq!((&ended["status"], &editor.ran), (&json!("completed"), &vec!["c1".to_owned()]), "{ended}");
    assert_eq!(told(&mut editor, "ready").get("fault"), None);
    let seen = messages(&mut editor);
    assert!(seen.to_string().contains("Before. Meanwhile. And still. I look."), "{seen}");
    assert_eq!(seen.as_array().map(Vec::len), Some(6));
    editor.kill();
    let mut editor = tenant.editor("laptop");
    assert_eq!(messages(&mut editor), seen);
}

/// An editor that ends does not wait for the server; what was acknowledged is there.
#[test]
fn sidecar_ends_while_the_server_is_away() {
    let Some(server) = Server::start() else { return };
    let tenant = Tenant::new(&server);
    let mut editor = tenant.editor("laptop");
    editor.open("s", None);
    editor.turn(json!({ "sessionId": "s", "content": "One." }));
    let before = messages(&mut editor);
    server.crash();
    editor.client.request("turn/start", json!({ "sessionId": "s", "content": "Two." }));
    told(&mut editor, "waiting");
    editor.client.close_input();
    editor.client.wait_exit();
    server.resume();
    assert_eq!(messages(&mut tenant.editor("laptop")), before);
}
