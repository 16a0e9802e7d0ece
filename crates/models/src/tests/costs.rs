//! What recorded answers cost: each wire's usage counts cached input as part of the input, as the prices assume.

use super::answers::stream;
use super::{draft, read, recording};
use crate::known::price::prices;
use engine::cost::{Date, Dollars, Price, PriceSource};
use engine::endpoint::{Endpoint, Wire};
use engine::message::{Beside, RUNS};
use serde_json::json;

fn beside(wire: Wire, name: &str) -> Option<Beside> {
    Some(draft(&read(wire, [&*recording(name)?]).deltas).beside)
}

/// The cost in dollars of an answer by this model.
fn cost(wire: Wire, model: &str, beside: &Beside) -> Option<f64> {
    let prices = prices(&Endpoint::of(wire), model);
    let price = Price::on(&prices, Date::of("2026-11-25"))?;
    beside.usage?.cost(price).map(f64::from)
}

#[test]
fn cached_input_is_part_of_the_input_over_each_wire() {
    for (wire, name, model, expected) in [
        // 3 × 3 + 5343 × 0.3 + 6 × 15 millionths.
        (Wire::Anthropic, "anthropic-cache-read.sse", "claude-sonnet-4-6", Some(0.001_701_9)),
        // 3 × 3 + 9699 × 3.75 + 7 × 15.
        (Wire::Anthropic, "anthropic-cache-write-mixed-ttl.sse", "claude-sonnet-4-6", Some(0.036_485_25)),
        // 155 × 1.75 + 46 × 14.
        (Wire::OpenaiResponses, "openai-responses-parallel-tools.sse", "gpt-5.2", Some(0.000_915_25)),
        // 90 × 0.75 + 42 × 4.5.
        (Wire::OpenaiChat, "openai-chat-parallel-tools-usage.sse", "gpt-5.4-mini", Some(0.000_256_5)),
        (Wire::OpenaiChat, "llamacpp-parallel-tools.sse", "qwen3-8b", None),
        (Wire::Ollama, "ollama-native-tool.ndjson", "gpt-5.4-mini", None),
    ] {
        let Some(beside) = beside(wire, name) else { return };
        assert!(beside.usage.is_some(), "{name}");
        assert_eq!(cost(wire, model, &beside), expected, "{name}");
    }
    let usage = json!({
        "promptTokenCount": 1000, "cachedContentTokenCount": 400, "candidatesTokenCount": 50, "thoughtsTokenCount": 30,
    });
    let said = json!({ "content": { "parts": [{ "text": "So." }] }, "finishReason": "STOP" });
    let chunk = json!({ "candidates": [said], "usageMetadata": usage }).to_string();
    let gemini = format!("data: {chunk}\n\n");
    let gemini = draft(&read(Wire::Gemini, [gemini.as_bytes()]).deltas).beside;
    // 600 × 1.5 + 400 × 0.15 + 80 × 9.
    assert_eq!(cost(Wire::Gemini, "gemini-3.5-flash", &gemini), Some(0.001_68));
}

/// The provider's own bill for usage with cached tokens proves the sum.
#[test]
fn computed_cost_is_what_the_router_reports() {
    let Some(beside) = beside(Wire::OpenaiChat, "openrouter-cache-usage.sse") else { return };
    let price = Price {
        source: PriceSource::Settings,
        input: 0.15.into(),
        output: 0.6.into(),
        cache_read: Some(0.075.into()),
        cache_write: None,
        long: None,
        until: None,
    };
    let reported = Some(Dollars::from(0.000_355_95));
    assert_eq!((beside.reported_cost(), beside.usage.unwrap().cost(&price)), (reported, reported));
}

#[test]
fn answer_of_several_runs_says_so() {
    let Some(recorded) = recording("anthropic-compaction.events.jsonl") else { return };
    let events: Vec<String> = String::from_utf8(recorded).unwrap().lines().map(str::to_owned).collect();
    let beside = draft(&read(Wire::Anthropic, [stream(&events).as_bytes()]).deltas).beside;
    assert_eq!(beside.extra.get(RUNS), Some(&json!(2)));
}
