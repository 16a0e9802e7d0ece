//! Take-overs: a process that loses its session is notified, at its next commit or while idle; its running
//! work is stopped, waiting requests are answered, and it follows from then on. `fire::windows` has races.

use super::client::{Client, Start, Wire};
use super::ground::{Folder, is_event, said, wait_state};
use serde_json::{Value, json};

fn open(client: &mut Client) -> Value {
    let params = json!({ "workspaceFolder": "/code/parser", "sessionId": "s" });
    client.call("session/open", params).expect("it opens")["snapshot"].take()
}

fn take_over(client: &mut Client) -> Result<Value, Value> {
    client.call("session/takeOver", json!({ "workspaceFolder": "/code/parser", "sessionId": "s" }))
}

fn start(client: &mut Client, words: &str) -> Result<Value, Value> {
    client.call("turn/start", json!({ "sessionId": "s", "content": words }))
}

fn turn(client: &mut Client, words: &str) {
    answered(client, words, "So it is.");
}

fn answered(client: &mut Client, words: &str, answer: &str) {
    start(client, words).expect("it starts");
    let asked = client.wait_request("model/complete");
    client.respond(&asked["id"], said(answer));
    wait_state(client, "s", "idle");
}

/// Waits for the notices of a lost session: the take-over in its own stream, then a snapshot that it follows.
fn is_told(loser: &mut Client, writer: &Client) -> Value {
    let taken =
        loser.wait_notification("that it was taken over", |frame| is_event(frame, "sessionTakenOver"));
    let of_stream = |event: &&Value| event["stream"] == taken["params"]["stream"];
    let seqs: Vec<u64> = loser.events().iter().filter(of_stream).filter_map(|e| e["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
    assert_eq!(taken["params"]["seq"].as_u64(), seqs.last().copied(), "it is the last of its stream");
    // It may have taken the session over itself before, which sent another snapshot.
    let followed = loser.wait_notification("what it follows", |frame| {
        is_event(frame, "snapshot") && frame["params"]["snapshot"]["heldBy"].is_object()
    });
    let snapshot = &followed["params"]["snapshot"];
    assert_ne!(snapshot["stream"], taken["params"]["stream"]);
    assert_eq!(snapshot["heldBy"]["pid"], writer.pid());
    snapshot.clone()
}

fn two(folder: &Folder) -> (Client, Client) {
    let serve = || folder.serve(Start::new(Wire::Pipes));
    (serve(), serve())
}

/// The loser writes nothing: only polling can show the loss.
#[test]
fn idle_loser_is_notified_and_can_take_back() {
    let folder = Folder::new();
    let (mut first, mut second) = two(&folder);
    open(&mut first);
    turn(&mut first, "One.");
    let taken = take_over(&mut second).expect("it is taken over");
    assert_eq!(taken["snapshot"].get("heldBy"), None);
    assert_eq!(taken["snapshot"]["messages"].as_array().map(Vec::len), Some(2));
    is_told(&mut first, &second);
    let refused = start(&mut first, "Mine.").expect_err("another one writes it");
    assert_eq!(
        (&refused["data"]["kind"], &refused["data"]["pid"]),
        (&json!("SessionHeldElsewhere"), &json!(second.pid()))
    );
    turn(&mut second, "Two.");
    first.wait_notification("what the other one wrote", |frame| {
        is_event(frame, "messageAdded") && frame["params"]["message"].to_string().contains("Two.")
    });

    // The follower takes the session back and continues.
    let back = take_over(&mut first).expect("it is taken back");
    assert_eq!(back["snapshot"]["messages"].as_array().map(Vec::len), Some(4));
    is_told(&mut second, &first);
    turn(&mut first, "Three.");
    // Taking over a session that is held here changes nothing.
    let again = take_over(&mut first).expect("it is here");
    assert_eq!(again["snapshot"]["stream"], back["snapshot"]["stream"]);
    assert_eq!(again["snapshot"]["messages"].as_array().map(Vec::len), Some(6));
}

/// Running work is stopped, waiting requests fail with the new holder, and nothing unstored is announced.
#[test]
fn take_over_stops_running_work_and_answers_requests() {
    let folder = Folder::new();
    let (mut first, mut second) = two(&folder);
    let settings = json!({ "model": { "name": "m", "window": 16_000 } });
    let params = json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "settings": settings });
    first.call("session/open", params).expect("it opens");
    // Long enough to be summarized later.
    answered(&mut first, "One.", &"word ".repeat(4000));
    start(&mut first, "Two.").expect("it starts");
    let asked = first.wait_request("model/complete");
    let taken = take_over(&mut second).expect("it is taken over");
    let shown = taken["snapshot"]["messages"].as_array().expect("messages").len();
    assert_eq!((shown, &taken["snapshot"]["state"]), (3, &json!("error")));
    // Whether the answer or the poll comes first, it cannot be stored.
    first.respond(&asked["id"], said("Too late."));
    let followed = is_told(&mut first, &second);
    assert_eq!(followed["messages"].as_array().map(Vec::len), Some(3));
    let told = first.events();
    assert!(
        !told.iter().any(|event| event["type"] == "messageAdded" && event.to_string().contains("Too late."))
    );
    turn(&mut second, "Three.");

    // Taken back, with a request that waits for a model.
    take_over(&mut first).expect("it is taken back");
    is_told(&mut second, &first);
    let compacts = first.request("context/compact", json!({ "sessionId": "s" }));
    let asked = first.wait_request("model/complete");
    assert_eq!(asked["params"]["purpose"], "summary");
    take_over(&mut second).expect("it is taken over");
    let answered = first.wait_response(compacts);
    let data = &answered["error"]["data"];
    assert_eq!((&data["kind"], &data["pid"]), (&json!("SessionHeldElsewhere"), &json!(second.pid())));
    first.wait_notification("that the model is not needed", |frame| {
        frame["method"] == "$/cancelRequest" && frame["params"]["id"] == asked["id"]
    });
    is_told(&mut first, &second);
    turn(&mut second, "Four.");
}

/// A command before the loss is noticed is refused by the store; the client may take the session back at once.
#[test]
fn unnoticed_loser_is_refused_and_can_take_back() {
    let folder = Folder::new();
    let (mut first, mut second) = two(&folder);
    open(&mut first);
    turn(&mut first, "One.");
    take_over(&mut second).expect("it is taken over");
    // The notice may have arrived by now; the error is the same.
    let refused = start(&mut first, "Lost.").expect_err("another one writes it");
    assert_eq!(
        (&refused["data"]["kind"], &refused["data"]["pid"]),
        (&json!("SessionHeldElsewhere"), &json!(second.pid()))
    );
    take_over(&mut second).expect("it is here already");
    let back = take_over(&mut first).expect("it is taken back");
    assert!(!back.to_string().contains("Lost."));
    turn(&mut first, "Two.");
    // Taken back unnoticed: messages written meanwhile are there.
    take_over(&mut second).expect("it is taken over");
    turn(&mut second, "Three.");
    let back = take_over(&mut first).expect("it is taken back");
    assert_eq!(back["snapshot"]["messages"].as_array().map(Vec::len), Some(6));
    turn(&mut first, "Four.");
}

#[test]
fn unstored_session_cannot_be_taken_over() {
    let folder = Folder::new();
    let (mut first, _) = two(&folder);
    let refused = take_over(&mut first).expect_err("there is none");
    assert_eq!(refused["data"]["kind"], "UnknownSession");
    open(&mut first);
    first.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    take_over(&mut first).expect("nobody holds it");
    turn(&mut first, "One.");
}
