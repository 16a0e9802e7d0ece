//! Reads dumped items for the checker: texts, calls, and equality with the source. Prompts as a whole are
//! checked in the parent module.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use super::source::Said;
use serde_json::Value;

/// Positions of items with this role.
pub(super) fn places<'p>(items: &'p [Value], role: &'p str) -> impl Iterator<Item = usize> + 'p {
    items.iter().enumerate().filter(move |(_, item)| item["role"] == role).map(|(at, _)| at)
}

/// Positions of user items without a source, such as compaction blocks.
pub(super) fn blocks(items: &[Value]) -> impl Iterator<Item = usize> {
    places(items, "user").filter(|at| list(&items[*at]["sources"]).is_empty())
}

/// Texts of a content, thinking included.
pub(super) fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(words) => vec![words],
        parts => list(parts).iter().filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// `true` if a content equals the source byte for byte.
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

/// `true` if the calls have the source's names, arguments and ids, which may have a number appended.
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

/// `true` if a content is head and tail of the source, with the right count of bytes between them.
pub(super) fn is_part(content: &Value, said: &Said) -> bool {
    let whole = said.text();
    let Some((head, rest)) = content.as_str().and_then(|words| words.rsplit_once("\n[… ")) else {
        return false;
    };
    let Some((mark, rest)) = rest.split_once(" bytes not shown") else { return false };
    let Some((recalled, tail)) = rest.split_once(" …]\n") else { return false };
    let from = format!("\" from byte {}", head.len());
    let is_recalled = recalled.starts_with("; they can be recalled as \"") && recalled.ends_with(&from);
    let left_out = whole.len().saturating_sub(head.len() + tail.len());
    (recalled.is_empty() || is_recalled)
        && mark == format!("{left_out} of {}", whole.len())
        && whole.starts_with(head)
        && whole.ends_with(tail)
}

/// The entries of a list; empty for other values.
pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text; empty for other values.
pub(super) fn name(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The number; `usize::MAX` for other values.
pub(super) fn number(value: &Value) -> usize {
    value.as_u64().map_or(usize::MAX, |number| usize::try_from(number).unwrap())
}
