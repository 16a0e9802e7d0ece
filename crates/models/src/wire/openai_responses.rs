//! OpenAI's Responses: the request body. The stream is parsed in `stream`; `crate::socket` carries the same
//! format.

mod marks;
mod previous;
mod stream;

pub(super) use marks::marked;
pub(crate) use previous::Previous;
pub(super) use stream::Responses;

use super::blocks::{is_of, own};
use super::content::{
    Piece, arguments_text, cache_key, call_id, effort, is_off, is_told_to_think, most_output, piece, pieces,
    schema, thinks_little, tool_name,
};
use super::{Post, Terms, text_of};
use crate::known::takes_temperature;
use engine::endpoint::Wire;
use engine::endpoint::options::RequestOptions;
use engine::message::{Body, ToolCall, is_note_of_text};
use engine::prompt::item::{Item, ItemCall, ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
use serde_json::{Map, Value, json};

/// The smallest answer limit that this wire accepts, in tokens.
const LEAST_OUTPUT: u32 = 16;

/// Field of a thinking block and of the note of a text: the number of calls of its answer before it, if any. Calls are
/// not parts of an answer, so nothing else records their position.
const CALLS_BEFORE: &str = "callsBefore";
/// Field of a message of the model: the part that its text has in the turn, such as `commentary`.
const PHASE: &str = "phase";

/// Blocks of remote MCP tools that the provider makes, other than their calls.
const OWN_MCP: &[&str] = &["mcp_approval_request", "mcp_list_tools"];

/// Builds the request for this wire. The provider stores nothing, so all its own blocks are sent back.
pub(super) fn post(request: &Request, terms: &Terms, options: &RequestOptions) -> Post {
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
    if takes_temperature(&terms.model) && is_told_to_think(options) != Some(true) {
        if request.temperature_zero {
            put("temperature", json!(0));
        }
    } else {
        // A model that takes a temperature does not think, and rejects this.
        put("include", json!(["reasoning.encrypted_content"]));
    }
    let low = thinks_little(request, terms).then_some("low");
    let off = is_off(terms, options).then_some("none");
    if let Some(effort) = off.or(low).or(effort(request, options)) {
        put("reasoning", json!({ "effort": effort }));
    }
    // A summary or a title needs the prompt as it is.
    if let Some(tokens) = options.provider_compaction.filter(|_| !request.temperature_zero) {
        put("context_management", json!([{ "type": "compaction", "compact_threshold": tokens }]));
    }
    if let Some(most) = most_output(request, terms, options) {
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
                // Few of the editor's schemas meet the rules of strict mode.
                "strict": false,
            })
        });
        put("tools", tools.collect());
        if request.tool_choice == ToolChoice::None {
            put("tool_choice", json!("none"));
        }
    }
    put("input", Value::Array(input));
    Post { path: "/responses".into(), headers: Vec::new(), body: Value::Object(fields) }
}

/// Returns the items of an answer as the next request to its model states them.
pub(crate) fn rendered(answer: &Body, terms: &Terms) -> Vec<Value> {
    let Body::Assistant { parts, calls, .. } = answer else { return Vec::new() };
    let call = |call: &ToolCall| ItemCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    };
    let item = Item {
        parts: parts.iter().map(ItemPart::from).collect(),
        calls: calls.iter().map(call).collect(),
        ..Item::made(Role::Assistant, "", 0)
    };
    let mut items = Vec::new();
    put_item(&item, terms, &mut items);
    items
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

fn contents(item: &Item, images: bool) -> Vec<Value> {
    let contents = pieces(item, images).into_iter().filter_map(|piece| match piece {
        Piece::Text(text) if text.is_empty() => None,
        Piece::Text(text) => Some(json!({ "type": "input_text", "text": text })),
        Piece::Picture(picture) => Some(json!({ "type": "input_image", "image_url": picture.url() })),
    });
    contents.collect()
}

