//! Chat Completions: recorded streams of five providers, and made-up streams for what no recording shows.

use super::{broken_wherever_it_ends, lines, read, recording, same_wherever_it_is_cut};
use engine::endpoint::Wire;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

const WIRE: Wire = Wire::OpenaiChat;

/// Checks that a recording gives these events: whole, cut anywhere, and with padding, comments and pings.
fn gives(name: &str, golden: Expect) {
    let Some(bytes) = recording(name) else { return };
    let heard = same_wherever_it_is_cut(WIRE, &bytes);
    golden.assert_eq(&lines(&heard));
    let text = String::from_utf8(bytes.clone()).unwrap();
    let with_comments = text.replace("data: ", ": ping\r\n\r\nevent: message\nid: 7\nretry: 10\ndata: ");
    assert_eq!(read(WIRE, [with_comments.as_bytes()]), heard, "comments");
    let with_padding = text.replace("}\n\n", " \t}   \r\n\r\n\r\n").replace("data: {", "data:{ \t");
    assert_ne!(with_padding, text);
    assert_eq!(read(WIRE, [with_padding.as_bytes()]), heard, "padding");
    let with_returns = text.replace('\n', "\r");
    assert_eq!(read(WIRE, [with_returns.as_bytes()]), heard, "carriage returns");
    let least = text.find("\"finish_reason\":\"").unwrap();
    broken_wherever_it_ends(WIRE, text.as_bytes(), least);
}

