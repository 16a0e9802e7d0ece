//! Detection of a source's format, even if the file is truncated or malformed.

use super::json::{Object, lines, list, object, text, without_mark};
use super::{Format, aider, cline, opencode};
use engine::text::json;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// The most lines and messages inspected. A session file may begin with records common to several formats.
const LINES: usize = 500;

/// Detects the format by the fields of the first value, or by the first conclusive line.
pub fn detect(bytes: &[u8]) -> Option<Format> {
    let bytes = without_mark(bytes).ok()?;
    by_fields(opencode::without_line(bytes))
        .or_else(|| lines(bytes).take(LINES).find_map(|(_, line)| by_line(line)))
}

/// Detects formats that are one JSON value, by its readable fields.
fn by_fields(bytes: &[u8]) -> Option<Format> {
    let mut shape = Shape::default();
    let mut value = serde_json::Deserializer::from_slice(bytes);
    // A truncated file ends in an error here; the fields before the cut are known.
    if bytes.trim_ascii_start().starts_with(b"[") {
        let _ = Messages(&mut shape.messages).deserialize(&mut value);
        return by_messages(&shape.messages);
    }
    let is_cut = value.deserialize_map(&mut shape).is_err();
    let has = |key: &str| shape.keys.iter().any(|known| known == key);
    let is_gemini = || by_messages(&shape.messages) == Some(Format::GeminiCli);
    if has("requests") {
        Some(Format::VscodeChat)
    } else if has("prompts") {
        Some(Format::Chatreplay)
    } else if has("history") && is_gemini() {
        Some(Format::GeminiCli)
    } else if has("history") || has("trajectory") {
        Some(Format::SweAgent)
    } else if has("messages") && has("id") {
        Some(Format::Trajectory)
    } else if has("messages") && (has("projectHash") || is_gemini()) {
        Some(Format::GeminiCli)
    } else if has("messages")
        && (has("sessionId") || has("system_prompt") || has("agent") && has("updated_at"))
    {
        Some(Format::Cline)
    } else if has("messages") && (CALL_LOG.1.into_iter().any(has) || is_cut && is_begun(&shape.keys)) {
        Some(Format::OpenHands)
    } else if has("apiConversationHistory") {
        Some(Format::Cline)
    } else if has("sessionID") && (has("role") || has("messageID")) || has("projectID") && has("directory") {
        Some(Format::OpenCode)
    } else if has("messages") && has("system") {
        Some(Format::Anthropic)
    } else {
        by_messages(&shape.messages)
    }
}

/// Detects formats by their messages, which a list or an object may hold.
fn by_messages(messages: &[Object]) -> Option<Format> {
    let any = |is: fn(&Object) -> bool| messages.iter().any(is);
    if any(is_gemini) {
        Some(Format::GeminiCli)
    } else if any(|message| message.contains_key("info") && message.contains_key("parts")) {
        Some(Format::OpenCode)
    } else if !any(|message| message.contains_key("role") && holds(message)) {
        None
    } else if any(is_cline) {
        Some(Format::Cline)
    } else if any(is_anthropic) && !any(|message| message.contains_key("tool_calls")) {
        Some(Format::Anthropic)
    } else {
        Some(Format::OpenAi)
    }
}

/// `true` if a message holds anything.
fn holds(message: &Object) -> bool {
    message.contains_key("content") || message.contains_key("tool_calls")
}

/// A message of a recorded chat, or a content of the API, whose parts have no types.
fn is_gemini(message: &Object) -> bool {
    let is_untyped = |part: &Value| part.get("type").is_none();
    text(message, "type") == Some("gemini")
        || matches!(text(message, "role"), Some("user" | "model"))
            && list(message, "parts").first().is_some_and(is_untyped)
}

/// A message with fields of Cline, or with what it writes into a user's message.
fn is_cline(message: &Object) -> bool {
    ["ts", "modelInfo", "metrics"].iter().any(|key| message.contains_key(*key))
        || texts(message).any(|text| {
            let text = text.trim_start();
            text.starts_with("<task>") || text.starts_with("<environment_details>")
        })
}

/// A message with a block that only Anthropic's Messages have.
fn is_anthropic(message: &Object) -> bool {
    list(message, "content").iter().filter_map(Value::as_object).any(|block| match text(block, "type") {
        Some("tool_use" | "tool_result" | "thinking" | "redacted_thinking") => true,
        Some("image" | "document") => block.contains_key("source"),
        _ => false,
    })
}

