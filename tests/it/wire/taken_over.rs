//! A session that one process writes and another one takes over: who loses it is told, at its next commit or while it is
//! idle, what ran there is stopped, what waited is answered, and it follows from then on. Fights stand in `fire::windows`.

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
    wait_state(client, "s", "completed");
}

/// What a client is told that loses the session: that it does, in the stream that it knows, then what it follows.
fn is_told(loser: &mut Client, writer: &Client) -> Value {
    let taken =
        loser.wait_notification("that it was taken over", |frame| is_event(frame, "sessionTakenOver"));
    let of_stream = |event: &&Value| event["stream"] == taken["params"]["stream"];
    let seqs: Vec<u64> = loser.events().iter().filter(of_stream).filter_map(|e| e["seq"].as_u64()).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seqs:?}");
    assert_eq!(taken["params"]["seq"].as_u64(), seqs.last().copied(), "it is the last of its stream");
    // One of its own may have come before, when it took the session over itself.
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

/// Nothing is written by who loses it: only a look can tell.
///
#[test]
fn who_is_idle_is_told_that_its_session_was_taken_over_and_can_take_it_back() {
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

    // Who follows takes it back, and goes on.
    let back = take_over(&mut first).expect("it is taken back");
    assert_eq!(back["snapshot"]["messages"].as_array().map(Vec::len), Some(4));
    is_told(&mut second, &first);
    turn(&mut first, "Three.");
    // Taking over what is held here changes nothing.
    let again = take_over(&mut first).expect("it is here");
    assert_eq!(again["snapshot"]["stream"], back["snapshot"]["stream"]);
    assert_eq!(again["snapshot"]["messages"].as_array().map(Vec::len), Some(6));
}

/// What runs is stopped, what waits for an answer gets one that says who has the session now, and nothing that was not
/// stored is told as if it were.
#[test]
fn what_runs_in_a_session_that_is_taken_over_is_stopped_and_answered() {
    let folder = Folder::new();
    let (mut first, mut second) = two(&folder);
    let settings = json!({ "model": { "name": "m", "window": 16_000 } });
    let params = json!({ "workspaceFolder": "/code/parser", "sessionId": "s", "settings": settings });
    first.call("session/open", params).expect("it opens");
    // Worth a summary later.
    answered(&mut first, "One.", &"word ".repeat(4000));
    start(&mut first, "Two.").expect("it starts");
    let asked = first.wait_request("model/complete");
    let taken = take_over(&mut second).expect("it is taken over");
    let shown = taken["snapshot"]["messages"].as_array().expect("messages").len();
    assert_eq!((shown, &taken["snapshot"]["state"]), (3, &json!("error")));
    // Whichever comes first, its answer or the look: it cannot be stored.
    first.respond(&asked["id"], said("Too late."));
    let followed = is_told(&mut first, &second);
    assert_eq!(followed["messages"].as_array().map(Vec::len), Some(3));
    let told = first.events();
    assert!(
        !told.iter().any(|event| event["type"] == "messageAdded" && event.to_string().contains("Too late."))
    );
    turn(&mut second, "Three.");

    // Back again, with a request that waits for a model.
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

/// A command that comes before the loss was noticed is refused by the store, and the client takes the session back at once.
#[test]
fn who_writes_before_it_noticed_is_refused_and_may_take_the_session_back() {
    let folder = Folder::new();
    let (mut first, mut second) = two(&folder);
    open(&mut first);
    turn(&mut first, "One.");
    take_over(&mut second).expect("it is taken over");
    // Perhaps it was told just now: the answer is the same.
    let refused = start(&mut first, "Lost.").expect_err("another one writes it");
    assert_eq!(
        (&refused["data"]["kind"], &refused["data"]["pid"]),
        (&json!("SessionHeldElsewhere"), &json!(second.pid()))
    );
    take_over(&mut second).expect("it is here already");
    let back = take_over(&mut first).expect("it is taken back");
    assert!(!back.to_string().contains("Lost."));
    turn(&mut first, "Two.");
    // Without having noticed it is taken back too: what was written meanwhile is there.
    take_over(&mut second).expect("it is taken over");
    turn(&mut second, "Three.");
    let back = take_over(&mut first).expect("it is taken back");
    assert_eq!(back["snapshot"]["messages"].as_array().map(Vec::len), Some(6));
    turn(&mut first, "Four.");
}

#[test]
fn what_is_not_stored_cannot_be_taken_over() {
    let folder = Folder::new();
    let (mut first, _) = two(&folder);
    let refused = take_over(&mut first).expect_err("there is none");
    assert_eq!(refused["data"]["kind"], "UnknownSession");
    open(&mut first);
    first.call("session/close", json!({ "sessionId": "s" })).expect("it closes");
    take_over(&mut first).expect("nobody holds it");
    turn(&mut first, "One.");
}
