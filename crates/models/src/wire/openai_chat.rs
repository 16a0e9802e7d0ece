//! Chat Completions: the request body, and the differences between servers. The stream is parsed in `reader`.

mod reader;

use super::blocks::own;
use super::content::{self, Piece, is_told_to_think};
use super::joined::{Joined, join};
use super::{Post, Terms, cached_places};
use crate::known::{self, takes_temperature};
use engine::endpoint::options::{Manners, RequestOptions};
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::{ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
pub use reader::Chat;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Title of a user message with the images of tool results: a tool message holds text alone.
const PICTURES: &str = "[pictures of the tool results above, in their order]";
/// Replaces such an image in its tool result.
const PICTURE_BELOW: &str = "[a picture, shown below the tool results]";
/// The most cache breakpoints in one request; the last ones are kept.
const MOST_BREAKPOINTS: usize = 4;

/// OpenAI's newer name of the answer limit.
const NEW_LIMIT: &str = "max_completion_tokens";

/// The form in which thinking is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinking {
    /// Not at all: most servers do not know the field, some reject it.
    Nothing,
    /// `reasoning_details` as they came: signed blocks must stay unchanged.
    Details,
    /// `reasoning_content` in each message with calls, even if empty: thinking mode rejects one without it.
    /// Left out of other messages.
    WithCalls,
}

/// Differences of a server from what all of them accept.
#[derive(Debug, Clone, Copy)]
struct ServerQuirks {
    /// The name of the answer limit. Most servers know only `max_tokens`.
    limit: &'static str,
    /// `true` if the server accepts `reasoning_effort` that nobody set.
    effort: bool,
    /// The field that sets thinking.
    switch: ThinkingSwitch,
    /// `true` if the server accepts `prompt_cache_key`. Some reject unknown fields.
    cache_key: bool,
    /// `true` if the server accepts `cache_control` in content parts.
    cache_control: bool,
    /// `true` if tool call ids must be nine letters and digits.
    short_ids: bool,
    thinking: Thinking,
}

/// The field of a server that sets thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingSwitch {
    /// Not known.
    Unknown,
    /// `reasoning_effort`, which can be `none`.
    Effort,
    /// `reasoning`, an object with effort, budget or a switch.
    Reasoning,
    /// `thinking`, an object with a type.
    Kind,
}

impl ServerQuirks {
    fn call_id(self, id: &str) -> Cow<'_, str> {
        if self.short_ids { content::short_call_id(id) } else { content::call_id(id) }
    }
}

/// An unknown server.
const ANY: ServerQuirks = ServerQuirks {
    limit: "max_tokens",
    effort: false,
    switch: ThinkingSwitch::Unknown,
    cache_key: false,
    cache_control: false,
    short_ids: false,
    thinking: Thinking::Nothing,
};

/// OpenAI's models, at whichever of its hosts.
const OPENAI: ServerQuirks =
    ServerQuirks { limit: NEW_LIMIT, effort: true, switch: ThinkingSwitch::Effort, ..ANY };

/// Servers that want their thinking back with calls.
const WITH_CALLS: ServerQuirks =
    ServerQuirks { thinking: Thinking::WithCalls, switch: ThinkingSwitch::Kind, ..ANY };

/// Servers by host; subdomains match too.
const SERVERS: &[(&str, ServerQuirks)] = &[
    ("api.openai.com", ServerQuirks { cache_key: true, ..OPENAI }),
    ("openai.azure.com", OPENAI),
    (
        "openrouter.ai",
        ServerQuirks {
            cache_control: true,
            thinking: Thinking::Details,
            switch: ThinkingSwitch::Reasoning,
            ..ANY
        },
    ),
    ("api.mistral.ai", ServerQuirks { short_ids: true, ..ANY }),
    ("api.deepseek.com", WITH_CALLS),
    ("api.moonshot.ai", WITH_CALLS),
    ("api.moonshot.cn", WITH_CALLS),
];

