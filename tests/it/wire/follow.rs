//! Two processes on one store: one writes a session, the other follows it, cannot write it, and takes over
//! once the first ends. Follower and writer have equal snapshots; waits for events, never for times.

use super::client::{Client, Start, Wire};
use super::fold::{View, told};
use super::ground::{Folder, SUMMARY, calls, is_event, long_history, said, stream, wait_state};
use serde_json::{Value, json};

/// Opens the tests' session for writing.
fn open(client: &mut Client, more: &Value) -> Value {
    let mut params = json!({ "workspaceFolder": "/w", "sessionId": "s", "tools": [{ "name": "read" }] });
    params.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    client.call("session/open", params).expect("it opens")["snapshot"].take()
}

/// Opens it for following.
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

/// Runs a turn with a tool; streamed text is stored only when complete.
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
    wait_state(client, "s", "idle");
}

/// The parts of a snapshot that do not depend on the process.
fn shared(mut snapshot: Value) -> Value {
    for field in ["stream", "seq", "heldBy"] {
        snapshot[field] = Value::Null;
    }
    snapshot
}

fn fresh(client: &mut Client) -> Value {
    let shown = client.call("session/subscribe", json!({ "sessionId": "s" })).expect("it is shown");
    shown["snapshot"].clone()
}

/// Waits until the follower has the writer's state, and compares the snapshots and the view from events.
fn assert_equal(writer: &mut Client, follower: &mut Client, view: &mut View, what: &str) {
    let written = shared(fresh(writer));
    let deadline = std::time::Instant::now() + super::client::DEADLINE;
    loop {
        let shown = fresh(follower);
        if shared(shown.clone()) == written {
            // Events arrive before the response that follows them.
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
fn follower_equals_writer_and_continues_after_its_close() {
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

    // The first turn overflows and is compacted.
    turn(&mut writer, "c1");
    assert_equal(&mut writer, &mut follower, &mut view, "after a turn with a compaction");
    assert_eq!(view.shown["compactions"][0]["status"], "inForce");
    turn(&mut writer, "c2");
    assert_equal(&mut writer, &mut follower, &mut view, "after another turn");
    writer.call("session/configure", json!({ "sessionId": "s", "title": "Reading" })).expect("a title");
    assert_equal(&mut writer, &mut follower, &mut view, "after a new title");
    assert_held(&mut follower, &writer);

    // A cancelled turn keeps its streamed text.
    writer.call("turn/start", json!({ "sessionId": "s", "content": "And this?" })).expect("it starts");
    let request = asked(&mut writer);
    stream(&mut writer, &request, "It is");
    writer.wait_notification("the delta", |frame| is_event(frame, "streamDelta"));
    writer.call("turn/cancel", json!({ "sessionId": "s" })).expect("it stops");
    assert_equal(&mut writer, &mut follower, &mut view, "after a turn that was stopped");

    // The editor's history diverges: the rest is removed from the session, with the record.
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

    // After a close nothing is sent; reopening shows everything.
    follower.call("session/close", json!({ "sessionId": "s" })).expect("it is let go");
    let before = follower.events().len();
    turn(&mut writer, "c4");
    let mut view = View::new(follow(&mut follower), before);
    assert_eq!(follower.events().len(), before);
    assert_equal(&mut writer, &mut follower, &mut view, "after it was let go and opened again");

    // After the writer closes it, the next command runs here, in a new stream.
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
    assert_eq!(shown["state"], "idle");
    // Now the first process can follow.
    let other = follow(&mut writer);
    assert_eq!(other["heldBy"]["pid"], follower.pid());
    assert_eq!(other["messages"], view.shown["messages"]);
}

/// A follower can inspect everything that it shows, byte for byte.
#[test]
fn follower_reads_an_answer_while_it_is_written() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({}));
    turn(&mut writer, "c1");
    let mut view = View::new(follow(&mut follower), 0);
    writer.call("turn/start", json!({ "sessionId": "s", "content": "Go on." })).expect("it starts");
    let request = asked(&mut writer);
    for text in ["The first half", " and the second."] {
        stream(&mut writer, &request, text);
        follower.wait_notification(text, |frame| {
            is_event(frame, "streamDelta") && frame["params"]["ops"][0]["text"] == text
        });
    }
    let parts = json!([{ "type": "text", "text": "The first half and the second." }]);
    assert_eq!(fresh(&mut follower)["streaming"]["parts"], parts);
    // Who begins to follow now sees it, too.
    let mut late = folder.serve(Start::new(Wire::Pipes));
    assert_eq!(follow(&mut late)["streaming"]["parts"], parts);
    writer.respond(&request["id"], json!({}));
    wait_state(&mut writer, "s", "idle");
    assert_equal(&mut writer, &mut follower, &mut view, "after the answer");
    assert_eq!(view.shown["streaming"], Value::Null);
    let told = follower.events();
    let kinds: Vec<_> = told.iter().filter_map(|event| event["type"].as_str()).collect();
    let of_stream: Vec<_> = kinds.iter().filter(|kind| kind.starts_with("stream")).collect();
    assert_eq!(
        of_stream,
        ["streamStarted", "streamDelta", "streamDelta", "streamFinished"].iter().collect::<Vec<_>>()
    );
}

#[test]
fn follower_keeps_the_answer_that_a_killed_writer_streamed() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({}));
    follow(&mut follower);
    writer.call("turn/start", json!({ "sessionId": "s", "content": "Go on." })).expect("it starts");
    let request = asked(&mut writer);
    stream(&mut writer, &request, "Half an answer");
    follower.wait_notification("the answer", |frame| is_event(frame, "streamDelta"));
    writer.kill();
    let told = follower.wait_notification("the end of its writer", |frame| is_event(frame, "snapshot"));
    assert_eq!(told["params"]["snapshot"]["heldBy"], Value::Null);
    let parts = json!([{ "type": "text", "text": "Half an answer" }]);
    assert_eq!(told["params"]["snapshot"]["streaming"]["parts"], parts);
}

