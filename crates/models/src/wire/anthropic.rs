//! Anthropic's Messages: the request body. The stream is parsed in `stream`.

mod stream;
mod thinking;

pub(super) use stream::Messages;

use super::blocks::{is_of, own};
use super::content::{
    AFTER, BEFORE, Picture, Piece, arguments, call_id, effort, is_off, most_output, piece, schema, segment,
    tool_name,
};
use super::{Post, Terms, cached_places, is_long_enough, text_of, weight_of_tools};
use crate::address::is_vertex;
use crate::known::takes_temperature;
use engine::endpoint::options::{CacheTtl, Fallbacks, RequestOptions};
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{Item, ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
use serde_json::{Map, Value, json};

/// The most cache breakpoints in one request, including those in tools and system text.
const MOST_MARKS: usize = 4;

/// The answer limit where none is set, in tokens: this wire requires one. Every served model accepts it.
const USUAL_OUTPUT: u32 = 8192;

/// Types of blocks that the provider makes on its own and that any of its models reads.
const SERVER_BLOCKS: &[&str] = &["container_upload", "mcp_tool_use", "server_tool_use"];

/// The block that stands for everything before it, after the provider compacted that.
const COMPACTION: &str = "compaction";
/// The block at which another model took over a refused answer.
const FALLBACK: &str = "fallback";

/// The header that names features which are not in general use yet, one by one.
pub(crate) const BETA: &str = "anthropic-beta";
/// The feature behind `compaction` blocks, without which a request with one is refused.
const COMPACTS: &str = "compact-2026-01-12";
/// The feature behind `fallbacks` and its blocks.
const FALLS_BACK: &str = "server-side-fallback-2026-07-01";
/// The feature behind `thinking.block_binding`.
const BINDS: &str = "thinking-binding-controls-2026-08-01";

/// The version of the format at Vertex AI, which takes it as a field of the body.
const VERSION_AT_VERTEX: &str = "vertex-2023-10-16";

/// Builds the request for this wire.
pub(super) fn post(request: &Request, terms: &Terms, options: &RequestOptions) -> Post {
    let with_tools =
        !request.tools.is_empty() && (request.tool_choice == ToolChoice::Auto || terms.tool_choice_none);
    // Thinking is valid only with the tools that it came with.
    let thinks = (with_tools || request.tools.is_empty()) && !is_off(terms, options);
    let mut body = RequestBody { terms, thinks, system: Vec::new(), messages: Vec::new(), last: None };
    let mut marks = Vec::new();
    let places = cached_places(request, terms);
    for (at, item) in request.items.iter().enumerate() {
        body.item(item);
        if places.contains(&at) {
            marks.extend(body.last);
        }
    }
    marks.dedup();
    if marks.len() > MOST_MARKS {
        // A later breakpoint covers an earlier one; most prompts share the first.
        marks.drain(1..=marks.len() - MOST_MARKS);
    }
    marks.iter().for_each(|mark| body.mark(*mark, options.cache_ttl));
    body.close();
    let RequestBody { system, messages, .. } = body;

    let usual = || {
        let thought = thinking::budget(terms, options).unwrap_or_default();
        USUAL_OUTPUT.min(terms.window / 4).saturating_add(thought).min(request.room.unwrap_or(u32::MAX))
    };
    let max_tokens = most_output(request, terms, options).unwrap_or_else(usual).max(1);
    let thinking = thinking::parameter(terms, options, max_tokens);
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    put("model", json!(terms.model));
    put("max_tokens", json!(max_tokens));
    put("stream", json!(true));
    let is_thinking = thinking.is_some() && !is_off(terms, options);
    if request.temperature_zero && takes_temperature(&terms.model) && !is_thinking {
        put("temperature", json!(0));
    }
    // Also with summaries: another value than before would lose the cached messages.
    if let Some(thinking) = thinking {
        put("thinking", thinking);
    }
    if let Some(effort) = effort(request, options) {
        put("output_config", json!({ "effort": effort }));
    }
    match &options.fallbacks {
        None => {}
        Some(Fallbacks::Word(_)) => put("fallbacks", json!("default")),
        Some(Fallbacks::Models(names)) => {
            put("fallbacks", names.iter().map(|name| json!({ "model": name })).collect());
        }
    }
    // A summary or a title needs the prompt as it is.
    let compacts_at = options.provider_compaction.filter(|_| !request.temperature_zero);
    if let Some(tokens) = compacts_at {
        let trigger = json!({ "type": "input_tokens", "value": tokens });
        put("context_management", json!({ "edits": [{ "type": "compact_20260112", "trigger": trigger }] }));
    }
    if with_tools {
        // Tools come first in the prompt, so a spare breakpoint behind them is of use.
        let is_kept = is_long_enough(weight_of_tools(request), terms);
        let marked = is_kept && !marks.is_empty() && marks.len() < MOST_MARKS;
        put("tools", tools(request, marked.then_some(options.cache_ttl)));
        if request.tool_choice == ToolChoice::None {
            put("tool_choice", json!({ "type": "none" }));
        }
    }
    if !system.is_empty() {
        put("system", Value::Array(system));
    }
    let has = |kind: &str| {
        let mut blocks = messages.iter().flat_map(|message| &message.content);
        blocks.any(|block| text_of(block, "type") == Some(kind))
    };
    let (compacted, fell_back) = (has(COMPACTION), has(FALLBACK));
    let messages =
        messages.into_iter().map(|Message { role, content }| json!({ "role": role, "content": content }));
    put("messages", messages.collect());
    let mut headers = vec![("anthropic-version", "2023-06-01")];
    if options.fallbacks.is_some() || fell_back {
        headers.push((BETA, FALLS_BACK));
    }
    if compacts_at.is_some() || compacted {
        headers.push((BETA, COMPACTS));
    }
    Post { path: "/messages".into(), headers, body: Value::Object(fields) }
}

/// Fits a complete request to its address: Vertex AI has the model in the path and the format's version in the body. Adds
/// the header for the binding of thinking, if extra fields did not take that out.
pub(super) fn addressed(mut post: Post, endpoint: &Endpoint, model: &str) -> Post {
    if post.body.pointer("/thinking/block_binding").is_some() {
        post.headers.push((BETA, BINDS));
    }
    if is_vertex(endpoint)
        && let Value::Object(fields) = &mut post.body
    {
        fields.shift_remove("model");
        fields.insert("anthropic_version".to_owned(), json!(VERSION_AT_VERTEX));
        post.headers.retain(|(name, _)| *name == BETA);
        let query = post.path.strip_prefix("/messages").unwrap_or_default();
        post.path = format!("/models/{}:streamRawPredict{query}", segment(model)).into();
    }
    post
}

/// The tools, the last one marked with this lifetime if a breakpoint is spare.
fn tools(request: &Request, mark: Option<Option<CacheTtl>>) -> Value {
    let last = request.tools.len().saturating_sub(1);
    let tools = request.tools.iter().enumerate().map(|(at, tool)| {
        let mut tool = json!({
            "name": tool_name(&tool.name),
            "description": tool.description,
            "input_schema": schema(&tool.input_schema),
        });
        if let Some(ttl) = mark.filter(|_| at == last) {
            set_mark(&mut tool, ttl);
        }
        tool
    });
    tools.collect()
}

fn set_mark(block: &mut Value, ttl: Option<CacheTtl>) {
    if let Value::Object(block) = block {
        let mark = match ttl {
            // Five minutes unless something else is said.
            None | Some(CacheTtl::FiveMinutes) => json!({ "type": "ephemeral" }),
            Some(CacheTtl::Hour) => json!({ "type": "ephemeral", "ttl": "1h" }),
        };
        block.insert("cache_control".to_owned(), mark);
    }
}

/// A body being built.
struct RequestBody<'a> {
    terms: &'a Terms,
    /// `true` if thinking is sent back.
    thinks: bool,
    system: Vec<Value>,
    messages: Vec<Message>,
    /// The last block that can be a cache breakpoint.
    last: Option<Place>,
}

