//! OpenAI's Responses: recorded streams, made-up streams for what no recording shows, and bodies.

use super::answers::{
    Terms, answer, asks, events, everything, gives, posted, stored, stream, terms, user, value,
};
use super::{Heard, lines, read, recording};
use crate::ModelError;
use engine::endpoint::Wire;
use engine::prompt::request::{Overflow, Request, StopReason, ToolChoice};
use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};

const WIRE: Wire = Wire::OpenaiResponses;
const MODEL: &str = "gpt-5.6-sol";

fn recorded(name: &str, golden: Expect) -> Option<(Vec<String>, Heard)> {
    let events = events(name)?;
    let heard = gives(WIRE, &events, &golden);
    if name.ends_with(".sse") {
        assert_eq!(read(WIRE, [&*recording(name)?]), heard, "as it was recorded");
    }
    Some((events, heard))
}

#[test]
fn parallel_calls() {
    recorded(
        "openai-responses-parallel-tools.sse",
        expect![[r#"
        calls call_REDACTED_1=lookup_harbor_label()
        arguments call_REDACTED_1 {}
        calls call_REDACTED_1=lookup_harbor_label({}) call_REDACTED_2=lookup_orchard_label()
        arguments call_REDACTED_2 {}
        usage {"inputTokens":155,"outputTokens":46,"cachedInputTokens":0,"reasoningTokens":0}
        stop ToolUse
    "#]],
    );
}

/// The arguments stay incomplete, so that the session does not run the call.
#[test]
fn a_call_that_the_limit_cuts_is_not_whole() {
    let Some((_, heard)) = recorded(
        "openai-responses-incomplete.sse",
        expect![[r#"
        calls call_REDACTED_1=add()
        arguments call_REDACTED_1 {"x":48151
        usage {"inputTokens":83,"outputTokens":16,"cachedInputTokens":0,"cacheWriteInputTokens":0,"reasoningTokens":0}
        stop Length
    "#]],
    ) else {
        return;
    };
    assert_eq!(heard.end.unwrap().stop, StopReason::Length);
}

#[test]
fn an_error_and_a_failure_are_one_error() {
    let golden = expect![[r#"
        error quota: the model's account has no quota left: You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.
    "#]];
    let Some((events, _)) = recorded("openai-responses-error-then-failed.events.jsonl", golden) else {
        return;
    };
    for event in ["error", "response.failed"] {
        let one: Vec<String> = events.iter().filter(|said| value(said)["type"] == event).cloned().collect();
        assert_eq!(read(WIRE, [stream(&one).as_bytes()]).end.unwrap_err().class(), "quota", "{event}");
    }
}

#[test]
fn overflow_and_rate_errors_are_read_within_a_stream() {
    let golden = expect![[r#"
        error contextOverflow: the request is larger than the model's window
    "#]];
    let Some((_, heard)) = recorded("openai-responses-context-overflow.sse", golden) else { return };
    let ModelError::ContextOverflow { overflow, status, reason } = heard.end.unwrap_err() else {
        panic!("an overflow")
    };
    assert_eq!((overflow, status), (Overflow::default(), None));
    assert!(reason.starts_with("Your input exceeds the context window"), "{reason}");
    let (_, heard) = recorded("openai-responses-rate-limit.sse", expect![[r#"
        error rateLimited: the model's rate limit is reached: Rate limit reached for gpt-5.1 in organization org-AAA on tokens per min (TPM): Limit 30000, Used 22999, Requested 12528. Please try again in 11.054s. Visit https://platform.openai.com/account/rate-limits to learn more.
    "#]]).unwrap();
    assert_eq!(heard.end.unwrap_err().retry_after_ms(), Some(11_054));
}

/// The events of each answer in a recording.
pub(super) fn answers(name: &str) -> Option<Vec<Vec<String>>> {
    let mut answers: Vec<Vec<String>> = Vec::new();
    for event in events(name)? {
        if value(&event)["type"] == "response.created" {
            answers.push(Vec::new());
        }
        answers.last_mut().expect("it begins with one").push(event);
    }
    Some(answers)
}

/// Encrypted thinking goes back before its call, and only to its own model.
#[test]
fn encrypted_thinking_goes_back_unchanged_or_not_at_all() {
    let Some(answers) = answers("openai-responses-encrypted-reasoning.events.jsonl") else { return };
    let goldens = [
        expect![[r#"
            blocks [{"id":"rs_01830d662ab3856501693c321405c88190be3ab04d5782d5f9","type":"reasoning","index":0}]
            thinking "**Calculatin"…"nal product." 163 bytes e8c4cd892aec
            blocks [{"id":"rs_01830d662ab3856501693c321405c88190be3ab04d5782d5f9","type":"reasoning","encrypted_content":"\"gAAAAABpPDIV\"…\"Nxat0wz4uQ==\" 1060 bytes b82eda9fcb40","summary":[{"type":"summary_text","text":"\"**Calculatin\"…\"nal product.\" 163 bytes e8c4cd892aec"}],"index":0}]
            calls call_AB6AaRZ1FYZB2RwS6A5vbdqn=calculator()
            arguments call_AB6AaRZ1FYZB2RwS6A5vbdqn {"a":12,"b":7,"op":"add"}
            usage {"inputTokens":134,"outputTokens":28,"cachedInputTokens":0,"reasoningTokens":0}
            stop ToolUse
        "#]],
        expect![[r#"
        calls call_Q6pW65MUgW9vF59BmItYGos3=calculator()
        arguments call_Q6pW65MUgW9vF59BmItYGos3 {"a":19,"b":3,"op":"multiply"}
        usage {"inputTokens":221,"outputTokens":26,"cachedInputTokens":0,"reasoningTokens":0}
        stop ToolUse
    "#]],
        expect![[r#"
        calls call_Zl5vIMnD7dVAjgU6FkhmiCZh=calculator()
        arguments call_Zl5vIMnD7dVAjgU6FkhmiCZh {"a":57,"b":10,"op":"multiply"}
        usage {"inputTokens":260,"outputTokens":26,"cachedInputTokens":0,"reasoningTokens":0}
        stop ToolUse
    "#]],
        expect![[r#"
        text "The final result is **570**."
        usage {"inputTokens":299,"outputTokens":12,"cachedInputTokens":0,"reasoningTokens":0}
        stop End
    "#]],
    ];
    assert_eq!(answers.len(), goldens.len());
    let heard: Vec<Heard> =
        answers.iter().zip(&goldens).map(|(events, golden)| gives(WIRE, events, golden)).collect();

    let done = answers[0].iter().map(|event| value(event));
    let done = done.filter(|event| event["type"] == "response.output_item.done");
    let sent: Vec<Value> = done.map(|event| event["item"].clone()).collect();
    let item = answer(&stored(&heard[0], WIRE, MODEL));
    let talk = || vec![user("a"), item.clone(), user("b")];
    let own = asks(WIRE, MODEL, talk());
    let input = own["input"].as_array().unwrap();
    assert!(sent[0]["encrypted_content"].as_str().unwrap().len() > 1000);
    assert_eq!(input[1], sent[0], "the thinking");
    for same in ["call_id", "name", "arguments"] {
        assert_eq!(input[2][same], sent[1][same], "the call that follows it");
    }
    assert!(!own.to_string().contains("madeBy"));
    let mut without = own.clone();
    without["input"].as_array_mut().unwrap().remove(1);
    without["model"] = json!("gpt-5.6-luna");
    assert_eq!(asks(WIRE, "gpt-5.6-luna", talk()), without, "thinking of another model is dropped");
    for wire in [Wire::Anthropic, Wire::OpenaiChat, Wire::Ollama] {
        assert!(!asks(wire, MODEL, talk()).to_string().contains("gAAAA"), "{wire:?}");
    }
}

/// Parses a stream of these events.
fn made(events: &[Value]) -> Heard {
    let events: Vec<String> = events.iter().map(Value::to_string).collect();
    read(WIRE, [stream(&events).as_bytes()])
}

fn item(when: &str, at: u64, item: Value) -> Value {
    json!({"type": format!("response.output_item.{when}"), "output_index": at, "item": item})
}

fn piece(what: &str, at: u64, text: &str) -> Value {
    json!({"type": format!("response.{what}.delta"), "output_index": at, "delta": text})
}

fn over(how: &str, response: Value) -> Value {
    json!({"type": format!("response.{how}"), "response": response})
}

#[test]
fn parts_not_streamed_are_taken_from_the_item() {
    let heard = made(&[
        item("added", 0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        item(
            "done",
            0,
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5j", "summary": [{"text": "One."}, {"text": "Two."}]}),
        ),
        item("done", 1, json!({"type": "message", "content": [{"type": "output_text", "text": "So."}]})),
        item(
            "done",
            2,
            json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": "{\"a\":1}"}),
        ),
        item("added", 3, json!({"type": "function_call", "call_id": "d", "name": "read", "arguments": ""})),
        piece("function_call_arguments", 3, "{\"a\""),
        item(
            "done",
            3,
            json!({"type": "function_call", "call_id": "d", "name": "read", "arguments": "{\"a\":2}"}),
        ),
        item("added", 4, json!({"type": "function_call", "call_id": "e", "name": "read", "arguments": ""})),
        piece("function_call_arguments", 4, "{\"b\""),
        item(
            "done",
            4,
            json!({"type": "function_call", "call_id": "e", "name": "read", "arguments": "{\"a\":3}"}),
        ),
        item("done", 5, json!({"type": "function_call", "call_id": "f", "name": "now", "arguments": ""})),
        over("completed", json!({"usage": null})),
    ]);
    expect![[r#"
        blocks [{"type":"reasoning","id":"rs_1","index":0}]
        thinking "One.\n\nTwo."
        blocks [{"type":"reasoning","id":"rs_1","encrypted_content":"ZW5j","summary":[{"text":"One."},{"text":"Two."}],"index":0}]
        text "So."
        calls c=read({"a":1})
        calls c=read({"a":1}) d=read()
        arguments d {"a":2}
        calls c=read({"a":1}) d=read({"a":2}) e=read()
        arguments e {"b"
        calls c=read({"a":1}) d=read({"a":2}) e=read({"a":3})
        calls c=read({"a":1}) d=read({"a":2}) e=read({"a":3}) f=now()
        arguments f {}
        stop ToolUse
    "#]].assert_eq(&lines(&heard));
}

#[test]
fn blocks_of_the_provider_citations_refusals_and_paragraphs_of_thinking() {
    let summary_part = |at: u64| json!({"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": at});
    let heard = made(&[
        item("added", 0, json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "beginning"})),
        summary_part(0),
        piece("reasoning_summary_text", 0, "One."),
        summary_part(1),
        piece("reasoning_summary_text", 0, "Two."),
        item(
            "done",
            0,
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "whole", "summary": []}),
        ),
        item("added", 1, json!({"type": "web_search_call", "id": "ws_1", "status": "in_progress"})),
        item("done", 1, json!({"type": "web_search_call", "id": "ws_1", "status": "completed"})),
        item("added", 2, json!({"type": "message", "content": []})),
        piece("output_text", 2, "So it is."),
        json!({"type": "response.output_text.annotation.added", "output_index": 2, "annotation": {"url": "u"}}),
        piece("refusal", 2, "No more."),
        item(
            "done",
            2,
            json!({"type": "message", "content": [{"type": "output_text", "text": "So it is."}]}),
        ),
        over(
            "completed",
            json!({"usage": {"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 3}}}),
        ),
    ]);
    expect![[r#"
        blocks [{"type":"reasoning","id":"rs_1","index":0}]
        thinking "One.\n\nTwo."
        blocks [{"type":"reasoning","id":"rs_1","encrypted_content":"whole","summary":[],"index":0}]
        block {"type":"web_search_call","id":"ws_1","status":"completed"}
        text "So it is."
        citation {"url":"u"}
        text "No more."
        usage {"inputTokens":9,"outputTokens":5,"cachedInputTokens":4,"reasoningTokens":3}
        stop Refused
    "#]]
    .assert_eq(&lines(&heard));
}

#[test]
fn every_end_has_its_meaning() {
    let stop = |event: Value| made(&[event]).end.unwrap().stop;
    let cut = |reason: &str| stop(over("incomplete", json!({"incomplete_details": {"reason": reason}})));
    assert_eq!(stop(over("completed", json!({}))), StopReason::End);
    assert_eq!(cut("max_output_tokens"), StopReason::Length);
    assert_eq!(cut("content_filter"), StopReason::Refused);
    assert_eq!(cut("of_a_later_version"), StopReason::Length);
    let error = |event: Value| made(&[event]).end.unwrap_err();
    // The response repeats the request, whose words are not part of the error.
    let failed = over(
        "failed",
        json!({"instructions": "rate limit, insufficient_quota", "error": {"code": "server_error", "message": "x"}}),
    );
    assert_eq!(error(failed).class(), "overloaded");
    let over_socket = json!({"type": "error", "status": 401, "error": {"message": "x"}});
    assert_eq!(error(over_socket).class(), "auth");
    assert_eq!(error(json!({"type": "error", "code": "slow_down", "message": "x"})).class(), "overloaded");
    for broken in [
        item("added", 0, Value::Null),
        json!({"type": "response.output_text.delta", "delta": "x"}),
        piece("function_call_arguments", 0, "{"),
    ] {
        assert_eq!(error(broken.clone()).class(), "corruptStream", "{broken}");
    }
    assert_eq!(error(piece("output_text", 0, "x")).class(), "network");
}

/// Calls and thinking go back in their order. Thinking without a following item is left out: the provider
/// rejects it.
#[test]
fn calls_go_back_where_they_stood_among_the_thinking() {
    let thought = |at: u64, id: &str| {
        item("done", at, json!({"type": "reasoning", "id": id, "encrypted_content": "ZW5j", "summary": []}))
    };
    let call = |at: u64, id: &str| {
        item("done", at, json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"}))
    };
    let back = |events: &[Value]| {
        let body = stored(&made(events), WIRE, MODEL);
        let body = asks(WIRE, MODEL, vec![user("Go."), answer(&body)]);
        let input = body["input"].as_array().unwrap().iter().skip(1);
        let names = input.map(|item| {
            assert!(item.get("callsBefore").is_none() && item.get("index").is_none(), "{item}");
            let id = item.get("call_id").or(item.get("id")).unwrap_or(&item["type"]);
            id.as_str().unwrap().to_owned()
        });
        names.collect::<Vec<_>>().join(" ")
    };
    let events = [thought(0, "rs_1"), call(1, "fc_1"), thought(2, "rs_2"), call(3, "fc_2"), call(4, "fc_3")];
    assert_eq!(back(&events), "rs_1 fc_1 rs_2 fc_2 fc_3");
    let said =
        item("done", 5, json!({"type": "message", "content": [{"type": "output_text", "text": "So."}]}));
    let last = thought(6, "rs_3");
    assert_eq!(
        back(&[&events[..], std::slice::from_ref(&said), std::slice::from_ref(&last)].concat()),
        "rs_1 fc_1 rs_2 fc_2 fc_3 message"
    );
    assert_eq!(back(&[said, last.clone()]), "message");
    assert_eq!(back(&[last]), "");
}

#[test]
fn a_prompt_with_everything_in_it() {
    let post = posted(WIRE, &everything(), &terms(MODEL));
    assert_eq!((&*post.path, &*post.headers), ("/responses", &[][..]));
    expect_file!["../../../../fixtures/models/openai-responses-body.json"]
        .assert_eq(&format!("{:#}\n", post.body));
    let blind = posted(WIRE, &everything(), &Terms { images: false, ..terms(MODEL) });
    assert!(!blind.body.to_string().contains("input_image"));
}

/// The cache key depends on session and generation alone, so changes of the history keep it.
#[test]
fn request_parameters_are_in_the_body() {
    let beside = |request: &Request, terms: &Terms| {
        let mut body = posted(WIRE, request, terms).body;
        for long in ["input", "tools"] {
            if let Some(list) = body.get_mut(long) {
                *list = json!(list.as_array().unwrap().len());
            }
        }
        serde_json::to_string(&body).unwrap()
    };
    let summary = Request {
        tool_choice: ToolChoice::None,
        temperature_zero: true,
        max_output: Some(1),
        ..everything()
    };
    let long_key = Terms { cache_key: Some("k".repeat(65)), max_output: None, ..terms(MODEL) };
    let cannot = Terms { tool_choice_none: false, cache_key: None, ..terms("gpt-4o") };
    expect![[r#"
        {"model":"gpt-5.6-sol","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":4096,"prompt_cache_key":"s1/2","tools":2,"input":13}
        {"model":"gpt-5.6-sol","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},"max_output_tokens":8193,"prompt_cache_key":"s1/2","tools":2,"tool_choice":"none","input":13}
        {"model":"gpt-4o","stream":true,"store":false,"temperature":0,"max_output_tokens":16,"prompt_cache_key":"s1/2","tools":2,"tool_choice":"none","input":13}
        {"model":"gpt-5.6-sol","stream":true,"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"f39cdc2584758c99cf81c1f41d2572f54e17066afffc9d187aeafe5f7cbe2122","tools":2,"input":13}
        {"model":"gpt-4o","stream":true,"store":false,"temperature":0,"max_output_tokens":16,"input":13}
    "#]].assert_eq(&format!(
        "{}\n{}\n{}\n{}\n{}\n",
        beside(&everything(), &terms(MODEL)),
        beside(&summary, &terms(MODEL)),
        beside(&summary, &terms("gpt-4o")),
        beside(&everything(), &long_key),
        beside(&summary, &cannot),
    ));
}