/// A tool result; a string if it is a single text: not all servers of this wire accept a list.
fn output(mut content: Vec<Value>) -> Value {
    match content.as_mut_slice() {
        [] => json!(""),
        [one] if text_of(one, "type") == Some("input_text") => one["text"].take(),
        _ => Value::Array(content),
    }
}

/// Adds an answer, with its calls at their positions among the thinking: the provider rejects thinking
/// without the item that followed it.
fn put_answer(item: &Item, terms: &Terms, input: &mut Vec<Value>) {
    let before = input.len();
    let mut calls = item.calls.iter().enumerate().peekable();
    let mut parts = item.parts.iter().peekable();
    while let Some(part) = parts.next() {
        let note =
            parts.peek().and_then(|next| note_of(next)).filter(|_| matches!(part, ItemPart::Content(_)));
        let own_block = match part {
            ItemPart::Reasoning { block, .. } => block.as_deref(),
            ItemPart::Content(_) => note,
            ItemPart::Raw(_) => None,
        };
        let earlier = own_block.and_then(|block| block.get(CALLS_BEFORE)?.as_u64()).unwrap_or(0);
        while let Some((_, earlier)) =
            calls.next_if(|(at, _)| u64::try_from(*at).is_ok_and(|at| at < earlier))
        {
            input.push(call(earlier));
        }
        match part {
            ItemPart::Content(content) => {
                if let Piece::Text(text) = piece(content, false)
                    && !text.is_empty()
                {
                    let content = json!([{ "type": "output_text", "text": text }]);
                    let mut message = json!({ "type": "message", "role": "assistant", "content": content });
                    let phase = note.filter(|note| is_of(note, Wire::OpenaiResponses, &terms.model));
                    if let Some(phase) = phase.and_then(|note| note.get(PHASE)) {
                        message[PHASE] = phase.clone();
                    }
                    input.push(message);
                }
            }
            ItemPart::Reasoning { block, .. } => {
                input.extend(block.as_deref().and_then(|block| thought(block, terms)));
            }
            ItemPart::Raw(wire) => input.extend(servers(wire, terms)),
        }
    }
    input.extend(calls.map(|(_, one)| call(one)));
    // Thinking at the end has no item after it: the answer was stopped there.
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

/// Returns thinking to send back: unchanged if this model encrypted it, otherwise none. Nothing is stored by
/// the provider, so it could not resolve other thinking.
fn thought(block: &Map<String, Value>, terms: &Terms) -> Option<Value> {
    let mut block = own(block, Wire::OpenaiResponses, Some(&terms.model))?;
    let is_whole = block.get("type").is_some_and(|kind| kind == "reasoning")
        && block.get("encrypted_content").is_some_and(Value::is_string);
    // The index in the answer's stream.
    block.shift_remove("index");
    block.shift_remove(CALLS_BEFORE);
    if !block.contains_key("summary") {
        block.insert("summary".to_owned(), json!([]));
    }
    is_whole.then_some(Value::Object(block))
}

/// Returns the note of the text before it.
fn note_of(part: &ItemPart) -> Option<&Map<String, Value>> {
    let ItemPart::Raw(wire) = part else { return None };
    wire.as_object().filter(|_| is_note_of_text(wire))
}

/// Returns the provider's own block as it came; `None` for a note, for one of another wire, and for one that only the
/// model that made it can read.
fn servers(wire: &Value, terms: &Terms) -> Option<Value> {
    let (made, model) = (wire.as_object()?, &*terms.model);
    let kind = text_of(wire, "type")?;
    if is_note_of_text(wire) {
        return None;
    }
    if kind == "compaction" {
        let block = own(made, Wire::OpenaiResponses, Some(model))?;
        return block.contains_key("encrypted_content").then_some(Value::Object(block));
    }
    let is_known = kind.ends_with("_call") || OWN_MCP.contains(&kind);
    let block = own(made, Wire::OpenaiResponses, None)?;
    (is_known || is_of(made, Wire::OpenaiResponses, model)).then_some(Value::Object(block))
}
