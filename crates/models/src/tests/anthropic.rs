//! Anthropic's Messages: recorded streams, made-up streams for what no recording shows, and bodies.

use super::answers::{
    Terms, answer, asks, events, everything, gives, posted, result, stored, stream, terms, thinking, user,
    value,
};
use super::{Heard, draft, lines, read, recording};
use engine::endpoint::Wire;
use engine::message::Usage;
use engine::prompt::item::{Item, ItemPart, Role};
use engine::prompt::request::{Failure, Overflow, Request, StopReason, ToolChoice};
use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};
use std::sync::Arc;

const WIRE: Wire = Wire::Anthropic;
const MODEL: &str = "claude-sonnet-4-6";

fn recorded(name: &str, golden: Expect) -> Option<(Vec<String>, Heard)> {
    let events = events(name)?;
    let heard = gives(WIRE, &events, &golden);
    if name.ends_with(".sse") {
        assert_eq!(read(WIRE, [&*recording(name)?]), heard, "as it was recorded");
    }
    Some((events, heard))
}

/// The content of assistant messages in a body, without calls.
fn back(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap().iter();
    let answers = messages.filter(|message| message["role"] == "assistant");
    let blocks = answers.flat_map(|message| message["content"].as_array().unwrap());
    blocks.filter(|block| block["type"] != "tool_use").cloned().collect()
}