fn texts(message: &Object) -> impl Iterator<Item = &str> {
    let blocks = list(message, "content").iter().filter_map(|block| block.get("text"));
    blocks.chain(message.get("content")).filter_map(Value::as_str)
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
    if line.starts_with(aider::START.as_bytes()) {
        return Some(Format::Aider);
    }
    let record: Object = json::read(std::str::from_utf8(line).ok()?).ok()?;
    let has = |key: &str| record.contains_key(key);
    if has("dir") && has("kind") {
        return Some(Format::Codex);
    }
    if has("$set") || has("$rewindTo") || has("sessionId") && has("projectHash") {
        return Some(Format::GeminiCli);
    }
    if has("record_type") {
        return Some(Format::Codex);
    }
    match text(&record, "type")? {
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" if has("payload") => {
            Some(Format::Codex)
        }
        "session" if text(&record, "format") == Some("threadhold") => Some(Format::Jsonl),
        "session" if has("id") || has("cwd") => Some(Format::Pi),
        "message" if has("parts") => Some(Format::Jsonl),
        "message" if has("role") && has("content") => Some(Format::Codex),
        "function_call" | "function_call_output" if has("call_id") => Some(Format::Codex),
        "gemini" if has("content") => Some(Format::GeminiCli),
        "message" if object(&record, "message").is_some_and(|message| message.contains_key("role")) => {
            Some(Format::Pi)
        }
        "user" | "assistant" | "system" if has("uuid") || has("sessionId") => Some(Format::ClaudeCode),
        "summary" if has("leafUuid") => Some(Format::ClaudeCode),
        "file-history-snapshot" | "queue-operation" => Some(Format::ClaudeCode),
        _ => None,
    }
}

/// The names of an object's fields, and the first messages of its list; other values are ignored.
#[derive(Default)]
struct Shape {
    keys: Vec<String>,
    messages: Vec<Object>,
}

impl<'de> Visitor<'de> for &mut Shape {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let is_list = key == "history" || cline::LISTS.contains(&key.as_str());
            self.keys.push(key);
            if is_list && self.messages.is_empty() {
                map.next_value_seed(Messages(&mut self.messages))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// Collects the first objects of a list; any other value is ignored.
struct Messages<'a>(&'a mut Vec<Object>);

impl<'de> DeserializeSeed<'de> for Messages<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Messages<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while self.0.len() < LINES {
            match seq.next_element::<Value>()? {
                Some(Value::Object(message)) => self.0.push(message),
                Some(_) => {}
                None => return Ok(()),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_fields_even_in_truncated_files() {
        let cases: [(&str, Option<Format>); 36] = [
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
            ("[{\"role\":\"user\",\"content\":\"x\"},{\"ro", Some(Format::OpenAi)),
            ("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", Some(Format::OpenAi)),
            (
                "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"system\":\"s\"}",
                Some(Format::Anthropic),
            ),
            ("[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"}]}]", Some(Format::Anthropic)),
            ("[{\"role\":\"user\",\"content\":[{\"text\":\"<task>x</task>\"}]}]", Some(Format::Cline)),
            ("{\"apiConversationHistory\":[", Some(Format::Cline)),
            ("{\"sessionId\":\"s\",\"projectHash\":\"h\",\"messages\":[]}", Some(Format::GeminiCli)),
            (
                "{\"sessionId\":\"s\",\"messages\":[{\"type\":\"gemini\",\"content\":\"x\"}]}",
                Some(Format::GeminiCli),
            ),
            ("{\"sessionId\":\"s\",\"projectHash\":\"h\"}\n{\"id", Some(Format::GeminiCli)),
            ("{\"history\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}]}", Some(Format::GeminiCli)),
            ("[{\"role\":\"model\",\"parts\":[{\"text\":\"x\"}]}]", Some(Format::GeminiCli)),
            ("\n# aider chat started at 2025-01-01", Some(Format::Aider)),
            (
                "Exporting session: s\n{\"info\":{},\"messages\":[{\"info\":{},\"parts\":[]}]}",
                Some(Format::OpenCode),
            ),
            ("{\"id\":\"m\",\"sessionID\":\"s\",\"role\":\"user\"}\n{\"id\":\"p\"}", Some(Format::OpenCode)),
            ("{\"id\":\"s\",\"timestamp\":\"t\"}\n{\"record_type\":\"state\"}", Some(Format::Codex)),
            ("{\"type\":\"message\",\"role\":\"user\",\"content\":[]}", Some(Format::Codex)),
        ];
        for (source, format) in cases {
            assert_eq!(detect(source.as_bytes()), format, "{source}");
        }
    }
}
