//! The wires: how a request is put into a provider's words, and how its stream is read. Pure: nothing is sent here, so a
//! recorded stream is read as one that comes.

mod anthropic;
mod blocks;
mod calls;
mod content;
mod ollama;
mod openai_chat;
mod openai_responses;

use super::excerpt::excerpt;
use super::frames::{Frames, Framing};
use super::known;
use super::{Hear, ModelError, Said};
pub(crate) use blocks::named_back;
pub use blocks::stamped;
use engine::delta::Delta;
use engine::endpoint::{Endpoint, Wire};
use engine::prompt::request::{Answer, Request};
use engine::text::json;
use serde_json::Value;

/// The most that is shown of what cannot be read, in bytes.
const MOST_SHOWN: usize = 120;

/// Bytes of a tool's definition that make a token, about.
const BYTES_PER_TOKEN: usize = 4;

/// What a provider is told beside the request.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The model's name.
    pub model: String,
    /// The model's window, in tokens.
    pub window: u32,
    /// The most that it may answer, in tokens, where the request has no limit of its own.
    pub max_output: Option<u32>,
    /// Whether it can be told of tools and told to use none.
    pub tool_choice_none: bool,
    /// Whether it sees pictures.
    pub images: bool,
    /// Names the prompt whose beginning a cache may keep: the session and its generation.
    pub cache_key: Option<String>,
}

/// A request in a provider's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Post {
    /// Where, below the base URL.
    pub path: &'static str,
    /// Headers beside the key's.
    pub headers: Vec<(&'static str, &'static str)>,
    /// What.
    pub body: Value,
}

/// Reads a provider's stream. One that ends without the provider's word that it is over is broken.
pub trait Reader: Send {
    /// One event, as text. What it says is handed on.
    ///
    /// # Errors
    ///
    /// What the provider says is wrong, or what cannot be read.
    fn event(&mut self, event: &str, hear: Hear<'_>) -> Result<(), ModelError>;

    /// Whether the provider said that the answer is over. Nothing of the stream is read after that.
    fn is_over(&self) -> bool;

    /// The stream ended.
    ///
    /// # Errors
    ///
    /// It ended too early.
    fn end(self: Box<Self>) -> Result<Answer, ModelError>;
}

/// Puts a request into the words of the provider that is asked here; nothing for a wire that is not posted to.
pub fn post(endpoint: &Endpoint, request: &Request, terms: &Terms) -> Option<Post> {
    match endpoint.wire {
        Wire::OpenaiChat => Some(openai_chat::post(endpoint.url(), request, terms)),
        Wire::OpenaiResponses => Some(openai_responses::post(request, terms)),
        Wire::Anthropic => Some(anthropic::post(request, terms)),
        Wire::Ollama => Some(ollama::post(request, terms)),
        Wire::Scripted => None,
    }
}

/// Reads the streams of this wire; nothing for a wire that has none.
pub fn reader(wire: Wire) -> Option<Box<dyn Reader>> {
    match wire {
        Wire::OpenaiChat => Some(Box::<openai_chat::Chat>::default()),
        Wire::OpenaiResponses => Some(Box::<openai_responses::Responses>::default()),
        Wire::Anthropic => Some(Box::<anthropic::Messages>::default()),
        Wire::Ollama => Some(Box::<ollama::Ollama>::default()),
        Wire::Scripted => None,
    }
}

/// How the events of this wire are told apart.
pub(crate) fn framing(wire: Wire) -> Framing {
    match wire {
        Wire::Ollama => Framing::Lines,
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Anthropic | Wire::Scripted => Framing::Events,
    }
}

/// A stream that is being read: its frames and who reads them.
pub struct Stream {
    frames: Frames,
    reader: Box<dyn Reader>,
}

impl Stream {
    /// Before the first byte.
    pub fn new(wire: Wire) -> Option<Self> {
        Some(Self { frames: Frames::new(framing(wire)), reader: reader(wire)? })
    }

    /// Takes bytes in. Whether the answer is over.
    ///
    /// # Errors
    ///
    /// What the provider says is wrong, or what cannot be read. What came whole before it was heard.
    pub fn push(&mut self, bytes: &[u8], hear: Hear<'_>) -> Result<bool, ModelError> {
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

    /// No byte comes any more.
    ///
    /// # Errors
    ///
    /// The stream ended too early, or was none.
    pub fn end(mut self, hear: Hear<'_>) -> Result<Answer, ModelError> {
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

/// What the stream ended in cannot be read because it is not whole.
fn cut(error: ModelError) -> ModelError {
    if matches!(error, ModelError::CorruptStream { .. }) { ended_early() } else { error }
}

/// The stream ended without the provider's word that the answer is over.
fn ended_early() -> ModelError {
    ModelError::Network { reason: "the stream ended before the answer did".to_owned() }
}

/// An event that a wire does not know the form of.
fn cannot_be_read(event: &str) -> ModelError {
    ModelError::CorruptStream { reason: format!("this is no event: {}", excerpt(event, MOST_SHOWN)) }
}

/// An event as JSON; nothing for one that says nothing. Some end with a word that is no JSON.
fn json_of(event: &str) -> Result<Option<Value>, ModelError> {
    match event.trim() {
        "" | "[DONE]" => Ok(None),
        text => json::read(text).map(Some).map_err(|_| cannot_be_read(event)),
    }
}

/// The text under a key; none where there is none.
fn text_of<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The list under a key; an empty one where there is none.
fn list_of<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The count under a key, such as a place; none where there is none.
fn count_of(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// The number under a key; none where there is none.
fn number_of(value: &Value, key: &str) -> Option<u32> {
    count_of(value, key).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// The places of a request after which its provider's cache keeps the prefix: none that stands before the shortest prefix
/// that it keeps, by our own count.
fn cached_places(request: &Request, terms: &Terms) -> Vec<usize> {
    let mut weight = weight_of_tools(request);
    let items = request.items.iter().enumerate().filter_map(|(at, item)| {
        weight = weight.saturating_add(item.tokens);
        (request.cache_breakpoints.contains(&at) && is_long_enough(weight, terms)).then_some(at)
    });
    items.collect()
}

/// Whether the provider's cache keeps a prefix of so many tokens. Where nobody knows, it may.
fn is_long_enough(tokens: u32, terms: &Terms) -> bool {
    known::model(&terms.model).and_then(|known| known.cache_minimum).is_none_or(|least| tokens >= least)
}

/// What the tools of a request weigh, in tokens, about: they stand before all else.
fn weight_of_tools(request: &Request) -> u32 {
    let bytes = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len());
    u32::try_from(bytes.sum::<usize>() / BYTES_PER_TOKEN).unwrap_or(u32::MAX)
}

/// Hands a text on, where there is any.
fn append(of: fn(String) -> Delta, text: &str, hear: Hear<'_>) {
    if !text.is_empty() {
        hear(Said::Delta(of(text.to_owned())));
    }
}
