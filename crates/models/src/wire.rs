//! Wire formats: a request in a provider's format, and the parser of its stream. Pure: nothing is sent here,
//! so recorded streams are parsed like live ones.

pub(crate) mod anthropic;
mod blocks;
mod calls;
mod content;
mod gemini;
mod joined;
mod ollama;
mod openai_chat;
pub(crate) mod openai_responses;

use super::excerpt::excerpt;
use super::frames::{Frames, Framing};
use super::known;
use super::options::extended;
use super::{ModelError, OnProgress, Progress};
pub(crate) use blocks::named_back;
pub use blocks::stamped;
pub(crate) use content::segment;
use engine::delta::Delta;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::item::Role;
use engine::prompt::request::{Answer, Request};
use engine::text::json;
pub(crate) use openai_chat::{ThinkingSwitch, thinking_switch};
use serde_json::Value;
use std::borrow::Cow;

/// The longest excerpt of an unreadable event, in bytes.
const MOST_SHOWN: usize = 120;

/// Approximate bytes of a tool definition per token.
const BYTES_PER_TOKEN: usize = 4;

/// Parameters of a call beside the request.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The model's name, as the provider spells it.
    pub model: String,
    /// The context window, in tokens.
    pub window: u32,
    /// The answer limit, in tokens, for requests without a limit of their own.
    pub max_output: Option<u32>,
    /// `true` if tools may be sent together with the instruction to use none.
    pub tool_choice_none: bool,
    /// `true` if the model accepts images.
    pub images: bool,
    /// The provider's cache key for the prompt's prefix: the session and its generation.
    pub cache_key: Option<String>,
}

/// A request in a provider's format.
#[derive(Debug, Clone, PartialEq)]
pub struct Post {
    /// The path below the base URL, with its query.
    pub path: Cow<'static, str>,
    /// Headers other than the one with the key.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The JSON body.
    pub body: Value,
}

/// Parser of a provider's stream. A stream that ends without the provider's end marker is broken.
pub trait Reader: Send {
    /// Parses one event and hands its content to `hear`.
    ///
    /// # Errors
    ///
    /// Fails if the event is an error of the provider or cannot be parsed.
    fn event(&mut self, event: &str, hear: OnProgress<'_>) -> Result<(), ModelError>;

    /// `true` once the provider has marked the end of the answer; later events are ignored.
    fn is_over(&self) -> bool;

    /// Finishes the answer at the end of the stream.
    ///
    /// # Errors
    ///
    /// Fails with `Network` if the stream ended too early.
    fn end(self: Box<Self>) -> Result<Answer, ModelError>;
}

/// Builds the HTTP request for an endpoint. Returns `None` for a wire without HTTP.
pub fn post(endpoint: &Endpoint, request: &Request, terms: &Terms) -> Option<Post> {
    let options = &endpoint.options;
    let post = match endpoint.wire {
        Wire::OpenaiChat => openai_chat::post(endpoint.url(), request, terms, options),
        Wire::OpenaiResponses => openai_responses::post(request, terms, options),
        Wire::Anthropic => anthropic::post(request, terms, options),
        Wire::Gemini => gemini::post(request, terms, options),
        Wire::Ollama => ollama::post(request, terms, options),
        Wire::Scripted => return None,
    };
    let post = extended(post, options);
    Some(match endpoint.wire {
        Wire::Anthropic => anthropic::addressed(post, endpoint, &terms.model),
        Wire::OpenaiResponses => openai_responses::marked(post, endpoint, &terms.model),
        _ => post,
    })
}

/// Returns the stream parser of a wire, or `None` if the wire has no streams.
pub fn reader(wire: Wire) -> Option<Box<dyn Reader>> {
    match wire {
        Wire::OpenaiChat => Some(Box::<openai_chat::Chat>::default()),
        Wire::OpenaiResponses => Some(Box::<openai_responses::Responses>::default()),
        Wire::Anthropic => Some(Box::<anthropic::Messages>::default()),
        Wire::Gemini => Some(Box::<gemini::Candidate>::default()),
        Wire::Ollama => Some(Box::<ollama::Ollama>::default()),
        Wire::Scripted => None,
    }
}

/// The framing of a wire's events.
pub(crate) fn framing(wire: Wire) -> Framing {
    match wire {
        Wire::Ollama => Framing::Lines,
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic | Wire::Gemini | Wire::Scripted => {
            Framing::Events
        }
    }
}

/// A stream being parsed: its framing and its parser.
pub struct Stream {
    frames: Frames,
    reader: Box<dyn Reader>,
}

impl Stream {
    /// Creates the parser of an unread stream, or `None` if the wire has no streams.
    pub fn new(wire: Wire) -> Option<Self> {
        Some(Self { frames: Frames::new(framing(wire)), reader: reader(wire)? })
    }

