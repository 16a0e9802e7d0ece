//! Anthropic's Messages: the request body. The stream is parsed in `stream`.

mod stream;

pub(super) use stream::Messages;

use super::blocks::own;
use super::content::{
    AFTER, BEFORE, Picture, Piece, arguments, call_id, effort, is_off, most_output, piece, schema, tool_name,
};
use super::{Post, Terms, cached_places, is_long_enough, text_of, weight_of_tools};
use crate::known::{self, LeastThinking, ThinkingAmount, takes_temperature};
use crate::options::LEAST_BUDGET;
use engine::endpoint::Wire;
use engine::endpoint::options::{CacheTtl, RequestOptions, Thinking, ThinkingWord};
use engine::prompt::item::{Item, ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
use serde_json::{Map, Value, json};

/// The most cache breakpoints in one request, including those in tools and system text.
const MOST_MARKS: usize = 4;

/// The answer limit where none is set, in tokens: this wire requires one. Every served model accepts it.
const USUAL_OUTPUT: u32 = 8192;
/// The budget of thinking of a model that takes no adaptive thinking, in tokens.
const USUAL_BUDGET: u32 = 8_192;

/// Types of blocks that the provider makes on its own.
const SERVER_BLOCKS: &[&str] = &["compaction", "container_upload", "mcp_tool_use", "server_tool_use"];

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
        let thought = budget_of(terms, options).unwrap_or_default();
        USUAL_OUTPUT.min(terms.window / 4).saturating_add(thought).min(request.room.unwrap_or(u32::MAX))
    };
    let max_tokens = most_output(request, terms, options).unwrap_or_else(usual).max(1);
    let thinking = thought_of(terms, options, max_tokens);
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
    let messages =
        messages.into_iter().map(|Message { role, content }| json!({ "role": role, "content": content }));
    put("messages", messages.collect());
    Post {
        path: "/messages".into(),
        headers: vec![("anthropic-version", "2023-06-01")],
        body: Value::Object(fields),
    }
}

/// The budget of thinking, in tokens, if this model is to be told one.
fn budget_of(terms: &Terms, options: &RequestOptions) -> Option<u32> {
    match (known::thinking_amount(&terms.model), options.thinking?) {
        (ThinkingAmount::Budget, Thinking::Word(ThinkingWord::Adaptive)) => Some(USUAL_BUDGET),
        (ThinkingAmount::Budget | ThinkingAmount::Both, Thinking::Budget(tokens)) => Some(tokens),
        _ => None,
    }
}

/// The thinking to ask for; `None` for the model's own, also where it cannot be switched off, or where the answer's
/// limit leaves no room for a budget. What a model does not take is asked for in the way that it takes.
fn thought_of(terms: &Terms, options: &RequestOptions, max_tokens: u32) -> Option<Value> {
    // The newest models leave their thinking empty otherwise.
    let summarized = || json!({ "type": "adaptive", "display": "summarized" });
    let Some(thinking) = options.thinking else {
        return known::thinks_between_calls(&terms.model).then(summarized);
    };
    if let Some(tokens) = budget_of(terms, options) {
        let tokens = tokens.min(max_tokens.saturating_sub(1));
        return (tokens >= LEAST_BUDGET).then(|| json!({ "type": "enabled", "budget_tokens": tokens }));
    }
    match thinking {
        Thinking::Word(ThinkingWord::Off) => match known::least_thinking(&terms.model) {
            LeastThinking::Off => Some(json!({ "type": "disabled" })),
            LeastThinking::BetweenTools => Some(json!({ "type": "between_tools" })),
            LeastThinking::Always => known::thinks_between_calls(&terms.model).then(summarized),
        },
        Thinking::Word(ThinkingWord::Adaptive) | Thinking::Budget(_) => {
            let is_new = known::thinking_amount(&terms.model) == ThinkingAmount::Adaptive;
            Some(if is_new { summarized() } else { json!({ "type": "adaptive" }) })
        }
    }
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
                    if let Some(block) = servers(wire) {
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

/// Returns the provider's own block as it came, or `None` for one of another wire.
fn servers(wire: &Value) -> Option<Value> {
    let block = own(wire.as_object()?, Wire::Anthropic, None)?;
    let kind = text_of(wire, "type")?;
    // OpenAI has a block of this type too; its encrypted content is useless here.
    let is_foreign = kind == "compaction" && block.contains_key("encrypted_content");
    let is_own = SERVER_BLOCKS.contains(&kind) || kind.ends_with("_tool_result");
    (is_own && !is_foreign).then_some(Value::Object(block))
}
