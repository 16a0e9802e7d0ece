//! Answer limits as each wire sends them: from the model's name, the rest of the window, and thinking.

use crate::wire::{Terms, post};
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::Request;
use serde_json::{Value, json};

fn body(wire: Wire, url: Option<&str>, model: &str, request: &Request) -> Value {
    let endpoint = Endpoint { base_url: url.map(str::to_owned), ..Endpoint::of(wire) };
    let terms = Terms {
        model: model.to_owned(),
        window: 200_000,
        max_output: None,
        tool_choice_none: true,
        images: true,
        cache_key: None,
    };
    post(&endpoint, request, &terms).expect("a wire that is posted to").body
}

fn request(max_output: Option<u32>) -> Request {
    Request { items: vec![Item::made(Role::User, "Hello", 1)], max_output, ..Request::default() }
}

const ELSEWHERE: Option<&str> = Some("https://models.example/v1");

/// The limit's name depends on the model, not on the server.
#[test]
fn newer_models_get_the_newer_limit_name() {
    for (model, name, other) in [
        ("gpt-5-mini", "max_completion_tokens", "max_tokens"),
        ("openai/o3", "max_completion_tokens", "max_tokens"),
        ("gpt-4o", "max_tokens", "max_completion_tokens"),
        ("m", "max_tokens", "max_completion_tokens"),
    ] {
        let body = body(Wire::OpenaiChat, ELSEWHERE, model, &request(Some(100)));
        assert_eq!((&body[name], body.get(other)), (&json!(100), None), "{model}");
    }
}

/// A summary's limit of 100 tokens does not include thinking.
#[test]
fn short_answer_of_a_thinking_model_has_room_to_think() {
    let summary = Request { temperature_zero: true, ..request(Some(100)) };
    let chat = |url, model, request: &Request| body(Wire::OpenaiChat, url, model, request);
    let known = chat(None, "gpt-5", &summary);
    assert_eq!((&known["max_completion_tokens"], &known["reasoning_effort"]), (&json!(8292), &json!("low")));
    let pro = chat(None, "gpt-5-pro", &summary);
    assert_eq!((&pro["max_completion_tokens"], pro.get("reasoning_effort")), (&json!(8292), None));
    let elsewhere = chat(ELSEWHERE, "gpt-5", &summary);
    assert_eq!(elsewhere.get("reasoning_effort"), None, "not every server accepts it");
    let turn = chat(None, "gpt-5", &request(Some(100)));
    assert_eq!((&turn["max_completion_tokens"], turn.get("reasoning_effort")), (&json!(100), None));
    assert_eq!(chat(None, "gpt-4o", &summary)["max_completion_tokens"], 100, "it does not think");
    let responses = body(Wire::OpenaiResponses, None, "o3", &summary);
    assert_eq!(
        (&responses["max_output_tokens"], &responses["reasoning"]),
        (&json!(8292), &json!({ "effort": "low" }))
    );
    let local = body(Wire::Ollama, None, "qwen3:8b", &summary);
    assert_eq!(local["options"]["num_predict"], 8292);
    let narrow = Request { room: Some(3000), ..summary };
    assert_eq!(body(Wire::Ollama, None, "qwen3:8b", &narrow)["options"]["num_predict"], 3000);
}

/// Anthropic requires a limit, which stays within the window. The others get none unless it was set.
#[test]
fn unset_limit_stays_within_the_window_or_is_absent() {
    let full = Request { room: Some(700), ..request(None) };
    assert_eq!(body(Wire::Anthropic, None, "claude-sonnet-4-5", &full)["max_tokens"], 700);
    assert_eq!(body(Wire::Anthropic, None, "claude-sonnet-4-5", &request(None))["max_tokens"], 8192);
    let chat = body(Wire::OpenaiChat, None, "gpt-4", &full);
    assert_eq!((chat.get("max_tokens"), chat.get("max_completion_tokens")), (None, None));
    assert_eq!(body(Wire::OpenaiResponses, None, "gpt-5", &full).get("max_output_tokens"), None);
    assert_eq!(body(Wire::Ollama, None, "m", &full)["options"].get("num_predict"), None);
}
