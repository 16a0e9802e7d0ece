//! Detection of a source's format, even if the file is truncated or malformed.

use super::Format;
use super::json::{Object, lines, object, text, without_mark};
use engine::text::json;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use std::fmt;

/// The most lines inspected. A session file may begin with records common to several formats.
const LINES: usize = 500;

/// Detects the format by the fields of the first value, or by the first conclusive line.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    let bytes = without_mark(bytes).ok()?;
    by_fields(bytes).or_else(|| lines(bytes).take(LINES).find_map(|(_, line)| by_line(line)))
}

/// Detects formats that are one JSON value, by its readable fields.
fn by_fields(bytes: &[u8]) -> Option<Format> {
    let mut keys = Keys::default();
    // A truncated file ends in an error here; the fields before the cut are known.
    let is_cut = serde_json::Deserializer::from_slice(bytes).deserialize_map(&mut keys).is_err();
    let has = |key: &str| keys.0.iter().any(|known| known == key);
    if has("requests") {
        Some(Format::VscodeChat)
    } else if has("prompts") {
        Some(Format::Chatreplay)
    } else if has("history") || has("trajectory") {
        Some(Format::SweAgent)
    } else if has("messages") && has("id") {
        Some(Format::Trajectory)
    } else if has("messages")
        && (has("sessionId") || has("system_prompt") || has("agent") && has("updated_at"))
    {
        Some(Format::Cline)
    } else if has("messages") && (CALL_LOG.1.into_iter().any(has) || is_cut && is_begun(&keys.0)) {
        Some(Format::OpenHands)
    } else {
        None
    }
}

/// The first fields of an OpenHands log, which are not unique to it, and the fields that identify it.
const CALL_LOG: ([&str; 3], [&str; 5]) = (
    ["messages", "tools", "kwargs"],
    ["raw_messages", "response", "raw_response", "context_window", "latency_sec"],
);

/// `true` if these may be the first fields of a truncated OpenHands log.
fn is_begun(keys: &[String]) -> bool {
    !keys.is_empty()
        && keys.iter().zip(CALL_LOG.0).all(|(key, known)| key == known)
        && keys.len() <= CALL_LOG.0.len()
}

/// Detects formats with one record per line.
fn by_line(line: &[u8]) -> Option<Format> {
    let record: Object = json::read(std::str::from_utf8(line).ok()?).ok()?;
    let has = |key: &str| record.contains_key(key);
    if has("dir") && has("kind") {
        return Some(Format::Codex);
    }
    match text(&record, "type")? {
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" if has("payload") => {
            Some(Format::Codex)
        }
        "session" if text(&record, "format") == Some("threadhold") => Some(Format::Jsonl),
        "session" if has("id") || has("cwd") => Some(Format::Pi),
        "message" if has("parts") => Some(Format::Jsonl),
        "message" if object(&record, "message").is_some_and(|message| message.contains_key("role")) => {
            Some(Format::Pi)
        }
        "user" | "assistant" | "system" if has("uuid") || has("sessionId") => Some(Format::ClaudeCode),
        "summary" if has("leafUuid") => Some(Format::ClaudeCode),
        "file-history-snapshot" | "queue-operation" => Some(Format::ClaudeCode),
        _ => None,
    }
}

/// The names of an object's fields; values are ignored.
#[derive(Default)]
struct Keys(Vec<String>);

impl<'de> Visitor<'de> for &mut Keys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            self.0.push(key);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_fields_even_in_truncated_files() {
        let cases: [(&str, Option<Format>); 20] = [
            ("\u{feff}{\"requests\": [", Some(Format::VscodeChat)),
            ("{\n \"exportedAt\": \"\", \"prompts\": [{\"prom", Some(Format::Chatreplay)),
            ("{\"trajectory\": [],\r\n \"history\"", Some(Format::SweAgent)),
            ("{\"type\":\"session\",\"format\":\"threadhold\",\"version\":9}", Some(Format::Jsonl)),
            ("{\"type\":\"session\",\"id\":\"x\"}\nnot json", Some(Format::Pi)),
            ("{\"type\":\"ses\n{\"type\":\"message\",\"message\":{\"role\":\"user\"}}", Some(Format::Pi)),
            ("{\"type\":\"user\",\"uuid\":\"u\",\"message\":{}}", Some(Format::ClaudeCode)),
            ("{\"type\":\"message\",\"role\":\"user\",\"parts\":[]}", Some(Format::Jsonl)),
            ("{\"id\": \"c\", \"title\": \"t\", \"messages\": [{\"role\"", Some(Format::Trajectory)),
            (
                "{\"version\": 1, \"updated_at\": \"t\", \"agent\": \"lead\", \"messages\": [{\"ro",
                Some(Format::Cline),
            ),
            ("{\"messages\": [], \"system_prompt\": \"s\"}", Some(Format::Cline)),
            ("{\"messages\": [{\"role\": \"sys", Some(Format::OpenHands)),
            ("{\"messages\": [], \"tools\": [{\"ty", Some(Format::OpenHands)),
            ("{\"messages\": [], \"model\": \"m", None),
            ("{\"messages\": [], \"tools\": [], \"context_window\": 9, \"raw_m", Some(Format::OpenHands)),
            ("{\"messages\": [{\"role\": \"user\"}], \"model\": \"m\"}", None),
            ("{\"ts\":\"t\",\"dir\":\"meta\",\"kind\":\"session_start\"}\n{\"ts", Some(Format::Codex)),
            (
                "{\"timest\n{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{}}",
                Some(Format::Codex),
            ),
            ("{\"type\":\"event_msg\"}", None),
            ("[{\"role\":\"user\"}]", None),
        ];
        for (source, format) in cases {
            assert_eq!(detect(source.as_bytes()), format, "{source}");
        }
    }
}
