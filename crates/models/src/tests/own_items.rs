//! What a provider adds to its answers beside text, thinking and calls, and what goes back of that. The streams are made
//! up: no recording has these fields.

use super::answers::{answer, asks, stored, stream, terms, user};
use super::{Heard, draft, read};
use crate::address;
use crate::wire::{Post, post};
use engine::endpoint::options::RequestOptions;
use engine::endpoint::{Endpoint, Wire};
use engine::message::Body;
use engine::prompt::item::ItemPart;
use engine::prompt::request::Request;
use expect_test::expect;
use serde_json::{Value, json};

const MODEL: &str = "gpt-6.1-sol";
const CLAUDE: &str = "claude-opus-5-5";

fn made(wire: Wire, events: &[Value]) -> Heard {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    read(wire, [stream(&events).as_bytes()])
}

/// An answer over Responses of these items, each streamed if it is a message.
fn responses(items: &[Value], is_streamed: bool) -> Heard {
    let mut events = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["content"] = json!([]);
        events.push(json!({ "type": "response.output_item.added", "output_index": at, "item": begun }));
        if let Some(text) = item.pointer("/content/0/text").filter(|_| is_streamed) {
            events.push(json!({ "type": "response.output_text.delta", "output_index": at, "delta": text }));
        }
        events.push(json!({ "type": "response.output_item.done", "output_index": at, "item": item }));
    }
    events.push(json!({ "type": "response.completed", "response": { "status": "completed" } }));
    made(Wire::OpenaiResponses, &events)
}

fn message(text: &str, phase: Value) -> Value {
    let content = json!([{ "type": "output_text", "text": text }]);
    let mut message = json!({ "type": "message", "role": "assistant", "content": content });
    if !phase.is_null() {
        message["phase"] = phase;
    }
    message
}

fn call(id: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "read", "arguments": "{}" })
}

/// The items of an answer in the next request to a model over Responses.
fn back(body: &Body, model: &str) -> Vec<Value> {
    let body = asks(Wire::OpenaiResponses, model, vec![user("a"), answer(body)]);
    body["input"].as_array().unwrap()[1..].to_vec()
}

#[test]
fn messages_go_back_with_their_phase_and_among_their_calls() {
    let items = [
        message("I look.", json!("commentary")),
        call("c1"),
        message("And there.", json!("commentary")),
        call("c2"),
        message("So it is.", json!("final_answer")),
    ];
    for is_streamed in [true, false] {
        let heard = responses(&items, is_streamed);
        let body = stored(&heard, Wire::OpenaiResponses, MODEL);
        assert_eq!(back(&body, MODEL), items, "streamed: {is_streamed}");
        let plain: Vec<Value> = items.iter().cloned().map(without_phase).collect();
        assert_eq!(back(&body, "gpt-5.4"), plain, "another model gets the words");
        for wire in [Wire::OpenaiChat, Wire::Anthropic, Wire::Gemini, Wire::Ollama] {
            let body = asks(wire, "m", vec![user("a"), answer(&body)]).to_string();
            assert!(body.contains("So it is.") && !body.contains("commentary"), "{wire:?}: {body}");
        }
    }
}

fn without_phase(mut item: Value) -> Value {
    item.as_object_mut().unwrap().shift_remove("phase");
    item
}

#[test]
fn messages_without_a_phase_leave_no_note() {
    let heard = responses(&[message("I look.", Value::Null), call("c1")], true);
    let parts = draft(&heard.deltas).parts;
    assert_eq!(parts.len(), 1, "{parts:?}");
    let nothing = responses(&[message("", json!("commentary")), message("So.", json!("final_answer"))], true);
    let body = stored(&nothing, Wire::OpenaiResponses, MODEL);
    assert_eq!(back(&body, MODEL), [message("So.", json!("final_answer"))]);
}

