//! Gemini's `generateContent`. No recordings exist: streams and bodies are made up from the provider's documentation.

use super::answers::{answer, asks, everything, posted, result, stored, terms, user};
use super::{Heard, lines, same_wherever_it_is_cut};
use crate::error::Refusal;
use crate::wire::Post;
use engine::endpoint::Wire;
use engine::prompt::item::{Item, ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};

const WIRE: Wire = Wire::Gemini;
const MODEL: &str = "gemini-4-argon";

/// A chunk with these parts.
fn chunk(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": MODEL})
}

/// The last chunk of an answer.
fn last(parts: Value, reason: &str) -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 20,
            "thoughtsTokenCount": 5, "totalTokenCount": 125,
        },
    })
}

fn heard(chunks: &[Value], golden: &Expect) -> Heard {
    let text: String = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
    let heard = same_wherever_it_is_cut(WIRE, text.as_bytes());
    golden.assert_eq(&lines(&heard));
    heard
}

/// Thinking, text and two calls made side by side; each kind of part is signed.
fn signed() -> Vec<Value> {
    let call = |name: &str, id: &str| json!({"name": name, "args": {"path": id}, "id": id});
    vec![
        chunk(json!([{"text": "I must ", "thought": true}])),
        chunk(json!([{"text": "look.", "thought": true, "thoughtSignature": "dGhvdWdodA=="}])),
        chunk(json!([{"text": "I look"}])),
        chunk(json!([{"text": " there."}, {"text": "", "thoughtSignature": "dGV4dA=="}])),
        chunk(json!([{"functionCall": call("read", "fc1"), "thoughtSignature": "Y2FsbA=="}])),
        last(json!([{"functionCall": call("list", "fc2")}]), "STOP"),
    ]
}

