//! Model calls over the providers' wires: the built binary between an editor and providers on loopback.
//! Streams and error classes are tested in `models`; these tests check the session.

mod binding;
mod causes;
mod checks;
mod costs;
mod counted;
mod doctor;
mod faults;
mod keys;
mod limits;
mod listed;
mod tiers;

use super::script::{Editor, Folder, NARRATIVE, prose};
use expect_test::expect;
use models::testing::{Act, Asked, Reply, Server, event};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The wires with HTTP streams.
pub const WIRES: [&str; 4] = ["openai-chat", "openai-responses", "anthropic", "ollama"];

/// Settings for a model at this address.
pub fn settings(wire: &str, url: &str, window: u32) -> Value {
    json!({
        "model": { "wire": wire, "baseUrl": url, "name": "m", "window": window },
        "titles": "request", "modelDeadlineMs": 600_000,
    })
}

/// An answer on this wire: text, then calls of `read` with these ids.
pub fn answer(wire: &str, text: &str, calls: &[&str]) -> Reply {
    used(wire, text, calls, 100)
}

/// As [`answer`], with this number of input tokens.
pub fn used(wire: &str, text: &str, calls: &[&str], input: u32) -> Reply {
    stream(wire, text, calls, Some(input))
}

/// As [`answer`], without usage.
pub fn unused(wire: &str, text: &str, calls: &[&str]) -> Reply {
    stream(wire, text, calls, None)
}

fn stream(wire: &str, text: &str, calls: &[&str], input: Option<u32>) -> Reply {
    let arguments = |id: &str| json!({ "path": format!("src/{id}.rs") });
    let half = text.floor_char_boundary(text.len() / 2);
    let (a, b) = text.split_at(half);
    let mut acts = Vec::new();
    match wire {
        "openai-chat" => {
            let chunk = |delta: Value, stop: Option<&str>| {
                event(&json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": stop }] }))
            };
            acts.extend([a, b].map(|text| chunk(json!({ "content": text }), None)));
            for (index, id) in calls.iter().enumerate() {
                let function = json!({ "name": "read", "arguments": arguments(id).to_string() });
                let call = json!({ "index": index, "id": id, "type": "function", "function": function });
                acts.push(chunk(json!({ "tool_calls": [call] }), None));
            }
            let stop = if calls.is_empty() { "stop" } else { "tool_calls" };
            acts.push(chunk(json!({}), Some(stop)));
            if let Some(input) = input {
                let usage = json!({ "prompt_tokens": input, "completion_tokens": 10 });
                acts.push(event(&json!({ "choices": [], "usage": usage })));
            }
            acts.push(Act::Send(b"data: [DONE]\n\n".to_vec()));
        }
        "openai-responses" => {
            let message = json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": [] });
            acts.push(event(
                &json!({ "type": "response.output_item.added", "output_index": 0, "item": message }),
            ));
            for text in [a, b] {
                acts.push(event(
                    &json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text }),
                ));
            }
            let content = json!([{ "type": "output_text", "text": text }]);
            let message =
                json!({ "type": "message", "id": "msg_1", "role": "assistant", "content": content });
            acts.push(event(
                &json!({ "type": "response.output_item.done", "output_index": 0, "item": message }),
            ));
            for (index, id) in calls.iter().enumerate() {
                let item = json!({ "type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "read",
                                   "arguments": arguments(id).to_string() });
                for kind in ["added", "done"] {
                    let kind = format!("response.output_item.{kind}");
                    acts.push(event(&json!({ "type": kind, "output_index": index + 1, "item": item })));
                }
            }
            let usage = input.map(|input| json!({ "input_tokens": input, "output_tokens": 10 }));
            acts.push(event(&json!({ "type": "response.completed", "response": { "usage": usage } })));
        }
        "anthropic" => {
            let usage = input.map(|input| json!({ "input_tokens": input, "output_tokens": 1 }));
            acts.push(event(&json!({ "type": "message_start", "message": { "usage": usage } })));
            let block = json!({ "type": "text", "text": "" });
            acts.push(event(&json!({ "type": "content_block_start", "index": 0, "content_block": block })));
            for text in [a, b] {
                let delta = json!({ "type": "text_delta", "text": text });
                acts.push(event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta })));
            }
            acts.push(event(&json!({ "type": "content_block_stop", "index": 0 })));
            for (index, id) in calls.iter().enumerate() {
                let block = json!({ "type": "tool_use", "id": id, "name": "read", "input": {} });
                let delta = json!({ "type": "input_json_delta", "partial_json": arguments(id).to_string() });
                let index = index + 1;
                acts.push(event(
                    &json!({ "type": "content_block_start", "index": index, "content_block": block }),
                ));
                acts.push(event(&json!({ "type": "content_block_delta", "index": index, "delta": delta })));
                acts.push(event(&json!({ "type": "content_block_stop", "index": index })));
            }
            let stop = if calls.is_empty() { "end_turn" } else { "tool_use" };
            let usage = input.map(|_| json!({ "output_tokens": 10 }));
            acts.push(event(&json!({ "type": "message_delta", "delta": { "stop_reason": stop },
                                     "usage": usage })));
            acts.push(event(&json!({ "type": "message_stop" })));
        }
        "ollama" => {
            let line = |value: Value| Act::Send(format!("{value}\n").into_bytes());
            for text in [a, b] {
                acts.push(line(
                    json!({ "message": { "role": "assistant", "content": text }, "done": false }),
                ));
            }
            for id in calls {
                let call = json!({ "id": id, "function": { "name": "read", "arguments": arguments(id) } });
                acts.push(line(json!({ "message": { "tool_calls": [call] }, "done": false })));
            }
            let written = input.map(|_| 10);
            acts.push(line(
                json!({ "done": true, "done_reason": "stop", "prompt_eval_count": input, "eval_count": written }),
            ));
        }
        other => panic!("{other} has no stream"),
    }
    Reply::stream(acts)
}

