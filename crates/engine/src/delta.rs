//! An answer that is being written: what is added to it, and the one rule by which additions become an answer. Who
//! sends deltas, and how often, is the shell's business.

mod thinking;

use super::message::{AssistantPart, Beside, Body, ToolCall, Usage};
use serde_json::{Map, Value};
use std::sync::Arc;
use thiserror::Error;

pub use thinking::Thinking;

/// An addition to an answer. What the operations do to one another is the same in `editors/client`, and
/// `fixtures/delta` holds both to it.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    /// Text goes on.
    AppendContent(String),
    /// Thinking goes on.
    AppendReasoning(String),
    /// These are the calls, in the place of those before.
    SetToolCalls(Vec<ToolCall>),
    /// The arguments of a call go on.
    AppendToolArguments {
        /// The call, by the id that it was set with.
        call: String,
        /// What is added.
        text: String,
    },
    /// What the provider says of its thinking so far, in its own form.
    SetThinkingBlocks(Vec<Map<String, Value>>),
    /// Words of the answer have a source.
    AddCitation(Value),
    /// A block that the provider made by itself comes next.
    AddServerContentBlock(Value),
    /// What was used so far.
    SetUsage(Usage),
    /// Something is kept with the answer.
    MergeExtra(Map<String, Value>),
}

impl Delta {
    /// About as many bytes as it has on a wire, without its frame.
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

/// What is there of an answer. Text grows in place, so that a long answer costs its length and not its square.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Draft {
    /// What was said, in its order.
    pub parts: Vec<DraftPart>,
    /// The calls so far.
    pub calls: Vec<DraftCall>,
    /// What came beside it so far.
    pub beside: Beside,
}

/// A part that grows.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftPart {
    /// Text for the user.
    Text(String),
    /// Thinking.
    Thinking(Thinking),
    /// A provider's own block.
    Raw(Arc<Value>),
}

/// A call whose arguments grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftCall {
    /// The call, without its arguments so far.
    pub id: String,
    /// The id in its source, where it is known under another one.
    pub source_id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// The arguments so far.
    pub arguments: String,
}

/// Arguments for a call that was never set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("no call {0} was set before its arguments came")]
pub struct UnknownCall(pub String);

impl Draft {
    /// Takes an addition in. Neighbouring pieces of one kind are one part; nothing that was added is lost, but by
    /// setting calls again and by a later value under the same key.
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

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.calls.is_empty() && self.beside.is_empty()
    }

    /// What was said so far, as parts of a message.
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

    /// The calls so far. Their arguments may be cut anywhere.
    pub fn asked(&self) -> Vec<ToolCall> {
        self.calls
            .iter()
            .map(|call| ToolCall {
                source_id: call.source_id.clone(),
                ..ToolCall::new(&call.id, &call.name, &call.arguments)
            })
            .collect()
    }

    /// The answer so far as what a message holds.
    pub fn body(&self) -> Body {
        Body::Assistant { parts: self.said(), calls: self.asked(), beside: self.beside.clone() }
    }
}

/// The deepest objects that are merged; the top is the first level. Below, the later one takes the earlier one's place,
/// so that nobody can make a fold run out of its stack.
const MERGED_LEVELS: usize = 64;

/// The one deep merge: objects key by key, of anything else the later value. Keys keep the place where they came first.
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
    fn neighbours_of_one_kind_are_one_part() {
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
    fn arguments_go_to_their_call_and_an_unknown_call_is_named() {
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
        fn however_a_text_is_cut_it_is_the_same_text(pieces in prop::collection::vec(".{0,4}", 0..8)) {
            let whole = pieces.concat();
            let draft = fold(pieces.into_iter().map(Delta::AppendContent));
            prop_assert_eq!(draft, fold([Delta::AppendContent(whole)]));
        }
    }
}
