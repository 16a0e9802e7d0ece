//! Two processes on one folder: a session has one writer, and any end of that process frees it at once.

use super::super::client::{Client, Start, Wire};
use super::super::ground::{Folder, said, wait_state};
use serde_json::{Value, json};

fn open(client: &mut Client, session: &str) -> Result<Value, Value> {
    client.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": session }))
}

#[test]
fn session_has_one_writer_until_that_process_ends() {
    let folder = Folder::new();
    let mut first = folder.serve(Start::new(Wire::Pipes));
    let mut second = folder.serve(Start::new(Wire::Pipes));
    open(&mut first, "s").expect("it is nobody's");
    first.call("turn/start", json!({ "sessionId": "s", "content": "Hello." })).expect("it starts");
    let asked = first.wait_request("model/complete");

    let error = open(&mut second, "s").expect_err("the first one holds it");
    assert_eq!(error["code"], -33009);
    let data = &error["data"];
    assert_eq!((&data["kind"], &data["sessionId"]), (&json!("SessionHeldElsewhere"), &json!("s")));
    assert_eq!(data["pid"], first.pid());
    assert!(data["since"].as_str().is_some_and(|since| since.ends_with('Z')), "{error}");
    for (method, params) in [
        ("turn/start", json!({ "sessionId": "s", "content": "Mine." })),
        ("session/delete", json!({ "sessionId": "s" })),
    ] {
        let error = second.call(method, params).expect_err("the first one holds it");
        assert_eq!(error["data"]["kind"], "SessionHeldElsewhere", "{method}");
    }
    // Both processes work on sessions of their own.
    open(&mut second, "t").expect("it is nobody's");
    first.respond(&asked["id"], said("Hello."));
    wait_state(&mut first, "s", "idle");

    first.kill();
    assert_eq!(first.wait_exit(), None);
    let opened = open(&mut second, "s").expect("its holder is gone");
    assert_eq!(opened["snapshot"]["messages"].as_array().map(Vec::len), Some(2));

    let mut third = folder.serve(Start::new(Wire::Pipes));
    open(&mut third, "s").expect_err("the second one holds it");
    second.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    open(&mut third, "s").expect("it was closed");
}
