//! Options of requests: the whole body that each wire makes of each, and what the edge rejects.

use super::answers::{everything, terms, user};
use crate::address::{self, InvalidEndpoint};
use crate::wire::{Terms, post};
use engine::endpoint::options::RequestOptions;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::request::Request;
use expect_test::{Expect, expect};
use serde_json::{Value, json};

pub(super) fn at(wire: Wire, url: Option<&str>, options: Value) -> Result<Endpoint, InvalidEndpoint> {
    let options: RequestOptions = serde_json::from_value(options).unwrap();
    address::endpoint(Endpoint { base_url: url.map(str::to_owned), options, ..Endpoint::of(wire) })
}

/// A request of a turn, and one for a title.
pub(super) fn requests() -> [Request; 2] {
    let asked = Request { items: vec![user("a")], ..Request::default() };
    let title = Request { temperature_zero: true, max_output: Some(100), ..asked.clone() };
    [asked, title]
}

/// Compares path and body of a turn and of a title with these options.
fn check(wire: Wire, url: Option<&str>, model: &str, options: &[Value], expected: Expect) {
    let mut shown = String::new();
    for options in options {
        let endpoint = at(wire, url, options.clone()).unwrap();
        for request in requests() {
            let post = post(&endpoint, &request, &terms(model)).unwrap();
            shown += &format!("{} {}\n", post.path, post.body);
        }
    }
    expected.assert_eq(&shown);
}