/// Builds the request for the server at this address.
pub fn post(url: &str, request: &Request, terms: &Terms, options: &RequestOptions) -> Post {
    let quirks = quirks(url, options);
    let mut body = Map::new();
    body.insert("model".into(), terms.model.as_str().into());
    body.insert("messages".into(), messages(request, terms, quirks).into());
    let may_use = request.tool_choice != ToolChoice::None;
    if !request.tools.is_empty() && (may_use || terms.tool_choice_none) {
        body.insert("tools".into(), request.tools.iter().map(function).collect());
        if !may_use {
            body.insert("tool_choice".into(), "none".into());
        }
    }
    let may_think = is_told_to_think(options) == Some(true);
    if request.temperature_zero && takes_temperature(&terms.model) && !may_think {
        body.insert("temperature".into(), 0.into());
    }
    if let Some(most) = content::most_output(request, terms, options) {
        // The model requires its limit name on every server.
        let is_new = known::manner(&terms.model).is_some_and(|manner| manner.completion_limit);
        body.insert(if is_new { NEW_LIMIT } else { quirks.limit }.into(), most.into());
    }
    put_options(&mut body, request, terms, options, quirks);
    if let Some(key) = terms.cache_key.as_ref().filter(|_| quirks.cache_key) {
        body.insert("prompt_cache_key".into(), content::cache_key(key).into());
    }
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    Post { path: "/chat/completions".into(), headers: Vec::new(), body: body.into() }
}

/// Adds effort and thinking, each where this server expects it.
fn put_options(
    body: &mut Map<String, Value>,
    request: &Request,
    terms: &Terms,
    options: &RequestOptions,
    quirks: ServerQuirks,
) {
    let is_off = content::is_off(terms, options);
    let is_adaptive = options.thinking == Some(engine::endpoint::options::Thinking::ADAPTIVE);
    let off = (is_off && quirks.switch == ThinkingSwitch::Effort).then_some("none");
    let low = (quirks.effort && content::thinks_little(request, terms)).then_some("low");
    let effort = off.or(low).or(content::effort(request, options));
    match (quirks.switch, effort) {
        (ThinkingSwitch::Reasoning, Some(effort)) => {
            body.insert("reasoning".into(), json!({"effort": effort}));
        }
        (ThinkingSwitch::Reasoning, None) => {
            let budget = content::budget(options).map(|tokens| json!({"max_tokens": tokens}));
            let switch = (is_off || is_adaptive).then(|| json!({"enabled": is_adaptive}));
            body.extend(budget.or(switch).map(|reasoning| ("reasoning".to_owned(), reasoning)));
        }
        (_, Some(effort)) => drop(body.insert("reasoning_effort".into(), effort.into())),
        (_, None) => {}
    }
    if quirks.switch == ThinkingSwitch::Kind && (is_off || is_adaptive) {
        let kind = if is_off { "disabled" } else { "enabled" };
        body.insert("thinking".into(), json!({"type": kind}));
    }
}

/// The field that sets thinking at this endpoint.
pub(crate) fn thinking_switch(endpoint: &Endpoint) -> ThinkingSwitch {
    quirks(endpoint.url(), &endpoint.options).switch
}

/// The quirks of the server whose manners the settings state, otherwise those known for the host.
fn quirks(url: &str, options: &RequestOptions) -> ServerQuirks {
    let url = match options.manners {
        Some(Manners::Openai) => "api.openai.com",
        Some(Manners::Openrouter) => "openrouter.ai",
        Some(Manners::Mistral) => "api.mistral.ai",
        Some(Manners::Deepseek) => "api.deepseek.com",
        None => url,
    };
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let host = host.to_ascii_lowercase();
    let is_at =
        |known: &str| host.strip_suffix(known).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'));
    SERVERS.iter().find(|(known, _)| is_at(known)).map_or(ANY, |(_, quirks)| *quirks)
}

/// A tool definition; Ollama uses the same form.
pub(super) fn function(tool: &engine::prompt::item::Tool) -> Value {
    json!({"type": "function", "function": {
        "name": content::tool_name(&tool.name),
        "description": tool.description,
        "parameters": content::schema(&tool.input_schema),
    }})
}

