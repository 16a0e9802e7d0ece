//! Failing providers as a session sees them: retries are shown, a cancel closes the connection, a permanent
//! error ends the turn with its class, and the user's text is kept.

use super::{WIRES, answer, settings, turn};
use crate::wire::client::{Start, Wire};
use crate::wire::script::{Editor, Folder};
use models::testing::{Act, Reply, Server, chunk, done, event};
use serde_json::{Value, json};
use std::time::Duration;

fn limited(after_ms: &str) -> Reply {
    Reply::body(429, "{\"error\": {\"message\": \"slow down\"}}").with("retry-after-ms", after_ms)
}

fn start(name: &str, server: &Server) -> (Folder, Editor) {
    let folder = Folder::new(&format!("asked-{name}"));
    let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
    editor.open("s", None);
    (folder, editor)
}

/// The stored session as text.
fn said(editor: &mut Editor) -> String {
    editor.call("session/subscribe", json!({ "sessionId": "s" })).to_string()
}

fn retrying(editor: &mut Editor) -> Value {
    let mut event = editor.event("a call that is made again", |event| event.get("retrying").is_some());
    event["retrying"].take()
}

#[test]
fn retry_is_shown() {
    let server = Server::replies(vec![limited("3"), limited("4"), answer("openai-chat", "Well.", &[])]);
    let (_folder, mut editor) = start("again", &server);
    let ended = turn(&mut editor, "What is it?");
    assert_eq!(ended["status"], "completed", "{ended}");
    for (attempt, delay) in [(2, 3), (3, 4)] {
        let told = retrying(&mut editor);
        // A tenth of so short a delay rounds to zero.
        assert_eq!((&told["attempt"], &told["delayMs"]), (&json!(attempt), &json!(delay)), "{told}");
        assert!(told["reason"].as_str().is_some_and(|reason| reason.contains("slow down")), "{told}");
    }
    assert_eq!(server.asked().len(), 3);
    let finished = editor.events("streamDelta");
    assert!(finished.iter().all(|event| !event.to_string().contains("slow down")));
}

#[test]
fn cancel_during_a_retry_delay_ends_the_turn() {
    let server = Server::replies(vec![limited("50000")]);
    let (_folder, mut editor) = start("cancel-wait", &server);
    let begun = editor.call("turn/start", json!({ "sessionId": "s", "content": "What is it?" }));
    let delay = retrying(&mut editor)["delayMs"].take();
    assert!(delay.as_u64().is_some_and(|delay| (50_000..=55_000).contains(&delay)), "{delay}");
    editor.call("turn/cancel", json!({ "sessionId": "s" }));
    assert_eq!(editor.ended(&begun["turnId"])["status"], "cancelled");
    assert_eq!(server.asked().len(), 1);
    assert!(said(&mut editor).contains("What is it?"));
}

#[tokio::test]
async fn cancel_closes_the_connection_and_keeps_streamed_text() {
    let half = chunk(&json!({ "content": "Half of" }), None);
    let server = Server::replies(vec![Reply::stream(vec![half, Act::Hold])]);
    let (_folder, mut editor) = start("cancel", &server);
    let begun = editor.call("turn/start", json!({ "sessionId": "s", "content": "What is it?" }));
    editor.event("half an answer", |event| event["type"] == "streamDelta");
    editor.call("turn/cancel", json!({ "sessionId": "s" }));
    assert_eq!(editor.ended(&begun["turnId"])["status"], "cancelled");
    server.gone(1).await;
    let said = said(&mut editor);
    assert!(said.contains("What is it?") && said.contains("Half of"), "{said}");
}

/// Each of these ends the turn with its error; the user's text and the streamed text are kept.
#[test]
fn permanent_error_ends_the_turn_with_its_class() {
    let plain =
        |status| Reply::body(status, "{\"error\": {\"message\": \"no\"}}").with("retry-after-ms", "1");
    let half = chunk(&json!({ "content": "Half of" }), None);
    let inside = event(&json!({ "error": { "code": 529, "message": "Overloaded, try again in 1ms" } }));
    let quota = Reply::body(429, "{\"error\": {\"code\": \"insufficient_quota\"}}");
    let cases: Vec<(&str, Vec<Reply>, &str, usize)> = vec![
        ("529 for ever", vec![plain(529)], "overloaded", 5),
        ("429 for ever", vec![plain(429)], "rate limit", 5),
        ("401", vec![plain(401)], "key was not accepted", 1),
        ("404", vec![plain(404)], "did not accept", 1),
        ("quota", vec![quota], "no quota left", 1),
        ("overloaded inside a stream", vec![Reply::stream(vec![half.clone(), inside])], "overloaded", 5),
        (
            "cut in the middle, then 401",
            vec![Reply::stream(vec![half, Act::Cut]), plain(401)],
            "key was not accepted",
            2,
        ),
        (
            "garbage",
            vec![Reply::stream(vec![Act::Send(b"data: {\"cho\n\n".to_vec())])],
            "could not be read",
            1,
        ),
    ];
    for (number, (what, replies, words, requests)) in cases.into_iter().enumerate() {
        let is_half = what.contains("stream") || what.contains("middle");
        let server = Server::replies(replies);
        let (_folder, mut editor) = start(&format!("class-{number}"), &server);
        let ended = turn(&mut editor, "What is it?");
        assert_eq!(ended["status"], "failed", "{what}: {ended}");
        assert!(ended["error"].to_string().contains(words), "{what}: {}", ended["error"]);
        assert_eq!(server.asked().len(), requests, "{what}");
        let said = said(&mut editor);
        assert_eq!(said.matches("Half of").count(), usize::from(is_half), "{what}: {said}");
        assert!(said.contains("What is it?"), "{what}: {said}");
    }
}

