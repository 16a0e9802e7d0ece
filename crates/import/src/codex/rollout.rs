//! Rollouts of Codex: one item per line, as sent to or received from the model. Events repeat the items and
//! are ignored, except for token usage. Until the autumn of 2025 the lines were flat: the session's own
//! (`{id, timestamp, instructions}`), then the items without an envelope, and states (`record_type`).

use super::talk::{Assembler, TextKind};
use super::usage;
use crate::Import;
use crate::shared::json::{Object, arguments, code, list, needed, object, text};
use crate::shared::parts::{contents, joined};
use crate::shared::verdict::refusal;
use engine::message::{Content, ToolResult};
use engine::text::json;
use serde_json::{Value, json};

pub(super) fn take(
    talk: &mut Assembler,
    import: &mut Import,
    place: &str,
    record: &Object,
) -> Result<(), String> {
    let Some(payload) = object(record, "payload") else { return flat(talk, import, place, record) };
    let kind = needed(record, "type")?;
    match kind {
        "session_meta" => {
            let base = object(payload, "base_instructions").and_then(|base| text(base, "text"));
            if let Some(words) = base.or(text(payload, "instructions")) {
                talk.system(words);
            }
            Ok(())
        }
        "response_item" => item(talk, import, place, payload),
        "compacted" => match text(payload, "message").filter(|summary| !summary.is_empty()) {
            Some(summary) => {
                talk.summary(summary);
                Ok(())
            }
            None => Err("is a compaction whose summary only its provider can read".into()),
        },
        "event_msg" => {
            if text(payload, "type") == Some("token_count") {
                talk.used(usage(payload));
            }
            Ok(())
        }
        "turn_context" => Ok(()),
        unknown => Err(format!("is a record of an unknown type, `{unknown}`")),
    }
}

/// The types of lines that have an envelope.
pub(super) const ENVELOPES: [&str; 5] =
    ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

/// Reads a line without an envelope.
fn flat(talk: &mut Assembler, import: &mut Import, place: &str, record: &Object) -> Result<(), String> {
    match text(record, "type") {
        Some(kind) if ENVELOPES.contains(&kind) => Err("has no `payload`".into()),
        Some(_) => item(talk, import, place, record),
        // A state: the id of the last response.
        None if record.contains_key("record_type") => Ok(()),
        None if record.contains_key("id") && record.contains_key("timestamp") => {
            if let Some(words) = text(record, "instructions") {
                talk.system(words);
            }
            Ok(())
        }
        None => Err("has no text in `type`".into()),
    }
}

fn item(talk: &mut Assembler, import: &mut Import, place: &str, item: &Object) -> Result<(), String> {
    match needed(item, "type")? {
        "message" => {
            let parts = contents(item.get("content"), place, import)?;
            match needed(item, "role")? {
                "user" => talk.said(parts),
                "assistant" => {
                    parts.iter().filter_map(Content::text).for_each(|said| talk.whole(TextKind::Words, said))
                }
                "system" | "developer" => talk.system(&joined(&parts)),
                unknown => return Err(format!("is a message of an unknown role, `{unknown}`")),
            }
        }
        "reasoning" => {
            for (key, voice) in [("summary", TextKind::Summary), ("content", TextKind::Thinking)] {
                let texts =
                    list(item, key).iter().filter_map(|part| part.get("text").and_then(Value::as_str));
                texts.for_each(|thought| talk.whole(voice, thought));
            }
        }
        "function_call" => {
            talk.call(needed(item, "call_id")?, needed(item, "name")?, &arguments(item.get("arguments")));
        }
        "custom_tool_call" => {
            let given = json!({ "input": item.get("input") });
            talk.call(needed(item, "call_id")?, needed(item, "name")?, &arguments(Some(&given)));
        }
        "local_shell_call" => {
            talk.call(needed(item, "call_id")?, "local_shell", &arguments(item.get("action")));
        }
        "function_call_output" | "custom_tool_call_output" => {
            let call = needed(item, "call_id")?.to_owned();
            let mut result = output(call, item.get("output"), place, import)?;
            result.verdict = refusal(&result.content);
            talk.result(result);
        }
        // A snapshot of the folder for the program's own undo.
        "ghost_snapshot" => {}
        "web_search_call" => {
            return Err("is a search that the provider ran; its results are missing".into());
        }
        "compaction" | "compaction_summary" => {
            return Err("is a compaction whose summary only its provider can read".into());
        }
        unknown => return Err(format!("is an item of an unknown type, `{unknown}`")),
    }
    Ok(())
}

/// The result of a call: text, parts, or an object around them. A command's text may be JSON with its exit
/// code, or begin with it.
fn output(
    call: String,
    value: Option<&Value>,
    place: &str,
    import: &mut Import,
) -> Result<ToolResult, String> {
    let mut result = ToolResult { call, ..ToolResult::default() };
    let value = match value {
        Some(Value::Object(of)) => {
            result.is_error = of.get("success") == Some(&json!(false));
            of.get("content")
        }
        other => other,
    };
    if let Some(Value::String(words)) = value {
        let inner: Option<Object> = json::read(words).ok();
        let told = inner.as_ref().and_then(|of| Some((text(of, "output")?, object(of, "metadata")?)));
        if let Some((words, metadata)) = told {
            result.content = vec![Content::Text(words.into())];
            result.exit_code = code(metadata, "exit_code");
            return Ok(result);
        }
        let first = words.lines().next().and_then(|line| line.strip_prefix("Exit code: "));
        result.exit_code = first.and_then(|code| code.trim().parse().ok());
    }
    result.content = contents(value, place, import)?;
    Ok(result)
}