#[test]
fn blocks_of_later_versions_go_back_to_the_model_that_made_them() {
    let block = json!({ "type": "plan", "id": "pl_1", "steps": ["a"] });
    let heard = responses(&[block.clone(), message("So.", Value::Null)], true);
    let body = stored(&heard, Wire::OpenaiResponses, MODEL);
    assert_eq!(back(&body, MODEL)[0], block);
    assert_eq!(back(&body, "gpt-5.4").len(), 1);

    let begun = json!({ "type": "content_block_start", "index": 0, "content_block": block });
    let heard = claude(&[begun, json!({ "type": "content_block_stop", "index": 0 })], json!({}));
    let body = stored(&heard, Wire::Anthropic, CLAUDE);
    let sent = |model: &str| asks(Wire::Anthropic, model, vec![user("a"), answer(&body)]).to_string();
    assert!(sent(CLAUDE).contains(&block.to_string()), "{}", sent(CLAUDE));
    assert!(!sent("claude-opus-5").contains("\"plan\""));
    // Without a stamp nobody knows whose it is.
    let foreign = Body::Assistant { parts: Vec::new(), calls: Vec::new(), beside: Default::default() };
    let mut item = answer(&foreign);
    item.parts = vec![ItemPart::Raw(block.into()), ItemPart::text("So.")];
    for (wire, model) in [(Wire::Anthropic, CLAUDE), (Wire::OpenaiResponses, MODEL)] {
        assert!(!asks(wire, model, vec![user("a"), item.clone()]).to_string().contains("\"plan\""));
    }
}

/// An answer of Claude with these events of its content and this message at its start.
fn claude(content: &[Value], message: Value) -> Heard {
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    events.extend_from_slice(content);
    events.push(json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } }));
    events.push(json!({ "type": "message_stop" }));
    made(Wire::Anthropic, &events)
}

#[test]
fn fallback_is_told_and_keeps_its_position() {
    let block =
        json!({ "type": "fallback", "from": { "model": CLAUDE }, "to": { "model": "claude-opus-5" } });
    let content = [
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "So." } }),
    ];
    let heard = claude(&content, json!({}));
    let told = draft(&heard.deltas).beside.extra;
    assert_eq!(told["fallback"], json!({ "from": block["from"], "to": block["to"] }));
    let body = stored(&heard, Wire::Anthropic, CLAUDE);
    let items = vec![user("a"), answer(&body), user("b")];
    let back = asks(Wire::Anthropic, CLAUDE, items.clone());
    assert_eq!(back["messages"][1]["content"], json!([block, { "type": "text", "text": "So." }]));
    assert_eq!(betas(&posted(CLAUDE, json!({}), items)), ["server-side-fallback-2026-07-01", BINDING]);
}

#[test]
fn encrypted_compaction_is_told_and_goes_back_to_its_wire_alone() {
    let block = json!({ "type": "compaction", "content": null, "encrypted_content": "ZW5j" });
    let content = [
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "text", "text": "So." } }),
    ];
    let heard = claude(&content, json!({}));
    assert_eq!(draft(&heard.deltas).beside.extra["serverCompaction"], json!({}));
    let body = stored(&heard, Wire::Anthropic, CLAUDE);
    let items = vec![user("a"), answer(&body), user("b")];
    let back = asks(Wire::Anthropic, CLAUDE, items.clone());
    assert_eq!(back["messages"][1]["content"][0], block);
    assert!(!asks(Wire::OpenaiResponses, MODEL, items).to_string().contains("ZW5j"));

    let failed = json!({ "type": "compaction", "content": null });
    let begun = json!({ "type": "content_block_start", "index": 0, "content_block": failed });
    let heard = claude(&[begun, json!({ "type": "content_block_stop", "index": 0 })], json!({}));
    assert!(!draft(&heard.deltas).beside.extra.contains_key("serverCompaction"), "it failed");

    let item = json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "Y21w" });
    let heard = responses(&[item, message("So.", Value::Null)], true);
    assert_eq!(draft(&heard.deltas).beside.extra["serverCompaction"], json!({}));
}

#[test]
fn changes_that_a_provider_made_to_the_prompt_are_told() {
    let changes = json!([{ "type": "thinking_dropped", "reason": "prefix_mismatch" }]);
    let heard = claude(&[], json!({ "input_transformations": changes }));
    assert_eq!(draft(&heard.deltas).beside.extra["inputTransformations"], changes);
    let response = json!({ "status": "completed", "input_transformations": changes });
    let heard = made(Wire::OpenaiResponses, &[json!({ "type": "response.completed", "response": response })]);
    assert_eq!(draft(&heard.deltas).beside.extra["inputTransformations"], changes);
    assert!(draft(&claude(&[], json!({ "input_transformations": [] })).deltas).beside.extra.is_empty());
}

const BINDING: &str = "thinking-binding-controls-2026-08-01";

fn posted(model: &str, options: Value, items: Vec<engine::prompt::item::Item>) -> Post {
    posted_at(None, model, options, items)
}

