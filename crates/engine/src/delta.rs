//! An answer while it is streamed: the deltas, and the one rule by which they are folded into an answer. The
//! shell decides who sends deltas and how often.

mod thinking;

use super::message::{AssistantPart, Beside, Body, ToolCall, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use thiserror::Error;

pub use thinking::Thinking;

/// An addition to an answer. `editors/client` implements the same operations; `fixtures/delta` checks both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Delta {
    /// Appends text.
    AppendContent(String),
    /// Appends thinking.
    AppendReasoning(String),
    /// Replaces all tool calls.
    SetToolCalls(Vec<ToolCall>),
    /// Appends to the arguments of a call.
    AppendToolArguments {
        /// The call's id in the last [`Delta::SetToolCalls`].
        call: String,
        /// The text to append.
        text: String,
    },
    /// Sets the provider's thinking blocks so far, in the provider's own format.
    SetThinkingBlocks(Vec<Map<String, Value>>),
    /// Adds a citation.
    AddCitation(Value),
    /// Adds a block that the provider generated itself.
    AddServerContentBlock(Value),
    /// Merges the token usage so far.
    SetUsage(Usage),
    /// Merges keys that are stored with the answer.
    MergeExtra(Map<String, Value>),
}

impl Delta {
    /// `true` if it adds to what the answer says; `false` for data beside it.
    pub fn is_content(&self) -> bool {
        !matches!(self, Delta::SetUsage(_) | Delta::MergeExtra(_))
    }

    /// Returns the approximate size on the wire in bytes, without the frame.
    pub fn bytes(&self) -> usize {
        let json = |value: &Value| value.to_string().len();
        let fields = |map: &Map<String, Value>| map.iter().map(|(key, value)| key.len() + json(value)).sum();
        match self {
            Delta::AppendContent(text)
            | Delta::AppendReasoning(text)
            | Delta::AppendToolArguments { text, .. } => text.len(),
            Delta::SetToolCalls(calls) => calls.iter().map(|call| call.arguments.len()).sum(),
            Delta::SetThinkingBlocks(blocks) => blocks.iter().map(fields).sum(),
            Delta::AddCitation(value) | Delta::AddServerContentBlock(value) => json(value),
            Delta::SetUsage(_) => 0,
            Delta::MergeExtra(extra) => fields(extra),
        }
    }
}

/// An answer so far. Text grows in place, so that a long answer costs linear, not quadratic, time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// Text, thinking and the provider's own blocks, in order.
    pub parts: Vec<DraftPart>,
    /// The tool calls so far.
    pub calls: Vec<DraftCall>,
    /// Data that accompanies the answer so far.
    pub beside: Beside,
}

/// A part of an answer in progress.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftPart {
    /// Text for the user.
    Text(String),
    /// Thinking.
    Thinking(Thinking),
    /// A provider's own block.
    Raw(Arc<Value>),
}

/// A tool call whose arguments are still growing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftCall {
    /// The call's id.
    pub id: String,
    /// The source's own id, if it differs.
    pub source_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments so far.
    pub arguments: String,
}

/// Arguments arrived for a call that was never set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("arguments for unknown call {0:?}")]
pub struct UnknownCall(pub String);

impl Draft {
    /// Folds a delta in. Adjacent pieces of one kind form one part. Only two things discard earlier data:
    /// setting calls again, and a later value under the same key.
    pub fn fold(&mut self, delta: Delta) -> Result<(), UnknownCall> {
        match delta {
            Delta::AppendContent(text) => match self.parts.last_mut() {
                Some(DraftPart::Text(last)) => last.push_str(&text),
                _ if text.is_empty() => {}
                _ => self.parts.push(DraftPart::Text(text)),
            },
            Delta::AppendReasoning(text) => match self.parts.last_mut() {
                Some(DraftPart::Thinking(last)) if last.is_open() => last.text.push_str(&text),
                _ if text.is_empty() => {}
                _ => self.parts.push(DraftPart::Thinking(Thinking::of_text(text))),
            },
            Delta::SetToolCalls(calls) => self.calls = calls.iter().map(DraftCall::from).collect(),
            Delta::AppendToolArguments { call, text } => {
                let Some(known) = self.calls.iter_mut().find(|known| known.id == call) else {
                    return Err(UnknownCall(call));
                };
                known.arguments.push_str(&text);
            }
            Delta::SetThinkingBlocks(blocks) => thinking::set_blocks(&mut self.parts, blocks),
            Delta::AddCitation(citation) => self.beside.citations.push(citation),
            Delta::AddServerContentBlock(block) => self.parts.push(DraftPart::Raw(Arc::new(block))),
            Delta::SetUsage(usage) => self.beside.merge_usage(Some(usage)),
            Delta::MergeExtra(extra) => merge(&mut self.beside.extra, extra, 1),
        }
        Ok(())
    }

