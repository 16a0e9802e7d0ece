//! Windows from a provider's own list of models: no turn waits for it, and it is kept for the next process.

use super::super::client::Client;
use super::Workspace;
use models::testing::{Act, Asked, Reply, Server};
use serde_json::{Value, json};

const WINDOW: u32 = 50_000;

/// A provider of chat completions with a list of models.
fn provider(list: Reply) -> Server {
    Server::start(move |_, asked| if is_list(asked) { list.clone() } else { Reply::says(&["It is done."]) })
}

fn is_list(asked: &Asked) -> bool {
    asked.line == "GET /v1/models"
}

fn lists(server: &Server) -> usize {
    server.asked().iter().filter(|asked| is_list(asked)).count()
}

fn client(ground: &Workspace, server: &Server, id: &str, more: Value) -> Client {
    let mut client = ground.start().start();
    let mut model = json!({ "wire": "openai-chat", "name": "m", "baseUrl": format!("{}/v1", server.url()) });
    model.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    client.initialize(ground.hello(json!({ "model": model, "titles": "request" })));
    let params = json!({ "workspaceFolder": ground.at("code"), "sessionId": id, "driver": "sidecar" });
    client.call("session/open", params).expect("it opens");
    client
}

fn turn(client: &mut Client, id: &str) {
    client.call("turn/start", json!({ "sessionId": id, "content": "Do it." })).expect("it starts");
    client.wait_notification("the turn's end", |frame| frame["params"]["updated"][0]["state"] == "idle");
}

fn window(client: &mut Client, id: &str) -> (Value, Value) {
    let mut inspected = client.call("context/inspect", json!({ "sessionId": id })).expect("it is inspected");
    (inspected["window"].take(), inspected["windowSource"].take())
}

#[test]
fn listed_window_is_used_and_outlives_the_process() {
    let ground = Workspace::new("settings-listed");
    let body =
        json!({ "data": [{ "id": "n", "context_length": 9_000 }, { "id": "m", "context_length": WINDOW }] });
    let server = provider(Reply::body(200, &body.to_string()));
    let look_up = || json!({ "lookUpLimits": true });
    let mut first = client(&ground, &server, "s1", look_up());
    assert_eq!(window(&mut first, "s1"), (json!(128_000), Value::Null));
    turn(&mut first, "s1");
    // It comes beside the turn, or after it.
    let is_there = |_| window(&mut first, "s1").0 == WINDOW;
    assert!((0..100_000).any(is_there), "the list was read");
    turn(&mut first, "s1");
    assert_eq!(window(&mut first, "s1"), (json!(WINDOW), json!("provider")));
    drop(first);
    let mut second = client(&ground, &server, "s2", look_up());
    assert_eq!(window(&mut second, "s2"), (json!(WINDOW), json!("provider")));
    turn(&mut second, "s2");
    drop(second);
    let mut stated = client(&ground, &server, "s3", json!({ "lookUpLimits": true, "window": 60_000 }));
    assert_eq!(window(&mut stated, "s3"), (json!(60_000), Value::Null));
    assert_eq!(lists(&server), 1, "once a day");
}

#[test]
fn turn_does_not_wait_for_the_list() {
    let ground = Workspace::new("settings-unlisted");
    let server = provider(Reply::stream(vec![Act::Hold]));
    let mut held = client(&ground, &server, "s1", json!({ "lookUpLimits": true }));
    turn(&mut held, "s1");
    turn(&mut held, "s1");
    assert_eq!(window(&mut held, "s1"), (json!(128_000), Value::Null));
    drop(held);
    let server = provider(Reply::body(500, ""));
    let mut off = client(&ground, &server, "s2", json!({}));
    turn(&mut off, "s2");
    assert_eq!(lists(&server), 0, "nobody asked for it");
}
