//! Two processes on one store: one writes a session, the other follows it, is refused as its writer, and goes on with it
//! when the first one is gone. What is followed is equal to what is written; events are waited for, never times.

use super::client::{Client, Start, Wire};
use super::fold::{View, told};
use super::ground::{Folder, SUMMARY, calls, is_event, long_history, said, stream, wait_state};
use serde_json::{Value, json};

/// Opens the session of the tests, to write it.
fn open(client: &mut Client, more: &Value) -> Value {
    let mut params = json!({ "workspaceFolder": "/w", "sessionId": "s", "tools": [{ "name": "read" }] });
    params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    client.call("session/open", params).expect("it opens")["snapshot"].take()
}

/// Opens it to follow it.
fn follow(client: &mut Client) -> Value {
    let tools = json!([{ "name": "read" }]);
    let params = json!({ "workspaceFolder": "/w", "sessionId": "s", "follow": true, "tools": tools });
    client.call("session/open", params).expect("it is followed")["snapshot"].take()
}

/// Answers requests for a summary until the turn's own request comes.
fn asked(client: &mut Client) -> Value {
    loop {
        let asked = client.wait_request("model/complete");
        if asked["params"]["purpose"] == "turn" {
            return asked;
        }
        client.respond(&asked["id"], said(SUMMARY));
    }
}

/// A turn with a tool; what its model streams is not stored before it is whole.
fn turn(client: &mut Client, call: &str) {
    client
        .call(
            "turn/start",
            json!({ "sessionId": "s", "content": format!("Read {call}."), "externalId": call }),
        )
        .expect("it starts");
    let request = asked(client);
    stream(client, &request, "I think");
    client.respond(&request["id"], calls(call, "read", "{}"));
    let invoked = client.wait_request("tool/invoke");
    client.respond(&invoked["id"], json!({ "content": "It is read." }));
    let request = asked(client);
    client.respond(&request["id"], said("That is what it says."));
    wait_state(client, "s", "completed");
}

/// What a session is, whoever shows it. Which kind of rest a session is in that only took in a history is not stored.
fn shared(mut snapshot: Value) -> Value {
    let is_resting = ["idle", "completed"].map(Value::from).contains(&snapshot["state"]);
    let only_took_in = is_resting && !snapshot["messages"].to_string().contains("toolCall");
    for field in ["stream", "seq", "heldBy"].into_iter().chain(only_took_in.then_some("state")) {
        snapshot[field] = Value::Null;
    }
    snapshot
}

fn fresh(client: &mut Client) -> Value {
    let shown = client.call("session/subscribe", json!({ "sessionId": "s" })).expect("it is shown");
    shown["snapshot"].clone()
}

