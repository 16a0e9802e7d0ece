//! High load: a full queue, one key fifty times, sixty-four background sessions. `fixtures/wire` has
//! exchanges of one client with one session.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, said, wait_state};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The most queued commands of a session.
const LIMIT: usize = 100;
/// The number of background sessions.
const SESSIONS: usize = 64;

fn open(client: &mut Client, id: &str, more: Value) -> Value {
    let mut params = json!({ "workspaceFolder": "/w", "sessionId": id });
    let more = more.as_object().cloned().unwrap_or_default();
    params.as_object_mut().expect("an object").extend(more);
    client.call("session/open", params).expect("it opens")
}

fn start(client: &mut Client, session: &str, content: &str, more: &[(&str, Value)]) -> i64 {
    let mut params = json!({ "sessionId": session, "content": content });
    for (name, value) in more {
        params[*name] = value.clone();
    }
    client.request("turn/start", params)
}

fn snapshot(client: &mut Client, session: &str) -> Value {
    let result = client.call("session/subscribe", json!({ "sessionId": session }));
    result.expect("a snapshot")["snapshot"].take()
}

/// A refused command, urgent or not, loses no queued one, and a cancel passes.
#[test]
fn full_queue_refuses_more_and_lets_cancels_pass() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    open(&mut client, "s", json!({}));
    start(&mut client, "s", "first", &[]);
    let asked = client.wait_request("model/complete");
    let waiting: Vec<i64> =
        (0..LIMIT).map(|n| start(&mut client, "s", &format!("request {n}"), &[])).collect();
    for (n, id) in waiting.into_iter().enumerate() {
        assert_eq!(client.wait_response(id)["result"]["queuedPosition"], n + 1);
    }
    // A refused urgent command does not stop the answer, either.
    let before = snapshot(&mut client, "s");
    for more in [&[][..], &[("priority", json!(true))], &[("idempotencyKey", json!("k"))]] {
        let refused = start(&mut client, "s", "one more", more);
        let refused = client.wait_response(refused);
        assert_eq!(refused["error"]["data"], json!({ "kind": "QueueFull", "limit": LIMIT }), "{refused}");
    }
    let edit = client.call("turn/regenerate", json!({ "sessionId": "s" }));
    assert_eq!(edit.expect_err("it would have to wait")["data"]["kind"], "QueueFull");
    assert_eq!(snapshot(&mut client, "s"), before);
    let words = |list: &Value| -> Vec<String> {
        let items = list.as_array().expect("a list");
        items.iter().filter_map(|item| Some(item["content"][0]["text"].as_str()?.to_owned())).collect()
    };
    let all: Vec<String> = (0..LIMIT).map(|n| format!("request {n}")).collect();
    assert_eq!(words(&before["queue"]), all);

    // Commands that need no queue are still accepted, and a free place is used again.
    client.call("draft/set", json!({ "sessionId": "s", "text": "a draft" })).expect("taken at once");
    let item = before["queue"][7]["itemId"].clone();
    client.call("queue/remove", json!({ "sessionId": "s", "itemId": item })).expect("it waits");
    let again = start(&mut client, "s", "request 7 again", &[("idempotencyKey", json!("k"))]);
    assert_eq!(client.wait_response(again)["result"]["queuedPosition"], LIMIT);

    let cancelled = client.call("turn/cancel", json!({ "sessionId": "s", "cancelQueued": true }));
    let cancelled = cancelled.expect("a cancel passes");
    let mut expected = all;
    expected.remove(7);
    expected.push("request 7 again".to_owned());
    assert_eq!((words(&cancelled["removed"]), &cancelled["state"]), (expected, &json!("idle")));
    client.respond(&asked["id"], said("too late"));
    let after = snapshot(&mut client, "s");
    assert_eq!((&after["queue"], after["messages"].as_array().map(Vec::len)), (&json!([]), Some(1)));
}

/// All get the first response, and one turn runs.
#[test]
fn one_key_sent_fifty_times_runs_one_turn() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    open(&mut client, "s", json!({}));
    let ids: Vec<i64> =
        (0..50).map(|_| start(&mut client, "s", "once", &[("idempotencyKey", json!("k"))])).collect();
    let answers: BTreeSet<String> =
        ids.into_iter().map(|id| client.wait_response(id)["result"].to_string()).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], said("said once"));
    wait_state(&mut client, "s", "idle");
    let now = snapshot(&mut client, "s");
    let count = |name: &str| now[name].as_array().map(Vec::len);
    assert_eq!((count("messages"), count("turns"), count("queue")), (Some(2), Some(1), Some(0)), "{now}");
    let frames = client.frames();
    assert_eq!(frames.iter().filter(|frame| frame["method"] == "model/complete").count(), 1);
}

/// Each has its own history and state, the list shows their parent, and the parent is told of each end while
/// it works. Their prompts equal those in the foreground.
#[test]
fn sixty_four_sessions_run_in_the_background_at_once() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    let tools = json!([{ "name": "read", "kind": "read" }]);
    let sections = json!([{ "name": "identity", "content": "You are careful." }]);
    let prefix = json!({ "tools": tools, "sections": sections });
    open(&mut client, "parent", prefix.clone());
    let mut of_parent = prefix;
    (of_parent["parentId"], of_parent["workScope"]) = (json!("parent"), json!("sprint"));
    let names: Vec<String> = (0..SESSIONS).map(|n| format!("child-{n}")).collect();
    for name in &names {
        let opened = open(&mut client, name, of_parent.clone());
        assert_eq!(opened["snapshot"]["parentId"], "parent");
    }
    for name in names.iter().map(String::as_str).chain(["parent"]) {
        start(&mut client, name, "Do it.", &[]);
    }
    let mut asked: BTreeMap<String, Value> = BTreeMap::new();
    for _ in 0..=SESSIONS {
        let request = client.wait_request("model/complete");
        asked.insert(request["params"]["sessionId"].as_str().expect("a session").to_owned(), request);
    }
    let foreground = asked.remove("parent").expect("the parent asked, too");
    assert_eq!(asked.len(), SESSIONS, "all of them ask at once");
    for request in asked.values() {
        let (one, other) = (&request["params"], &foreground["params"]);
        assert_eq!((&one["messages"], &one["tools"]), (&other["messages"], &other["tools"]));
    }
    for (name, request) in asked.iter().rev() {
        client.respond(&request["id"], said(&format!("{name} did it")));
    }
    for name in &names {
        wait_state(&mut client, name, "idle");
    }
    client.respond(&foreground["id"], said("I did my part."));
    wait_state(&mut client, "parent", "idle");

    let mut told = BTreeSet::new();
    for message in snapshot(&mut client, "parent")["messages"].as_array().expect("messages") {
        if message["kind"] == "process_completed" {
            assert_eq!(message["visibleToModel"], false);
            let text = message["parts"][0]["text"].as_str().expect("a text");
            let said: Value = serde_json::from_str(text).expect("JSON");
            let id = said["sessionId"].as_str().expect("an id");
            assert_eq!(said["answer"], format!("{id} did it"));
            told.insert(id.to_owned());
        }
    }
    assert_eq!(told, names.iter().cloned().collect());
    let listed = client.call("session/list", json!({ "workspaceFolder": "/w", "limit": SESSIONS + 1 }));
    let listed = listed.expect("a list");
    let children = listed["sessions"].as_array().expect("sessions").iter().filter(|session| {
        (&session["parentId"], &session["origin"], &session["messages"])
            == (&json!("parent"), &json!("background"), &json!(2))
    });
    assert_eq!(children.count(), SESSIONS, "{listed}");
}
