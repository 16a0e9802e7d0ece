//! Edge cases for clients: foreign summaries without text, calls with invalid arguments, out-of-range
//! numbers, methods of each level, equal figures in events and results, memories without a folder, progress.

use super::client::{Start, Wire};
use super::script::{Editor, Folder, prose, says};
use protocol::methods::{Direction, METHODS};
use serde_json::{Value, json};

fn history(metadata: Value) -> Vec<Value> {
    let turn = |n: usize| {
        json!({
            "externalId": format!("request-{n}"), "request": format!("Do step {n}."),
            "rounds": [{ "id": format!("round-{n}"), "assistant": { "parts": format!("Step {n} is done.") } }],
        })
    };
    let mut turns: Vec<Value> = (0..4).map(turn).collect();
    turns[2]["metadata"] = metadata;
    turns
}

/// Otherwise the messages that it covers would be gone from the prompt, with nothing instead.
#[test]
fn foreign_summary_without_text_is_reported_and_hides_nothing() {
    let folder = Folder::new("edges-legacy");
    let mut editor = Editor::start(&folder, json!({ "model": { "window": 16_000 } }));
    let round = "round-1";
    for (at, (metadata, restored, said)) in [
        (json!({ "summary": { "toolCallRoundId": round, "text": "" } }), 0, "has no text"),
        (json!({ "summary": { "toolCallRoundId": round, "text": " \n" } }), 0, "has no text"),
        (json!({ "summaries": [{ "toolCallRoundId": round }] }), 0, "has no text"),
        (json!(5), 0, "cannot be read"),
        (
            json!({ "summary": { "toolCallRoundId": round, "text": "", "threadhold": "{bad" } }),
            0,
            "cannot be read",
        ),
        // Round and text suffice if the rest is damaged, which is reported.
        (
            json!({ "summary": { "toolCallRoundId": round, "text": "So far.", "threadhold": "{bad" } }),
            1,
            "restored from its text",
        ),
        (
            json!({ "summary": { "toolCallRoundId": round, "text": "So far.", "threadhold": {} } }),
            1,
            "restored from its text",
        ),
        (json!({ "summary": { "toolCallRoundId": round, "text": "So far." } }), 1, ""),
    ]
    .into_iter()
    .enumerate()
    {
        let session = format!("s{at}");
        let opened = editor.open_with(&session, "editor", Some(history(metadata.clone())));
        let restore = &opened["restore"];
        let failures = restore["failures"].as_array().expect("a list");
        assert_eq!(restore["restored"].as_array().map(Vec::len), Some(restored), "{metadata}: {restore}");
        assert_eq!(failures.len(), usize::from(!said.is_empty()), "{metadata}: {restore}");
        assert!(failures.iter().all(|failure| failure.to_string().contains(said)), "{metadata}: {restore}");
        let rendered = editor.call("prompt/render", json!({ "sessionId": session })).to_string();
        assert_eq!(rendered.contains("Step 1 is done."), restored == 0, "{metadata}");
        assert_eq!(rendered.contains("So far."), restored == 1, "{metadata}");
    }
}

#[test]
fn tokens_until_compaction_agree_in_events_and_inspect() {
    let folder = Folder::new("edges-until");
    let mut editor = Editor::start(&folder, json!({ "model": { "window": 16_000 } }));
    editor.open("s", None);
    for n in 0..3 {
        editor.answers.push_back(says(&prose("answer", 40)));
        editor.turn(json!({ "sessionId": "s", "content": format!("Step {n}.") }));
        let told = editor.events("contextUpdated").pop().expect("it is told");
        let inspected = editor.call("context/inspect", json!({ "sessionId": "s" }));
        let sum = |from: &Value| {
            from["tokens"].as_u64().unwrap_or(0) + from["tokensUntilCompaction"].as_u64().unwrap_or(0)
        };
        assert_eq!(sum(&inspected), sum(&told), "{told}");
        assert!(sum(&told) < told["limit"].as_u64().unwrap_or(0), "a turn that begins sets one off earlier");
    }
}

#[test]
fn memory_without_a_folder_uses_the_first_one() {
    let folder = Folder::new("edges-memory");
    let mut editor = Editor::start(&folder, json!({}));
    editor.open("s", None);
    editor.call("memory/put", json!({ "text": "The build needs two cores." }));
    let of_folder = editor.call("memory/list", json!({ "workspaceFolder": "/code/parser" }));
    assert_eq!(of_folder["memories"].as_array().map(Vec::len), Some(1), "{of_folder}");
    assert_eq!(editor.call("memory/list", json!({})), of_folder);
}