#[test]
fn text_and_parallel_calls() {
    recorded(
        "anthropic-parallel-tool-use.sse",
        expect![[r#"
        usage {"inputTokens":1001,"outputTokens":2,"cachedInputTokens":0,"cacheWriteInputTokens":0}
        text "I'll solve t"…"ously first." 142 bytes d7937e77c6cb
        calls toolu_REDACTED_1=subtract()
        arguments toolu_REDACTED_1 {"x": 10, "y": 4}
        calls toolu_REDACTED_1=subtract({"x": 10, "y": 4}) toolu_REDACTED_2=add()
        arguments toolu_REDACTED_2 {"x": 3, "y": 5}
        usage {"inputTokens":1001,"outputTokens":161,"cachedInputTokens":0,"cacheWriteInputTokens":0}
        stop ToolUse
    "#]],
    );
}

#[test]
fn a_call_without_arguments_has_empty_ones() {
    let Some((_, heard)) = recorded(
        "anthropic-zero-arg-tool.sse",
        expect![[r#"
        usage {"inputTokens":575,"outputTokens":35,"cachedInputTokens":0,"cacheWriteInputTokens":0}
        calls toolu_REDACTED_1=ping()
        arguments toolu_REDACTED_1 {}
        usage {"inputTokens":575,"outputTokens":35,"cachedInputTokens":0,"cacheWriteInputTokens":0}
        stop ToolUse
    "#]],
    ) else {
        return;
    };
    assert_eq!(&*draft(&heard.deltas).asked()[0].arguments, "{}");
}

/// Input tokens are those of the whole prompt, cached or not.
#[test]
fn cached_tokens_are_part_of_the_input() {
    let used = |name: &str, golden: Expect| {
        let (_, heard) = recorded(name, golden)?;
        draft(&heard.deltas).beside.usage
    };
    let Some(written) = used(
        "anthropic-cache-write-mixed-ttl.sse",
        expect![[r#"
        usage {"inputTokens":9702,"outputTokens":1,"cachedInputTokens":0,"cacheWriteInputTokens":9699}
        text "stream cache probe ready"
        usage {"inputTokens":9702,"outputTokens":7,"cachedInputTokens":0,"cacheWriteInputTokens":9699}
        stop End
    "#]],
    ) else {
        return;
    };
    assert_eq!((written.input_tokens, written.cache_write_input_tokens), (Some(9702), Some(9699)));
    assert_eq!(written.cached_input_tokens, Some(0));
    let read = used(
        "anthropic-cache-read.sse",
        expect![[r#"
        usage {"inputTokens":5346,"outputTokens":1,"cachedInputTokens":5343,"cacheWriteInputTokens":0}
        text "cache probe ready"
        usage {"inputTokens":5346,"outputTokens":6,"cachedInputTokens":5343,"cacheWriteInputTokens":0}
        stop End
    "#]],
    )
    .unwrap();
    assert_eq!((read.input_tokens, read.cached_input_tokens), (Some(5346), Some(5343)));
    assert_eq!(read.cache_write_input_tokens, Some(0));
}

/// The stored signature, and the one sent back, equals the received one byte for byte.
#[test]
fn signed_thinking_goes_back_unchanged_or_not_at_all() {
    let Some((events, heard)) = recorded(
        "anthropic-thinking-signature.sse",
        expect![[r#"
            usage {"inputTokens":43,"outputTokens":1,"cachedInputTokens":0,"cacheWriteInputTokens":0}
            blocks [{"type":"thinking","thinking":"","signature":"","index":0}]
            thinking "This is a st"…"t accidents." 202 bytes 18c2c6e0236d
            blocks [{"type":"thinking","index":0,"signature":"\"EvMCCkYICxgC\"…\"P/UhjfQYAQ==\" 504 bytes e2385f7486c5"}]
            text "Here are the"…"ing streets." 1021 bytes 1b0c432c3a48
            usage {"inputTokens":43,"outputTokens":282,"cachedInputTokens":0,"cacheWriteInputTokens":0}
            stop End
        "#]],
    ) else {
        return;
    };
    let of = |kind: &str| {
        let deltas = events.iter().map(|event| value(event)["delta"].clone());
        let pieces = deltas.filter_map(|delta| delta[kind].as_str().map(str::to_owned));
        pieces.collect::<String>()
    };
    let sent = json!({"type": "thinking", "thinking": of("thinking"), "signature": of("signature")});
    let item = answer(&stored(&heard, WIRE, MODEL));
    let talk = |item: &Item| vec![user("a"), item.clone(), user("b")];
    let own = asks(WIRE, MODEL, talk(&item));
    assert_eq!(back(&own)[0], sent);
    assert!(!own.to_string().contains("madeBy"));
    let mut without = own.clone();
    without["messages"][1]["content"].as_array_mut().unwrap().remove(0);
    without["model"] = json!("claude-opus-4-1");
    assert_eq!(asks(WIRE, "claude-opus-4-1", talk(&item)), without, "thinking of another model is dropped");
    for wire in [Wire::OpenaiResponses, Wire::OpenaiChat, Wire::Ollama] {
        assert!(!asks(wire, MODEL, talk(&item)).to_string().contains(&of("signature")), "{wire:?}");
    }
}

#[test]
fn redacted_thinking_goes_back_as_it_came() {
    let Some((events, heard)) = recorded(
        "anthropic-redacted-thinking.sse",
        expect![[r#"
            usage {"inputTokens":92,"outputTokens":88,"cachedInputTokens":0,"cacheWriteInputTokens":0}
            blocks [{"type":"redacted_thinking","data":"\"EqkECkYIBxgC\"…\"vnBd4ewJ/hgB\" 744 bytes a5fcad0dab0d","index":0}]
            blocks [{"type":"redacted_thinking","data":"\"EtgBCkYIBxgC\"…\"yRYdZ1J0GAE=\" 296 bytes f2ba85446010","index":1}]
            text "I notice tha"…"or question?" 359 bytes 33e0d169251b
            usage {"inputTokens":92,"outputTokens":189,"cachedInputTokens":0,"cacheWriteInputTokens":0}
            stop End
        "#]],
    ) else {
        return;
    };
    let blocks = events.iter().map(|event| value(event)["content_block"].clone());
    let sent: Vec<Value> = blocks.filter(|block| block["type"] == "redacted_thinking").collect();
    let body = asks(WIRE, MODEL, vec![user("a"), answer(&stored(&heard, WIRE, MODEL)), user("b")]);
    assert_eq!(sent.len(), 2);
    assert_eq!(back(&body)[..2], sent);
    assert_eq!(back(&body).len(), 3);
}

#[test]
fn provider_compaction_goes_back_beside_its_summary() {
    let Some((events, heard)) = recorded(
        "anthropic-compaction.events.jsonl",
        expect![[r###"
            usage {"inputTokens":60385,"outputTokens":5,"cachedInputTokens":0,"cacheWriteInputTokens":0}
            block {"type":"compaction","content":"\"## Summary o\"…\" the series.\" 2192 bytes 7264dae352fe"}
            extra {"serverCompaction":{"summary":"\"## Summary o\"…\" the series.\" 2192 bytes 7264dae352fe"}}
            text "Based on the"…"her section?" 8581 bytes 684d36d33414
            extra {"modelRuns":2}
            usage {"inputTokens":60385,"outputTokens":3341,"cachedInputTokens":0,"cacheWriteInputTokens":0}
            stop End
        "###]],
    ) else {
        return;
    };
    let deltas = events.iter().map(|event| value(event)["delta"].clone());
    let summary: String = deltas
        .filter(|delta| delta["type"] == "compaction_delta")
        .map(|delta| delta["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(summary.len() > 1000);
    let body = asks(WIRE, MODEL, vec![user("a"), answer(&stored(&heard, WIRE, MODEL)), user("b")]);
    assert_eq!(back(&body)[0], json!({"type": "compaction", "content": summary}));
    let other = asks(WIRE, "claude-opus-4-6", vec![user("a"), answer(&stored(&heard, WIRE, MODEL))]);
    assert_eq!(back(&other)[0]["type"], "text", "to another model what was said goes");
    let beside = draft(&heard.deltas).beside;
    assert_eq!(beside.extra["serverCompaction"]["summary"], summary.as_str());
    let used = Usage { input_tokens: Some(60_385), output_tokens: Some(522 + 2819), ..Usage::default() };
    assert_eq!(beside.usage.unwrap().input_tokens, used.input_tokens, "the prompt that was sent");
    assert_eq!(beside.usage.unwrap().output_tokens, used.output_tokens, "the sum of both");
}

/// Parses a stream of these events.
fn made(events: &[Value]) -> Heard {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    read(WIRE, [stream(&events).as_bytes()])
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}})
}

fn block(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn piece(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn whole(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ends(stop: Value) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

#[test]
fn every_reason_to_stop_has_its_meaning() {
    let stops = |reason: Value| {
        let [a, b] = ends(reason);
        let heard = made(&[start(), a, b]);
        (heard.end.unwrap().stop, serde_json::to_string(&draft(&heard.deltas).beside.extra).unwrap())
    };
    for (reason, stop, extra) in [
        ("end_turn", StopReason::End, "{}"),
        ("tool_use", StopReason::ToolUse, "{}"),
        ("max_tokens", StopReason::Length, "{}"),
        ("refusal", StopReason::Refused, "{}"),
        ("stop_sequence", StopReason::End, r#"{"stopReason":"stop_sequence"}"#),
        ("pause_turn", StopReason::Paused, r#"{"stopReason":"pause_turn"}"#),
        (
            "model_context_window_exceeded",
            StopReason::Length,
            r#"{"stopReason":"model_context_window_exceeded"}"#,
        ),
        ("of_a_later_version", StopReason::End, r#"{"stopReason":"of_a_later_version"}"#),
    ] {
        assert_eq!(stops(json!(reason)), (stop, extra.to_owned()), "{reason}");
    }
    assert_eq!(stops(Value::Null).0, StopReason::End);
}

#[test]
fn blocks_of_the_provider_citations_and_strange_calls() {
    let [a, b] = ends(json!("tool_use"));
    let heard = made(&[
        start(),
        block(0, json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        piece(0, json!({"type": "input_json_delta", "partial_json": "{\"query\":"})),
        piece(0, json!({"type": "input_json_delta", "partial_json": "\"a\"}"})),
        whole(0),
        block(
            1,
            json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]}),
        ),
        whole(1),
        block(2, json!({"type": "text", "text": "So", "citations": []})),
        piece(2, json!({"type": "text_delta", "text": " it is."})),
        piece(2, json!({"type": "citations_delta", "citation": {"cited_text": "it"}})),
        piece(2, json!({"type": "of_a_later_version", "x": 1})),
        whole(2),
        block(3, json!({"type": "tool_use", "id": "t", "name": "read", "input": {"path": "whole"}})),
        whole(3),
        block(4, json!({"type": "tool_use", "id": "t", "name": "read", "input": {}})),
        piece(4, json!({"type": "input_json_delta", "partial_json": "{\"path\":\"same id\"}"})),
        block(5, json!({"type": "thinking", "thinking": "", "signature": ""})),
        piece(5, json!({"type": "signature_delta", "signature": "c2ln"})),
        whole(5),
        a,
        b,
    ]);
    expect![[r#"
        usage {"inputTokens":7,"outputTokens":1}
        block {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"a"}}
        block {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"url":"u"}]}
        text "So it is."
        citation {"cited_text":"it"}
        calls t=read({"path":"whole"})
        calls t=read({"path":"whole"}) t_1=read()
        arguments t_1 {"path":"same id"}
        blocks [{"type":"thinking","thinking":"","signature":"","index":5}]
        blocks [{"type":"thinking","index":5,"signature":"c2ln"}]
        usage {"inputTokens":7,"outputTokens":9}
        stop ToolUse
    "#]]
    .assert_eq(&lines(&heard));
    let draft = draft(&heard.deltas);
    let said = draft.said();
    let body = asks(
        WIRE,
        MODEL,
        vec![
            user("a"),
            Item { parts: said.iter().map(ItemPart::from).collect(), ..Item::made(Role::Assistant, "", 1) },
            user("b"),
        ],
    );
    assert_eq!(
        back(&body).last().unwrap(),
        &json!({"type": "thinking", "thinking": "", "signature": "c2ln"}),
        "thinking that is not shown"
    );
}

#[test]
fn stream_errors_and_garbage_have_their_class() {
    let error = |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"});
    let class = |event: Value| made(&[start(), event]).end.unwrap_err();
    assert_eq!(class(error("overloaded_error", "Overloaded")).class(), "overloaded");
    assert_eq!(
        class(error("rate_limit_error", "This request would exceed your rate limit")).class(),
        "rateLimited"
    );
    assert_eq!(class(error("authentication_error", "invalid x-api-key")).class(), "auth");
    let large = class(error("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"));
    assert_eq!(
        Failure::from(large).overflow,
        Some(Overflow { limit: Some(200_000), needed: Some(208_310), ..Overflow::default() })
    );
    let broken = [
        "data: {\"type\": \"content_block_delta\"}\n\n",
        "data: {\"type\": \"content_block_start\", \"index\": 0}\n\n",
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n",
        "data: <html>\n\n",
    ];
    for text in broken {
        assert_eq!(read(WIRE, [text.as_bytes()]).end.unwrap_err().class(), "corruptStream", "{text}");
    }
    for text in ["", "data: [DONE]\n\n", "data: {\"type\":\"ping\"}\n\n"] {
        assert_eq!(read(WIRE, [text.as_bytes()]).end.unwrap_err().class(), "network", "{text}");
    }
}

#[test]
fn a_prompt_with_everything_in_it() {
    let post = posted(WIRE, &everything(), &terms(MODEL));
    let headers = [("anthropic-version", "2023-06-01"), ("anthropic-beta", "compact-2026-01-12")];
    assert_eq!((&*post.path, &*post.headers), ("/messages", &headers[..]));
    expect_file!["../../../../fixtures/models/anthropic-body.json"].assert_eq(&format!("{:#}\n", post.body));
    let blind = posted(WIRE, &everything(), &Terms { images: false, ..terms(MODEL) });
    assert!(!blind.body.to_string().contains("\"image\""));
}

#[test]
fn request_parameters_are_in_the_body() {
    let beside = |request: &Request, terms: &Terms| {
        let mut body = posted(WIRE, request, terms).body;
        let marks = body.to_string().matches("cache_control").count();
        for long in ["messages", "system", "tools"] {
            if let Some(list) = body.get_mut(long) {
                *list = json!(list.as_array().unwrap().len());
            }
        }
        (serde_json::to_string(&body).unwrap(), marks)
    };
    let summary = Request {
        tool_choice: ToolChoice::None,
        temperature_zero: true,
        max_output: Some(100),
        cache_breakpoints: Vec::new(),
        ..everything()
    };
    let marked = |places: &[usize]| {
        beside(&Request { cache_breakpoints: places.to_vec(), ..everything() }, &terms(MODEL)).1
    };
    let nobody = Terms { max_output: None, ..terms("claude-opus-4-7") };
    let cannot = Terms { tool_choice_none: false, ..terms(MODEL) };
    expect![[r#"
        {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"tools":2,"system":1,"messages":5}
        {"model":"claude-sonnet-4-6","max_tokens":100,"stream":true,"temperature":0,"tools":2,"tool_choice":{"type":"none"},"system":1,"messages":5}
        {"model":"claude-opus-4-7","max_tokens":8192,"stream":true,"tools":2,"tool_choice":{"type":"none"},"system":1,"messages":5}
        {"model":"claude-sonnet-4-6","max_tokens":100,"stream":true,"temperature":0,"system":1,"messages":5}
    "#]].assert_eq(&format!(
        "{}\n{}\n{}\n{}\n",
        beside(&everything(), &terms(MODEL)).0,
        beside(&summary, &terms(MODEL)).0,
        beside(&Request { max_output: None, ..summary.clone() }, &nobody).0,
        beside(&summary, &cannot).0,
    ));
    assert_eq!(beside(&summary, &terms(MODEL)).1, 0, "no place is asked for");
    assert_eq!(
        [marked(&[0]), marked(&[0, 4, 7]), marked(&[0, 1, 4, 7]), marked(&[0, 1, 2, 3, 4, 5, 6, 7])],
        [2, 4, 4, 4],
        "beside those asked for, the end of the request before"
    );
}

/// Neighbours of one role share a message, the user begins and ends, and empty text is left out.
#[test]
fn roles_alternate_and_no_text_is_empty() {
    let said = |text: &str| Item::made(Role::Assistant, text, 1);
    let talk = |items: Vec<Item>| {
        let body = asks(WIRE, MODEL, items);
        let messages = body["messages"].as_array().unwrap().iter();
        let shown = messages.map(|message| {
            let blocks = message["content"].as_array().unwrap().iter();
            let blocks = blocks.map(|block| block["text"].as_str().or(block["type"].as_str()).unwrap());
            format!("{}: {}", message["role"].as_str().unwrap(), blocks.collect::<Vec<_>>().join(" | "))
        });
        shown.collect::<Vec<_>>().join("\n")
    };
    let foreign = Item { parts: vec![thinking("a", None, None)], ..said("") };
    expect![[r#"
        user: [what was said before is not shown]
        assistant: I begin
        user: a | b | tool_result | d | e
        assistant: f | g
        user: Continue."#]]
    .assert_eq(&talk(vec![
        said("I begin"),
        user("a"),
        user("b"),
        result("toolu_x", vec![ItemPart::text("c")]),
        user("d"),
        foreign.clone(),
        user("e"),
        said("f"),
        said(" "),
        said("g"),
    ]));
    expect!["user: Continue."].assert_eq(&talk(vec![Item::made(Role::System, "s", 1), foreign]));
}

/// The provider runs its own tool and goes on, which words of a user after it would prevent.
#[test]
fn paused_answer_goes_back_as_it_ended() {
    let paused = |last: ItemPart| {
        let parts = vec![ItemPart::text("I look."), last];
        let body = asks(WIRE, MODEL, vec![user("a"), Item { parts, ..Item::made(Role::Assistant, "", 1) }]);
        let messages = body["messages"].as_array().unwrap();
        (messages.len(), messages.last().unwrap().clone())
    };
    let call =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "a"}});
    let (many, last) = paused(ItemPart::Raw(Arc::new(call.clone())));
    assert_eq!((many, &last["content"][1]), (2, &call));
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let (many, last) = paused(ItemPart::Raw(Arc::new(result)));
    assert_eq!(
        (many, last),
        (3, json!({"role": "user", "content": [{"type": "text", "text": "Continue."}]}))
    );
}
