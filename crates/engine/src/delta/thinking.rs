//! A provider's blocks of thinking within an answer that is being written: what makes two of them one, and how they
//! become one. All that decides is visible in the draft itself, so whoever has a snapshot of it can go on folding.

use super::DraftPart;
use crate::message::AssistantPart;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The type of a block that says none, and of thinking that came as text.
const THINKING: &str = "thinking";
/// The type of a block that only its provider can read. No text ever belongs to it.
const REDACTED: &str = "redacted_thinking";

/// Thinking that grows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thinking {
    /// What was thought.
    pub text: String,
    /// The provider's signature; never empty.
    pub signature: Option<String>,
    /// The rest of the provider's block; without its type where that is `thinking`.
    pub block: Map<String, Value>,
}

/// The value of a key that tells blocks apart. Numbers are compared as JavaScript compares them.
#[derive(PartialEq)]
enum Key<'a> {
    Text(&'a str),
    Number(f64),
}

impl Thinking {
    /// Thinking that came as text.
    pub(super) fn of_text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// A provider's block. Its text is `thinking` or, where there is none, `text`.
    fn of_block(mut block: Map<String, Value>) -> Self {
        let text = take_text(&mut block, THINKING).or_else(|| take_text(&mut block, "text"));
        let signature = take_text(&mut block, "signature").filter(|signature| !signature.is_empty());
        if block.get("type").is_some_and(|kind| kind == THINKING) {
            block.shift_remove("type");
        }
        Self { text: text.unwrap_or_default(), signature, block }
    }

    /// Whether text that comes next belongs to it: what is signed, or cannot be read, is whole.
    pub(super) fn is_open(&self) -> bool {
        self.signature.is_none() && self.kind() != REDACTED
    }

    /// As a part of a message.
    pub(super) fn part(&self) -> AssistantPart {
        AssistantPart::Reasoning {
            text: self.text.as_str().into(),
            signature: self.signature.as_deref().map(Into::into),
            block: (!self.block.is_empty()).then(|| Arc::new(self.block.clone())),
        }
    }

    fn kind(&self) -> &str {
        self.block.get("type").and_then(Value::as_str).unwrap_or(THINKING)
    }

    fn key(&self, name: &str) -> Option<Key<'_>> {
        match self.block.get(name)? {
            Value::String(text) => Some(Key::Text(text)),
            Value::Number(number) => number.as_f64().map(Key::Number),
            _ => None,
        }
    }

    fn shares(&self, name: &str, later: &Self) -> bool {
        self.kind() == later.kind() && self.key(name).is_some_and(|key| later.key(name) == Some(key))
    }

    fn shares_signature(&self, later: &Self) -> bool {
        self.kind() == later.kind() && self.signature.is_some() && self.signature == later.signature
    }

    fn has_no_key(&self) -> bool {
        self.signature.is_none() && self.key("index").is_none() && self.key("id").is_none()
    }

    /// Whether this, which nothing tells apart, is what `later` speaks of.
    fn is_meant_by(&self, later: &Self) -> bool {
        let is_kind = self.kind() == THINKING || self.kind() == later.kind();
        let agrees = later.text.starts_with(&self.text) || self.text.starts_with(&later.text);
        self.has_no_key() && (is_kind && agrees && later.kind() != REDACTED || self == later)
    }

    /// Takes a later form of the same block in. Text is never lost.
    fn merge(&mut self, later: Self) {
        if later.text.starts_with(&self.text) {
            self.text = later.text;
        } else if !self.text.starts_with(&later.text) {
            self.text.push_str(&later.text);
        }
        if later.signature.is_some() {
            self.signature = later.signature;
        }
        self.block.extend(later.block);
    }
}

/// Takes the text under a key out; null is no text, and any other value stays as it is.
fn take_text(block: &mut Map<String, Value>, key: &str) -> Option<String> {
    if !matches!(block.get(key), Some(Value::String(_) | Value::Null)) {
        return None;
    }
    match block.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Takes blocks in, each into the part that it is a later form of, else as a new part at the end.
///
/// Two operations tell of thinking. `appendReasoning` says what is new, a block says what there is so far, often with
/// all of the text that was appended before it. The rule between them: a block takes over the first thinking that has
/// no key of its own and whose text it repeats or goes on with. So text that was streamed is not said twice once its
/// signature comes, and text that no block speaks of stays.
pub(super) fn set_blocks(parts: &mut Vec<DraftPart>, blocks: Vec<Map<String, Value>>) {
    // Two blocks of one list are two blocks, even if nothing tells them apart.
    let mut taken: Vec<usize> = Vec::new();
    for later in blocks.into_iter().map(Thinking::of_block).filter(|block| *block != Thinking::default()) {
        let find = |is_it: &dyn Fn(usize, &Thinking) -> bool| {
            parts.iter().enumerate().position(|(at, part)| match part {
                DraftPart::Thinking(known) => is_it(at, known),
                DraftPart::Text(_) | DraftPart::Raw(_) => false,
            })
        };
        let at = find(&|_, known| known.shares("index", &later))
            .or_else(|| find(&|_, known| known.shares("id", &later)))
            .or_else(|| find(&|_, known| known.shares_signature(&later)))
            .or_else(|| find(&|at, known| !taken.contains(&at) && known.is_meant_by(&later)));
        taken.push(at.unwrap_or(parts.len()));
        match at.and_then(|at| parts.get_mut(at)) {
            Some(DraftPart::Thinking(known)) => known.merge(later),
            _ => parts.push(DraftPart::Thinking(later)),
        }
    }
}