    /// `true` if nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty() && self.beside.is_empty()
    }

    /// Returns the parts so far as parts of a message.
    pub fn said(&self) -> Vec<AssistantPart> {
        self.parts
            .iter()
            .map(|part| match part {
                DraftPart::Text(text) => AssistantPart::Text(text.as_str().into()),
                DraftPart::Thinking(thinking) => thinking.part(),
                DraftPart::Raw(wire) => AssistantPart::Raw(wire.clone()),
            })
            .collect()
    }

    /// Returns the calls so far. Their arguments may be cut off anywhere.
    pub fn asked(&self) -> Vec<ToolCall> {
        self.calls
            .iter()
            .map(|call| ToolCall {
                source_id: call.source_id.clone(),
                ..ToolCall::new(&call.id, &call.name, &call.arguments)
            })
            .collect()
    }

    /// Returns the answer so far as a message body.
    pub fn body(&self) -> Body {
        Body::Assistant { parts: self.said(), calls: self.asked(), beside: self.beside.clone() }
    }
}

/// The deepest level of objects that are merged; the top is level 1. Deeper values are replaced instead, so
/// that hostile input cannot overflow the stack.
const MERGED_LEVELS: usize = 64;

/// Merges deeply: objects key by key, otherwise the later value wins. Keys keep their first position.
fn merge(into: &mut Map<String, Value>, later: Map<String, Value>, level: usize) {
    for (key, value) in later {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(value)) if level < MERGED_LEVELS => {
                merge(known, value, level + 1);
            }
            (Some(known), value) => *known = value,
            (None, value) => drop(into.insert(key, value)),
        }
    }
}

impl From<&ToolCall> for DraftCall {
    fn from(call: &ToolCall) -> Self {
        Self {
            id: call.id.as_str().to_owned(),
            source_id: call.source_id.clone(),
            name: call.name.to_string(),
            arguments: call.arguments.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fold(deltas: impl IntoIterator<Item = Delta>) -> Draft {
        let mut draft = Draft::default();
        for delta in deltas {
            draft.fold(delta).unwrap();
        }
        draft
    }

    #[test]
    fn adjacent_pieces_of_one_kind_form_one_part() {
        let draft = fold([
            Delta::AppendReasoning("So".into()),
            Delta::AppendReasoning(".".into()),
            Delta::AppendContent("Let ".into()),
            Delta::AppendReasoning(String::new()),
            Delta::AppendContent("me".into()),
        ]);
        let text = |text: &str| DraftPart::Text(text.to_owned());
        assert_eq!(draft.parts, [DraftPart::Thinking(Thinking::of_text("So.".into())), text("Let me")]);
        let Body::Assistant { parts, calls, .. } = draft.body() else { panic!("an assistant") };
        assert_eq!((parts.len(), calls.len()), (2, 0));
    }

    #[test]
    fn arguments_are_appended_to_their_call_and_unknown_calls_fail() {
        let calls = vec![ToolCall::new("a", "read", ""), ToolCall::new("b", "read", "{")];
        let more =
            |call: &str, text: &str| Delta::AppendToolArguments { call: call.into(), text: text.into() };
        let mut draft = fold([Delta::SetToolCalls(calls), more("b", "}"), more("a", "{}")]);
        assert_eq!(draft.asked(), [ToolCall::new("a", "read", "{}"), ToolCall::new("b", "read", "{}")]);
        assert_eq!(draft.fold(more("c", "x")), Err(UnknownCall("c".into())));
        draft.fold(Delta::SetToolCalls(Vec::new())).unwrap();
        assert!(draft.is_empty());
    }

    proptest! {
        #[test]
        fn text_is_independent_of_how_it_is_split(pieces in prop::collection::vec(".{0,4}", 0..8)) {
            let whole = pieces.concat();
            let draft = fold(pieces.into_iter().map(Delta::AppendContent));
            prop_assert_eq!(draft, fold([Delta::AppendContent(whole)]));
        }
    }
}