/// A message whose pieces say whether they mark a cache breakpoint.
type Marked<'a> = Joined<'a, (Piece<'a>, bool)>;

fn messages(request: &Request, terms: &Terms, quirks: ServerQuirks) -> Vec<Value> {
    let mut breakpoints = BTreeSet::new();
    if quirks.cache_control {
        let places: BTreeSet<usize> = cached_places(request, terms).into_iter().collect();
        breakpoints.extend(places.into_iter().rev().take(MOST_BREAKPOINTS));
    }
    let mut messages: Vec<Marked<'_>> = Vec::new();
    let mut pictures = Vec::new();
    for (at, item) in request.items.iter().enumerate() {
        if item.role != Role::Tool {
            put_pictures(&mut messages, &mut pictures);
        }
        let mut pieces = content::pieces(item, terms.images);
        if item.role == Role::Tool {
            for piece in pieces.iter_mut().filter(|piece| matches!(piece, Piece::Picture(_))) {
                pictures.push(std::mem::replace(piece, Piece::Text(PICTURE_BELOW.into())));
            }
        }
        let mut pieces: Vec<_> = pieces.into_iter().map(|piece| (piece, false)).collect();
        if let Some((_, is_marked)) = pieces.last_mut() {
            *is_marked = breakpoints.contains(&at);
        }
        join(&mut messages, item, pieces);
    }
    put_pictures(&mut messages, &mut pictures);
    messages.into_iter().map(|message| wire_message(message, quirks, &terms.model)).collect()
}

fn put_pictures<'a>(messages: &mut Vec<Marked<'a>>, pictures: &mut Vec<Piece<'a>>) {
    if !pictures.is_empty() {
        let title = Piece::Text(PICTURES.into());
        let pieces = std::iter::once(title).chain(pictures.drain(..)).map(|piece| (piece, false)).collect();
        messages.push(Joined { role: Role::User, pieces, items: Vec::new() });
    }
}

fn wire_message(joined: Marked<'_>, quirks: ServerQuirks, model: &str) -> Value {
    let calls = joined.items.iter().flat_map(|item| &item.calls);
    let calls: Vec<Value> = calls.map(|called| call(called, quirks)).collect();
    let mut message = Map::new();
    message.insert("role".into(), joined.role_name().into());
    if let Some(id) = joined.items.first().and_then(|item| item.call_id.as_ref()) {
        message.insert("tool_call_id".into(), quirks.call_id(id.as_str()).into());
    }
    if joined.role == Role::Assistant {
        put_thinking(&joined, &mut message, quirks.thinking, model, !calls.is_empty());
    }
    let is_silent = joined.pieces.is_empty() && !calls.is_empty();
    message.insert("content".into(), if is_silent { Value::Null } else { contents(joined.pieces) });
    if !calls.is_empty() {
        message.insert("tool_calls".into(), calls.into());
    }
    message.into()
}

fn put_thinking(
    joined: &Marked<'_>,
    message: &mut Map<String, Value>,
    thinking: Thinking,
    model: &str,
    has_calls: bool,
) {
    let parts = joined.items.iter().flat_map(|item| &item.parts);
    match thinking {
        Thinking::Nothing => {}
        Thinking::Details => {
            let details: Vec<Value> = parts.filter_map(|part| detail(part, model)).collect();
            if !details.is_empty() {
                message.insert("reasoning_details".into(), details.into());
            }
        }
        Thinking::WithCalls => {
            if has_calls {
                let thought: String = parts.filter_map(content::thought).collect();
                message.insert("reasoning_content".into(), thought.into());
            }
        }
    }
}

/// A string if there is only text and no breakpoint: not every server accepts a list of parts.
fn contents(pieces: Vec<(Piece<'_>, bool)>) -> Value {
    if pieces.iter().all(|(piece, is_marked)| matches!(piece, Piece::Text(_)) && !is_marked) {
        let pieces: Vec<Piece<'_>> = pieces.into_iter().map(|(piece, _)| piece).collect();
        return content::text(&pieces).into();
    }
    let part = |(piece, is_marked)| {
        let mut part = match piece {
            Piece::Text(text) => json!({"type": "text", "text": text}),
            Piece::Picture(picture) => json!({"type": "image_url", "image_url": {"url": picture.url()}}),
        };
        if is_marked && let Value::Object(part) = &mut part {
            part.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
        part
    };
    pieces.into_iter().map(part).collect()
}

fn call(call: &engine::prompt::item::ItemCall, quirks: ServerQuirks) -> Value {
    let arguments = content::arguments_text(&call.arguments);
    json!({
        "id": quirks.call_id(call.id.as_str()),
        "type": "function",
        "function": {"name": content::tool_name(&call.name), "arguments": arguments},
    })
}

/// A block of `reasoning_details` as it came, or `None` for thinking without one from this model.
fn detail(part: &ItemPart, model: &str) -> Option<Value> {
    let ItemPart::Reasoning { text, signature, block: Some(block) } = part else { return None };
    let kind = block.get("type").and_then(Value::as_str).filter(|kind| kind.starts_with(reader::DETAIL))?;
    let mut detail = own(block, Wire::OpenaiChat, Some(model))?;
    if kind == reader::DETAIL_TEXT {
        detail.insert("text".into(), (&**text).into());
    }
    if let Some(signature) = signature {
        detail.insert("signature".into(), (&**signature).into());
    }
    Some(detail.into())
}