    /// Parses more bytes. Returns `true` once the answer is complete.
    ///
    /// # Errors
    ///
    /// Fails on an error of the provider or unreadable data. Complete events before it were handed to `hear`.
    pub fn push(&mut self, bytes: &[u8], hear: OnProgress<'_>) -> Result<bool, ModelError> {
        let mut events = Vec::new();
        let framed = self.frames.push(bytes, &mut events);
        for event in events {
            if !self.reader.is_over() {
                self.reader.event(&event, hear)?;
            }
        }
        let is_over = self.reader.is_over();
        if is_over { Ok(true) } else { framed.map(|()| false) }
    }

    /// Finishes the answer at the end of the stream.
    ///
    /// # Errors
    ///
    /// Fails if the stream ended too early or was no event stream.
    pub fn end(mut self, hear: OnProgress<'_>) -> Result<Answer, ModelError> {
        if !self.reader.is_over() {
            if let Some(body) = self.frames.stray() {
                self.reader.event(&body, hear)?;
            } else if let Some(event) = self.frames.end().map_err(cut)? {
                self.reader.event(&event, hear).map_err(cut)?;
            }
        }
        self.reader.end()
    }
}

/// Converts a parse error of the final, incomplete event into an early end.
fn cut(error: ModelError) -> ModelError {
    if matches!(error, ModelError::CorruptStream { .. }) { ended_early() } else { error }
}

/// The error for a stream without the provider's end marker.
fn ended_early() -> ModelError {
    ModelError::Network { reason: "the stream ended before the answer did".to_owned() }
}

/// The error for an event of unknown form.
fn cannot_be_read(event: &str) -> ModelError {
    ModelError::CorruptStream { reason: format!("invalid event: {}", excerpt(event, MOST_SHOWN)) }
}

/// Parses an event as JSON. Returns `None` for an empty event and for `[DONE]`, which is not JSON.
fn json_of(event: &str) -> Result<Option<Value>, ModelError> {
    match event.trim() {
        "" | "[DONE]" => Ok(None),
        text => json::read(text).map(Some).map_err(|_| cannot_be_read(event)),
    }
}

fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The list under a key; empty if there is none.
fn list_of<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `true` for a list or an object that is not empty.
fn has_any(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
        || value.as_object().is_some_and(|of| !of.is_empty())
}

fn count_of(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// The number under a key, capped at `u32::MAX`.
fn number_of(value: &Value, key: &str) -> Option<u32> {
    count_of(value, key).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// The cache breakpoints of a request, and the end of the request before it, without those before the shortest
/// prefix that the provider caches, by our own token count.
fn cached_places(request: &Request, terms: &Terms) -> Vec<usize> {
    let before = end_of_previous(request).filter(|_| !request.cache_breakpoints.is_empty());
    let mut weight = weight_of_tools(request);
    let items = request.items.iter().enumerate().filter_map(|(at, item)| {
        weight = weight.saturating_add(item.tokens);
        let is_marked = request.cache_breakpoints.contains(&at) || before == Some(at);
        (is_marked && is_long_enough(weight, terms)).then_some(at)
    });
    items.collect()
}

/// The last item of the request that the newest answer replied to. A provider looks back from a breakpoint over
/// few blocks: behind a round of many calls it would not find what it wrote for that request.
fn end_of_previous(request: &Request) -> Option<usize> {
    let answer = request.items.iter().rposition(|item| item.role == Role::Assistant)?;
    request.items.get(..answer)?.iter().rposition(|item| item.role != Role::Assistant)
}

/// `true` if the provider caches a prefix of this many tokens, or if its minimum is unknown.
fn is_long_enough(tokens: u32, terms: &Terms) -> bool {
    known::model(&terms.model).and_then(|known| known.cache_minimum).is_none_or(|least| tokens >= least)
}

/// The approximate size of the tools, in tokens. They come first in the prompt.
fn weight_of_tools(request: &Request) -> u32 {
    let bytes = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    u32::try_from(bytes.sum::<usize>() / BYTES_PER_TOKEN).unwrap_or(u32::MAX)
}

/// Hands a text on unless it is empty.
fn append(of: fn(String) -> Delta, text: &str, hear: OnProgress<'_>) {
    if !text.is_empty() {
        hear(Progress::Delta(of(text.to_owned())));
    }
}

/// Hands on a value that is stored beside the answer.
fn extra(key: &str, value: Value, hear: OnProgress<'_>) {
    hear(Progress::Delta(Delta::MergeExtra(serde_json::Map::from_iter([(key.to_owned(), value)]))));
}