struct Message {
    role: &'static str,
    content: Vec<Value>,
}

/// The position of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    System(usize),
    Message(usize, usize),
}

impl RequestBody<'_> {
    fn item(&mut self, item: &Item) {
        match item.role {
            Role::System => {
                for part in &item.parts {
                    if let Some(block) = content(part, false) {
                        self.last = Some(Place::System(self.system.len()));
                        self.system.push(block);
                    }
                }
            }
            Role::User => {
                for block in contents(item, self.terms.images) {
                    self.push("user", block, true);
                }
            }
            Role::Tool => {
                let mut block = json!({
                    "type": "tool_result",
                    "tool_use_id": call_id(item.call_id.as_ref().map_or("", |call| call.as_str())),
                });
                let content = contents(item, self.terms.images);
                if let Value::Object(block) = &mut block
                    && !content.is_empty()
                {
                    block.insert("content".to_owned(), Value::Array(content));
                }
                self.push("user", block, true);
            }
            Role::Assistant => self.assistant(item),
        }
    }

    fn assistant(&mut self, item: &Item) {
        for part in &item.parts {
            match part {
                ItemPart::Content(_) => {
                    if let Some(block) = content(part, false) {
                        self.push("assistant", block, true);
                    }
                }
                ItemPart::Reasoning { .. } if !self.thinks => {}
                ItemPart::Reasoning { text, signature, block } => {
                    let nothing = Map::new();
                    let block = block.as_deref().unwrap_or(&nothing);
                    if let Some(block) = self.thought(text, signature.as_deref(), block) {
                        self.push("assistant", block, false);
                    }
                }
                ItemPart::Raw(wire) => {
                    if let Some(block) = servers(wire, &self.terms.model) {
                        self.push("assistant", block, false);
                    }
                }
            }
        }
        for call in &item.calls {
            let input = arguments(&call.arguments);
            let (id, name) = (call_id(call.id.as_str()), tool_name(&call.name));
            let block = json!({ "type": "tool_use", "id": id, "name": name, "input": input });
            self.push("assistant", block, true);
        }
    }

    /// Returns thinking to send back: unchanged if this model signed it, otherwise none.
    fn thought(&self, text: &str, signature: Option<&str>, block: &Map<String, Value>) -> Option<Value> {
        let mut block = own(block, Wire::Anthropic, Some(&self.terms.model))?;
        let kind = block.shift_remove("type");
        // The index in the answer's stream.
        block.shift_remove("index");
        let mut back = Map::new();
        match (kind.as_ref().map_or(Some("thinking"), Value::as_str)?, signature) {
            ("thinking", Some(signature)) => {
                back.insert("type".to_owned(), json!("thinking"));
                back.insert("thinking".to_owned(), json!(text));
                back.insert("signature".to_owned(), json!(signature));
            }
            ("redacted_thinking", _) if block.contains_key("data") => {
                back.insert("type".to_owned(), json!("redacted_thinking"));
            }
            _ => return None,
        }
        back.extend(block);
        Some(Value::Object(back))
    }

    /// Appends a block. Neighbours of one role share a message.
    fn push(&mut self, role: &'static str, block: Value, can_be_marked: bool) {
        if self.messages.last().is_none_or(|message| message.role != role) {
            if self.messages.is_empty() && role == "assistant" {
                self.messages.push(Message { role: "user", content: vec![said(BEFORE)] });
            }
            self.messages.push(Message { role, content: Vec::new() });
        }
        let at = self.messages.len().saturating_sub(1);
        if let Some(message) = self.messages.last_mut() {
            if can_be_marked {
                self.last = Some(Place::Message(at, message.content.len()));
            }
            message.content.push(block);
        }
    }

    fn mark(&mut self, place: Place, ttl: Option<CacheTtl>) {
        let block = match place {
            Place::System(at) => self.system.get_mut(at),
            Place::Message(at, block) => {
                self.messages.get_mut(at).and_then(|message| message.content.get_mut(block))
            }
        };
        if let Some(block) = block {
            set_mark(block, ttl);
        }
    }

    /// Ends the conversation with a user message, unless the provider goes on with a call of its own tool.
    fn close(&mut self) {
        let last = self.messages.last();
        let block = last.and_then(|message| text_of(message.content.last()?, "type"));
        if matches!(block, Some("server_tool_use" | "mcp_tool_use")) {
            return;
        }
        if last.is_none_or(|message| message.role == "assistant") {
            self.push("user", said(AFTER), false);
        }
    }
}

