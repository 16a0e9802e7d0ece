//! How the checker reads a dumped item: its texts, its calls, and whether it says what its source said. It judges one
//! item; what a whole prompt must be stands in the file above.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use super::source::Said;
use serde_json::Value;

/// Places of items with the role.
pub(super) fn places<'p>(items: &'p [Value], role: &'p str) -> impl Iterator<Item = usize> + 'p {
    items.iter().enumerate().filter(move |(_, item)| item["role"] == role).map(|(at, _)| at)
}

/// Places of what stands in a user's place and was not said by one.
pub(super) fn blocks(items: &[Value]) -> impl Iterator<Item = usize> {
    places(items, "user").filter(|at| list(&items[*at]["sources"]).is_empty())
}

/// Texts of a content, thinking with it.
pub(super) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(words) => vec![words],
        parts => list(parts).iter().filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// Whether a content is what was said, byte for byte.
pub(super) fn says(content: &Value, said: &Said) -> bool {
    match content {
        Value::String(words) if words.is_empty() => said.parts.is_empty(),
        Value::String(words) => {
            matches!(&said.parts[..], [part] if part["type"] == "text" && part["text"] == *words)
        }
        parts => {
            list(parts).iter().filter(|part| part["type"] != "text" || part["text"] != "").eq(&said.parts)
        }
    }
}

/// Whether calls are those of the source: by name, by arguments, and by an id that at most has a number behind it.
pub(super) fn asks(calls: &Value, said: &Said) -> bool {
    let calls = list(calls);
    let is_numbered = |rest: &str| {
        rest.is_empty()
            || rest.strip_prefix('_').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    calls.len() == said.calls.len()
        && calls.iter().zip(&said.calls).all(|(call, known)| {
            call["name"] == known.name
                && call["arguments"] == known.arguments
                && name(&call["id"]).strip_prefix(known.id.as_str()).is_some_and(is_numbered)
        })
}

/// Whether a content is head and tail of what was said, and says truly how much stands between them.
pub(super) fn is_part(content: &Value, said: &Said) -> bool {
    let whole = said.text();
    let Some((head, rest)) = content.as_str().and_then(|words| words.rsplit_once("\n[… ")) else {
        return false;
    };
    let Some((mark, tail)) = rest.split_once(" bytes not shown …]\n") else { return false };
    let left_out = whole.len().saturating_sub(head.len() + tail.len());
    mark == format!("{left_out} of {}", whole.len()) && whole.starts_with(head) && whole.ends_with(tail)
}

/// The entries of a list; none of anything else.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text; none of anything else.
pub(super) fn name(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A whole number.
pub(super) fn number(value: &Value) -> usize {
    value.as_u64().map_or(usize::MAX, |number| usize::try_from(number).unwrap())
}
