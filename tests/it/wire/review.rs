//! Sessions are found by any spelling of their folder, and by their id alone, in any store.

use super::client::{Client, Start, Wire};
use super::script::Folder;
use serde_json::{Value, json};

/// A server with its stores below this folder, one for each workspace.
fn start(place: &Folder) -> Client {
    let data = place.path().to_str().expect("a path of text");
    let mut client = Start::new(Wire::Pipes).variable("XDG_DATA_HOME", data).start();
    client.initialize(json!({
        "capabilities": {}, "workspaceFolders": [{ "uri": "file:///code/home", "name": "home" }],
        "initializationOptions": { "threadhold": { "protocolVersion": 1 } },
    }));
    client
}

fn open(folder: &str, session: &str) -> Value {
    json!({ "workspaceFolder": folder, "sessionId": session })
}

#[test]
fn session_is_found_by_id_and_any_folder_spelling() {
    let place = Folder::new("review-folders");
    let of_s = || json!({ "sessionId": "s" });
    let mut client = start(&place);
    client.call("session/open", open("file:///code/p%20q/", "s")).expect("it opens");
    client.call("session/close", of_s()).expect("it closes");
    let listed = client.call("session/list", json!({ "workspaceFolder": "/code/p q" })).expect("a list");
    assert_eq!(listed["sessions"][0]["workspaceFolder"], "/code/p q", "{listed}");
    // Its store is not that of the first workspace.
    client.call("session/subscribe", of_s()).expect("it is remembered where it lies");
    drop(client);

    let mut client = start(&place);
    client.call("session/open", open("/code/home", "h")).expect("it opens");
    let error = client.call("session/delete", of_s()).expect_err("nobody named its folder yet");
    assert_eq!(error["data"]["kind"], "UnknownSession");
    client.call("session/open", open("/code/p q", "t")).expect("it opens");
    client.call("session/subscribe", of_s()).expect("each known store is asked");
    client.call("session/close", of_s()).expect("it closes");
    let deleted = client.call("session/delete", of_s()).expect("each known store is asked");
    assert_eq!(deleted["scrubbed"], true, "{deleted}");
    let listed = client.call("session/list", json!({})).expect("a list");
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(listed["sessions"][0]["workspaceFolder"], "/code/home", "{listed}");
}

/// Sent in one write, before any response is read.
#[test]
fn pipelined_requests_find_the_session_being_opened() {
    let place = Folder::new("review-pipeline");
    let mut client = start(&place);
    let asked = [
        ("session/open", open("/code/home", "s")),
        ("session/configure", json!({ "sessionId": "s", "settings": { "roundLimit": 7 } })),
        ("session/close", json!({ "sessionId": "s" })),
        ("session/open", open("/code/home", "s")),
        ("session/delete", json!({ "sessionId": "s" })),
    ];
    let mut bytes = Vec::new();
    for (id, (method, params)) in asked.iter().enumerate() {
        let body =
            json!({ "jsonrpc": "2.0", "id": 100 + id, "method": method, "params": params }).to_string();
        bytes.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
    }
    client.send_raw(&bytes).expect("it is there");
    let answers: Vec<Value> = (100..105).map(|id| client.wait_response(id)["result"].take()).collect();
    assert!(answers.iter().all(|answer| !answer.is_null()), "{answers:?}");
    assert_eq!(answers[3]["snapshot"]["settings"]["roundLimit"], 7);
}