#[test]
fn each_method_of_an_announced_level_is_served() {
    let mut client = Start::new(Wire::Pipes).start();
    let hello = json!({
        "capabilities": {}, "initializationOptions": { "threadhold": {
            "protocolVersion": 1, "storage": { "backend": "memory" },
        } },
    });
    let ours = client.initialize(hello)["capabilities"]["experimental"]["threadhold"].take();
    assert_eq!(ours["levels"], json!(["core", "context", "edit", "extras"]));
    let requests =
        METHODS.iter().filter(|method| method.direction == Direction::ToSidecar && method.result.is_some());
    for method in requests {
        let said = client.call(method.name, json!({}));
        let code = said.as_ref().err().map(|error| error["code"].clone());
        assert_ne!(code, Some(json!(-32601)), "{} is not served", method.name);
    }
}

#[test]
fn invalid_arguments_of_our_tool_get_an_error_result() {
    let folder = Folder::new("edges-arguments");
    let mut editor = Editor::start(&folder, json!({ "ownTools": ["recall"] }));
    editor.open("s", None);
    let call = json!([{ "type": "toolCall", "id": "c1", "name": "recall", "arguments": "{bad" }]);
    editor.answers.extend([call, says("Then without it.")]);
    let ended = editor.turn(json!({ "sessionId": "s", "content": "Look it up." }));
    assert_eq!(ended["status"], "completed", "{ended}");
    let asked = editor.asked[1]["messages"].to_string();
    assert!(asked.contains("invalid arguments"), "{asked}");
}

#[test]
fn progress_says_what_is_done_and_how_it_ended() {
    let folder = Folder::new("edges-progress");
    let mut editor = Editor::start(&folder, json!({ "model": { "window": 16_000 }, "policy": "rounds" }));
    editor.open("s", None);
    for n in 0..3 {
        editor.answers.push_back(says(&prose("answer", 40)));
        editor.turn(json!({ "sessionId": "s", "content": format!("Step {n}.") }));
    }
    let told = |editor: &Editor, token: &str| -> Vec<String> {
        let frames = editor.client.frames();
        let of_token = frames
            .iter()
            .filter(|frame| frame["method"] == "$/progress" && frame["params"]["token"] == token);
        of_token.map(|frame| frame["params"]["value"]["message"].as_str().unwrap_or("").to_owned()).collect()
    };
    // The first mode fails: the second continues the same compaction.
    editor.summaries = super::script::Summaries::Failing;
    let before = editor.events("runtimeUpdated").len();
    editor.call("context/compact", json!({ "sessionId": "s", "workDoneToken": "first" }));
    let states: Vec<Value> =
        editor.events("runtimeUpdated")[before..].iter().map(|event| event["state"].clone()).collect();
    assert!(editor.asked_for("summary").len() > 1, "another way was tried");
    assert_eq!(states.iter().filter(|state| *state == "generating").count(), 1, "{states:?}");
    let first = told(&editor, "first");
    assert_eq!(first.first().map(String::as_str), Some("compacting the conversation"), "{first:?}");
    assert_eq!(first.last().map(String::as_str), Some("the conversation is compacted"), "{first:?}");
    editor.call("context/compact", json!({ "sessionId": "s", "workDoneToken": "again" }));
    assert_eq!(
        told(&editor, "again").last().map(String::as_str),
        Some(
            "nothing was said since the last compaction; to repeat it with another focus or messages to keep, redo \"s/c0\""
        )
    );
}

#[test]
fn out_of_range_numbers_are_refused_with_their_field() {
    let folder = Folder::new("edges-numbers");
    let mut editor = Editor::start(&folder, json!({}));
    editor.open("s", None);
    for (method, params, field) in [
        ("context/exclude", json!({ "sessionId": "s", "messageIds": [] }), "messageIds"),
        ("context/search", json!({ "sessionId": "s", "query": "x", "limit": 0 }), "limit"),
        ("context/ledger", json!({ "sessionId": "s", "limit": 0 }), "limit"),
        ("memory/list", json!({ "limit": 0 }), "limit"),
        ("memory/search", json!({ "query": "x", "limit": 0 }), "limit"),
        ("session/list", json!({ "limit": 0 }), "limit"),
        ("session/messages", json!({ "sessionId": "s", "limit": 0 }), "limit"),
        (
            "session/configure",
            json!({ "sessionId": "s", "settings": { "roundLimit": 0 } }),
            "settings.roundLimit",
        ),
    ] {
        let error = editor.refused(method, params);
        assert_eq!(error["data"]["field"], field, "{method}: {error}");
    }
}
