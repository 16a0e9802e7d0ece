//! Folding of a provider's thinking blocks into an answer in progress: matching of blocks, and their merge.
//! The draft itself holds all state, so folding can continue from any snapshot of it.

use super::DraftPart;
use crate::message::AssistantPart;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The type of a block that states none, and of thinking appended as text.
const THINKING: &str = "thinking";
/// The type of a block that only its provider can read; such a block has no text.
const REDACTED: &str = "redacted_thinking";

/// Thinking in progress.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thinking {
    /// The text so far; may be empty.
    pub text: String,
    /// The provider's signature; never empty.
    pub signature: Option<String>,
    /// The rest of the provider's block, without the type if that is `thinking`.
    pub block: Map<String, Value>,
}

/// A key's value for matching blocks. Numbers compare as in JavaScript.
#[derive(PartialEq)]
enum Key<'a> {
    Text(&'a str),
    Number(f64),
}

impl Thinking {
    pub(super) fn of_text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// Reads a provider's block. Its text is under `thinking`, else under `text`.
    fn of_block(mut block: Map<String, Value>) -> Self {
        let text = take_text(&mut block, THINKING).or_else(|| take_text(&mut block, "text"));
        let signature = take_text(&mut block, "signature").filter(|signature| !signature.is_empty());
        if block.get("type").is_some_and(|kind| kind == THINKING) {
            block.shift_remove("type");
        }
        Self { text: text.unwrap_or_default(), signature, block }
    }

    /// `true` if further text can be appended: a signed or redacted block is complete.
    pub(super) fn is_open(&self) -> bool {
        self.signature.is_none() && self.kind() != REDACTED
    }

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

    /// `true` if `later` is a later form of this block, which has no key to match by.
    fn is_meant_by(&self, later: &Self) -> bool {
        let is_kind = self.kind() == THINKING || self.kind() == later.kind();
        let agrees = later.text.starts_with(&self.text) || self.text.starts_with(&later.text);
        self.has_no_key() && (is_kind && agrees && later.kind() != REDACTED || self == later)
    }

    /// Merges a later form of the same block. Text is never lost.
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

/// Removes and returns the text under a key; null counts as no text, other values stay.
fn take_text(block: &mut Map<String, Value>, key: &str) -> Option<String> {
    if !matches!(block.get(key), Some(Value::String(_) | Value::Null)) {
        return None;
    }
    match block.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

/// Merges each block into the part that it is a later form of, or appends it as a new part.
///
/// Two operations add thinking: `appendReasoning` adds new text, a block states everything so far, often including
/// all text appended before. A block therefore takes over the first thinking without a key whose text it repeats or
/// continues. So streamed text is not duplicated when its signature arrives, and text that no block mentions stays.
pub(super) fn set_blocks(parts: &mut Vec<DraftPart>, blocks: Vec<Map<String, Value>>) {
    // Two blocks of one list are distinct, even without keys.
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