#[test]
fn anthropic_takes_effort_thinking_and_extra_fields() {
    let options = [
        json!({}),
        json!({ "effort": "xhigh" }),
        json!({ "thinking": "off" }),
        json!({ "thinking": "adaptive", "effort": "low" }),
        json!({ "thinking": 2000 }),
        json!({ "thinking": 100_000 }),
        json!({ "extraBody": { "thinking": { "type": "adaptive", "display": "summarized" }, "metadata": { "user_id": "u" } } }),
        json!({ "query": { "beta": "true", "a b": "c&d" } }),
    ];
    check(
        Wire::Anthropic,
        None,
        "claude-sonnet-4-6",
        &options,
        expect![[r#"
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":100,"stream":true,"temperature":0,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"output_config":{"effort":"xhigh"},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":8292,"stream":true,"temperature":0,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":100,"stream":true,"temperature":0,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"low"},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":8292,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":8292,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":4095},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":100100,"stream":true,"thinking":{"type":"enabled","budget_tokens":100000},"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"thinking":{"type":"adaptive","display":"summarized"},"metadata":{"user_id":"u"}}
        /messages {"model":"claude-sonnet-4-6","max_tokens":100,"stream":true,"temperature":0,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"thinking":{"type":"adaptive","display":"summarized"},"metadata":{"user_id":"u"}}
        /messages?a+b=c%26d&beta=true {"model":"claude-sonnet-4-6","max_tokens":4096,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
        /messages?a+b=c%26d&beta=true {"model":"claude-sonnet-4-6","max_tokens":100,"stream":true,"temperature":0,"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}]}
    "#]],
    );
}

#[test]
fn thinking_models_are_not_told_to_stop() {
    let shown = |wire, url: Option<&str>, model: &str| {
        let endpoint = at(wire, url, json!({ "thinking": "off" })).unwrap();
        let body = post(&endpoint, &requests()[0], &terms(model)).unwrap().body;
        let said = ["thinking", "reasoning", "reasoning_effort", "generationConfig", "think"];
        let said = said.iter().filter_map(|field| Some(format!("{field} {}", body.get(field)?)));
        format!("{model}: {}\n", said.collect::<Vec<_>>().join(", "))
    };
    let openrouter = Some("https://openrouter.ai/api/v1");
    let shown = [
        shown(Wire::Anthropic, None, "claude-opus-4-8"),
        shown(Wire::Anthropic, None, "claude-haiku-5-5"),
        shown(Wire::Anthropic, None, "claude-opus-5"),
        shown(Wire::Anthropic, None, "claude-opus-5-5"),
        shown(Wire::Anthropic, None, "claude-opus-6"),
        shown(Wire::Anthropic, None, "claude-fable-5-2"),
        shown(Wire::Anthropic, None, "claude-sonnet-5-5"),
        shown(Wire::OpenaiResponses, None, "gpt-5.6-sol"),
        shown(Wire::OpenaiResponses, None, "gpt-6-luna"),
        shown(Wire::OpenaiResponses, None, "gpt-6.2-sol"),
        shown(Wire::OpenaiResponses, None, "gpt-6.2-astra"),
        shown(Wire::OpenaiChat, None, "o3"),
        shown(Wire::OpenaiChat, openrouter, "anthropic/claude-opus-5.5"),
        shown(Wire::OpenaiChat, openrouter, "z-ai/glm-5.3"),
        shown(Wire::Gemini, None, "gemini-2.5-flash"),
        shown(Wire::Gemini, None, "gemini-2.5-pro"),
        shown(Wire::Gemini, None, "gemini-3.8-flash"),
        shown(Wire::Ollama, None, "qwen3"),
    ];
    expect![[r#"
        claude-opus-4-8: thinking {"type":"disabled"}
        claude-haiku-5-5: thinking {"type":"disabled"}
        claude-opus-5: thinking {"type":"disabled"}
        claude-opus-5-5: thinking {"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
        claude-opus-6: thinking {"type":"adaptive","display":"summarized","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
        claude-fable-5-2: thinking {"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}
        claude-sonnet-5-5: thinking {"type":"between_tools"}
        gpt-5.6-sol: reasoning {"effort":"none"}
        gpt-6-luna: reasoning {"effort":"none"}
        gpt-6.2-sol: 
        gpt-6.2-astra: 
        o3: 
        anthropic/claude-opus-5.5: 
        z-ai/glm-5.3: reasoning {"enabled":false}
        gemini-2.5-flash: generationConfig {"maxOutputTokens":4096,"thinkingConfig":{"thinkingBudget":0}}
        gemini-2.5-pro: generationConfig {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true}}
        gemini-3.8-flash: generationConfig {"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true}}
        qwen3: think false
    "#]]
    .assert_eq(&shown.concat());
}

#[test]
fn responses_take_effort_thinking_and_extra_fields() {
    let options = [
        json!({ "effort": "max" }),
        json!({ "effort": "none" }),
        json!({ "thinking": "off" }),
        json!({ "thinking": "adaptive", "effort": "high" }),
        json!({ "effort": "high", "extraBody": { "reasoning": { "summary": "auto" }, "store": null } }),
    ];
    check(
        Wire::OpenaiResponses,
        None,
        "gpt-6-luna",
        &options,
        expect![[r#"
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"max"},"max_output_tokens":4096,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},"max_output_tokens":8292,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"none"},"max_output_tokens":4096,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},"max_output_tokens":8292,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"none"},"max_output_tokens":4096,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"none"},"max_output_tokens":100,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high"},"max_output_tokens":4096,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},"max_output_tokens":8292,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"},"max_output_tokens":4096,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
            /responses {"model":"gpt-6-luna","stream":true,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},"max_output_tokens":8292,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}]}
        "#]],
    );
    // A deployment's name says nothing of its model.
    let azure = [json!({ "effort": "low", "query": { "api-version": "2026-01-01" } })];
    check(
        Wire::OpenaiResponses,
        Some("https://a.openai.azure.com/openai"),
        "mine",
        &azure,
        expect![[r#"
        /responses?api-version=2026-01-01 {"model":"mine","stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low"},"max_output_tokens":4096,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}]}
        /responses?api-version=2026-01-01 {"model":"mine","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":8292,"prompt_cache_key":"s1/2","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}]}
    "#]],
    );
}

