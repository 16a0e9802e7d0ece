//! The response before, as a connection has it: a request that continues it sends only what is new.

use engine::text::sha256_hex;
use serde_json::{Map, Value, json};

/// Roles of messages that no model writes.
const GIVEN: &[&str] = &["developer", "system", "user"];

/// A response and what it was asked, as hashes: the items of a long conversation are not kept twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Previous {
    id: String,
    /// The hash of the request without its input.
    frame: String,
    /// Hashes of the items of the input and of the answer, as the next request states them.
    items: Vec<String>,
}

impl Previous {
    /// Creates it from the id of a response, its whole request, and its items as the next request states them.
    pub(crate) fn of(id: &str, body: &Value, answer: Vec<Value>) -> Self {
        let items = input(body).iter().chain(&answer).map(hash).collect();
        Self { id: id.to_owned(), frame: frame(body), items }
    }

    /// Returns the message that sends what is new of a request only; `None` if the whole input must go: the request is not
    /// a continuation, or differs in anything else.
    pub(crate) fn continued(&self, body: &Value) -> Option<Value> {
        let (known, new) = input(body).split_at_checked(self.items.len())?;
        let is_next = !self.items.is_empty()
            && !new.is_empty()
            && new.iter().all(is_given)
            && self.frame == frame(body)
            && known.iter().map(hash).eq(self.items.iter().cloned());
        is_next.then(|| {
            let rest = fields(body).filter(|(field, _)| *field != "input");
            let mut message: Map<String, Value> =
                rest.map(|(field, value)| (field.clone(), value.clone())).collect();
            message.insert("previous_response_id".to_owned(), json!(self.id));
            message.insert("input".to_owned(), json!(new));
            Value::Object(message)
        })
    }
}

/// `true` if no model wrote the item.
pub(super) fn is_given(item: &Value) -> bool {
    match item.get("type").and_then(Value::as_str) {
        Some("function_call_output") => true,
        Some("message") => item.get("role").and_then(Value::as_str).is_some_and(|role| GIVEN.contains(&role)),
        _ => false,
    }
}

fn input(body: &Value) -> &[Value] {
    body.get("input").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn fields(body: &Value) -> impl Iterator<Item = (&String, &Value)> {
    body.as_object().into_iter().flatten()
}

fn frame(body: &Value) -> String {
    let fields = fields(body).filter(|(field, _)| *field != "input");
    sha256_hex(json!(fields.collect::<Vec<_>>()).to_string().as_bytes())
}

fn hash(item: &Value) -> String {
    sha256_hex(item.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(role: &str, text: &str) -> Value {
        json!({ "type": "message", "role": role, "content": text })
    }

    fn body(input: &[Value]) -> Value {
        json!({ "model": "m", "tools": [1], "input": input })
    }

    #[test]
    fn only_a_continuation_leaves_out_what_is_known() {
        let (asked, said) = (message("user", "a"), message("assistant", "b"));
        let output = json!({ "type": "function_call_output", "call_id": "c", "output": "d" });
        let before = Previous::of("resp_1", &body(std::slice::from_ref(&asked)), vec![said.clone()]);
        let next = body(&[asked.clone(), said.clone(), output.clone(), message("user", "e")]);
        let expected = json!({
            "model": "m", "tools": [1], "previous_response_id": "resp_1", "input": [output, message("user", "e")],
        });
        assert_eq!(before.continued(&next), Some(expected));
        let mut other_tools = next.clone();
        other_tools["tools"] = json!([2]);
        for whole in [
            body(&[asked.clone(), said.clone()]),
            body(&[asked.clone(), message("assistant", "x"), output.clone()]),
            body(&[message("user", "x"), said.clone(), output.clone()]),
            body(&[asked.clone(), said.clone(), said.clone(), output.clone()]),
            body(std::slice::from_ref(&asked)),
            body(&[]),
            other_tools,
        ] {
            assert_eq!(before.continued(&whole), None, "{whole}");
        }
        assert_eq!(Previous::default().continued(&next), None);
    }
}
