//! What a provider's list of models says of a model: its limits. `pages` reads the whole list. Pure: requests are made in
//! `remote`.

pub mod pages;

use crate::address::{is_bedrock, is_vertex};
use crate::wire::segment;
use engine::endpoint::{Endpoint, Wire};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The smallest and the largest limit that is believed, in tokens.
const BELIEVED: std::ops::RangeInclusive<u64> = 1_000..=100_000_000;

/// The limits of a model, in tokens, as far as its provider lists them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedLimits {
    /// The context window: prompt and answer together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// The longest prompt, where that is less than the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
}

impl ListedLimits {
    /// `true` if nothing is listed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the path below the base URL that lists a model; `None` where no list has limits.
pub fn path(endpoint: &Endpoint, model: &str) -> Option<String> {
    if model.is_empty() || is_vertex(endpoint) || is_bedrock(endpoint) {
        return None;
    }
    match endpoint.wire {
        Wire::Anthropic | Wire::Gemini => Some(format!("/models/{}", segment(model))),
        Wire::OpenaiChat | Wire::OpenaiResponses => Some("/models".to_owned()),
        Wire::Ollama | Wire::Scripted => None,
    }
}

/// `true` if a model's limits are looked up unless a setting says otherwise: at providers that list them. OpenAI's list has
/// none, and what another server makes of the request is unknown.
pub fn is_usual(endpoint: &Endpoint) -> bool {
    let is_own = matches!(endpoint.wire, Wire::Anthropic | Wire::Gemini) && endpoint.is_usual();
    is_own || endpoint.url().starts_with("https://openrouter.ai/")
}

/// Reads the limits of a model from the answer at [`path`]. What cannot be a limit is left out.
pub fn read(body: &Value, model: &str) -> ListedLimits {
    let named = |entry: &&Value| {
        ["id", "name"].iter().any(|key| entry.get(key).and_then(Value::as_str) == Some(model))
    };
    let entry = match entries(body) {
        Some(list) => list.iter().find(named),
        None => Some(body),
    };
    entry.map(limits).unwrap_or_default()
}

/// The entries of a list of models; `None` if the body is no list.
fn entries(body: &Value) -> Option<&Vec<Value>> {
    body.get("data").or(body.get("models")).unwrap_or(body).as_array()
}

/// The limits of a model in its entry.
fn limits(entry: &Value) -> ListedLimits {
    let limit = |path: &str| {
        let listed = entry.pointer(path).and_then(Value::as_u64).filter(|limit| BELIEVED.contains(limit));
        listed.and_then(|limit| u32::try_from(limit).ok())
    };
    // Anthropic and Gemini list the longest prompt, which is the window but for Gemini 4, where it is both together.
    let window = [
        "/context_length",
        // Groq; vLLM and SGLang; Mistral.
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/capabilities/limits/max_context_window_tokens",
        "/inputTokenLimit",
        "/max_input_tokens",
    ];
    let window = window.iter().find_map(|path| limit(path));
    let input = limit("/capabilities/limits/max_prompt_tokens");
    ListedLimits { window, input: input.filter(|input| window.is_none_or(|window| *input < window)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn limits(window: u32, input: Option<u32>) -> ListedLimits {
        ListedLimits { window: Some(window), input }
    }

    #[test]
    fn limits_are_read_from_each_list() {
        for (body, expected) in [
            (
                json!({ "id": "m", "max_input_tokens": 1_000_000, "max_tokens": 128_000 }),
                limits(1_000_000, None),
            ),
            (json!({ "name": "models/m", "inputTokenLimit": 1_048_576 }), limits(1_048_576, None)),
            (
                json!({ "data": [{ "id": "n", "context_length": 5_000 }, { "id": "m", "context_length": 200_000 }] }),
                limits(200_000, None),
            ),
            (json!([{ "id": "m", "context_window": 131_072 }]), limits(131_072, None)),
            (json!({ "data": [{ "id": "m", "max_model_len": 32_768 }] }), limits(32_768, None)),
            (json!({ "data": [{ "id": "m", "max_context_length": 262_144 }] }), limits(262_144, None)),
            (
                json!({ "data": [{ "id": "m", "capabilities": { "limits": {
                    "max_context_window_tokens": 400_000, "max_prompt_tokens": 272_000,
                } } }] }),
                limits(400_000, Some(272_000)),
            ),
        ] {
            assert_eq!(read(&body, "m"), expected, "{body}");
        }
    }

    #[test]
    fn what_cannot_be_a_limit_is_left_out() {
        for body in [
            json!(null),
            json!([]),
            json!("m"),
            json!({ "data": [] }),
            json!({ "data": [{ "id": "m" }, { "id": "n", "context_length": 9_000 }] }),
            json!({ "data": "m", "context_length": "200000" }),
            json!({ "context_length": 0 }),
            json!({ "context_length": -1 }),
            json!({ "context_length": 1e30 }),
            json!({ "context_length": 999 }),
            json!({ "inputTokenLimit": u64::MAX }),
            json!({ "max_input_tokens": null, "capabilities": [] }),
        ] {
            assert!(read(&body, "m").is_empty(), "{body}");
        }
    }

    #[test]
    fn lists_without_limits_are_not_asked_for() {
        let at =
            |wire, url: Option<&str>| Endpoint { base_url: url.map(str::to_owned), ..Endpoint::of(wire) };
        let usual = |wire, url| is_usual(&at(wire, url)) && path(&at(wire, url), "m").is_some();
        assert!(usual(Wire::Anthropic, None) && usual(Wire::Gemini, None));
        assert!(usual(Wire::OpenaiChat, Some("https://openrouter.ai/api/v1")));
        for (wire, url) in [
            (Wire::OpenaiResponses, None),
            (Wire::OpenaiChat, None),
            (Wire::Ollama, None),
            (Wire::Anthropic, Some("http://localhost:1/v1")),
            (Wire::OpenaiChat, Some("https://openrouter.ai.example/api/v1")),
        ] {
            assert!(!usual(wire, url), "{wire:?} {url:?}");
        }
        let vertex = "https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google";
        assert_eq!(path(&at(Wire::Gemini, Some(vertex)), "m"), None);
        assert_eq!(path(&at(Wire::Gemini, None), "models/a b").as_deref(), Some("/models/a%20b"));
    }
}
