//! Error responses: each recorded body has its class and numbers, and every retry hint is read.

use super::{read, recordings};
use crate::error::Refusal;
use crate::{ModelError, overflow};
use engine::endpoint::Wire;
use engine::prompt::request::{Overflow, Part};
use expect_test::expect;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn refusal(status: u64, body: Value) -> ModelError {
    Refusal { status: u16::try_from(status).unwrap(), retry_after_ms: None, body }.class()
}

/// Adds a row: name, class, numbers, and whether a retry may help.
fn row(table: &mut String, name: &str, error: &ModelError) {
    let numbers = match error {
        ModelError::ContextOverflow { overflow: Overflow { part, limit, needed }, .. } => {
            format!("{part:?} limit {limit:?} needed {needed:?}")
        }
        ModelError::TooLargeForRate { limit, needed } => format!("limit {limit:?} needed {needed:?}"),
        other => format!("after {:?}", other.retry_after_ms()),
    };
    writeln!(table, "{name:<52} {:<16} {numbers} passing {}", error.class(), error.is_passing()).unwrap();
}

#[test]
fn every_recorded_error_has_its_class_and_its_numbers() {
    let Some(folder) = recordings() else { return };
    let mut table = String::new();
    let bodies = std::fs::read_to_string(folder.join("error-bodies.jsonl")).unwrap();
    for line in bodies.lines() {
        let said: Value = serde_json::from_str(line).unwrap();
        let name = format!(
            "{} {} {}",
            said["provider"].as_str().unwrap(),
            said["status"],
            said["kind"].as_str().unwrap()
        );
        let body = match (&said["body"], &said["sse"], &said["message"]) {
            (Value::Null, Value::String(sse), _) => {
                let data = sse.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                serde_json::from_str(data).unwrap()
            }
            (Value::Null, _, Value::String(message)) => json!({"error": {"message": message}}),
            (body, ..) => body.clone(),
        };
        row(&mut table, &name, &refusal(said["status"].as_u64().unwrap(), body));
    }
    for (file, status) in [
        ("anthropic-error-404.json", 404),
        ("openai-error-quota.json", 429),
        ("llamacpp-context-overflow.json", 400),
        ("openrouter-429.json", 429),
        // Older servers send the same body with another status.
        ("llamacpp-context-overflow.json", 500),
    ] {
        let body = serde_json::from_slice(&std::fs::read(folder.join(file)).unwrap()).unwrap();
        row(&mut table, &format!("{file} {status}"), &refusal(status, body));
    }
    let overflow = std::fs::read(folder.join("llamacpp-context-overflow.json")).unwrap();
    let heard = read(Wire::OpenaiChat, [&*overflow]);
    row(&mut table, "llamacpp-context-overflow.json as a stream", &heard.end.unwrap_err());
    println!("{table}");
    expect![[r#"
        anthropic 400 context_overflow                       contextOverflow  Prompt limit Some(200000) needed Some(208310) passing false
        anthropic 400 context_overflow_with_max_tokens       contextOverflow  Both limit Some(200000) needed Some(178959) passing false
        anthropic 529 overloaded                             overloaded       after None passing true
        anthropic 200 overloaded_mid_stream                  overloaded       after None passing true
        anthropic 429 rate_limit                             rateLimited      after None passing true
        openai-chat 400 context_overflow                     contextOverflow  Prompt limit Some(4097) needed Some(44933) passing false
        openai-chat 429 rate_limit_message_only              rateLimited      after Some(18642) passing true
        vllm 400 context_overflow_old                        contextOverflow  Both limit Some(131072) needed Some(152536) passing false
        openrouter 400 context_overflow                      contextOverflow  Both limit Some(131072) needed Some(10535) passing false
        copilot 400 context_overflow                         contextOverflow  Prompt limit Some(64000) needed Some(138898) passing false
        gemini 400 context_overflow                          contextOverflow  Prompt limit Some(1048576) needed Some(3475108) passing false
        ollama 400 context_overflow_no_shift                 contextOverflow  Prompt limit None needed None passing false
        anthropic-error-404.json 404                         badRequest       after None passing false
        openai-error-quota.json 429                          quota            after None passing false
        llamacpp-context-overflow.json 400                   contextOverflow  Prompt limit Some(512) needed Some(2009) passing false
        openrouter-429.json 429                              rateLimited      after None passing true
        llamacpp-context-overflow.json 500                   contextOverflow  Prompt limit Some(512) needed Some(2009) passing false
        llamacpp-context-overflow.json as a stream           contextOverflow  Prompt limit Some(512) needed Some(2009) passing false
    "#]].assert_eq(&table);
}

#[test]
fn errors_that_no_recording_has() {
    let mut table = String::new();
    let says = |message: &str| json!({"error": {"message": message}});
    let rows = [
        (
            "vllm new",
            400,
            json!({"error": {"message": "You passed 130000 input tokens and requested 8192 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 122880 tokens.", "type": "BadRequestError", "param": "input_tokens", "code": 400}}),
        ),
        (
            "gemini in a list",
            400,
            json!([{"error": {"code": 400, "message": "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).", "status": "INVALID_ARGUMENT"}}]),
        ),
        (
            "openrouter, told by who stands behind",
            400,
            json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "{\"error\":{\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}"}}}),
        ),
        (
            "openai too large for its rate",
            429,
            says(
                "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 44210. The input or output tokens must be reduced in order to run successfully.",
            ),
        ),
        (
            "groq too large for its rate",
            413,
            says(
                "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7123, please reduce your message size",
            ),
        ),
        (
            "anthropic answer's limit",
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude-x"}}),
        ),
        (
            "anthropic bytes",
            413,
            json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
        ),
        (
            "openrouter with tools",
            400,
            says(
                "This endpoint's maximum context length is 262144 tokens. However, you requested about 264344 tokens (1344 of text input, 1000 of tool input, 262000 in the output). Please reduce the length of either one.",
            ),
        ),
        (
            "groq",
            400,
            json!({"error": {"message": "Please reduce the length of the messages or completion.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}),
        ),
        (
            "together",
            422,
            says("Input (40000 tokens) is longer than the model's context length (32768 tokens)."),
        ),
        ("poolside", 400, says("the prompt exceeds the maximum allowed input length of 131072")),
        (
            "dashscope",
            400,
            json!({"code": "InvalidParameter", "message": "Range of input length should be [1, 129024]"}),
        ),
        ("z.ai", 400, json!({"error": {"code": "1261", "message": "Prompt exceeds max length"}})),
        ("a proxy's limit", 413, json!("<html>413 Request Entity Too Large</html>")),
        (
            "gemini delay",
            429,
            json!({"error": {"code": 429, "message": "Quota exceeded for metric", "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "27s"}]}}),
        ),
        (
            "anthropic credit",
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low to access the Anthropic API."}}),
        ),
        ("openrouter credit", 402, json!({"error": {"code": 402, "message": "Insufficient credits"}})),
        ("deepseek credit", 402, says("Insufficient Balance")),
        (
            "azure filter",
            400,
            json!({"error": {"code": "content_filter", "message": "The response was filtered", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
        ),
        (
            "key",
            401,
            json!({"error": {"message": "Incorrect API key provided: [key]", "code": "invalid_api_key"}}),
        ),
        ("key of gemini", 400, says("API key not valid. Please pass a valid API key.")),
        (
            "orphan",
            400,
            says("messages.2: `tool_use` ids were found without `tool_result` blocks immediately after"),
        ),
        ("no model", 404, json!({"error": "model 'x' not found"})),
        ("too slow", 408, json!("")),
        ("server", 500, json!({"error": {"message": "The server had an error", "type": "server_error"}})),
        ("gateway", 502, json!("<html>bad gateway</html>")),
        (
            "anthropic api_error",
            500,
            json!({"type": "error", "error": {"type": "api_error", "message": "Overloaded"}}),
        ),
        ("another address", 307, json!("")),
        (
            "filter results beside an error",
            200,
            json!({"error": {"message": "server overloaded"}, "choices": [{"content_filter_results": {}}]}),
        ),
        (
            "a word and a message",
            400,
            json!({"error": "Bad Request", "message": "prompt is too long: 9 tokens > 8 maximum"}),
        ),
        ("a detail", 422, json!({"detail": [{"msg": "Extra inputs are not permitted"}]})),
        ("nothing", 400, Value::Null),
    ];
    for (name, status, body) in rows {
        row(&mut table, &format!("{name} {status}"), &refusal(status, body));
    }
    println!("{table}");
    expect![[r#"
        vllm new 400                                         contextOverflow  Both limit Some(131072) needed Some(130000) passing false
        gemini in a list 400                                 contextOverflow  Prompt limit Some(1048576) needed Some(3475108) passing false
        openrouter, told by who stands behind 400            contextOverflow  Prompt limit Some(200000) needed Some(210000) passing false
        openai too large for its rate 429                    tooLargeForRate  limit Some(30000) needed Some(44210) passing false
        groq too large for its rate 413                      tooLargeForRate  limit Some(6000) needed Some(7123) passing false
        anthropic answer's limit 400                         contextOverflow  Answer limit Some(64000) needed Some(128000) passing false
        anthropic bytes 413                                  contextOverflow  Prompt limit None needed None passing false
        openrouter with tools 400                            contextOverflow  Both limit Some(262144) needed Some(2344) passing false
        groq 400                                             contextOverflow  Prompt limit None needed None passing false
        together 422                                         contextOverflow  Prompt limit Some(32768) needed Some(40000) passing false
        poolside 400                                         contextOverflow  Prompt limit Some(131072) needed None passing false
        dashscope 400                                        contextOverflow  Prompt limit Some(129024) needed None passing false
        z.ai 400                                             contextOverflow  Prompt limit None needed None passing false
        a proxy's limit 413                                  contextOverflow  Prompt limit None needed None passing false
        gemini delay 429                                     rateLimited      after Some(27000) passing true
        anthropic credit 400                                 quota            after None passing false
        openrouter credit 402                                quota            after None passing false
        deepseek credit 402                                  quota            after None passing false
        azure filter 400                                     refused          after None passing false
        key 401                                              auth             after None passing false
        key of gemini 400                                    auth             after None passing false
        orphan 400                                           badRequest       after None passing false
        no model 404                                         badRequest       after None passing false
        too slow 408                                         overloaded       after None passing true
        server 500                                           overloaded       after None passing true
        gateway 502                                          overloaded       after None passing true
        anthropic api_error 500                              overloaded       after None passing true
        another address 307                                  badRequest       after None passing false
        filter results beside an error 200                   overloaded       after None passing true
        a word and a message 400                             contextOverflow  Prompt limit Some(8) needed Some(9) passing false
        a detail 422                                         badRequest       after None passing false
        nothing 400                                          badRequest       after None passing false
    "#]].assert_eq(&table);
}

#[test]
fn no_reason_holds_a_secret_even_a_cut_one() {
    let key = "sk-planted-0123456789";
    let told = |message: &str| refusal(400, json!({"error": {"message": message}})).without(key).to_string();
    let reason = told(&format!("key {key} and again \"{key}\""));
    assert!(!reason.contains("planted") && reason.contains("again"), "{reason}");
    for before in 560..620 {
        let reason = told(&format!("{} {key} is wrong", "x".repeat(before)));
        assert!(!reason.contains("sk-p"), "{before}: {reason}");
    }
    assert!(told("a word").ends_with("a word"));
}

#[test]
fn recorded_overflow_wordings_are_recognized() {
    let Some(folder) = recordings() else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file of the corpus");
    let mut overflows = 0;
    for line in read("error-bodies.jsonl").lines() {
        let error: Value = serde_json::from_str(line).expect("JSON");
        let is_overflow = error["kind"].as_str().is_some_and(|kind| kind.starts_with("context_overflow"));
        let words = ["body", "message", "sse"].map(|part| error[part].to_string()).concat();
        let told = overflow::told(&words);
        assert_eq!(told.is_some(), is_overflow, "{line}");
        overflows += u32::from(is_overflow);
        if error["kind"] == "context_overflow_with_max_tokens" {
            let both = Overflow { part: Part::Both, limit: Some(200_000), needed: Some(178_959) };
            assert_eq!(told, Some(both), "{line}");
        } else if is_overflow && words.bytes().filter(u8::is_ascii_digit).count() > 12 {
            let Overflow { part, limit, needed } = told.unwrap_or_default();
            // The prompt's share of both may be below the limit.
            let is_over = if part == Part::Both { needed.is_some() } else { needed > limit };
            assert!(limit.is_some() && is_over, "{line}");
        }
    }
    assert!(overflows >= 7, "{overflows}");
    for name in ["llamacpp-context-overflow.json", "openai-responses-context-overflow.sse"] {
        assert!(overflow::told(&read(name)).is_some(), "{name}");
    }
    for name in ["openai-error-quota.json", "openai-responses-rate-limit.sse", "openrouter-429.json"] {
        assert_eq!(overflow::told(&read(name)), None, "{name}");
    }
}
