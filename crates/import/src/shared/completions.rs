//! Messages in the form of chat completions, which several formats use. Each format handles system messages
//! and roles of its own.

use super::json::{Object, code, function_usage, list, needed, object, text};
use super::parts::{contents, function_calls, said};
use crate::Import;
use engine::message::{AssistantPart, Beside, Body, ToolResult};
use serde_json::Value;

/// Reads a message of a user, a model or a tool; `None` for any other role.
pub(crate) fn body(row: &Object, place: &str, import: &mut Import) -> Result<Option<Body>, String> {
    let content = row.get("content");
    Ok(Some(match needed(row, "role")? {
        "user" => Body::User(contents(content, place, import)?),
        "assistant" => {
            // Thinking is stored beside the content and precedes it.
            let mut parts = said(row.get("thinking_blocks"), place, import)?.parts;
            if let Some(thought) =
                text(row, "reasoning_content").filter(|text| parts.is_empty() && !text.is_empty())
            {
                parts.push(AssistantPart::Reasoning { text: thought.into(), signature: None, block: None });
            }
            let mut said = said(content, place, import)?;
            parts.extend(said.parts);
            let calls = function_calls(list(row, "tool_calls"), &format!("{place}.tool_calls"), import);
            said.calls.extend(calls);
            let usage = object(row, "usage").and_then(function_usage);
            Body::Assistant { parts, calls: said.calls, beside: Beside { usage, ..Beside::default() } }
        }
        "tool" => {
            let ids = list(row, "tool_call_ids").first().and_then(Value::as_str);
            let call = ids.or(text(row, "tool_call_id")).ok_or("is a result that names no call")?.to_owned();
            let content = contents(content, place, import)?;
            Body::Tool(ToolResult {
                call,
                content,
                exit_code: code(row, "exit_code"),
                ..ToolResult::default()
            })
        }
        _ => return Ok(None),
    }))
}