/// Waits until the follower was told of as much as its writer knows, and compares: both snapshots whole, and what the
/// follower made of its events.
fn assert_equal(writer: &mut Client, follower: &mut Client, view: &mut View, what: &str) {
    let written = shared(fresh(writer));
    let deadline = std::time::Instant::now() + super::client::DEADLINE;
    loop {
        let shown = fresh(follower);
        if shared(shown.clone()) == written {
            // Events come before the answer that follows them.
            let mut seen = view.clone();
            seen.take_all(&follower.events());
            assert_eq!(told(&seen.shown), told(&shown), "{what}");
            *view = seen;
            return;
        }
        let is_late = std::time::Instant::now() > deadline;
        if is_late {
            let shown = shared(shown);
            let fields = written.as_object().expect("an object").iter();
            fields.for_each(|(name, value)| assert_eq!(&shown[name], value, "{what}: {name}"));
            panic!("{what}: the follower shows more: {shown:#}");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

fn assert_held(follower: &mut Client, writer: &Client) {
    let id = json!({ "sessionId": "s" });
    let mut start = id.clone();
    start["content"] = json!("Mine.");
    let mut open = id.clone();
    open["workspaceFolder"] = json!("/w");
    for (method, params) in [
        ("turn/start", start),
        ("session/open", open),
        ("session/configure", id.clone()),
        ("context/compact", id.clone()),
        ("session/delete", id),
    ] {
        let error = follower.call(method, params).expect_err("another process writes it");
        assert_eq!(error["data"]["kind"], "SessionHeldElsewhere", "{method}");
        assert_eq!(error["data"]["pid"], writer.pid(), "{method}");
    }
}

#[test]
fn who_follows_is_equal_to_who_writes_and_goes_on_when_that_one_is_done() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({ "history": long_history("h", true) }));
    let first = follow(&mut follower);
    assert_eq!(first["heldBy"]["pid"], writer.pid());
    assert_eq!(first["seq"], 0);
    let mut view = View::new(first, 0);
    assert_equal(&mut writer, &mut follower, &mut view, "at the beginning");
    assert_held(&mut follower, &writer);

    // The first turn overflows: a compaction comes with it.
    turn(&mut writer, "c1");
    assert_equal(&mut writer, &mut follower, &mut view, "after a turn with a compaction");
    assert_eq!(view.shown["compactions"][0]["status"], "inForce");
    turn(&mut writer, "c2");
    assert_equal(&mut writer, &mut follower, &mut view, "after another turn");
    writer.call("session/configure", json!({ "sessionId": "s", "title": "Reading" })).expect("a title");
    assert_equal(&mut writer, &mut follower, &mut view, "after a new title");
    assert_held(&mut follower, &writer);

    // A turn that is stopped keeps what was seen of its answer.
    writer.call("turn/start", json!({ "sessionId": "s", "content": "And this?" })).expect("it starts");
    let request = asked(&mut writer);
    stream(&mut writer, &request, "It is");
    writer.wait_notification("the delta", |frame| is_event(frame, "streamDelta"));
    writer.call("turn/cancel", json!({ "sessionId": "s" })).expect("it stops");
    assert_equal(&mut writer, &mut follower, &mut view, "after a turn that was stopped");

    // The editor's history goes another way: the rest leaves the session, and the record with it.
    let mut other_way: Vec<Value> = long_history("h", true).as_array().expect("turns")[..2].to_vec();
    other_way.push(json!({ "externalId": "other", "request": "Something else.",
                           "rounds": [{ "id": "r", "assistant": { "parts": "Done." } }] }));
    open(&mut writer, &json!({ "history": other_way }));
    assert_equal(&mut writer, &mut follower, &mut view, "after a cut");
    assert_eq!(view.shown["messages"].as_array().map(Vec::len), Some(6));
    turn(&mut writer, "c3");
    assert_equal(&mut writer, &mut follower, &mut view, "after the turn behind the cut");
    let kinds: Vec<Value> = follower.events().iter().map(|event| event["type"].clone()).collect();
    assert!(!kinds.contains(&json!("streamDelta")), "{kinds:?}");
    assert!(
        kinds.contains(&json!("messageAdded")) && kinds.contains(&json!("compactionUpdated")),
        "{kinds:?}"
    );

    // Closed here, nothing more is told; open again, all is there.
    follower.call("session/close", json!({ "sessionId": "s" })).expect("it is let go");
    let before = follower.events().len();
    turn(&mut writer, "c4");
    let mut view = View::new(follow(&mut follower), before);
    assert_eq!(follower.events().len(), before);
    assert_equal(&mut writer, &mut follower, &mut view, "after it was let go and opened again");

    // The writer lets it go: the next command goes on here, in a new stream.
    writer.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    let free = follower.wait_notification("the snapshot of a session that nobody holds", |frame| {
        is_event(frame, "snapshot") && frame["params"]["snapshot"].get("heldBy").is_none()
    });
    assert_eq!(free["params"]["stream"], view.shown["stream"]);
    turn(&mut follower, "c5");
    let shown = fresh(&mut follower);
    view.take_all(&follower.events());
    assert_ne!(free["params"]["stream"], view.shown["stream"]);
    assert_eq!(told(&view.shown), told(&shown));
    assert_eq!(shown["state"], "completed");
    // And the first one can follow.
    let other = follow(&mut writer);
    assert_eq!(other["heldBy"]["pid"], follower.pid());
    assert_eq!(other["messages"], view.shown["messages"]);
}

/// Who follows can look at all that it shows: what the prompt is made of, what was said and done, byte for byte.
///
#[test]
fn what_is_written_elsewhere_is_inspected_and_recalled_here() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({ "history": long_history("h", true) }));
    follow(&mut follower);
    // The first turn overflows: a compaction comes with it.
    turn(&mut writer, "c1");
    let written = fresh(&mut writer);
    let mut view = View::new(fresh(&mut follower), follower.events().len());
    assert_equal(&mut writer, &mut follower, &mut view, "after a turn with a compaction");
    let covered = written["messages"][1]["id"].clone();
    for (method, params) in [
        ("context/inspect", json!({ "sessionId": "s" })),
        ("context/recall", json!({ "sessionId": "s", "ref": covered })),
        ("context/ledger", json!({ "sessionId": "s", "limit": 3 })),
    ] {
        let [ours, theirs] = [&mut follower, &mut writer].map(|client| {
            let mut answer = client.call(method, params.clone()).expect("it is read");
            // How long nothing was said.
            for trigger in answer["triggers"].as_array_mut().into_iter().flatten() {
                if trigger["measure"] == "seconds" {
                    trigger["now"] = Value::Null;
                }
            }
            answer
        });
        assert_eq!(ours, theirs, "{method}");
    }
    let error = follower.call("context/recall", json!({ "sessionId": "s", "ref": "nobody" }));
    assert_eq!(error.expect_err("there is none")["data"]["kind"], "StaleReference");
    assert_held(&mut follower, &writer);
}

