//! Marks of what the provider's cache keeps. Newer models find a beginning of a prompt only where one is marked, and mark the
//! end of each request on their own: after a compaction, not even the instructions would be found.

use super::previous::is_given;
use crate::known::takes_cache_marks;
use crate::wire::{Post, text_of};
use engine::endpoint::Endpoint;
use serde_json::{Value, json};

/// The field of a mark.
const MARK: &str = "prompt_cache_breakpoint";

/// Marks the end of the instructions and of each request so far, where model and address take marks. A mark stays where it
/// is in later requests, so that they continue this one; the provider writes the newest few and looks for all.
pub(in crate::wire) fn marked(mut post: Post, endpoint: &Endpoint, model: &str) -> Post {
    if !endpoint.is_usual() || !takes_cache_marks(model) {
        return post;
    }
    let Some(input) = post.body.get_mut("input").and_then(Value::as_array_mut) else { return post };
    let instructions = input.iter().take_while(|item| text_of(item, "role") == Some("system")).count();
    let follows: Vec<bool> = input.iter().skip(1).map(is_given).chain([false]).collect();
    for (at, (item, goes_on)) in input.iter_mut().zip(follows).enumerate() {
        if is_given(item) && (!goes_on || at + 1 == instructions) {
            mark(item);
        }
    }
    post
}

/// Marks the last part of a message or of a result, unless it has none.
fn mark(item: &mut Value) {
    let field = if item.get("output").is_some() { "output" } else { "content" };
    let Some(content) = item.get_mut(field) else { return };
    if let Some(text) = content.as_str().filter(|text| !text.is_empty()) {
        *content = json!([{ "type": "input_text", "text": text }]);
    }
    let last = content.as_array_mut().and_then(|parts| parts.last_mut()).and_then(Value::as_object_mut);
    if let Some(part) = last {
        part.insert(MARK.to_owned(), json!({ "mode": "explicit" }));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Previous;
    use super::*;
    use engine::endpoint::Wire;

    fn message(role: &str, text: &str) -> Value {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
    }

    fn call(id: &str) -> Value {
        json!({ "type": "function_call", "call_id": id, "name": "read", "arguments": "{}" })
    }

    fn result(id: &str, output: &str) -> Value {
        json!({ "type": "function_call_output", "call_id": id, "output": output })
    }

    fn post(input: &[Value]) -> Post {
        Post { path: "/responses".into(), headers: Vec::new(), body: json!({ "input": input }) }
    }

    fn sent(endpoint: &Endpoint, model: &str, input: &[Value]) -> Value {
        marked(post(input), endpoint, model).body
    }

    /// The texts of marked parts.
    fn marks(body: &Value) -> Vec<&str> {
        let parts = body["input"].as_array().unwrap().iter().flat_map(|item| {
            ["content", "output"].iter().filter_map(|field| item.get(field)?.as_array()).flatten()
        });
        let marked = parts.filter(|part| part[MARK] == json!({ "mode": "explicit" }));
        marked.map(|part| part["text"].as_str().unwrap()).collect()
    }

    #[test]
    fn instructions_and_ends_of_requests_are_marked_and_stay_so() {
        let endpoint = Endpoint::of(Wire::OpenaiResponses);
        let first =
            [message("system", "a"), message("system", "b"), message("user", "c"), message("user", "d")];
        let first_sent = sent(&endpoint, "gpt-6.1-sol", &first);
        assert_eq!(marks(&first_sent), ["b", "d"]);
        let answer = [call("1"), call("2")];
        let new = [result("1", "e"), result("2", "f")];
        let second_sent = sent(&endpoint, "gpt-6.1-sol", &[&first[..], &answer, &new].concat());
        assert_eq!(marks(&second_sent), ["b", "d", "f"]);
        let previous = Previous::of("resp_1", &first_sent, answer.to_vec());
        let rest = previous.continued(&second_sent).expect("it continues the first one");
        assert_eq!(rest["input"].as_array().unwrap().len(), new.len());
        let empty = [message("user", "c"), call("1"), result("1", "")];
        assert_eq!(marks(&sent(&endpoint, "gpt-6.1-sol", &empty)), ["c"]);
    }

    #[test]
    fn other_models_and_addresses_get_no_marks() {
        let own = Endpoint::of(Wire::OpenaiResponses);
        let elsewhere = Endpoint { base_url: Some("https://models.example/v1".to_owned()), ..own.clone() };
        let input = [message("system", "a"), message("user", "b")];
        for (endpoint, model) in
            [(&own, "gpt-5.4"), (&own, "o3"), (&own, "m"), (&elsewhere, "gpt-6.1-sol"), (&elsewhere, "m")]
        {
            assert_eq!(sent(endpoint, model, &input), post(&input).body, "{model}");
        }
        for model in ["gpt-5.6-sol", "gpt-6-astra", "gpt-7"] {
            assert_eq!(marks(&sent(&own, model, &input)), ["a", "b"], "{model}");
        }
    }
}