#[test]
fn chat_servers_take_effort_and_thinking_in_their_own_fields() {
    let both = [json!({ "effort": "high" }), json!({ "thinking": "off" }), json!({ "thinking": "adaptive" })];
    check(
        Wire::OpenaiChat,
        None,
        "gpt-6-luna",
        &both,
        expect![[r#"
        /chat/completions {"model":"gpt-6-luna","messages":[{"role":"user","content":"a"}],"max_completion_tokens":4096,"reasoning_effort":"high","prompt_cache_key":"s1/2","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"gpt-6-luna","messages":[{"role":"user","content":"a"}],"max_completion_tokens":8292,"reasoning_effort":"low","prompt_cache_key":"s1/2","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"gpt-6-luna","messages":[{"role":"user","content":"a"}],"max_completion_tokens":4096,"reasoning_effort":"none","prompt_cache_key":"s1/2","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"gpt-6-luna","messages":[{"role":"user","content":"a"}],"max_completion_tokens":100,"reasoning_effort":"none","prompt_cache_key":"s1/2","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"gpt-6-luna","messages":[{"role":"user","content":"a"}],"max_completion_tokens":4096,"prompt_cache_key":"s1/2","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"gpt-6-luna","messages":[{"role":"user","content":"a"}],"max_completion_tokens":8292,"reasoning_effort":"low","prompt_cache_key":"s1/2","stream":true,"stream_options":{"include_usage":true}}
    "#]],
    );
    let deepseek = Some("https://api.deepseek.com/v1");
    check(
        Wire::OpenaiChat,
        deepseek,
        "deepseek-v4-pro",
        &both,
        expect![[r#"
        /chat/completions {"model":"deepseek-v4-pro","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"reasoning_effort":"high","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"deepseek-v4-pro","messages":[{"role":"user","content":"a"}],"max_tokens":8292,"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"deepseek-v4-pro","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"thinking":{"type":"disabled"},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"deepseek-v4-pro","messages":[{"role":"user","content":"a"}],"temperature":0,"max_tokens":100,"thinking":{"type":"disabled"},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"deepseek-v4-pro","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"thinking":{"type":"enabled"},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"deepseek-v4-pro","messages":[{"role":"user","content":"a"}],"max_tokens":8292,"thinking":{"type":"enabled"},"stream":true,"stream_options":{"include_usage":true}}
    "#]],
    );
    let openrouter = Some("https://openrouter.ai/api/v1");
    check(
        Wire::OpenaiChat,
        openrouter,
        "m",
        &both,
        expect![[r#"
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"reasoning":{"effort":"high"},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":8292,"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"reasoning":{"enabled":false},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"temperature":0,"max_tokens":100,"reasoning":{"enabled":false},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"reasoning":{"enabled":true},"stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":8292,"reasoning":{"enabled":true},"stream":true,"stream_options":{"include_usage":true}}
    "#]],
    );
    let more = [
        json!({ "thinking": 2000, "extraBody": { "provider": { "sort": "price" }, "stream_options": null } }),
    ];
    check(
        Wire::OpenaiChat,
        openrouter,
        "m",
        &more,
        expect![[r#"
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"reasoning":{"max_tokens":2000},"stream":true,"provider":{"sort":"price"}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":8292,"reasoning":{"max_tokens":2000},"stream":true,"provider":{"sort":"price"}}
    "#]],
    );
    check(
        Wire::OpenaiChat,
        Some("http://127.0.0.1:1/v1"),
        "m",
        &both[..1],
        expect![[r#"
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":4096,"reasoning_effort":"high","stream":true,"stream_options":{"include_usage":true}}
        /chat/completions {"model":"m","messages":[{"role":"user","content":"a"}],"max_tokens":8292,"stream":true,"stream_options":{"include_usage":true}}
    "#]],
    );
}

#[test]
fn gemini_takes_effort_thinking_and_extra_fields() {
    let level = [
        json!({ "effort": "minimal" }),
        json!({ "thinking": "adaptive" }),
        json!({ "effort": "high", "query": { "a": "b" }, "extraBody": { "generationConfig": { "seed": 1 } } }),
    ];
    check(
        Wire::Gemini,
        None,
        "gemini-3.8-flash",
        &level,
        expect![[r#"
        /models/gemini-3.8-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"minimal"}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-3.8-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":8292,"thinkingConfig":{"thinkingLevel":"low"}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-3.8-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-3.8-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":8292,"thinkingConfig":{"thinkingLevel":"low"}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-3.8-flash:streamGenerateContent?alt=sse&a=b {"generationConfig":{"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"},"seed":1},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-3.8-flash:streamGenerateContent?alt=sse&a=b {"generationConfig":{"maxOutputTokens":8292,"thinkingConfig":{"thinkingLevel":"low"},"seed":1},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
    "#]],
    );
    let budget = [json!({ "thinking": 512 }), json!({ "thinking": "off" })];
    check(
        Wire::Gemini,
        None,
        "gemini-2.5-flash",
        &budget,
        expect![[r#"
        /models/gemini-2.5-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":4096,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":512}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-2.5-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":8292},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-2.5-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":4096,"thinkingConfig":{"thinkingBudget":0}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
        /models/gemini-2.5-flash:streamGenerateContent?alt=sse {"generationConfig":{"maxOutputTokens":100,"temperature":0,"thinkingConfig":{"thinkingBudget":0}},"contents":[{"role":"user","parts":[{"text":"a"}]}]}
    "#]],
    );
}

#[test]
fn ollama_takes_effort_thinking_and_extra_fields() {
    let options = [
        json!({ "effort": "high" }),
        json!({ "effort": "none" }),
        json!({ "thinking": "off" }),
        json!({ "thinking": "adaptive", "extraBody": { "keep_alive": "1h", "options": { "num_gpu": 1 } } }),
    ];
    check(
        Wire::Ollama,
        None,
        "qwen3",
        &options,
        expect![[r#"
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"think":"high","options":{"num_ctx":200000,"num_predict":4096}}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"options":{"num_ctx":200000,"num_predict":8292,"temperature":0}}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"think":false,"options":{"num_ctx":200000,"num_predict":4096}}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"options":{"num_ctx":200000,"num_predict":8292,"temperature":0}}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"think":false,"options":{"num_ctx":200000,"num_predict":4096}}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"think":false,"options":{"num_ctx":200000,"num_predict":100,"temperature":0}}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"think":true,"options":{"num_ctx":200000,"num_predict":4096,"num_gpu":1},"keep_alive":"1h"}
        /api/chat {"model":"qwen3","messages":[{"role":"user","content":"a"}],"stream":true,"truncate":false,"shift":false,"options":{"num_ctx":200000,"num_predict":8292,"temperature":0,"num_gpu":1},"keep_alive":"1h"}
    "#]],
    );
}

/// Any other value would make a cached prefix of an hour one of five minutes.
#[test]
fn each_mark_has_the_lifetime_that_is_set() {
    let body = |options: Value| {
        let endpoint = at(Wire::Anthropic, None, options).unwrap();
        post(&endpoint, &everything(), &terms("claude-sonnet-4-6")).unwrap().body.to_string()
    };
    let usual = body(json!({}));
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    assert_eq!(usual.matches("cache_control").count(), 4);
    assert_eq!(body(json!({ "cacheTtl": "5m" })), usual);
    let hour = r#""cache_control":{"type":"ephemeral","ttl":"1h"}"#;
    assert_eq!(body(json!({ "cacheTtl": "1h" })), usual.replace(mark, hour));
}

#[test]
fn budget_of_thinking_leaves_room_for_the_answer() {
    let endpoint = at(Wire::Anthropic, None, json!({ "thinking": 5000 })).unwrap();
    let limits = |max_output: Option<u32>, room: Option<u32>| {
        let request = Request { max_output, room, ..requests()[0].clone() };
        let terms = Terms { max_output: None, ..terms("claude-sonnet-4-6") };
        let body = post(&endpoint, &request, &terms).unwrap().body;
        json!([body["max_tokens"], body["thinking"]["budget_tokens"]])
    };
    assert_eq!(limits(None, None), json!([13_192, 5000]));
    assert_eq!(limits(Some(9000), None), json!([9000, 5000]));
    assert_eq!(limits(Some(4000), None), json!([4000, 3999]));
    assert_eq!(limits(Some(1024), None), json!([1024, null]), "too little for any budget");
    assert_eq!(limits(None, Some(600)), json!([600, null]));
}

#[test]
fn claude_is_told_to_think_in_the_way_that_it_takes() {
    let thinking = |model: &str, options: Value| {
        let request = Request { max_output: Some(20_000), ..requests()[0].clone() };
        post(&at(Wire::Anthropic, None, options).unwrap(), &request, &terms(model)).unwrap().body["thinking"]
            .clone()
    };
    let budget = |tokens: u32| json!({ "type": "enabled", "budget_tokens": tokens });
    let adaptive = json!({ "type": "adaptive" });
    let summarized = json!({ "type": "adaptive", "display": "summarized" });
    let mut bound = summarized.clone();
    bound["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
    let (asks_adaptive, asks_budget) = (json!({ "thinking": "adaptive" }), json!({ "thinking": 2000 }));
    for (model, told_adaptive, told_budget) in [
        ("claude-opus-4-5", budget(8192), budget(2000)),
        ("claude-sonnet-4-20250514", budget(8192), budget(2000)),
        ("claude-sonnet-4-6", adaptive.clone(), budget(2000)),
        ("claude-opus-4-8", summarized.clone(), summarized.clone()),
        ("claude-sonnet-5-5", bound.clone(), bound.clone()),
        ("some-other-model", adaptive.clone(), budget(2000)),
    ] {
        assert_eq!(thinking(model, asks_adaptive.clone()), told_adaptive, "{model}");
        assert_eq!(thinking(model, asks_budget.clone()), told_budget, "{model}");
        assert_eq!(thinking(model, json!({})), Value::Null, "{model}");
    }
    // The text between its calls comes as thinking, and thinking cannot be switched off.
    for options in [json!({}), json!({ "thinking": "off" }), asks_adaptive] {
        assert_eq!(thinking("claude-opus-5-5", options), bound);
    }
}

#[test]
fn titles_get_room_to_think_unless_thinking_is_really_off() {
    let most = |wire, model: &str, options: Value| {
        let body = post(&at(wire, None, options).unwrap(), &requests()[1], &terms(model)).unwrap().body;
        body.get("max_tokens").or(body.get("max_output_tokens")).and_then(Value::as_u64)
    };
    let (off, none) = (json!({ "thinking": "off" }), json!({ "effort": "none" }));
    let limits = [
        most(Wire::Anthropic, "claude-opus-5", off.clone()),
        most(Wire::Anthropic, "claude-opus-5-5", off.clone()),
        most(Wire::OpenaiResponses, "gpt-6-luna", off.clone()),
        most(Wire::OpenaiResponses, "gpt-6.2-sol", off),
        most(Wire::OpenaiResponses, "gpt-6-luna", none),
    ];
    assert_eq!(limits, [100, 8292, 100, 8292, 8292].map(Some));
}

#[test]
fn unfit_options_are_rejected_by_name() {
    let (chat, anthropic, gemini) = (Wire::OpenaiChat, Wire::Anthropic, Wire::Gemini);
    for (wire, options, part, said) in [
        (anthropic, json!({ "effort": "none" }), "effort", "takes low, medium, high, xhigh, max"),
        (anthropic, json!({ "effort": "minimal" }), "effort", "must not be minimal"),
        (gemini, json!({ "effort": "max" }), "effort", "takes minimal, low"),
        (Wire::Ollama, json!({ "effort": "max" }), "effort", "takes none, low, medium, high"),
        (anthropic, json!({ "thinking": 0 }), "thinking", "at least 1"),
        (anthropic, json!({ "thinking": 1023 }), "thinking", "at least 1024"),
        (Wire::OpenaiResponses, json!({ "thinking": 2000 }), "thinking", "effort"),
        (Wire::Ollama, json!({ "thinking": 2000 }), "thinking", "effort"),
        (chat, json!({ "thinking": 2000 }), "thinking", "effort"),
        (gemini, json!({ "thinking": 2000, "effort": "low" }), "thinking", "beside effort"),
        (chat, json!({ "thinking": "off", "effort": "low" }), "thinking", "beside effort"),
        (chat, json!({ "cacheTtl": "1h" }), "cacheTtl", "anthropic"),
        (chat, json!({ "fallbacks": "default" }), "fallbacks", "anthropic"),
        (anthropic, json!({ "fallbacks": [] }), "fallbacks", "names of models"),
        (anthropic, json!({ "fallbacks": ["n", ""] }), "fallbacks", "names of models"),
        (gemini, json!({ "providerCompaction": 60_000 }), "providerCompaction", "openai-responses"),
        (anthropic, json!({ "providerCompaction": 49_999 }), "providerCompaction", "at least 50000"),
        (Wire::OpenaiResponses, json!({ "providerCompaction": 0 }), "providerCompaction", "at least 1"),
        (anthropic, json!({ "extraBody": { "messages": [] } }), "extraBody", "must not contain messages"),
        (anthropic, json!({ "extraBody": { "system": null } }), "extraBody", "must not contain system"),
        (chat, json!({ "extraBody": { "tools": [] } }), "extraBody", "must not contain tools"),
        (chat, json!({ "extraBody": { "stream": false } }), "extraBody", "must not contain stream,"),
        (chat, json!({ "extraBody": { "model": "m" } }), "extraBody", "must not contain model,"),
        (
            Wire::OpenaiResponses,
            json!({ "extraBody": { "input": [] } }),
            "extraBody",
            "must not contain input",
        ),
        (gemini, json!({ "extraBody": { "contents": [] } }), "extraBody", "must not contain contents"),
        (
            gemini,
            json!({ "extraBody": { "systemInstruction": {} } }),
            "extraBody",
            "must not contain systemInstr",
        ),
        (
            chat,
            json!({ "extraBody": { "a": [{ "b": "sk-planted0123456789" }] } }),
            "extraBody",
            "which a looks like",
        ),
        (chat, json!({ "extraBody": { "api_key": "planted" } }), "extraBody", "which api_key looks like"),
        (chat, json!({ "extraBody": { "a": { "authToken": 1 } } }), "extraBody", "which a looks like"),
        (chat, json!({ "extraHeaders": { "Authorization": "planted" } }), "extraHeaders", "authorization"),
        (chat, json!({ "extraHeaders": { "X-Api-Key": "planted" } }), "extraHeaders", "key in x-api-key"),
        (chat, json!({ "extraHeaders": { "cookie": "planted=1" } }), "extraHeaders", "cookie"),
        (chat, json!({ "extraHeaders": { "x-gate": "Bearer planted" } }), "extraHeaders", "x-gate"),
        (chat, json!({ "extraHeaders": { "x-gate": "sk-planted0123456789" } }), "extraHeaders", "x-gate"),
        (
            chat,
            json!({ "extraHeaders": { "api-key": { "keyEnv": "sk-planted0123456789" } } }),
            "extraHeaders",
            "api-key",
        ),
        (chat, json!({ "extraHeaders": { "x gate": "a" } }), "extraHeaders", "no name"),
        (chat, json!({ "extraHeaders": { "x-gate": "a\nplanted" } }), "extraHeaders", "x-gate"),
        (chat, json!({ "extraHeaders": { "Host": "planted" } }), "extraHeaders", "transport"),
        (chat, json!({ "extraHeaders": { "Sec-WebSocket-Key": "planted" } }), "extraHeaders", "transport"),
        (gemini, json!({ "query": { "key": "planted" } }), "query", "must not contain a key"),
        (gemini, json!({ "query": { "accessToken": "planted" } }), "query", "must not contain a key"),
        (gemini, json!({ "query": { "a": "sk-planted0123456789" } }), "query", "must not contain a key"),
        (gemini, json!({ "query": { "alt": "json" } }), "query", "alt"),
        (chat, json!({ "query": { "": "planted" } }), "query", "without a name"),
    ] {
        let unfit = at(wire, None, options.clone()).unwrap_err();
        assert_eq!(unfit.part, part, "{options}");
        let unfit = unfit.to_string();
        assert!(unfit.contains(said) && !unfit.contains("planted"), "{options}: {unfit}");
    }
    let elsewhere = at(chat, Some("https://models.example/v1"), json!({ "thinking": "off" })).unwrap_err();
    assert!(elsewhere.to_string().contains("use manners, effort, or extraBody"), "{elsewhere}");
}
