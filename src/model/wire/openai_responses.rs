//! Responses of OpenAI: a request as its body. How the stream is read is in `stream`; a socket carries the same words and
//! is `crate::model::socket`'s.

mod stream;

pub(super) use stream::Stream;

use super::pieces::{Piece, address, arguments, call_id, is_of, piece, schema, text_of};
use super::{Post, Terms};
use crate::engine::message::{Content, MADE_BY};
use crate::engine::prompt::item::{Item, ItemPart, Role};
use crate::engine::prompt::request::{Request, ToolChoice};
use crate::engine::session::endpoint::Wire;
use serde_json::{Map, Value, json};

/// The least that this wire lets an answer have, in tokens.
const LEAST_OUTPUT: u32 = 16;

/// Puts a request into this wire's words. Nothing is kept by the provider, so all that it made goes back to it.
pub(super) fn post(request: &Request, terms: &Terms) -> Post {
    let mut input = Vec::new();
    for item in &request.items {
        put_item(item, terms, &mut input);
    }
    let with_tools =
        !request.tools.is_empty() && (request.tool_choice == ToolChoice::Auto || terms.tool_choice_none);
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    put("model", json!(terms.model));
    put("stream", json!(true));
    put("store", json!(false));
    if terms.temperature {
        if request.temperature_zero {
            put("temperature", json!(0));
        }
    } else {
        // What takes a temperature does not think, and refuses to be asked for its thinking.
        put("include", json!(["reasoning.encrypted_content"]));
    }
    if let Some(most) = request.max_output.or(terms.max_output) {
        put("max_output_tokens", json!(most.max(LEAST_OUTPUT)));
    }
    if let Some(key) = &terms.cache_key {
        put("prompt_cache_key", json!(key));
    }
    if with_tools {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": schema(&tool.input_schema),
                // The schemas are the editor's: few of them keep to what a strict one must.
                "strict": false,
            })
        });
        put("tools", tools.collect());
        if request.tool_choice == ToolChoice::None {
            put("tool_choice", json!("none"));
        }
    }
    put("input", Value::Array(input));
    Post { path: "/responses", headers: Vec::new(), body: Value::Object(fields) }
}

fn put_item(item: &Item, terms: &Terms, input: &mut Vec<Value>) {
    let message = |role: &str, content: Vec<Value>| {
        (!content.is_empty()).then(|| json!({ "type": "message", "role": role, "content": content }))
    };
    match item.role {
        Role::System => input.extend(message("system", contents(&item.parts, false))),
        Role::User => input.extend(message("user", contents(&item.parts, terms.images))),
        Role::Tool => {
            let id = call_id(item.call_id.as_ref().map_or("", |call| call.as_str()));
            let output = output(contents(&item.parts, terms.images));
            input.push(json!({ "type": "function_call_output", "call_id": id, "output": output }));
        }
        Role::Assistant => put_answer(item, terms, input),
    }
}

/// What a user or a tool said.
fn contents(parts: &[ItemPart], images: bool) -> Vec<Value> {
    let content = parts.iter().filter_map(|part| match part {
        ItemPart::Content(content) => input_of(content, images),
        ItemPart::Reasoning { .. } | ItemPart::Raw(_) => None,
    });
    content.collect()
}

fn input_of(content: &Content, images: bool) -> Option<Value> {
    let piece = piece(content, images)?;
    Some(match (&piece, address(&piece)) {
        (_, Some(url)) => json!({ "type": "input_image", "image_url": url }),
        (Piece::Text(text), None) => json!({ "type": "input_text", "text": text }),
        _ => return None,
    })
}

/// A result as text, where it is one: not all that speak this wire take a list.
fn output(mut content: Vec<Value>) -> Value {
    match content.as_mut_slice() {
        [] => json!(""),
        [one] if text_of(one, "type") == Some("input_text") => one["text"].take(),
        _ => Value::Array(content),
    }
}

fn put_answer(item: &Item, terms: &Terms, input: &mut Vec<Value>) {
    for part in &item.parts {
        match part {
            ItemPart::Content(content) => {
                if let Some(Piece::Text(text)) = piece(content, false) {
                    let content = json!([{ "type": "output_text", "text": text }]);
                    input.push(json!({ "type": "message", "role": "assistant", "content": content }));
                }
            }
            ItemPart::Reasoning { block, .. } => {
                input.extend(block.as_deref().and_then(|block| thought(block, terms)));
            }
            ItemPart::Raw(wire) => input.extend(servers(wire)),
        }
    }
    for call in &item.calls {
        // Text that was cut or is no JSON may not be taken back as it is.
        let is_object = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
        let arguments = if is_object {
            call.arguments.to_string()
        } else {
            json!(arguments(&call.arguments)).to_string()
        };
        let id = call_id(call.id.as_str());
        let call =
            json!({ "type": "function_call", "call_id": id, "name": &*call.name, "arguments": arguments });
        input.push(call);
    }
}

/// Thinking that this model encrypted goes back as it came. Any other is nothing to it: the provider keeps none, so what
/// is not in the request is nowhere.
fn thought(block: &Map<String, Value>, terms: &Terms) -> Option<Value> {
    let is_whole = block.get("type").is_some_and(|kind| kind == "reasoning")
        && block.get("encrypted_content").is_some_and(Value::is_string);
    if !is_whole || !is_of(block, Wire::OpenaiResponses, Some(&terms.model)) {
        return None;
    }
    let mut block = own(block);
    block.shift_remove("index");
    if !block.contains_key("summary") {
        block.insert("summary".to_owned(), json!([]));
    }
    Some(Value::Object(block))
}

/// A block that the provider made, as it came; nothing for one of another wire.
fn servers(wire: &Value) -> Option<Value> {
    let block = wire.as_object().filter(|block| is_of(block, Wire::OpenaiResponses, None))?;
    let kind = text_of(wire, "type")?;
    let is_own = match kind {
        "compaction" => block.contains_key("encrypted_content"),
        kind => {
            kind.ends_with("_call")
                || kind.starts_with("mcp_") && kind != "mcp_tool_use" && kind != "mcp_tool_result"
        }
    };
    is_own.then(|| Value::Object(own(block)))
}

/// Without our own word.
fn own(block: &Map<String, Value>) -> Map<String, Value> {
    let mut block = block.clone();
    block.shift_remove(MADE_BY);
    block
}