#[test]
fn follower_inspects_and_recalls_like_the_writer() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({ "history": long_history("h", true) }));
    follow(&mut follower);
    // The first turn overflows and is compacted.
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
            // The idle time differs.
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

/// The writer is killed during an answer; the follower continues.
#[test]
fn follower_continues_when_the_writer_is_killed() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut follower = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({}));
    turn(&mut writer, "c1");
    // A subscription follows without opening.
    let mut view = View::new(fresh(&mut follower), 0);
    assert_eq!(view.shown["heldBy"]["pid"], writer.pid());
    writer.call("turn/start", json!({ "sessionId": "s", "content": "And now?" })).expect("it starts");
    asked(&mut writer);
    wait_state(&mut follower, "s", "generating");
    writer.kill();
    assert_eq!(writer.wait_exit(), None);
    follower.wait_notification("the snapshot of a session that nobody runs", |frame| {
        let snapshot = &frame["params"]["snapshot"];
        is_event(frame, "snapshot") && snapshot.get("heldBy").is_none() && snapshot["state"] == "error"
    });
    turn(&mut follower, "c2");
    let shown = fresh(&mut follower);
    view.take_all(&follower.events());
    assert_eq!(told(&view.shown), told(&shown));
    let statuses: Vec<&Value> =
        shown["turns"].as_array().expect("turns").iter().map(|t| &t["status"]).collect();
    // Two requests without an answer between them are one.
    assert_eq!(statuses.last(), Some(&&json!("completed")), "{shown:#}");
    assert!(!statuses.contains(&&json!("running")), "{shown:#}");
    assert!(shown["messages"].to_string().contains("And now?"));
}

#[test]
fn following_an_unheld_session_opens_it_for_writing() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    let opened = follow(&mut client);
    assert_eq!(opened.get("heldBy"), None);
    turn(&mut client, "c1");
}

#[test]
fn list_is_notified_of_changes_by_another_process() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut reader = folder.serve(Start::new(Wire::Pipes));
    let listed = reader.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
    assert_eq!(listed["sessions"], json!([]));
    // The first poll finds what was listed: it runs after the list in the store's order.
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

