//! Responses of OpenAI: a request as its body. How the stream is read is in `stream`; a socket carries the same words and
//! is `crate::socket`'s.

mod stream;

pub(super) use stream::Responses;

use super::blocks::own;
use super::content::{
    Piece, arguments_text, cache_key, call_id, most_output, piece, pieces, schema, thinks_little, tool_name,
};
use super::{Post, Terms, text_of};
use crate::known::takes_temperature;
use engine::endpoint::Wire;
use engine::prompt::item::{Item, ItemCall, ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
use serde_json::{Map, Value, json};

/// The least that this wire lets an answer have, in tokens.
const LEAST_OUTPUT: u32 = 16;

/// In a block of thinking: how many calls of its answer stand before it, where any do. Calls are no parts of an answer, so
/// this is all that tells where they stood.
const CALLS_BEFORE: &str = "callsBefore";

/// What the provider makes by itself of tools elsewhere, beside their calls.
const OWN_MCP: &[&str] = &["mcp_approval_request", "mcp_list_tools"];

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
    if takes_temperature(&terms.model) {
        if request.temperature_zero {
            put("temperature", json!(0));
        }
    } else {
        // What takes a temperature does not think, and refuses to be asked for its thinking.
        put("include", json!(["reasoning.encrypted_content"]));
    }
    if thinks_little(request, terms) {
        put("reasoning", json!({ "effort": "low" }));
    }
    if let Some(most) = most_output(request, terms) {
        put("max_output_tokens", json!(most.max(LEAST_OUTPUT)));
    }
    if let Some(key) = &terms.cache_key {
        put("prompt_cache_key", json!(cache_key(key)));
    }
    if with_tools {
        let tools = request.tools.iter().map(|tool| {
            json!({
                "type": "function",
                "name": tool_name(&tool.name),
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
        Role::System => input.extend(message("system", contents(item, false))),
        Role::User => input.extend(message("user", contents(item, terms.images))),
        Role::Tool => {
            let id = call_id(item.call_id.as_ref().map_or("", |call| call.as_str()));
            let output = output(contents(item, terms.images));
            input.push(json!({ "type": "function_call_output", "call_id": id, "output": output }));
        }
        Role::Assistant => put_answer(item, terms, input),
    }
}

/// What was said to the model.
fn contents(item: &Item, images: bool) -> Vec<Value> {
    let contents = pieces(item, images).into_iter().filter_map(|piece| match piece {
        Piece::Text(text) if text.is_empty() => None,
        Piece::Text(text) => Some(json!({ "type": "input_text", "text": text })),
        Piece::Picture(picture) => Some(json!({ "type": "input_image", "image_url": picture.url() })),
    });
    contents.collect()
}

/// A result as text, where it is one: not all that speak this wire take a list.
fn output(mut content: Vec<Value>) -> Value {
    match content.as_mut_slice() {
        [] => json!(""),
        [one] if text_of(one, "type") == Some("input_text") => one["text"].take(),
        _ => Value::Array(content),
    }
}

/// Puts an answer with its calls where they stood among its thinking: the provider takes none of its thinking without
/// what followed from it.
fn put_answer(item: &Item, terms: &Terms, input: &mut Vec<Value>) {
    let before = input.len();
    let mut calls = item.calls.iter().enumerate().peekable();
    for part in &item.parts {
        if let ItemPart::Reasoning { block: Some(block), .. } = part {
            let earlier = block.get(CALLS_BEFORE).and_then(Value::as_u64).unwrap_or(0);
            while let Some((_, earlier)) =
                calls.next_if(|(at, _)| u64::try_from(*at).is_ok_and(|at| at < earlier))
            {
                input.push(call(earlier));
            }
        }
        match part {
            ItemPart::Content(content) => {
                if let Piece::Text(text) = piece(content, false)
                    && !text.is_empty()
                {
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
    input.extend(calls.map(|(_, one)| call(one)));
    // What was thought last led to nothing: the answer was stopped there.
    while input.len() > before && input.last().is_some_and(|last| text_of(last, "type") == Some("reasoning"))
    {
        input.pop();
    }
}

fn call(call: &ItemCall) -> Value {
    json!({
        "type": "function_call",
        "call_id": call_id(call.id.as_str()),
        "name": tool_name(&call.name),
        "arguments": arguments_text(&call.arguments),
    })
}

/// Thinking that this model encrypted goes back as it came. Any other is nothing to it: the provider keeps none, so what
/// is not in the request is nowhere.
fn thought(block: &Map<String, Value>, terms: &Terms) -> Option<Value> {
    let mut block = own(block, Wire::OpenaiResponses, Some(&terms.model))?;
    let is_whole = block.get("type").is_some_and(|kind| kind == "reasoning")
        && block.get("encrypted_content").is_some_and(Value::is_string);
    // The place in the answer, by which its pieces were put together.
    block.shift_remove("index");
    block.shift_remove(CALLS_BEFORE);
    if !block.contains_key("summary") {
        block.insert("summary".to_owned(), json!([]));
    }
    is_whole.then_some(Value::Object(block))
}

/// A block that the provider made, as it came; nothing for one of another wire.
fn servers(wire: &Value) -> Option<Value> {
    let block = own(wire.as_object()?, Wire::OpenaiResponses, None)?;
    let is_own = match text_of(wire, "type")? {
        "compaction" => block.contains_key("encrypted_content"),
        kind => kind.ends_with("_call") || OWN_MCP.contains(&kind),
    };
    is_own.then_some(Value::Object(block))
}