fn contents(item: &Item, images: bool) -> Vec<Value> {
    item.parts.iter().filter_map(|part| content(part, images)).collect()
}

/// A text or an image block. This wire rejects empty text.
fn content(part: &ItemPart, images: bool) -> Option<Value> {
    let ItemPart::Content(content) = part else { return None };
    match piece(content, images) {
        Piece::Text(text) if text.trim().is_empty() => None,
        Piece::Text(text) => Some(said(&text)),
        Piece::Picture(picture) => Some(json!({ "type": "image", "source": source(picture) })),
    }
}

fn source(picture: Picture<'_>) -> Value {
    match picture {
        Picture::Address(url) => json!({ "type": "url", "url": url }),
        Picture::Value { mime_type, base64 } => {
            json!({ "type": "base64", "media_type": mime_type, "data": base64 })
        }
    }
}

fn said(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// Returns the provider's own block as it came, or `None` for one of another wire or that only another model can read.
fn servers(wire: &Value, model: &str) -> Option<Value> {
    let made = wire.as_object()?;
    let kind = text_of(wire, "type")?;
    let is_ours = is_of(made, Wire::Anthropic, model);
    if matches!(kind, COMPACTION | FALLBACK) {
        let block = own(made, Wire::Anthropic, Some(model))?;
        // OpenAI has a compaction too, whose encrypted content is useless here.
        let is_foreign = !is_ours && block.contains_key("encrypted_content");
        return (!is_foreign).then_some(Value::Object(block));
    }
    let block = own(made, Wire::Anthropic, None)?;
    let is_known = SERVER_BLOCKS.contains(&kind) || kind.ends_with("_tool_result");
    (is_known || is_ours).then_some(Value::Object(block))
}