fn posted_at(url: Option<&str>, model: &str, options: Value, items: Vec<engine::prompt::item::Item>) -> Post {
    let options: RequestOptions = serde_json::from_value(options).unwrap();
    let given = Endpoint { options, base_url: url.map(str::to_owned), ..Endpoint::of(Wire::Anthropic) };
    let request = Request { items, ..Request::default() };
    post(&address::endpoint(given).unwrap(), &request, &terms(model)).unwrap()
}

fn betas(post: &Post) -> Vec<&str> {
    let betas = post.headers.iter().filter(|(name, _)| *name == "anthropic-beta");
    betas.map(|(_, beta)| *beta).collect()
}

#[test]
fn features_of_a_request_are_named_in_its_header() {
    let of = |model: &str, options: Value| {
        let post = posted(model, options.clone(), vec![user("a")]);
        let fields = ["fallbacks", "context_management", "thinking"].iter();
        let fields: Vec<_> = fields.filter_map(|field| Some(post.body.get(field)?.to_string())).collect();
        format!("{model} {options}\n  {}\n  {}\n", betas(&post).join(", "), fields.join(" "))
    };
    let kept = json!({ "extraBody": { "thinking": { "block_binding": null } } });
    expect![[r#"
        claude-opus-5 {}
          
          
        claude-opus-5 {"fallbacks":"default","providerCompaction":100000}
          server-side-fallback-2026-07-01, compact-2026-01-12
          "default" {"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":100000}}]}
        claude-opus-5 {"fallbacks":["claude-opus-4-8"]}
          server-side-fallback-2026-07-01
          [{"model":"claude-opus-4-8"}]
        claude-opus-5-5 {}
          thinking-binding-controls-2026-08-01
          {"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
        claude-opus-5-5 {"extraBody":{"thinking":{"block_binding":null}}}
          
          {"type":"adaptive","display":"summarized"}
        claude-fable-5-2 {}
          thinking-binding-controls-2026-08-01
          {"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
        claude-sonnet-5-5 {}
          
          
        claude-sonnet-5-5 {"thinking":"adaptive"}
          thinking-binding-controls-2026-08-01
          {"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
    "#]]
    .assert_eq(
        &[
            of("claude-opus-5", json!({})),
            of("claude-opus-5", json!({ "fallbacks": "default", "providerCompaction": 100_000 })),
            of("claude-opus-5", json!({ "fallbacks": ["claude-opus-4-8"] })),
            of(CLAUDE, json!({})),
            of(CLAUDE, kept),
            of("claude-fable-5-2", json!({})),
            of("claude-sonnet-5-5", json!({})),
            of("claude-sonnet-5-5", json!({ "thinking": "adaptive" })),
        ]
        .concat(),
    );
}

/// A summary or a title needs the whole prompt.
#[test]
fn provider_compacts_for_turns_alone() {
    let options: RequestOptions = serde_json::from_value(json!({ "providerCompaction": 60_000 })).unwrap();
    for (wire, model) in [(Wire::Anthropic, "claude-opus-5"), (Wire::OpenaiResponses, MODEL)] {
        let endpoint = Endpoint { options: options.clone(), ..Endpoint::of(wire) };
        let turn = Request { items: vec![user("a")], ..Request::default() };
        let title = Request { temperature_zero: true, ..turn.clone() };
        let managed = |request: &Request| {
            post(&endpoint, request, &terms(model)).unwrap().body["context_management"].clone()
        };
        assert!(managed(&turn).to_string().contains("60000"), "{wire:?}");
        assert_eq!(managed(&title), Value::Null, "{wire:?}");
    }
}

#[test]
fn vertex_has_the_model_of_claude_in_the_path() {
    let url = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic";
    let options = json!({ "query": { "a": "b" } });
    let post = posted_at(Some(url), "claude-opus-5-5@20261001", options, vec![user("a")]);
    assert_eq!(post.path, "/models/claude-opus-5-5@20261001:streamRawPredict?a=b");
    assert_eq!((post.body.get("model"), &post.body["stream"]), (None, &json!(true)));
    assert_eq!(post.body["anthropic_version"], "vertex-2023-10-16");
    assert_eq!(post.headers, [("anthropic-beta", BINDING)]);
    assert!(posted("a/b", json!({}), vec![user("a")]).body["model"] == "a/b");
}