/// A summary on this wire.
pub fn summary(wire: &str) -> Reply {
    answer(wire, &format!("<summary>\n{NARRATIVE}\n</summary>"), &[])
}

/// `true` if the request is for a summary: only these have temperature 0.
pub fn is_summary(asked: &Asked) -> bool {
    asked.body["temperature"] == 0 || asked.body["options"]["temperature"] == 0
}

/// A provider that answers requests for summaries itself, and every other one, numbered from 1, with
/// `answered`.
pub fn in_turn(
    wire: &'static str,
    mut answered: impl FnMut(u32, &Asked) -> Reply + Send + 'static,
) -> Server {
    let mut requests = 0;
    Server::start(move |_, asked| {
        if is_summary(asked) {
            return summary(wire);
        }
        requests += 1;
        answered(requests, asked)
    })
}

/// Runs a turn; returns the event that ends it.
pub fn turn(editor: &mut Editor, content: &str) -> Value {
    editor.turn(json!({ "sessionId": "s", "content": content }))
}

/// The number of accepted compactions.
pub fn accepted(editor: &Editor) -> usize {
    editor.events("compactionUpdated").iter().filter(|event| event["phase"] == "accepted").count()
}

/// A turn of two rounds over each wire: deltas are streamed, the tool runs once, its result is in the second
/// request, the usage is reported, and the cache key stays the same for the session.
#[test]
fn a_turn_of_two_rounds_over_each_wire() {
    for wire in WIRES {
        let server = Server::replies(vec![
            answer(wire, "Let me look.", &["c1"]),
            answer(wire, "It is a parser.", &[]),
            answer(wire, "As I said.", &[]),
        ]);
        let folder = Folder::new(&format!("asked-turn-{wire}"));
        let mut editor = Editor::start(&folder, settings(wire, &server.url(), 32_000));
        editor.open("s", None);
        let ended = turn(&mut editor, "What is it?");
        assert_eq!(ended["status"], "completed", "{wire}: {ended}");
        assert_eq!((&*editor.ran, editor.asked.len()), (&["c1".to_owned()][..], 0), "{wire}");
        turn(&mut editor, "Really?");
        let asked = server.asked();
        assert_eq!(asked.len(), 3, "{wire}");
        let bodies: Vec<String> = asked.iter().map(|asked| asked.body.to_string()).collect();
        assert!(bodies[0].contains("What is it?") && !bodies[0].contains("Let me look."), "{wire}");
        assert!(
            bodies[1].contains("Let me look.") && bodies[1].contains("The file of c1"),
            "{wire}: {}",
            bodies[1]
        );
        assert!(bodies[2].contains("It is a parser.") && bodies[2].contains("Really?"), "{wire}");
        assert!(bodies.iter().all(|body| body.contains("You are a careful programmer.")), "{wire}");
        if wire == "openai-responses" {
            let keys: Vec<&Value> = asked.iter().map(|asked| &asked.body["prompt_cache_key"]).collect();
            assert_eq!((keys[0].as_str(), keys[0], keys[1]), (Some("s.0"), keys[1], keys[2]));
        }
        let streamed: String = editor
            .events("streamDelta")
            .iter()
            .flat_map(|event| event["ops"].as_array().into_iter().flatten())
            .filter_map(|op| op["text"].as_str().filter(|_| op["op"] == "appendContent"))
            .collect();
        assert_eq!(streamed, "Let me look.It is a parser.As I said.", "{wire}");
        for _ in 0..3 {
            let told = editor.client.wait_notification("the usage", |frame| frame["method"] == "model/usage");
            let (params, usage) = (&told["params"], &told["params"]["usage"]);
            assert_eq!(
                (&params["purpose"], &params["source"]),
                (&json!("turn"), &json!("provider")),
                "{wire}"
            );
            assert_eq!(
                (&usage["inputTokens"], &usage["outputTokens"]),
                (&json!(100), &json!(10)),
                "{wire}: {told}"
            );
        }
    }
}