/// A session that was being answered when its process was killed: who followed it goes on.
///
#[test]
fn who_follows_goes_on_when_the_writer_is_killed() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({}));
    turn(&mut writer, "c1");
    // It follows without having opened it.
    let mut view = View::new(fresh(&mut follower), 0);
    assert_eq!(view.shown["heldBy"]["pid"], writer.pid());
    writer.call("turn/start", json!({ "sessionId": "s", "content": "And now?" })).expect("it starts");
    asked(&mut writer);
    wait_state(&mut follower, "s", "generating");
    writer.kill();
    assert_eq!(writer.wait_exit(), None);
    follower.wait_notification("the snapshot of a session that nobody runs", |frame| {
        let snapshot = &frame["params"]["snapshot"];
        is_event(frame, "snapshot") && snapshot.get("heldBy").is_none() && snapshot["state"] == "idle"
    });
    turn(&mut follower, "c2");
    let shown = fresh(&mut follower);
    view.take_all(&follower.events());
    assert_eq!(told(&view.shown), told(&shown));
    let statuses: Vec<&Value> =
        shown["turns"].as_array().expect("turns").iter().map(|t| &t["status"]).collect();
    // What the user asked twice without an answer between is one request.
    assert_eq!(statuses.last(), Some(&&json!("completed")), "{shown:#}");
    assert!(!statuses.contains(&&json!("running")), "{shown:#}");
    assert!(shown["messages"].to_string().contains("And now?"));
}

/// A session that has no writer is opened by who would follow it.
#[test]
fn who_would_follow_a_session_that_nobody_holds_writes_it() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    let opened = follow(&mut client);
    assert_eq!(opened.get("heldBy"), None);
    turn(&mut client, "c1");
}

#[test]
fn who_has_a_list_is_told_of_what_another_process_does_to_it() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut reader = folder.serve(Start::new(Wire::Pipes));
    let listed = reader.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
    assert_eq!(listed["sessions"], json!([]));
    // What the first look finds is what was listed: it stands behind the list in the store's order.
    reader.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
    open(&mut writer, &json!({}));
    let mut changed = |what: &str, is_it: &dyn Fn(&Value) -> bool| {
        reader
            .wait_notification(what, |frame| frame["method"] == "sessions/changed" && is_it(&frame["params"]))
    };
    changed("the new session", &|params| params["created"][0]["sessionId"] == "s");
    turn(&mut writer, "c1");
    changed("its messages", &|params| {
        let row = &params["updated"][0];
        row["sessionId"] == "s" && row["messages"] == 4
    });
    writer.call("session/delete", json!({ "sessionId": "s" })).expect("it goes");
    changed("its end", &|params| params["deleted"] == json!(["s"]));
}