#[test]
fn signatures_are_stored_and_go_back_at_their_parts() {
    let heard = heard(
        &signed(),
        &expect![[r#"
        thinking "I must look."
        blocks [{"type":"thinking","index":0,"signature":"dGhvdWdodA=="}]
        text "I look there."
        blocks [{"type":"redacted_thinking","ownPart":true,"index":1,"signature":"dGV4dA=="}]
        calls fc1=read({"path":"fc1"})
        blocks [{"type":"redacted_thinking","call":0,"index":2,"signature":"Y2FsbA=="}]
        calls fc1=read({"path":"fc1"}) fc2=list({"path":"fc2"})
        usage {"inputTokens":100,"outputTokens":25,"cachedInputTokens":60,"reasoningTokens":5}
        stop ToolUse
    "#]],
    );
    let item = answer(&stored(&heard, WIRE, MODEL));
    let back = |model: &str| {
        let results =
            [("fc1", "one"), ("fc2", "two")].map(|(id, text)| result(id, vec![ItemPart::text(text)]));
        let items = [user("Look."), item.clone()].into_iter().chain(results).collect();
        let body = asks(WIRE, model, items);
        format!("{:#}\n", body["contents"])
    };
    expect_file!["bodies/gemini-signed.txt"].assert_eq(&back(MODEL));
    expect_file!["bodies/gemini-signed-elsewhere.txt"].assert_eq(&back("gemini-3.8-flash"));
}

#[test]
fn text_that_ends_in_a_signed_part_is_signed_itself() {
    let chunks = [
        chunk(json!([{"text": "Yes"}])),
        last(json!([{"text": ".", "thoughtSignature": "dGV4dA=="}]), "STOP"),
    ];
    let heard = heard(
        &chunks,
        &expect![[r#"
            text "Yes."
            blocks [{"type":"redacted_thinking","index":0,"signature":"dGV4dA=="}]
            usage {"inputTokens":100,"outputTokens":25,"cachedInputTokens":60,"reasoningTokens":5}
            stop End
        "#]],
    );
    let body = asks(WIRE, MODEL, vec![user("?"), answer(&stored(&heard, WIRE, MODEL)), user("And?")]);
    assert_eq!(
        body["contents"][1],
        json!({"role": "model", "parts": [{"text": "Yes.", "thoughtSignature": "dGV4dA=="}]})
    );
}

#[test]
fn calls_without_ids_get_distinct_ones() {
    let call = json!({"functionCall": {"name": "list"}});
    heard(
        &[last(json!([call.clone(), call]), "STOP")],
        &expect![[r#"
            calls call_0=list({})
            calls call_0=list({}) call_1=list({})
            usage {"inputTokens":100,"outputTokens":25,"cachedInputTokens":60,"reasoningTokens":5}
            stop ToolUse
        "#]],
    );
}

#[test]
fn each_end_has_its_meaning() {
    for (reason, stop) in [
        ("STOP", "stop End"),
        ("MAX_TOKENS", "stop Length"),
        ("CONTINUATION", "stop Length"),
        ("SAFETY", "stop Refused"),
        ("RECITATION", "stop Refused"),
        ("ESCALATION", "stop Refused"),
        ("SOMETHING_NEW", "stop End"),
        ("MALFORMED_FUNCTION_CALL", "error overloaded"),
        ("MISSING_THOUGHT_SIGNATURE", "error badRequest"),
    ] {
        let text = format!("data: {}\n\n", last(json!([{"text": "Half"}]), reason));
        let lines = lines(&same_wherever_it_is_cut(WIRE, text.as_bytes()));
        assert!(lines.lines().last().is_some_and(|end| end.starts_with(stop)), "{reason}: {lines}");
    }
}

#[test]
fn blocked_prompt_is_a_refused_answer() {
    heard(
        &[
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}),
        ],
        &expect![[r#"
            extra {"stopDetails":{"blockReason":"PROHIBITED_CONTENT"}}
            usage {"inputTokens":9}
            stop Refused
        "#]],
    );
}

#[test]
fn counts_behind_the_end_are_read() {
    heard(
        &[
            json!({"candidates": [{"content": {"parts": [{"text": "Yes"}]}, "finishReason": "STOP"}]}),
            json!({"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}}),
        ],
        &expect![[r#"
            text "Yes"
            usage {"inputTokens":9,"outputTokens":1}
            stop End
        "#]],
    );
}

#[test]
fn errors_within_a_stream_and_early_ends_are_errors() {
    heard(
        &[
            chunk(json!([{"text": "Half"}])),
            json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}),
        ],
        &expect![[r#"
            text "Half"
            error overloaded: the model's provider is overloaded: The model is overloaded.
        "#]],
    );
    heard(
        &[chunk(json!([{"text": "Half"}]))],
        &expect![[r#"
            text "Half"
            error network: the model could not be reached: the stream ended before the answer did
        "#]],
    );
}

#[test]
fn quota_per_minute_is_a_rate_limit() {
    let body = |quota: &str| {
        json!([{"error": {
            "code": 429,
            "message": "You exceeded your current quota, please check your plan and billing details.",
            "status": "RESOURCE_EXHAUSTED",
            "details": [
                {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "18s"},
            ],
        }}])
    };
    let class = |quota: &str| {
        let refusal = Refusal { status: 429, body: body(quota), ..Refusal::default() };
        let error = refusal.class();
        (error.class(), error.retry_after_ms())
    };
    assert_eq!(class("GenerateRequestsPerMinutePerProjectPerModel"), ("rateLimited", Some(18_000)));
    assert_eq!(class("GenerateRequestsPerDayPerProjectPerModel"), ("quota", None));
}

#[test]
fn every_kind_of_item_has_its_part() {
    let Post { path, headers, body } = posted(WIRE, &everything(), &terms(MODEL));
    assert!(headers.is_empty());
    expect_file!["bodies/gemini.txt"].assert_eq(&format!("{path}\n{body:#}\n"));
}

#[test]
fn older_models_get_neither_ids_nor_signatures() {
    let body = posted(WIRE, &everything(), &terms("models/gemini-2.5-flash")).body.to_string();
    assert!(!body.contains("thoughtSignature") && !body.contains("toolu_a"), "{body}");
}

#[test]
fn summaries_ask_for_little_thinking_and_no_calls() {
    let request = Request { tool_choice: ToolChoice::None, temperature_zero: true, ..everything() };
    let body = posted(WIRE, &request, &terms(MODEL)).body;
    assert_eq!(body["toolConfig"], json!({"functionCallingConfig": {"mode": "NONE"}}));
    assert_eq!(
        body["generationConfig"],
        json!({"maxOutputTokens": 4096, "thinkingConfig": {"thinkingLevel": "low"}})
    );
    let mut without = terms("gemini-2.5-flash");
    without.tool_choice_none = false;
    let body = posted(WIRE, &request, &without).body;
    assert_eq!((body.get("tools"), body.get("toolConfig")), (None, None));
}

#[test]
fn conversation_begins_and_ends_with_the_user() {
    let item = Item::made(Role::Assistant, "I was here.", 1);
    let body = asks(WIRE, MODEL, vec![item]);
    let roles: Vec<_> = body["contents"].as_array().unwrap().iter().map(|content| &content["role"]).collect();
    assert_eq!(roles, ["user", "model", "user"]);
}

#[test]
fn model_names_are_one_segment_of_the_path() {
    for (name, path) in [
        ("gemini-4-argon", "/models/gemini-4-argon:streamGenerateContent?alt=sse"),
        ("models/gemini-4-argon", "/models/gemini-4-argon:streamGenerateContent?alt=sse"),
        ("google/gemini?x=#1", "/models/gemini%3Fx%3D%231:streamGenerateContent?alt=sse"),
    ] {
        assert_eq!(posted(WIRE, &Request::default(), &terms(name)).path, path);
    }
}
