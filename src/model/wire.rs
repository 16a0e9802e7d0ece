//! The wires: how a request is put into a provider's words, and how its stream is read. Pure: nothing is sent here, so a
//! recorded stream is read as one that comes.

mod anthropic;
mod calls;
mod openai_responses;
mod pieces;

use super::frames::{Frames, Framing};
use super::{Hear, ModelError, Said};
use crate::engine::delta::Delta;
use crate::engine::message::MADE_BY;
use crate::engine::prompt::request::{Answer, Request};
use crate::engine::session::endpoint::Wire;
use serde_json::{Map, Value};

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
    /// Whether it takes a temperature. Models that think before they answer refuse a request that has one.
    pub temperature: bool,
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

/// Puts a request into a provider's words; nothing for a wire that is not posted to.
pub fn post(wire: Wire, request: &Request, terms: &Terms) -> Option<Post> {
    match wire {
        Wire::Anthropic => Some(anthropic::post(request, terms)),
        Wire::OpenaiResponses => Some(openai_responses::post(request, terms)),
        Wire::OpenaiChat | Wire::Ollama | Wire::Scripted => None,
    }
}

/// Reads the streams of this wire; nothing for a wire that has none.
pub fn reader(wire: Wire) -> Option<Box<dyn Reader>> {
    match wire {
        Wire::Anthropic => Some(Box::new(anthropic::Stream::default())),
        Wire::OpenaiResponses => Some(Box::new(openai_responses::Stream::default())),
        Wire::OpenaiChat | Wire::Ollama | Wire::Scripted => None,
    }
}

/// What was said, with a word in a provider's own blocks on who made them: no other wire, and of thinking no other model,
/// is ever sent them.
pub fn stamped(mut said: Said, wire: Wire, model: &str) -> Said {
    let stamp = |block: &mut Map<String, Value>| {
        block.insert(MADE_BY.to_owned(), Value::String(pieces::maker(wire, model)));
    };
    match &mut said {
        Said::Delta(Delta::SetThinkingBlocks(blocks)) => blocks.iter_mut().for_each(stamp),
        Said::Delta(Delta::AddServerContentBlock(Value::Object(block))) => stamp(block),
        Said::Delta(_) | Said::Alive | Said::Retrying(_) => {}
    }
    said
}

/// An event as JSON; nothing for one that says nothing. Some end with a word that is no JSON.
fn json_of(event: &str) -> Result<Option<Value>, ModelError> {
    match event.trim() {
        "" | "[DONE]" => Ok(None),
        text => serde_json::from_str(text)
            .map(Some)
            .map_err(|error| corrupt(&format!("an event is no JSON: {error}"))),
    }
}

fn corrupt(reason: &str) -> ModelError {
    ModelError::CorruptStream { reason: reason.to_owned() }
}

/// The stream ended before the provider said that the answer is over: its connection broke.
fn broke_off() -> ModelError {
    ModelError::Network { reason: "the stream ended before the answer did".to_owned() }
}

/// How the events of this wire are told apart.
pub fn framing(wire: Wire) -> Framing {
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
    /// What the provider says is wrong, or what cannot be read.
    pub fn push(&mut self, bytes: &[u8], hear: Hear<'_>) -> Result<bool, ModelError> {
        for event in self.frames.push(bytes)? {
            if !self.reader.is_over() {
                self.reader.event(&event, hear)?;
            }
        }
        Ok(self.reader.is_over())
    }

    /// No byte comes any more.
    ///
    /// # Errors
    ///
    /// The stream ended too early, or with what cannot be read.
    pub fn end(mut self, hear: Hear<'_>) -> Result<Answer, ModelError> {
        if let Some(event) = self.frames.end()?
            && !self.reader.is_over()
        {
            self.reader.event(&event, hear)?;
        }
        self.reader.end()
    }
}