/// A list shows which session needs its user, whichever process runs it, also after a restart.
#[test]
fn list_shows_the_state_of_each_session() {
    let folder = Folder::new();
    let mut writer = folder.serve(Start::new(Wire::Pipes));
    let mut reader = folder.serve(Start::new(Wire::Pipes));
    let listed = |client: &mut Client| {
        let list = client.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
        list["sessions"][0]["state"].clone()
    };
    let tools = json!([{ "name": "read", "policy": "ask" }, { "name": "finish", "endsTurn": "completed" }]);
    open(&mut writer, &json!({ "tools": tools }));
    writer.call("turn/start", json!({ "sessionId": "s", "content": "Read it." })).expect("it starts");
    let request = asked(&mut writer);
    assert_eq!(listed(&mut reader), "generating");
    writer.respond(&request["id"], calls("c1", "read", "{}"));
    writer.wait_notification("the pause in the list", |frame| {
        frame["method"] == "sessions/changed" && frame["params"]["updated"][0]["state"] == "paused"
    });
    assert_eq!(listed(&mut reader), "paused");
    drop(writer);
    assert_eq!(listed(&mut reader), "paused", "it waits for whoever opens it");

    let mut writer = folder.serve(Start::new(Wire::Pipes));
    open(&mut writer, &json!({ "tools": tools }));
    let decisions = json!([{ "toolCallId": "c1", "decision": "allowOnce" }]);
    writer.call("tool/decide", json!({ "sessionId": "s", "decisions": decisions })).expect("it is decided");
    writer.wait_notification("its end in the list", |frame| {
        frame["method"] == "sessions/changed" && frame["params"]["updated"][0]["state"] == "waitingIde"
    });
    let invoked = writer.wait_request("tool/invoke");
    assert_eq!(listed(&mut reader), "waitingIde");
    writer.respond(&invoked["id"], json!({ "content": "It is read." }));
    let request = asked(&mut writer);
    writer.respond(&request["id"], said("That is what it says."));
    wait_state(&mut writer, "s", "idle");
    assert_eq!(listed(&mut reader), "idle", "an answer finishes no work");

    writer.call("turn/start", json!({ "sessionId": "s", "content": "Finish." })).expect("it starts");
    let request = asked(&mut writer);
    writer.respond(&request["id"], calls("c2", "finish", "{}"));
    let invoked = writer.wait_request("tool/invoke");
    writer.respond(&invoked["id"], json!({ "content": "It is done." }));
    wait_state(&mut writer, "s", "completed");
    assert_eq!(listed(&mut reader), "completed");
    writer.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    assert_eq!(open(&mut writer, &json!({ "tools": tools }))["state"], "completed");

    // After an edit nothing is completed, in no process.
    let edit = json!({ "sessionId": "s", "index": 0, "content": "Read another." });
    writer.call("message/update", edit).expect("it is changed");
    assert_eq!(listed(&mut reader), "idle");
    writer.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    assert_eq!(open(&mut writer, &json!({}))["state"], "idle");

    // A turn whose process is gone runs no more.
    writer.call("turn/start", json!({ "sessionId": "s", "content": "Go on." })).expect("it starts");
    asked(&mut writer);
    assert_eq!(listed(&mut reader), "generating");
    writer.kill();
    // No commit shows that.
    reader.wait_notification("the failed turn in the list", |frame| {
        let params = &frame["params"];
        frame["method"] == "sessions/changed" && params["updated"][0]["state"] == "error"
    });
    assert_eq!(listed(&mut reader), "error");
    assert_eq!(open(&mut reader, &json!({}))["state"], "error", "as the list says");
}

/// A fork waits for its first request, however the turn ended that it was copied from.
#[test]
fn forks_are_listed_idle_before_they_are_opened() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    open(&mut client, &json!({ "tools": [{ "name": "finish", "endsTurn": "completed" }] }));
    client.call("turn/start", json!({ "sessionId": "s", "content": "Finish." })).expect("it starts");
    let request = asked(&mut client);
    client.respond(&request["id"], calls("c1", "finish", "{}"));
    let invoked = client.wait_request("tool/invoke");
    client.respond(&invoked["id"], json!({ "content": "It is done." }));
    wait_state(&mut client, "s", "completed");
    client.call("session/fork", json!({ "sessionId": "s" })).expect("a fork");
    client
        .call("message/update", json!({ "sessionId": "s", "index": 0, "content": "Go on." }))
        .expect("an edit");
    let list = client.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
    let states: Vec<&Value> =
        list["sessions"].as_array().expect("sessions").iter().map(|row| &row["state"]).collect();
    assert_eq!(states, [&json!("idle"); 2], "{list:#}");
    let made: Vec<Value> = client
        .frames()
        .iter()
        .filter(|frame| frame["method"] == "sessions/changed")
        .flat_map(|frame| frame["params"]["created"].as_array().cloned().unwrap_or_default())
        .map(|row| row["state"].clone())
        .collect();
    assert_eq!(made, [json!("idle"), json!("idle")]);
    let copies = list["sessions"].as_array().expect("sessions").iter().map(|row| row["sessionId"].clone());
    for id in copies.collect::<Vec<_>>() {
        let opened = client.call("session/open", json!({ "workspaceFolder": "/w", "sessionId": id }));
        assert_eq!(opened.expect("it opens")["snapshot"]["state"], "idle", "{id}");
    }
}