/// Text and a whole call had come. The turn goes on with another answer, and nothing of the broken one stays or runs.
#[test]
fn answer_that_breaks_in_the_middle_resumes_over_each_wire() {
    for (wire, steps) in WIRES.into_iter().zip([3, 6, 8, 3]) {
        let broken = answer(wire, "Half of an answer.", &["c1"]).cut_after(steps);
        let server = Server::replies(vec![broken, answer(wire, "It is a parser.", &[])]);
        let folder = Folder::new(&format!("asked-resumed-{wire}"));
        let mut editor = Editor::start(&folder, settings(wire, &server.url(), 32_000));
        editor.open("s", None);
        let ended = turn(&mut editor, "What is it?");
        assert_eq!(ended["status"], "completed", "{wire}: {ended}");
        let kind = |event: &Value| match event["type"].as_str() {
            Some("runtimeUpdated") if event.get("retrying").is_some() => Some("retrying".to_owned()),
            Some("streamReset") => Some("reset".to_owned()),
            Some("streamStarted" | "streamFinished") => event["type"].as_str().map(str::to_owned),
            _ => None,
        };
        let told: Vec<String> = editor.client.events().iter().filter_map(kind).collect();
        assert_eq!(told, ["streamStarted", "retrying", "reset", "streamFinished"], "{wire}");
        let texts: Vec<String> = editor
            .events("streamDelta")
            .iter()
            .flat_map(|event| event["ops"].as_array().cloned().unwrap_or_default())
            .filter_map(|op| op["text"].as_str().map(str::to_owned))
            .collect();
        assert!(
            texts.concat().contains("Half of") && texts.concat().ends_with("It is a parser."),
            "{texts:?}"
        );
        assert!(editor.ran.is_empty(), "{wire}: {:?}", editor.ran);
        let snapshot = editor.call("session/subscribe", json!({ "sessionId": "s" }));
        let messages = &snapshot["snapshot"]["messages"];
        assert_eq!(messages[1]["parts"], json!([{ "type": "text", "text": "It is a parser." }]), "{wire}");
        assert_eq!(messages.as_array().map(Vec::len), Some(2), "{wire}");
        let asked = server.asked();
        assert_eq!((asked.len(), &asked[0].body), (2, &asked[1].body), "{wire}: the same is asked again");
    }
}

/// What was kept of the broken answer is forgotten when another one takes its place.
#[test]
fn process_killed_after_a_reset_leaves_nothing_of_the_broken_answer() {
    let says = |text: &str| chunk(&json!({ "content": text }), None);
    // Longer than the interval after which a piece is kept.
    let kept = Act::Wait(Duration::from_millis(1500));
    let server = Server::replies(vec![
        Reply::stream(vec![says("Half of"), kept, Act::Cut]),
        Reply::stream(vec![says("It was"), Act::Hold]),
    ]);
    let folder = Folder::new("asked-reset-killed");
    let client = Start::new(Wire::Pipes).variable("RUST_LOG", "threadhold=debug").start();
    let mut editor = Editor::over(client, &folder, settings("openai-chat", &server.url(), 32_000));
    editor.open("s", None);
    editor.call("turn/start", json!({ "sessionId": "s", "content": "What is it?" }));
    editor.event("the next attempt", |event| event["type"] == "streamReset");
    editor.client.wait_log("streamed text is kept");
    editor.kill();
    let mut editor = Editor::start(&folder, settings("openai-chat", &server.url(), 32_000));
    let opened = editor.open("s", None).to_string();
    assert!(opened.contains("What is it?") && !opened.contains("Half of"), "{opened}");
}

/// A model that cuts a piece within a surrogate pair, in text and in a call's arguments.
#[test]
fn unpaired_surrogate_in_a_stream_costs_one_character() {
    let raw = |data: &str| Act::Send(format!("data: {data}\n\n").into_bytes());
    let words = r#"{"choices":[{"index":0,"delta":{"content":"half \ud83d"},"finish_reason":null}]}"#;
    let arguments = r#"{"path":"half \ud83d, escaped \\ud83d"}"#;
    let call = json!({ "index": 0, "id": "c1", "function": { "name": "read", "arguments": arguments } });
    let calls = chunk(&json!({ "tool_calls": [call] }), None);
    let server = Server::replies(vec![
        Reply::stream(vec![raw(words), calls, chunk(&json!({}), Some("tool_calls")), done()]),
        answer("openai-chat", "Well.", &[]),
    ]);
    let (_folder, mut editor) = start("surrogate", &server);
    let ended = turn(&mut editor, "What is it?");
    assert_eq!(ended["status"], "completed", "{ended}");
    assert!(said(&mut editor).contains("half \u{fffd}"));
    assert_eq!(editor.ran, ["c1"]);
    let asked = server.asked().pop().expect("it was asked");
    let messages = asked.body["messages"].as_array().expect("messages").iter();
    let mut calls = messages.filter_map(|message| message["tool_calls"][0]["function"]["arguments"].as_str());
    assert_eq!(calls.next(), Some(r#"{"path":"half \ufffd, escaped \\ud83d"}"#));
}