/// An overflow error of each wire, with a limit if it states one.
fn too_large(wire: &str) -> Value {
    match wire {
        "openai-chat" => {
            json!({ "error": { "code": "context_length_exceeded", "message": "This model's maximum context \
            length is 7000 tokens. However, your messages resulted in 10000 tokens." } })
        }
        "openai-responses" => json!({ "error": { "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model." } }),
        "anthropic" => json!({ "type": "error", "error": { "type": "invalid_request_error",
            "message": "prompt is too long: 10000 tokens > 7000 maximum" } }),
        _ => json!({ "error": "request (10000 tokens) exceeds the available context size (7000 tokens)" }),
    }
}

/// A prompt within our limit that its provider rejects, after two rounds of tools: one compaction, and the
/// turn continues. No tool runs twice.
#[test]
fn overflow_within_a_turn_is_compacted_once() {
    let mut table = String::new();
    for wire in WIRES {
        let words = too_large(wire).to_string();
        // An overflow without numbers is believed only near the window.
        let (window, first, second) =
            if wire == "openai-responses" { (20_000, 310, 230) } else { (64_000, 130, 80) };
        let server = in_turn(wire, move |request, _| match request {
            1 => answer(wire, &prose("first answer", first), &["c1"]),
            2 => answer(wire, &prose("second answer", second), &["c2", "c3"]),
            3 => Reply::body(400, &words),
            4 => answer(wire, "Now the rest.", &["c4"]),
            _ => answer(wire, "The parser works.", &[]),
        });
        let folder = Folder::new(&format!("asked-overflow-{wire}"));
        let mut editor = Editor::start(&folder, settings(wire, &server.url(), window));
        editor.open("s", None);
        let ended = turn(&mut editor, "Make the parser work.");
        assert_eq!(ended["status"], "completed", "{wire}: {ended}");
        assert_eq!(editor.ran, ["c1", "c2", "c3", "c4"], "{wire}: each tool ran once");
        assert_eq!(accepted(&editor), 1, "{wire}");
        let asked = server.asked();
        let summaries = asked.iter().filter(|asked| is_summary(asked)).count();
        assert_eq!((asked.len(), summaries), (6, 1), "{wire}");
        let turns: Vec<String> =
            asked.iter().filter(|asked| !is_summary(asked)).map(|asked| asked.body.to_string()).collect();
        // A summary may be asked for beside the request that is too large.
        let [_, _, refused, _, last] = turns.as_slice() else { panic!("{wire}: {} requests", turns.len()) };
        assert!(last.contains("Make the parser work.") && last.contains("The file of c4"), "{wire}");
        assert!(!last.contains("first answer goes on with line 100"), "{wire}: it was covered");
        assert!(last.len() < refused.len(), "{wire}: it is smaller than what was too large");
        let each = ["c1", "c2", "c3", "c4"]
            .map(|id| format!("{id} {}", editor.ran.iter().filter(|ran| *ran == id).count()))
            .join(" ");
        let error = &too_large(wire)["error"];
        let said = error.as_str().or(error["message"].as_str()).expect("words").to_owned();
        let compactions = accepted(&editor);
        writeln!(table, "{wire} | {said} | {compactions} | {each} | {}", ended["status"]).expect("a line");
    }
    expect![[r#"
        openai-chat | This model's maximum context length is 7000 tokens. However, your messages resulted in 10000 tokens. | 1 | c1 1 c2 1 c3 1 c4 1 | "completed"
        openai-responses | Your input exceeds the context window of this model. | 1 | c1 1 c2 1 c3 1 c4 1 | "completed"
        anthropic | prompt is too long: 10000 tokens > 7000 maximum | 1 | c1 1 c2 1 c3 1 c4 1 | "completed"
        ollama | request (10000 tokens) exceeds the available context size (7000 tokens) | 1 | c1 1 c2 1 c3 1 c4 1 | "completed"
    "#]]
    .assert_eq(&table);
}

/// A thinking block's signature goes back byte for byte, in the same process and the next.
#[test]
fn signature_goes_back_unchanged_across_a_restart() {
    let signature = "EqQB/+Zz==\u{e9} \\\"odd\\\"";
    let thinks = |text: &str| {
        let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
        let mut acts =
            vec![event(&json!({ "type": "message_start", "message": { "usage": { "input_tokens": 9 } } }))];
        acts.push(event(&json!({ "type": "content_block_start", "index": 0, "content_block": block })));
        for delta in [
            json!({ "type": "thinking_delta", "thinking": "Hm, " }),
            json!({ "type": "thinking_delta", "thinking": "a parser." }),
            json!({ "type": "signature_delta", "signature": signature }),
        ] {
            acts.push(event(&json!({ "type": "content_block_delta", "index": 0, "delta": delta })));
        }
        acts.push(event(&json!({ "type": "content_block_stop", "index": 0 })));
        let block = json!({ "type": "text", "text": text });
        acts.push(event(&json!({ "type": "content_block_start", "index": 1, "content_block": block })));
        acts.push(event(&json!({ "type": "content_block_stop", "index": 1 })));
        acts.push(event(&json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } })));
        acts.push(event(&json!({ "type": "message_stop" })));
        Reply::stream(acts)
    };
    let server = Server::replies(vec![thinks("One."), answer("anthropic", "Two.", &[])]);
    let folder = Folder::new("asked-signature");
    for content in ["First.", "Second.", "Third."] {
        let mut editor = Editor::start(&folder, settings("anthropic", &server.url(), 32_000));
        editor.open("s", None);
        assert_eq!(turn(&mut editor, content)["status"], "completed");
        editor.kill();
    }
    let asked = server.asked();
    let block = json!({ "type": "thinking", "thinking": "Hm, a parser.", "signature": signature });
    let back: Vec<Vec<Value>> = asked
        .iter()
        .map(|asked| {
            let messages = asked.body["messages"].as_array().expect("messages").iter();
            let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
            blocks.filter(|block| block["type"] == "thinking").cloned().collect()
        })
        .collect();
    assert_eq!(back, [vec![], vec![block.clone()], vec![block]]);
}
