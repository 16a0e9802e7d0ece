//! A prompt as `--dump-prompts` writes it: the content of the model request, with the origin of each message.

use engine::message::Content;
use engine::prompt::Prompt;
use engine::prompt::item::{Item, ItemCall, ItemPart, Tool};
use engine::text::json;
use serde_json::{Value, json};

/// Returns messages, tools and their size in tokens as JSON.
pub fn dump_read(items: &[Item], tools: &[Tool], tokens: u32) -> Value {
    json!({
        "messages": items.iter().map(message).collect::<Vec<Value>>(),
        "tools": tools.iter().map(tool).collect::<Vec<Value>>(),
        "tokens": tokens,
    })
}

/// Returns the dump of a prompt, with its limit and compaction.
pub fn dump(prompt: &Prompt) -> Value {
    let mut out = dump_read(&prompt.items, &prompt.tools, prompt.tokens);
    out["limit"] = json!(prompt.limit);
    if let Some(id) = &prompt.compaction {
        out["compactionId"] = json!(id);
    }
    out
}

fn message(item: &Item) -> Value {
    let mut out = json!({ "role": item.role.name(), "content": content(&item.parts) });
    if !item.calls.is_empty() {
        out["toolCalls"] = item.calls.iter().map(call).collect();
    }
    if let Some(id) = &item.call_id {
        out["toolCallId"] = json!(id);
    }
    if !item.sources.is_empty() {
        let sources = item.sources.iter().map(|s| json!({ "ord": s.ord, "as": s.shown.name() }));
        out["sources"] = sources.collect();
    }
    out
}

/// A single text, or none, becomes a string; anything else a list of parts.
fn content(parts: &[ItemPart]) -> Value {
    match parts {
        [] => json!(""),
        [ItemPart::Content(Content::Text(text))] => json!(text),
        parts => parts.iter().map(part).collect(),
    }
}

fn part(part: &ItemPart) -> Value {
    match part {
        ItemPart::Content(Content::Text(text)) => json!({ "type": "text", "text": text }),
        ItemPart::Content(Content::Image(image)) => {
            json!({ "type": "image", "mimeType": image.mime_type, "data": image.data })
        }
        ItemPart::Content(Content::Resource { uri, text }) => {
            json!({ "type": "resource", "uri": uri, "text": text })
        }
        ItemPart::Content(Content::ContextFile { path, text }) => {
            json!({ "type": "contextFile", "path": path, "text": text })
        }
        ItemPart::Content(Content::Meta(_)) => Value::Null,
        ItemPart::Content(Content::ResourceLink(link)) => {
            json!({ "type": "resourceLink", "uri": link.uri, "name": link.name })
        }
        ItemPart::Content(Content::Attachment(attachment)) => {
            json!({ "type": "attachment", "name": attachment.name, "text": attachment.framed() })
        }
        ItemPart::Reasoning { text, signature, block } => {
            let mut part = json!({ "type": "reasoning", "text": text, "signature": signature });
            if let Some(block) = block {
                part["block"] = json!(block);
            }
            part
        }
        ItemPart::Raw(wire) => json!({ "type": "raw", "wire": wire }),
    }
}

/// Arguments that are not JSON become a string of the model's text.
fn call(call: &ItemCall) -> Value {
    let arguments = json::read(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
    json!({ "id": call.id, "name": call.name, "arguments": arguments })
}

fn tool(tool: &Tool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema })
}
