//! A provider's own count of a request before it is sent: the question in the provider's form, and its answer. Pure:
//! requests are made in `remote`.

use crate::address::{is_bedrock, is_vertex};
use crate::options::with_query;
use crate::wire::{Post, segment};
use engine::endpoint::{Endpoint, Wire};
use serde_json::{Map, Value, json};

/// The fields of a Messages request that its count takes; it refuses those of the answer.
const OF_MESSAGES: &[&str] = &["messages", "model", "system", "thinking", "tool_choice", "tools"];
/// The same of a Responses request.
const OF_RESPONSES: &[&str] =
    &["input", "instructions", "model", "parallel_tool_calls", "reasoning", "text", "tool_choice", "tools"];
/// The same of a Gemini request.
const OF_GEMINI: &[&str] = &["contents", "systemInstruction", "toolConfig", "tools"];

/// `true` if the provider of this endpoint counts requests.
pub fn is_counted(endpoint: &Endpoint) -> bool {
    match endpoint.wire {
        Wire::Anthropic | Wire::OpenaiResponses => !is_vertex(endpoint) && !is_bedrock(endpoint),
        Wire::Gemini => true,
        Wire::OpenaiChat | Wire::Ollama | Wire::Scripted => false,
    }
}

/// Turns the request for an answer into one for its count. Returns `None` where no provider counts.
pub(crate) fn question(endpoint: &Endpoint, model: &str, post: Post) -> Option<Post> {
    if !is_counted(endpoint) {
        return None;
    }
    let (path, kept) = match endpoint.wire {
        Wire::Anthropic => ("/messages/count_tokens".to_owned(), OF_MESSAGES),
        Wire::OpenaiResponses => ("/responses/input_tokens".to_owned(), OF_RESPONSES),
        _ => (format!("/models/{}:countTokens", segment(model)), OF_GEMINI),
    };
    let Value::Object(fields) = post.body else { return None };
    let mut fields: Map<String, Value> =
        fields.into_iter().filter(|(name, _)| kept.contains(&&**name)).collect();
    if endpoint.wire == Wire::Gemini && !is_vertex(endpoint) {
        // Beside bare contents, neither the system text nor the tools would count.
        fields.insert("model".to_owned(), json!(format!("models/{}", model.trim_start_matches("models/"))));
        fields = Map::from_iter([("generateContentRequest".to_owned(), Value::Object(fields))]);
    }
    let path = with_query(&path, &endpoint.options).into();
    Some(Post { path, headers: post.headers, body: Value::Object(fields) })
}

/// Reads the count from an answer.
pub(crate) fn read(body: &Value) -> Option<u32> {
    let counted = ["input_tokens", "totalTokens"].iter().find_map(|name| body.get(name)?.as_u64())?;
    u32::try_from(counted).ok()
}
