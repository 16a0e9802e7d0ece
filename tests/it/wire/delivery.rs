//! A client that does not read gets a snapshot instead of the events it missed, the process stays small, and
//! other sessions continue. Asserts numbers and bytes, never time.

use super::client::{Client, DEADLINE, Start, Wire};
use super::fold::{View, told};
use super::ground::{Folder, is_event, said, stream, wait_state};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The number of deltas while nobody reads.
const DELTAS: usize = 100_000;
/// The most memory that they may take, in bytes.
#[cfg(target_os = "linux")]
const ROOM: u64 = 64 << 20;

/// A line of `/proc/<pid>/status` in bytes.
#[cfg(target_os = "linux")]
fn status(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process is there");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the line is there");
    let kib = line.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u64>().expect("a number");
    kib * 1024
}

/// Opens a session with a completed turn and one that waits for its model; returns the snapshot and the
/// pending request.
fn open(client: &mut Client, session: &str) -> (Value, Value) {
    // The worst case: each piece is sent on its own.
    let settings = json!({ "deltaIntervalMs": 0 });
    let params = json!({ "workspaceFolder": "/w", "sessionId": session, "settings": settings });
    let opened = client.call("session/open", params).expect("it opens")["snapshot"].take();
    let asked = start(client, session, "Hello.");
    client.respond(&asked["id"], said("Hello to you."));
    wait_state(client, session, "idle");
    (opened, start(client, session, "Write a long text."))
}

fn start(client: &mut Client, session: &str, text: &str) -> Value {
    client.call("turn/start", json!({ "sessionId": session, "content": text })).expect("it starts");
    client.wait_request("model/complete")
}

/// Polls another process on the same store until the session has this many messages.
fn wait_stored(other: &mut Client, session: &str, messages: u64) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let listed = other.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
        let sessions = listed["sessions"].as_array().expect("sessions");
        let row = sessions.iter().find(|row| row["sessionId"] == session).expect("it is there");
        if row["messages"].as_u64() >= Some(messages) {
            return;
        }
        assert!(Instant::now() < deadline, "{session} does not get to {messages} messages: {row}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Frames of deltas with these numbers.
fn deltas(asked: &Value, from: usize, to: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for n in from..to {
        let ops = json!([{ "op": "appendContent", "text": format!("word {n} ") }]);
        let params = json!({ "requestId": asked["params"]["requestId"], "ops": ops });
        let body = json!({ "jsonrpc": "2.0", "method": "model/delta", "params": params }).to_string();
        bytes.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
    }
    bytes
}

#[test]
fn stalled_client_costs_little_memory_and_catches_up() {
    let folder = Folder::new();
    let mut client = folder.serve(Start::new(Wire::Pipes));
    let mut beside = folder.serve(Start::new(Wire::Pipes));
    let (opened, asked) = open(&mut client, "flooded");
    let (opened_other, asked_other) = open(&mut client, "other");
    stream(&mut client, &asked, "It begins: ");
    client.wait_notification("the delta", |frame| is_event(frame, "streamDelta"));

    #[cfg(target_os = "linux")]
    let idle = {
        // Resets the peak of memory use; where that is impossible the test is only stricter.
        let _ = std::fs::write(format!("/proc/{}/clear_refs", client.pid()), "5");
        status(client.pid(), "VmRSS:")
    };
    client.stop_reading();
    client.send_raw(&deltas(&asked, 0, DELTAS / 2)).expect("the server reads");
    // Meanwhile another session completes a turn and starts one, and all of it is stored.
    client.respond(&asked_other["id"], said("Short."));
    let next = client.request("turn/start", json!({ "sessionId": "other", "content": "And now?" }));
    wait_stored(&mut beside, "other", 5);
    client.send_raw(&deltas(&asked, DELTAS / 2, DELTAS)).expect("the server reads");
    // Input is processed in order: once this is stored, all deltas were processed.
    let last = client.request("session/open", json!({ "workspaceFolder": "/w", "sessionId": "last" }));
    wait_stored_session(&mut beside, "last");
    #[cfg(target_os = "linux")]
    {
        let most = status(client.pid(), "VmHWM:");
        let grown = most.saturating_sub(idle);
        assert!(grown < ROOM, "{idle} bytes idle, {most} at most");
    }

    client.read_on();
    for request in [next, last] {
        assert!(client.wait_response(request).get("result").is_some());
    }
    let asked_next = client.wait_request("model/complete");
    for session in ["flooded", "other"] {
        client.wait_notification(&format!("the snapshot of {session}"), |frame| {
            is_event(frame, "snapshot") && frame["params"]["sessionId"] == session
        });
    }
    let created = client.wait_notification("the list's change", |frame| {
        frame["method"] == "sessions/changed" && frame["params"]["created"][0]["sessionId"] == "last"
    });
    assert!(created["params"]["updated"].to_string().contains("other"), "{created}");
    // Numbers continue after the snapshot's.
    stream(&mut client, &asked, "the end.");
    client.respond(&asked["id"], json!({}));
    wait_state(&mut client, "flooded", "idle");
    client.respond(&asked_next["id"], said("That is all."));
    wait_state(&mut client, "other", "idle");

    let events = client.events();
    let told_of = events.iter().filter(|event| event["type"] == "streamDelta").count();
    assert!(told_of < DELTAS, "{told_of} deltas were told");
    for (session, opened) in [("flooded", opened), ("other", opened_other)] {
        let mut view = View::new(opened, 0);
        view.take_all(&events);
        let fresh = client.call("session/subscribe", json!({ "sessionId": session })).expect("it is open");
        assert_eq!(told(&view.shown), told(&fresh["snapshot"]), "{session}");
    }
    let text = client.call("session/subscribe", json!({ "sessionId": "flooded" })).expect("it is open");
    let text = text["snapshot"]["messages"][3]["parts"][0]["text"].as_str().map(str::to_owned);
    let expected: String = (0..DELTAS).map(|n| format!("word {n} ")).collect();
    assert_eq!(text, Some(format!("It begins: {expected}the end.")));
}

/// Polls another process on the same store until the session exists.
fn wait_stored_session(other: &mut Client, session: &str) {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let listed = other.call("session/list", json!({ "workspaceFolder": "/w" })).expect("a list");
        if listed["sessions"].to_string().contains(&format!("\"sessionId\":\"{session}\"")) {
            return;
        }
        assert!(Instant::now() < deadline, "{session} is not stored");
        std::thread::sleep(Duration::from_millis(20));
    }
}