#[test]
fn openai_parallel_calls_and_usage() {
    gives(
        "openai-chat-parallel-tools-usage.sse",
        expect![[r#"
            calls call_REDACTED_1=alpha()
            arguments call_REDACTED_1 {"value": "red"}
            calls call_REDACTED_1=alpha({"value": "red"}) call_REDACTED_2=beta()
            arguments call_REDACTED_2 {"value": "blue"}
            usage {"inputTokens":90,"outputTokens":42,"cachedInputTokens":0,"reasoningTokens":0}
            stop ToolUse
        "#]],
    );
}

#[test]
fn openai_a_call_that_the_limit_cuts_is_not_whole() {
    gives(
        "openai-chat-tool-call-cut.sse",
        expect![[r#"
            calls call_REDACTED_1=file_report()
            arguments call_REDACTED_1 {"summary":"The cache warmer raced the artifact uploader, the retry storm saturated the queue, three regions were drained by
            usage {"inputTokens":101,"outputTokens":32,"cachedInputTokens":0,"reasoningTokens":0}
            stop Length
        "#]],
    );
}

#[test]
fn openrouter_comments_two_ends_and_usage_beside_a_choice() {
    gives(
        "openrouter-cache-usage.sse",
        expect![[r#"
            text "cache probe ready"
            usage {"inputTokens":4597,"outputTokens":4,"cachedInputTokens":4480,"cacheWriteInputTokens":0,"reasoningTokens":0}
            extra {"cost":0.00035595}
            stop End
        "#]],
    );
}

#[test]
fn llama_server_begins_arguments_with_the_name() {
    gives(
        "llamacpp-parallel-tools.sse",
        expect![[r#"
        calls call_REDACTED_1=lookup_harbor_label({)
        arguments call_REDACTED_1 }
        calls call_REDACTED_1=lookup_harbor_label({}) call_REDACTED_2=lookup_orchard_label({)
        arguments call_REDACTED_2 }
        usage {"inputTokens":286,"outputTokens":42,"cachedInputTokens":0}
        stop ToolUse
    "#]],
    );
}

#[test]
fn copilot_begins_with_a_chunk_without_choices() {
    gives(
        "copilot-parallel-tools.sse",
        expect![[r#"
        calls call_REDACTED_1=lookup_harbor_label()
        arguments call_REDACTED_1 {}
        calls call_REDACTED_1=lookup_harbor_label({}) call_REDACTED_2=lookup_orchard_label()
        arguments call_REDACTED_2 {}
        usage {"inputTokens":157,"outputTokens":46,"cachedInputTokens":0}
        stop ToolUse
    "#]],
    );
}

/// A stream of these chunks, followed by `then`.
fn stream(chunks: &[Value], then: &str) -> String {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events + then
}

pub(super) fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub(super) fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub(super) fn heard(chunks: &[Value], then: &str, golden: Expect) {
    let heard = same_wherever_it_is_cut(WIRE, stream(chunks, then).as_bytes());
    golden.assert_eq(&lines(&heard));
}

pub(super) const DONE: &str = "data: [DONE]\n\n";

#[test]
fn thinking_under_each_of_its_names() {
    let chunks = [
        delta(json!({"role": "assistant", "content": "", "reasoning_content": "So"})),
        delta(json!({"reasoning_content": ".", "reasoning": "."})),
        delta(json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": " Well."}]}]})),
        delta(json!({"content": [{"type": "text", "text": "Yes"}], "reasoning_content": null})),
        json!({"choices": [{"index": 0, "delta": {"content": "!"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 4, "prompt_cache_hit_tokens": 16, "prompt_cache_miss_tokens": 4}}),
    ];
    heard(
        &chunks,
        DONE,
        expect![[r#"
        thinking "So. Well."
        text "Yes!"
        usage {"inputTokens":20,"outputTokens":4,"cachedInputTokens":16}
        stop End
    "#]],
    );
}

#[test]
fn thinking_blocks_come_whole_with_their_signature() {
    let text = |text: &str| json!({"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "format": "anthropic-claude-v1", "index": 0}]});
    let chunks = [
        delta(text("Let me ")),
        delta(text("see.")),
        delta(
            json!({"reasoning_details": [{"type": "reasoning.text", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0}]}),
        ),
        delta(
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", "index": 1}]}),
        ),
        delta(json!({"content": "Yes."})),
        finish("stop"),
    ];
    heard(
        &chunks,
        DONE,
        expect![[r#"
        thinking "Let me see."
        blocks [{"type":"reasoning.text","text":"Let me see.","format":"anthropic-claude-v1","index":0,"signature":"c2ln"},{"type":"reasoning.encrypted","data":"ZW5j","id":"rs_1","index":1}]
        text "Yes."
        stop End
    "#]],
    );
    let heard = read(WIRE, [stream(&chunks, DONE).as_bytes()]);
    let parts = super::draft(&heard.deltas).said();
    expect![[r#"
        [
            Reasoning {
                text: "Let me see.",
                signature: Some(
                    "c2ln",
                ),
                block: Some(
                    {
                        "type": String("reasoning.text"),
                        "format": String("anthropic-claude-v1"),
                        "index": Number(0),
                    },
                ),
            },
            Reasoning {
                text: "",
                signature: None,
                block: Some(
                    {
                        "type": String("reasoning.encrypted"),
                        "data": String("ZW5j"),
                        "id": String("rs_1"),
                        "index": Number(1),
                    },
                ),
            },
            Text(
                "Yes.",
            ),
        ]
    "#]]
    .assert_debug_eq(&parts);
}

#[test]
fn calls_without_ids_or_indexes_are_told_apart() {
    let call = |call: Value| delta(json!({"tool_calls": [call]}));
    let no_ids = [
        call(json!({"index": 0, "function": {"name": "read", "arguments": "{\"a\""}})),
        call(json!({"index": 1, "function": {"name": "list"}})),
        call(json!({"index": 0, "function": {"arguments": ":1}"}})),
        finish("stop"),
    ];
    heard(
        &no_ids,
        DONE,
        expect![[r#"
        calls call_0=read({"a")
        calls call_0=read({"a") call_1=list()
        arguments call_0 :1}
        arguments call_1 {}
        stop ToolUse
    "#]],
    );
    let one_index = [
        call(json!({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}})),
        call(json!({"index": 0, "id": "b", "function": {"name": "read", "arguments": {"x": 1}}})),
        call(json!({"index": 0, "function": {"name": "read", "arguments": "{}"}})),
        finish("tool_calls"),
    ];
    heard(
        &one_index,
        DONE,
        expect![[r#"
        calls a=read({})
        calls a=read({}) b=read({"x":1})
        calls a=read({}) b=read({"x":1}) call_2=read({})
        stop ToolUse
    "#]],
    );
    let no_index = [
        call(json!({"id": "a", "function": {"name": "", "arguments": ""}})),
        call(json!({"id": "a", "function": {"name": "read", "arguments": "{"}})),
        call(json!({"function": {"arguments": "}"}})),
        call(json!({"id": "call_1", "index": 7, "function": {"name": "read", "arguments": "{}"}})),
        call(json!({"function": {"name": "list", "arguments": null}})),
        finish("function_call"),
    ];
    heard(
        &no_index,
        DONE,
        expect![[r#"
        calls a=()
        calls a=read({)
        arguments a }
        calls a=read({}) call_1=read({})
        calls a=read({}) call_1=read({}) call_2=list()
        arguments call_2 {}
        stop ToolUse
    "#]],
    );
    let twice = [
        call(json!({"index": 0, "id": "same", "function": {"name": "read", "arguments": "{}"}})),
        call(json!({"index": 1, "id": "same", "function": {"name": "read", "arguments": "{}"}})),
        finish("tool_calls"),
    ];
    heard(
        &twice,
        DONE,
        expect![[r#"
        calls same=read({})
        calls same=read({}) same_1=read({})
        stop ToolUse
    "#]],
    );
    let old = [
        delta(json!({"function_call": {"name": "read", "arguments": "{"}})),
        delta(json!({"function_call": {"arguments": "}"}})),
        finish("function_call"),
    ];
    heard(
        &old,
        DONE,
        expect![[r#"
        calls call_0=read({)
        arguments call_0 }
        stop ToolUse
    "#]],
    );
}

#[test]
fn refusal_is_shown_and_stops_as_refused() {
    let chunks = [delta(json!({"refusal": "I can"})), delta(json!({"refusal": "not."})), finish("stop")];
    heard(
        &chunks,
        DONE,
        expect![[r#"
        text "I cannot."
        stop Refused
    "#]],
    );
    heard(
        &[delta(json!({"content": "Well"})), finish("content_filter")],
        DONE,
        expect![[r#"
        text "Well"
        stop Refused
    "#]],
    );
}

#[test]
fn citations_are_sent_once() {
    let cited = |delta: Value| json!({"citations": ["https://example.org/a"], "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let annotation = json!({"type": "url_citation", "url_citation": {"url": "https://example.org/b"}});
    let chunks = [
        cited(json!({"content": "So"})),
        cited(json!({"content": ".", "annotations": [annotation]})),
        finish("stop"),
    ];
    heard(
        &chunks,
        DONE,
        expect![[r#"
        citation "https://example.org/a"
        text "So."
        citation {"type":"url_citation","url_citation":{"url":"https://example.org/b"}}
        stop End
    "#]],
    );
}
